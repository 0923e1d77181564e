"""The pair of a signature: the forward and the backward that are compiled for one form of a call.

Of a composite operator (``ops/operators/composite_pair.py``) and of a compiled function
(``compiling/captured_call.py``) both are programs that are made together, and the object that runs
them is a ``Pair``. The kernels of an eager operator are found one by one, by launchers and by the
nodes they leave: ``EagerPair`` holds those of a signature, of which there is one object, whether it
is asked for by a call or by a node (``eager_pair``). ``explain`` and ``functions.Relu.kernels``
show pairs, and learn from nothing else what was compiled.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np

from ..dtype import name_of
from .cache.library import Kernel

#: Values that a node keeps: its name, and a description of each.
Kept = tuple[str, tuple[str, ...]]


class Pair(Protocol):
    """Forward and backward of one signature."""

    @property
    def signature(self) -> str:
        """The arguments: dtypes and shapes of arrays, and other values as they are."""

    @property
    def forward_kernels(self) -> tuple[Kernel, ...]:
        """The kernels of the forward, in order, each once."""

    @property
    def backward_kernels(self) -> tuple[Kernel, ...]:
        """The kernels of the backward; none without one."""

    @property
    def kept(self) -> tuple[Kept, ...]:
        """Values kept for the backward: an entry for each node, in the backward's order.

        Values are described by their names where they have one, their dtypes and shapes.
        """


@dataclasses.dataclass(frozen=True)
class EagerPair:
    """The pair of a signature of an eager operator, as a call of it was seen to run."""

    operator: str
    signature: str
    forward_kernels: tuple[Kernel, ...]
    backward_kernels: tuple[Kernel, ...]
    kept: tuple[Kept, ...]


#: The pairs that somebody asked for, each once.
_known: dict[EagerPair, EagerPair] = {}
_MANY = 1024


def eager_pair(
    operator: str,
    signature: str,
    forward_kernels: tuple[Kernel, ...],
    backward_kernels: tuple[Kernel, ...],
    kept: tuple[Kept, ...],
) -> EagerPair:
    """The one object for the pair of a signature of an operator."""
    pair = EagerPair(operator, signature, forward_kernels, backward_kernels, kept)
    if len(_known) >= _MANY:
        _known.clear()
    return _known.setdefault(pair, pair)


def signature_of(arguments: Iterable[Any]) -> str:
    """The signature of these arguments; a form stands for an array."""
    return ", ".join([described(value) for value in arguments])


def described(value: Any) -> str:
    """An array, or its form, by dtype and shape; other values as they are."""
    if isinstance(value, (list, tuple)) and not hasattr(value, "dtype"):
        return f"[{signature_of(value)}]"
    if isinstance(getattr(value, "dtype", None), np.dtype):
        return f"{name_of(value.dtype)}{list(value.shape)}"
    return repr(value)
