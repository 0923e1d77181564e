"""``torch.torch_version``: a version as a string that compares by its numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

__all__ = ["TorchVersion"]

_PATTERN = re.compile(
    r"v?(?P<release>\d+(\.\d+)*)[-_.]?(?P<phase>dev|a|alpha|b|beta|c|rc|post)?[-_.]?(?P<count>\d*)"
    r"(\+(?P<local>[a-z0-9]+([-_.][a-z0-9]+)*))?",
    re.IGNORECASE,
)
#: Development versions come before what they lead to, corrections after it.
_PHASES = {"dev": -4, "a": -3, "alpha": -3, "b": -2, "beta": -2, "c": -1, "rc": -1, "post": 1}


def _key(version: Any) -> tuple[Any, ...]:
    """The sort key of versions: numbers, phase, and the part behind a plus sign."""
    if not isinstance(version, str):
        is_numbers = isinstance(version, Iterable)
        version = ".".join(str(part) for part in version) if is_numbers else str(version)
    match = _PATTERN.match(version.strip())
    if match is None:
        raise ValueError(f"Invalid version: {version!r}")
    release = [int(number) for number in match["release"].split(".")]
    while release and release[-1] == 0:
        release.pop()
    phase = _PHASES.get((match["phase"] or "").lower(), 0)
    local = re.split("[-_.]", (match["local"] or "").lower())
    parts = tuple((part.isdigit(), int(part) if part.isdigit() else part) for part in local)
    return tuple(release), phase, int(match["count"] or 0), parts


class TorchVersion(str):
    """A version: a ``str`` for who prints it, numbers for who compares it.

    It compares with strings, with tuples as ``(2, 1)``, and with versions of ``packaging``.
    """

    def __eq__(self, other: object) -> bool:
        try:
            return _key(str(self)) == _key(other)
        except ValueError:
            return str(self) == other

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: Any) -> bool:
        return _key(str(self)) < _key(other)

    def __le__(self, other: Any) -> bool:
        return _key(str(self)) <= _key(other)

    def __gt__(self, other: Any) -> bool:
        return _key(str(self)) > _key(other)

    def __ge__(self, other: Any) -> bool:
        return _key(str(self)) >= _key(other)

    __hash__ = str.__hash__
