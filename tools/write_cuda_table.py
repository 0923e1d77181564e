"""Write into docs/cuda.md which operators wait for the device, and who computes what there.

    NUMBA_ENABLE_CUDASIM=1 python tools/write_cuda_table.py

The operators are those that the package defines, asked how ``cuda`` runs each; the list of what
waits is that of ``tests/cuda/simulated/test_synchronisations.py``, which holds it.
"""

from __future__ import annotations

import gc
import importlib
import pathlib
import pkgutil
import sys

ROOT = pathlib.Path(__file__).parent.parent
PAGE = ROOT / "docs" / "cuda.md"
BEGIN, END = "<!-- tools/write_cuda_table.py -->", "<!-- end -->"

#: Rooms whose import has effects, or that define no operators.
_SKIPPED = (
    "cuda", "native", "kernels", "numba_extension", "distributed", "__main__", "codegen", "utils",
)  # fmt: skip

#: Operators that functions call for ndarrays alone (``is_plain``): a tensor of a device goes by
#: ``eigh``, ``svd`` and products.
_OF_NDARRAYS = {"linalg_eigvalsh", "linalg_householder_product", "linalg_svdvals"}


def operators_by_forward() -> dict[str, list[str]]:
    """The names of operators that are no formulas and no views, by what runs their forward.

    Those of sparse tensors are left out: these are on the CPU only, and no other device takes them.
    """
    import numbagrad
    from numbagrad.cuda import backend, library
    from numbagrad.ops.operators.tensor_operator import TensorOperator

    for module in pkgutil.walk_packages(numbagrad.__path__, "numbagrad."):
        if module.name.split(".")[1] not in _SKIPPED:
            importlib.import_module(module.name)
    kinds: dict[str, set[str]] = {"own": set(), "library": set(), "rare": set(), "host": set()}
    portable = set()
    for operator in [x for x in gc.get_objects() if isinstance(x, TensorOperator)]:
        module = operator.forward.__module__
        if module.startswith("numbagrad.sparse."):
            continue
        name = operator.name
        if operator.portable:
            portable.add(name)
        if name in _OF_NDARRAYS or operator.is_view or operator.portable:
            continue
        if not module.startswith("numbagrad."):
            continue
        if name in library.OWN:
            kinds["own"].add(name)
        elif backend.BACKEND.forward_of(operator) is not None:
            kinds["library"].add(name)
        else:
            kinds["host"].add(name)
    kinds["host"] -= kinds["own"] | kinds["library"]
    kinds["rare"] = kinds["host"] & portable
    kinds["host"] -= portable
    return {kind: sorted(names) for kind, names in kinds.items()}


def waits() -> dict[str, str]:
    """Why operators wait, and which."""
    for folder in (ROOT / "tests", ROOT / "tests" / "cuda" / "simulated"):
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
    found: dict[str, str] = importlib.import_module("test_synchronisations").WAITS
    return found


def lines() -> list[str]:
    """The tables."""
    made = ["| waits for the device, because | rows of the operator table |", "| --- | --- |"]
    made += [f"| {reason} | {', '.join(names.split())} |" for reason, names in waits().items()]
    titles = {
        "own": "by kernels of ours, composed here",
        "library": "by functions of CuPy",
        "rare": "by the CPU's launches as they are, in rare forms by the CPU, on copies",
        "host": "by the CPU, on copies, where the device does not go another way",
    }
    made += ["", "| forwards that are loops of NumPy on the CPU run | operators |", "| --- | --- |"]
    found = operators_by_forward()
    return [*made, *[f"| {titles[kind]} | {', '.join(names)} |" for kind, names in found.items()]]


def page() -> str:
    """docs/cuda.md with the tables as they are now."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    return "\n".join([before + BEGIN, "", *lines(), "", END + after])


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(0 if PAGE.read_text() == page() else "docs/cuda.md: run tools/write_cuda_table.py")
    PAGE.write_text(page())
