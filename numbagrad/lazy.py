"""Names of a package whose modules are imported when a name is first asked for.

A package whose code most programs never run lists its public names with the modules that define
them, and takes its ``__getattr__`` and ``__dir__`` (PEP 562) from here.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(
    package: str,
    homes: Mapping[str, str],
    shown: Callable[[Any, str], Any] = lambda value, name: value,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package.

    Args:
        package: its ``__name__``.
        homes: for every name the module of the package that defines it, ``".module"``, or
            ``".module:name"`` if it has another name there; a name that is a module itself is its
            own home, and ``".."`` stands for the package around.
        shown: what the package shows of a value that was found, under a name.
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home, _, other = homes[name].partition(":")
        module = importlib.import_module(home, package)
        value = (
            module if home in (f".{name}", "..") else shown(getattr(module, other or name), name)
        )
        setattr(sys.modules[package], name, value)  # the next access finds it without a call
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return find, names
