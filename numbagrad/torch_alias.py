"""``torch`` as another name of this package, for programs that say ``import torch``.

A finder on ``sys.meta_path`` answers for ``torch.*`` while ``sys.modules["torch"]`` is this
package, and only then: a torch that is installed is left alone otherwise. What it answers with are
the modules of this package themselves, so that nothing is loaded twice and ``torch.nn is
numbagrad.nn``. ``numbagrad/running.py`` installs the name; ``sys.modules["torch"] = numbagrad`` by
hand is enough as well. This file is imported with the package, and imports little for that.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from ._version import __version__ as own_version

__all__ = ["TORCH_VERSION", "finder", "is_torch", "register", "seen_version"]

#: The torch that this package follows, as programs see it that ask ``torch`` for its version.
TORCH_VERSION = "2.13.0+numbagrad"

_OURS = __name__.partition(".")[0]


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
        share_hidden(self._real)


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


class Finder:
    """Finds ``torch.*`` and the metadata of a distribution ``torch``, while this package is it."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """What loads ``torch.x``; None for other names, and where another torch is imported."""
        if not name.startswith("torch.") or not is_torch():
            return None
        real = _OURS + name[len("torch") :]
        parent, _, child = real.rpartition(".")
        importlib.import_module(parent)
        seen = vars(sys.modules[parent]).get(child)
        if callable(seen):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        found = importlib.util.find_spec(real)
        if found is None:
            return None
        loader: Any = _Loader(real)
        is_package = found.submodule_search_locations is not None
        spec = ModuleSpec(name, loader, origin=found.origin, is_package=is_package)
        if is_package:
            spec.submodule_search_locations = found.submodule_search_locations
        return spec

    def find_distributions(self, context: Any) -> Iterator[Any]:
        """Metadata of torch, for libraries that ask ``importlib.metadata`` for its version."""
        if is_torch() and context.name in (None, "torch"):
            from .running import distribution

            yield distribution()


finder = Finder()


def register() -> None:
    """Have the import system ask the finder, before it looks into folders."""
    if finder not in sys.meta_path:
        sys.meta_path.insert(0, finder)
