"""Classes and functions that users declare safe for ``load``: ``add_safe_globals`` and its kin."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

#: Modules whose functions are never data, whatever a user declares.
REFUSED = frozenset(("sys", "os", "posix", "nt"))

_declared: set[Any] = set()


def add_safe_globals(safe_globals: Iterable[Any]) -> None:
    """Let files that are loaded with ``weights_only=True`` name, make and set the state of these.

    Args:
        safe_globals: classes and functions; or tuples of one and the full name that files have for
            it, where that is another one.
    """
    _declared.update(safe_globals)


def get_safe_globals() -> list[Any]:
    """The objects that were declared safe."""
    return list(_declared)


def clear_safe_globals() -> None:
    """Declare nothing safe any more."""
    _declared.clear()


class safe_globals:
    """``with safe_globals([...]):`` as :func:`add_safe_globals`, until the block ends."""

    def __init__(self, safe_globals: Iterable[Any]) -> None:
        self.safe_globals = list(safe_globals)

    def __enter__(self) -> None:
        self._added = set(self.safe_globals) - _declared
        _declared.update(self._added)

    def __exit__(self, *error: Any) -> None:
        _declared.difference_update(self._added)


def declared(name_of: Callable[[Any], tuple[str, str]]) -> dict[tuple[str, str], Any]:
    """The objects that were declared safe, by module and name in files.

    Raises:
        ValueError, TypeError: for a declared tuple that is no object with its full name.
    """
    found: dict[tuple[str, str], Any] = {}
    for each in _declared:
        if isinstance(each, tuple):
            if len(each) != 2:
                raise ValueError(
                    "Expected tuple of length 2 (global, str of callable full path), but got tuple "
                    f"of length: {len(each)}"
                )
            thing, path = each
            if type(path) is not str:
                raise TypeError(
                    "Expected second item in tuple to be str of callable full path, but got: "
                    f"{type(path)}"
                )
            parts = path.split(".")
            # Where the module ends is not said.
            for k in range(1, len(parts)):
                found[".".join(parts[:k]), ".".join(parts[k:])] = thing
        else:
            found[each.__module__, each.__qualname__] = each
            found[name_of(each)] = each
    return {name: thing for name, thing in found.items() if name[0] not in REFUSED}


__all__ = [
    "REFUSED", "add_safe_globals", "clear_safe_globals", "declared", "get_safe_globals",
    "safe_globals",
]  # fmt: skip
