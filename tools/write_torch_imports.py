"""Writes ``numbagrad/torch_imports.py``: names that files of torch have because they import them.

``python tools/write_torch_imports.py`` needs the torch that the package follows. Programs import
``Parameter`` from ``torch.nn.modules.conv`` as well. The table has the names whose home in torch is
a path here that has them; it has no names of Python, and none of paths whose names are absent.
"""

from __future__ import annotations

import importlib
import pathlib
import sys
import textwrap
import warnings
from types import ModuleType
from typing import Any

ROOT = pathlib.Path(__file__).parents[1]
TARGET = ROOT / "numbagrad" / "torch_imports.py"
#: Rooms of torch that are here in another way, or whose files stand for many.
_LEFT_OUT = (
    "torch._C", "torch._classes", "torch._decomp", "torch._dynamo", "torch._jit_internal",
    "torch._ops", "torch._prims", "torch.ao", "torch.backends", "torch.cuda", "torch.distributed",
    "torch.export", "torch.fx", "torch.jit", "torch.mps", "torch.mtia", "torch.onnx",
    "torch.return_types", "torch.xpu",
)  # fmt: skip


def _home(value: Any) -> tuple[str, str]:
    """The module of torch that defines a value, and its name there; none for a module."""
    if isinstance(value, ModuleType):
        return value.__name__, ""
    try:
        home, own = value.__module__, getattr(value, "__qualname__", None) or value.__name__
        if "<locals>" in own:  # as ``_pair``, made by a function that gives it its name
            own = value.__name__
    except (AttributeError, RuntimeError, AssertionError):  # no class and no function
        return "", ""
    return (home, own) if isinstance(home, str) and isinstance(own, str) else ("", "")


def _is_here(home: str, own: str, absent: type) -> bool:
    try:
        module: Any = importlib.import_module(home.replace("torch", "numbagrad", 1))
    except ImportError:
        return False
    return not own or not isinstance(getattr(module, own, absent("x", (), {})), absent)


def entries() -> dict[str, list[str]]:
    """By ``name=home:own`` the paths of torch that import the name."""
    for folder in (ROOT, ROOT / "tests"):
        sys.path.insert(0, str(folder))
    from torch_paths import PATHS

    from numbagrad.absent import _Absent

    found: dict[str, list[str]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path in PATHS:
            if path.startswith(_LEFT_OUT):
                continue
            ours = importlib.import_module(path.replace("torch", "numbagrad", 1))
            for name, value in vars(importlib.import_module(path)).items():
                home, own = _home(value)
                foreign = home != path and home.split(".")[0] == "torch" and home + own != "torch"
                missing = not name.startswith("__") and name not in vars(ours)
                if foreign and missing and (name, home) != (home.rpartition(".")[2], path):
                    if not _answers(ours, name) and _is_here(home, own, _Absent):
                        found.setdefault(f"{name}={home[6:]}:{own}", []).append(path[6:])
    return found


def _answers(ours: ModuleType, name: str) -> bool:
    """Whether a module has a name without the table."""
    own = getattr(ours, "__getattr__", None)
    try:
        return own is not None and own(name) is not None
    except AttributeError:
        return False


def lines() -> list[str]:
    """The lines of the table."""
    made = []
    for entry, paths in sorted(entries().items()):
        line = f"{entry} {' '.join(paths)}"
        made += textwrap.wrap(line, 96, subsequent_indent="  ", break_long_words=False)
    return made


def main() -> None:
    """Write the lines of the table behind its name."""
    text = TARGET.read_text().partition('_TABLE = """\\\n')
    TARGET.write_text(text[0] + text[1] + "\n".join(lines()) + '\n"""\n')


if __name__ == "__main__":
    main()
