"""Keys of torch's dispatcher, of which libraries make sets where they are imported.

There is no dispatcher here: a set of keys can be made and compared, and turns autocast off alone.
"""

from __future__ import annotations

from typing import Any

from ..autocast_state import state
from ..autograd.grad_mode import no_grad

__all__ = [
    "DispatchKey",
    "DispatchKeySet",
    "_AutoDispatchBelowAutograd",
    "_ExcludeDispatchKeyGuard",
]


class _Keys(type):
    """The class whose attributes are keys, whatever they are called."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        key = cls(name)
        setattr(cls, name, key)
        return key


class DispatchKey(metaclass=_Keys):
    """A key; ``DispatchKey.CPU`` is one, and the same each time."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"DispatchKey.{self.name}"


class DispatchKeySet:
    """A set of keys."""

    def __init__(self, *keys: DispatchKey) -> None:
        self._keys = frozenset(keys)

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self._keys | other._keys)

    def has(self, key: DispatchKey) -> bool:
        """Whether a key is in the set."""
        return key in self._keys

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(sorted(key.name for key in self._keys))})"


class _ExcludeDispatchKeyGuard:
    """A block in which autocast is off on the devices whose keys are in a set.

    Raises:
        NotImplementedError: where it begins, for keys of other kinds.
    """

    def __init__(self, keys: DispatchKeySet) -> None:
        self._keys = keys

    def __enter__(self) -> None:
        names = [key.name for key in self._keys._keys]
        if not all([name.startswith("Autocast") for name in names]):
            raise NotImplementedError(
                "torch._C._ExcludeDispatchKeyGuard: numbagrad has no dispatcher whose "
                f"{self._keys} could be left out"
            )
        off = {name.removeprefix("Autocast").lower() for name in names}
        self._before = state.settings
        state.settings = self._before._replace(enabled=self._before.enabled - off)

    def __exit__(self, *error: Any) -> None:
        state.settings = self._before


class _AutoDispatchBelowAutograd:
    """A block in which operators of ``torch.library`` are called without Autograd functions.

    Such a function calls its operator in the block for what computes the result. Nothing is
    recorded there.
    """

    def __enter__(self) -> None:
        from ..library import below_autograd

        below_autograd.depth += 1
        self._mode = no_grad()
        self._mode.__enter__()

    def __exit__(self, *error: Any) -> None:
        from ..library import below_autograd

        self._mode.__exit__(*error)
        below_autograd.depth -= 1
