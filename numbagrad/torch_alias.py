"""``torch`` as another name of this package, for programs that say ``import torch``.

A finder on ``sys.meta_path`` answers for ``torch.*`` while ``sys.modules["torch"]`` is this
package, and only then: a torch that is installed is left alone otherwise. What it answers with are
the modules of this package themselves, so that nothing is loaded twice and ``torch.nn is
numbagrad.nn``. It answers for ``functorch`` as well, a package that comes with torch.
``numbagrad/running.py`` installs the name; ``sys.modules["torch"] = numbagrad`` by
hand is enough as well. This file is imported with the package, and imports little for that.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from ._version import __version__ as own_version

__all__ = ["TORCH_VERSION", "finder", "is_torch", "package", "register", "seen_version"]

#: The torch that this package follows, as programs see it that ask ``torch`` for its version.
TORCH_VERSION = "2.13.0+numbagrad"

_OURS = __name__.partition(".")[0]
#: Packages of torch whose modules are parts of what this package does in another way, or not at
#: all. Programs import names from them that they may never use: a module below them that is not
#: there is one whose names are absent (``absent.py``).
_INTERNALS = frozenset(
    """
    _C _custom_op _custom_ops _decomp _dispatch _dynamo _export _functorch _guards
    _higher_order_ops _inductor _lazy _library _logging _ops _prims _prims_common _refs
    _subclasses _weights_only_unpickler ao compiler cuda distributed export fx jit library masked
    nested numa onnx package quantization sparse
    """.split()
)
#: Others of that kind, with what lies below them.
_INTERNAL_PATHS = re.compile(
    r"torch\.(nn\.(backends|intrinsic|qat|quantizable|quantized|attention\.(bias|varlen)"
    r"|parallel\.(comm|parallel_apply|replicate))|autograd\.(profiler_legacy|profiler_util)"
    r"|utils\.(jit|mkldnn|serialization|data\.(datapipes|graph|graph_settings)))(\.|$)"
)

#: Why their names are absent.
_INTERNAL = "it is an internal part of torch"

#: Paths of torch whose names stand in another module here, by that module.
_ELSEWHERE = {
    path: module
    for module, paths in {
        "multiprocessing": "multiprocessing.pool multiprocessing.queue",
        "accelerator": "accelerator.graphs accelerator.memory",
        "mtia": "mtia.memory mtia.mtia_graph",
        "nn.linear_loss": """
            nn.modules.linear_cross_entropy nn.modules.linear_cross_entropy_options""",
        "profiler": "profiler.profiler",
        "signal.windows": "signal.windows.windows",
        "utils.benchmark": """
            utils.benchmark.utils utils.benchmark.utils.common utils.benchmark.utils.compare
            utils.benchmark.utils.timer""",
        "xpu": "xpu.graphs xpu.memory xpu.random xpu.streams",
    }.items()
    for path in paths.split()
}


def _reason_of(name: str) -> str | None:
    """Why names that ``torch.a.b`` has in torch are absent here; None where none should be.

    They are those of paths of which only programs of torch itself need the whole, and those of the
    modules in ``absent_modules.py``.
    """
    parts = name.split(".")[1:]
    if (
        _INTERNAL_PATHS.match(name)
        or parts[0] in _INTERNALS
        or any(part.startswith("_") for part in parts[1:])
    ):
        return _INTERNAL
    from .absent_modules import REASONS

    for count in range(len(parts), 0, -1):
        reason = REASONS.get(".".join(parts[:count]))
        if reason is not None:
            return reason
    return None


def package() -> ModuleType:
    """This package, whatever name it has."""
    return sys.modules[_OURS]


def is_torch() -> bool:
    """Whether ``import torch`` finds this package."""
    return sys.modules.get("torch") is sys.modules[_OURS]


def seen_version() -> str:
    """``__version__`` of the package: torch's while the package has torch's name, else its own.

    Libraries compare it with the versions of torch that they need, so a program that runs under
    torch's name must not be told 0.1.0. The package's own is always ``_version.__version__``.
    """
    if is_torch():
        from .torch_version import TorchVersion

        return TorchVersion(TORCH_VERSION)
    return own_version


def _holds_others(path: str) -> bool:
    """Whether paths below ``torch.path`` are modules in torch, and none of this package."""
    from .absent_modules import REASONS

    return path in _ELSEWHERE.values() or any([key.startswith(f"{path}.") for key in REASONS])


class _Loader:
    """Puts a module of this package under a second name."""

    def __init__(self, real: str) -> None:
        self._real = real

    def create_module(self, spec: ModuleSpec) -> None:
        """Nothing: a module that is thrown away stands for the real one until it is executed."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Replace the stand-in by the real module, which keeps its own name and its own spec."""
        spec = module.__spec__
        assert spec is not None
        real = importlib.import_module(self._real)
        sys.modules[spec.name] = real
        if not hasattr(real, "__path__") and _holds_others(spec.name.removeprefix("torch.")):
            real.__path__ = []  # what lies below it is asked of the finder
        share_hidden(self._real)
        from .torch_homes import show_homes
        from .torch_imports import show_imports

        show_imports()
        show_homes()
        reason = _INTERNAL if spec.name == "functorch" else _reason_of(spec.name)
        if reason is not None:
            from .absent import absent_if_missing

            absent_if_missing(real, spec.name, reason)


class _AbsentLoader:
    """Makes the stand-in of a module of torch's internals."""

    def create_module(self, spec: ModuleSpec) -> None:
        """Nothing: Python's own kind of module."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Let every name of the module be absent."""
        from .absent import absent_if_missing

        module.__doc__ = f"``{module.__name__}``, which is not there."
        absent_if_missing(module, module.__name__, _reason_of(module.__name__) or _INTERNAL)


def share_hidden(real: str) -> None:
    """Give submodules whose name in their package is a function their second name at once.

    The import system writes what it loads under ``torch.nn.utils.weight_norm`` into the package,
    where the function of that name stands. It writes nothing for a name that it knows already.
    """
    package = sys.modules[real]
    for name, module in list(sys.modules.items()):
        parent, _, child = name.rpartition(".")
        if parent == real and getattr(package, child, None) is not module:
            sys.modules["torch" + name[len(_OURS) :]] = module


def _spec_of_functorch(name: str) -> ModuleSpec:
    """The loader of ``functorch``, or of a module below it: these have absent names alone."""
    loader: Any = _Loader(f"{_OURS}.func.functorch") if name == "functorch" else _AbsentLoader()
    return ModuleSpec(name, loader, is_package=True)


def _absent_spec(name: str) -> ModuleSpec:
    """The loader of a module whose names are absent."""
    loader: Any = _AbsentLoader()
    return ModuleSpec(name, loader, is_package=True)


def _spec_that_shows(name: str, path: Any) -> ModuleSpec | None:
    """A module of this package, whose classes get torch's ``__module__`` as soon as it is there."""
    from .torch_homes import show_homes, table

    if name[len(_OURS) + 1 :] not in {home for _, home, _ in table()}:
        return None
    spec = PathFinder.find_spec(name, path)
    loader: Any = spec and spec.loader
    if loader is not None:
        run = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            run(module)
            show_homes()

        loader.exec_module = exec_module
    return spec


class Finder:
    """Finds ``torch.*`` and the metadata of a distribution ``torch``, while this package is it."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The loader of ``torch.x``; None for other names, and where another torch is imported."""
        if not is_torch():
            return None
        if name.partition(".")[0] == "functorch":
            return _spec_of_functorch(name)
        if name.startswith(f"{_OURS}."):
            return _spec_that_shows(name, path)
        if not name.startswith("torch."):
            return None
        path = name.removeprefix("torch.")
        if path in _ELSEWHERE:
            aside: Any = _Loader(f"{_OURS}.{_ELSEWHERE[path]}")
            return ModuleSpec(name, aside, is_package=True)
        if _reason_of(name) not in (None, _INTERNAL):
            return _absent_spec(name)
        real = _OURS + name[len("torch") :]
        parent, _, child = real.rpartition(".")
        found = None
        above = sys.modules.get(name.rpartition(".")[0])
        if not isinstance(getattr(above, "__loader__", None), _AbsentLoader):
            importlib.import_module(parent)
            seen = vars(sys.modules[parent]).get(child)
            if callable(seen) and not hasattr(seen, "_reason"):  # a name that is absent, seen first
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)
            found = importlib.util.find_spec(real)
        if found is None:
            return _absent_spec(name) if _reason_of(name) is not None else None
        loader: Any = _Loader(real)
        is_package = found.submodule_search_locations is not None
        spec = ModuleSpec(name, loader, origin=found.origin, is_package=is_package)
        if is_package:
            spec.submodule_search_locations = found.submodule_search_locations
        return spec

    def find_distributions(self, context: Any) -> Iterator[Any]:
        """Metadata of torch, for libraries that ask ``importlib.metadata`` for its version."""
        if is_torch() and context.name in (None, "torch"):
            from .torch_metadata import Distribution  # whose imports take longer than all of this

            yield Distribution(TORCH_VERSION)


finder = Finder()


def register() -> None:
    """Have the import system ask the finder, before it looks into folders."""
    if finder not in sys.meta_path:
        sys.meta_path.insert(0, finder)
