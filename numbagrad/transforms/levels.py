"""The stack of transformations a thread is in, and what a Tensor under one of them shows.

Levels are opened by ``numbagrad.func`` and ``autograd.forward_ad``; ``dispatch/transformations.py``
reads what they put on Tensors. A level that is deeper in the stack was opened later and is applied
first.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..autograd.grad_mode import tangent_switch
from ..backend import foreign, on_host
from ..tensor import Tensor, new_tensor

__all__ = ["Batched", "Dual", "Level", "Transformed", "of_all_samples", "state_of"]

#: Kinds of levels.
BATCH, DUAL, GRAD, LAZY_CONJ = "vmap", "forward mode", "grad", "pending"
#: Random operators raise in a batch that is not told otherwise.
RAISES = "error"


class Level:
    """One transformation that is under way."""

    __slots__ = ("alive", "depth", "explicit", "has_history", "kind", "paused", "randomness",
                 "size")  # fmt: skip

    def __init__(self, kind: str, size: int = 0, randomness: str = RAISES) -> None:
        self.kind = kind
        #: Position in the stack, from 1 on.
        self.depth = 0
        self.alive = False
        #: The number of samples of a batch, and how random operators treat them.
        self.size = size
        self.randomness = randomness
        #: Whether arrays below a ``GRAD`` level have a history that something outside may follow;
        #: in forward mode, whether a tangent that was given has one.
        self.has_history = False
        #: Whether forward mode leaves tangents out of account at present.
        self.paused = False
        #: Whether it was opened by ``autograd.forward_ad``.
        self.explicit = False

    def __enter__(self) -> Level:
        self.paused = self.kind is DUAL and not stack.tangents_enabled
        stack.levels.append(self)
        self.depth = len(stack.levels)
        self.alive = True
        return self

    def __exit__(self, *exception: object) -> None:
        closed = stack.levels.pop()
        closed.alive = False
        assert closed is self, "levels are closed in the reverse order of their opening"


class _Stack(threading.local):
    def __init__(self) -> None:
        self.levels: list[Level] = []
        #: False if tangents are left out of account at all levels.
        self.tangents_enabled = True
        #: Whether gradients are made up, to find the transpose of the rules that take them.
        self.transposing = False


stack = _Stack()


def tangents_are_enabled() -> bool:
    """Whether operators of this thread compute tangents."""
    return stack.tangents_enabled


def enable_tangents(enabled: bool) -> None:
    """Have operators of this thread compute tangents, or leave them out of account."""
    stack.tangents_enabled = enabled
    for level in stack.levels:
        if level.kind is DUAL:
            level.paused = not enabled


tangent_switch.is_enabled = tangents_are_enabled
tangent_switch.enable = enable_tangents


def innermost(kind: str) -> Level | None:
    """The level of this kind that was opened last, of those that are open."""
    return next((level for level in reversed(stack.levels) if level.kind is kind), None)


class Batched:
    """A Tensor for every sample: ``value`` has the samples along its first dimension."""

    __slots__ = ("level", "value")

    def __init__(self, level: Level, value: Tensor) -> None:
        self.level = level
        self.value = value


class Dual:
    """A Tensor and its directional derivative, both of the level below.

    At a level of kind ``GRAD`` there is no derivative; the Tensor that shows this has a history.
    """

    __slots__ = ("level", "primal", "tangent")

    def __init__(self, level: Level, primal: Tensor, tangent: Tensor | None) -> None:
        self.level = level
        self.primal = primal
        self.tangent = tangent


class LazyConj:
    """A Tensor whose elements are conjugated, negated or both when they are read.

    ``primal`` is a Tensor of the same memory as it is, without a history. The level lies below all
    others and is always there: what no transformation is left of is computed from the elements.
    """

    __slots__ = ("conjugated", "negated", "primal")

    level: Level

    def __init__(self, primal: Tensor, conjugated: bool, negated: bool) -> None:
        self.primal = primal
        self.conjugated = conjugated
        self.negated = negated


LazyConj.level = Level(LAZY_CONJ)
LazyConj.level.alive = True


class Transformed(np.ndarray):
    """``Tensor._array`` under a transformation: shape, strides and dtype, for no kernel.

    Launchers take only plain ndarrays. Functions of NumPy raise, so that an operator that does not
    know of transformations cannot compute with what stands in for the memory.
    """

    __slots__ = ("state",)

    #: ``Batched``, ``Dual`` or ``LazyConj``; not set for an array that was derived from one past
    #: the operators.
    state: Any

    @property
    def lazy_conj(self) -> tuple[bool, bool]:
        """Whether the elements are to be conjugated, and whether to be negated."""
        array: Any = self
        while array.__class__ is Transformed:
            state = getattr(array, "state", None)
            if state.__class__ is LazyConj:
                return state.conjugated, state.negated
            if state is None:
                break
            array = (state.value if state.__class__ is Batched else state.primal)._array
        return False, False

    @property
    def of_all_samples(self) -> Any:
        """The array, of all samples and without tangents, that this one shows; None if unknown."""
        array: Any = self
        while array.__class__ is Transformed:
            state = getattr(array, "state", None)
            if state is None:
                return None
            array = (state.value if state.__class__ is Batched else state.primal)._array
        return array

    @property
    def elsewhere(self) -> Any:
        """The array of another backend that this stands for; None for memory of the CPU."""
        array = self.of_all_samples
        return None if array is None or foreign(array) is None else array

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        raise _unknown(ufunc.__name__)

    def __array_function__(self, function: Any, *rest: Any) -> Any:
        raise _unknown(function.__name__)

    def item(self, *position: Any) -> Any:
        """The element, which all samples of a batch would have to share."""
        return _memory_of(self, ITEM).item(*position)

    def tolist(self) -> Any:
        """The elements as numbers, if they are no samples."""
        return _memory_of(self, NO_MEMORY).tolist()

    def __bool__(self) -> bool:
        return bool(_memory_of(self, BRANCH))

    def __int__(self) -> int:
        return int(_memory_of(self, ITEM))

    def __float__(self) -> float:
        return float(_memory_of(self, ITEM))

    def __index__(self) -> int:
        return _memory_of(self, ITEM).__index__()

    def __setitem__(self, key: Any, value: Any) -> None:
        raise _unknown("assignment")


def _refused(name: str) -> Any:
    def method(self: Transformed, *arguments: Any, **options: Any) -> Any:
        raise _unknown(name)

    return method


# Methods of NumPy that read or write memory without asking ``__array_ufunc__``.
for _name in (
    "argmax", "argmin", "argpartition", "argsort", "astype", "byteswap", "choose", "compress",
    "cumprod", "cumsum", "dot", "dump", "dumps", "fill", "nonzero", "partition", "put", "repeat",
    "round", "searchsorted", "sort", "take", "tobytes", "tofile", "trace",
):  # fmt: skip
    setattr(Transformed, _name, _refused(_name))

ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling "
    ".item() on a Tensor, please try to rewrite what you're doing with other operations. If error "
    "is occurring somewhere inside PyTorch internals, please file a bug report."
)
BRANCH = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We "
    "don't support that yet, please file an issue at https://github.com/pytorch/pytorch/issues ."
)
NO_MEMORY = "Cannot access data pointer of Tensor that doesn't have storage"


def _memory_of(array: Transformed, refusal: str) -> np.ndarray[Any, Any]:
    """The memory that a dual tensor shows; raises torch's error for that of samples."""
    state = getattr(array, "state", None)
    if state is None:
        raise _unknown("values")
    while state.__class__ is Dual:
        memory = state.primal._array
        if memory.__class__ is not Transformed:
            made: np.ndarray[Any, Any] = on_host(memory)
            return made
        state = memory.state
    raise RuntimeError(refusal)


def _unknown(function: str) -> NotImplementedError:
    levels = " inside ".join(level.kind for level in reversed(stack.levels)) or "a transformation"
    return NotImplementedError(
        f"an operator read memory through NumPy's {function} under {levels}, for which it has no "
        "rule; please report it, or use another operator"
    )


def state_of(tensor: Any) -> Any:
    """The ``Batched``, ``Dual`` or ``LazyConj`` of a Tensor, None for an ordinary one.

    Raises:
        NotImplementedError: for a Tensor that was made past the operators.
    """
    array = tensor._array
    if array.__class__ is not Transformed:
        return None
    try:
        return array.state
    except AttributeError:
        raise _unknown("views") from None


def refuse_samples(function: str, *tensors: Any) -> None:
    """Raise torch's error for a function whose result has a size that depends on values.

    Raises:
        RuntimeError: if one of the Tensors stands for the samples of a batch.
    """
    if any([is_batched(tensor) for tensor in tensors]):
        raise RuntimeError(
            "vmap: We do not support batching operators that can output dynamic shape. Attempted "
            f"to vmap over aten::{function}. Please file an issue at "
            "https://github.com/pytorch/pytorch/issues if you need this feature."
        )


def is_batched(tensor: Any) -> bool:
    """Whether a Tensor stands for the samples of a batch, whatever else is on it."""
    state = state_of(tensor) if isinstance(tensor, Tensor) else None
    while state is not None:
        if state.__class__ is Batched:
            return True
        state = state_of(state.primal)
    return False


def of_all_samples(tensor: Tensor) -> Tensor:
    """The Tensor, of all samples and without tangents, that one under transformations shows."""
    tensor = settled(tensor)
    while (state := state_of(tensor)) is not None:
        tensor = settled(state.value if state.__class__ is Batched else state.primal)
    return tensor


def is_transformed(argument: Any) -> bool:
    """Whether an argument of an operator is a Tensor under a transformation, or a list with one."""
    if isinstance(argument, Tensor):
        return argument._array.__class__ is Transformed
    if argument.__class__ is list or argument.__class__ is tuple:
        for item in argument:  # the items of arguments are most often Tensors themselves
            if isinstance(item, Tensor):
                if item._array.__class__ is Transformed:
                    return True
            elif is_transformed(item):
                return True
    return False


def may_be_checked(*gradients: Any) -> bool:
    """Whether the values of gradients say something about the program of a user.

    Not those under a transformation, nor made-up ones, which a rule takes to be transposed.
    """
    return not stack.transposing and not any([is_transformed(x) for x in gradients])


def stand_in(array: Any) -> Transformed:
    """An array that lies as another one: on its memory, or on none for that of another backend."""
    if not isinstance(array, np.ndarray):
        array = as_strided(np.empty(1, array.dtype), array.shape, array.strides)
    return array.view(Transformed)


def batched(level: Level, value: Tensor) -> Tensor:
    """The Tensor that stands for the samples along the first dimension of ``value``."""
    memory = value._array
    if memory.__class__ is Transformed:
        memory = memory.view(np.ndarray)
    if memory.shape[0]:
        shown = stand_in(memory[0, ...])
    else:
        shown = np.ndarray.__new__(Transformed, memory.shape[1:], memory.dtype)
    shown.state = Batched(level, value)
    return new_tensor(shown)


def dual(level: Level, primal: Tensor, tangent: Tensor | None) -> Tensor:
    """A Tensor with the memory of ``primal`` that carries ``tangent``; without a history.

    Of a level of kind ``GRAD`` it has no tangent: what it has for itself is a history.
    """
    shown = stand_in(primal._array)
    shown.state = Dual(level, primal, tangent)
    result = new_tensor(shown)
    if primal._version_cell is None:
        primal._version_cell = [0]
    result._version_cell = primal._version_cell
    return result


def lazy_conj(memory: Tensor, conjugated: bool, negated: bool) -> Tensor:
    """The elements of a plain Tensor as they are read so; without a history."""
    if not (conjugated or negated):
        return memory
    shown = stand_in(memory._array)
    shown.state = LazyConj(memory, conjugated, negated)
    result = new_tensor(shown)
    if memory._version_cell is None:
        memory._version_cell = [0]
    result._version_cell = memory._version_cell
    return result


@contextlib.contextmanager
def without_tangents(level: Level) -> Iterator[None]:
    """Within it, operators leave the tangents of a level out of account."""
    before, level.paused = level.paused, True
    try:
        yield
    finally:
        level.paused = before


def settled(tensor: Tensor) -> Tensor:
    """The Tensor without the tangents of levels that are closed or paused.

    Raises:
        RuntimeError: for a batch whose ``vmap`` has returned.
    """
    if tensor._array.__class__ is not Transformed:
        return tensor
    state = state_of(tensor)
    while state is not None and (state.level.paused or not state.level.alive):
        if state.__class__ is Batched:
            raise RuntimeError(
                "a Tensor of one sample was used after the vmap that made it had returned; return "
                "it from the function instead of keeping it"
            )
        tensor = state.primal
        state = state_of(tensor)
    return tensor
