"""Names that torch has and this library has not: they can be imported, and say so when used.

Programs import more than they run. A module that lists such names takes its ``__getattr__`` from
``lacking``; each name is then a class, so that it can stand in annotations, in ``isinstance`` and
as a base, and every call of it, and every attribute, raises NotImplementedError.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, NoReturn

__all__ = ["AbsentAttributeError", "absent", "absent_if_missing", "lacking"]

_OURS = __name__.partition(".")[0]


class AbsentAttributeError(NotImplementedError, AttributeError):
    """An attribute of what is not there, which is one that is missing to ``hasattr``."""


class _Absent(type):
    """The class of such names."""

    _reason: str

    def __call__(cls, *arguments: Any, **keywords: Any) -> NoReturn:
        raise NotImplementedError(cls._reason)

    def __getattr__(cls, name: str) -> NoReturn:
        if name.startswith("_"):  # Python and its tools ask for these
            raise AttributeError(name)
        raise AbsentAttributeError(cls._reason)

    def __repr__(cls) -> str:
        return f"<{cls.__module__}.{cls.__qualname__}, which numbagrad does not have>"


def absent(path: str, reason: str) -> type:
    """A class that stands for ``path``, a dotted name of torch.

    Args:
        path: as ``torch.fx.symbolic_trace``.
        reason: what is missing, or what to do instead; the end of the error.
    """
    module, _, name = path.rpartition(".")
    text = f"{path} is not available in numbagrad: {reason}"
    return _Absent(name, (), {"__module__": module, "_reason": text, "__doc__": text})


def absent_if_missing(module: ModuleType, path: str, reason: str) -> None:
    """Let the names, and the modules, that torch's ``path`` has beside those of a module be absent.

    Of ``torch._C`` names stay missing: programs ask whether they are there.
    """
    if not hasattr(module, "__path__"):
        module.__path__ = []  # what lies below it is asked of the finder of torch's names
    if path == "torch._C":
        return
    own: Callable[[str], Any] | None = vars(module).get("__getattr__")

    def find(name: str) -> Any:
        if own is not None:
            try:
                return own(name)
            except AttributeError:
                if name.startswith("__"):
                    raise
        if name.startswith("__"):  # Python and its tools ask for these
            raise AttributeError(f"module {path!r} has no attribute {name!r}")
        value = absent(f"{path}.{name}", reason)
        setattr(module, name, value)
        return value

    module.__getattr__ = find  # type: ignore[method-assign]


def lacking(
    module: str, reason: str, names: str, homes: Mapping[str, str] | None = None
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """``__all__``, ``__getattr__`` and ``__dir__`` of a module whose ``names`` are absent.

    Args:
        module: its ``__name__``.
        reason: as for ``absent``.
        names: separated by spaces.
        homes: names that do exist, and are imported when they are asked for, as ``lazy_names``
            takes them.
    """
    path = module.replace(_OURS, "torch", 1)
    missing = dict.fromkeys(names.split())

    def find(name: str) -> Any:
        if name in missing:
            value = absent(f"{path}.{name}", reason)
        elif homes and name in homes:
            return lazily(name)
        else:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        setattr(sys.modules[module], name, value)
        return value

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[module]), *missing, *(homes or ())})

    if homes:
        from .lazy import lazy_names

        lazily, _ = lazy_names(module, homes)
    return [*missing, *(homes or ())], find, listed
