"""Random operators inside of ``vmap``: raise, or draw the same or different numbers.

``ops/creation/random.py`` makes its tensors through ``drawn_for_samples``, and
``ops/creation/random_writes.py`` fills them in place through ``fill_samples``. Levels around others
add up: each says how its own samples differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..tensor import Tensor
from .levels import BATCH, Batched, Dual, Level, batched, settled, stack, state_of

__all__ = ["drawn_for_samples", "fill_samples", "has_samples", "refuse_same"]


def has_samples() -> bool:
    """Whether a ``vmap`` is under way."""
    return bool(stack.levels) and bool(_batches())


def _batches() -> list[Level]:
    return [level for level in stack.levels if level.kind is BATCH]


def _check(level: Level) -> None:
    if level.randomness == "error":
        raise RuntimeError(
            "vmap: called random operation while in randomness error mode. Please either use the "
            "'same' or 'different' randomness flags on vmap or perform the randomness operation "
            "out of vmap"
        )


def drawn_for_samples(make: Callable[[tuple[int, ...]], Tensor]) -> Tensor:
    """``make(sizes)`` with the sizes of the batches whose samples differ, as a Tensor of samples.

    Raises:
        RuntimeError: if a ``vmap`` around does not allow random operators.
    """
    levels = _batches()
    for level in reversed(levels):
        _check(level)
    different = [level for level in levels if level.randomness == "different"]
    made = make(tuple([level.size for level in different]))
    for level in different:
        made = batched(level, made)
    return made


def fill_samples(tensor: Tensor, fill: Callable[[Tensor], None]) -> None:
    """``fill(tensor)``, on the memory of all samples; once for all where they are to be the same.

    Raises:
        RuntimeError: where random operators are not allowed, or where samples are to differ but the
            tensor is one for all.
    """
    _fill(settled(tensor), fill, _batches())


def _fill(tensor: Tensor, fill: Callable[[Tensor], None], levels: Sequence[Level]) -> None:
    state = state_of(tensor)
    if state.__class__ is Dual:
        _fill(state.primal, fill, levels)
        if state.tangent is not None:
            state.tangent.zero_()
        return
    if not levels:
        fill(tensor)
        return
    level = levels[-1]
    _check(level)
    mapped = state.__class__ is Batched and state.level is level
    if level.randomness == "same":
        if not mapped:
            _fill(tensor, fill, levels[:-1])
        elif level.size:
            one = state.value.select(0, 0).clone()
            _fill(one, fill, levels[:-1])
            state.value.copy_(one.expand(state.value._array.shape))
        return
    if not mapped:
        raise RuntimeError(
            "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will "
            "appear like same randomness. If this is necessary for your usage, please file an "
            "issue with functorch."
        )
    _fill(state.value, fill, levels[:-1])


def refuse_same(*tensors: Tensor) -> None:
    """Raise for operators that draw by the values of samples while these are to be the same."""
    for tensor in tensors:
        state = state_of(settled(tensor))
        while state is not None:
            if state.__class__ is Batched:
                _check(state.level)
                if state.level.randomness == "same":
                    raise RuntimeError(
                        "Vmap does not currently support same randomness with a batched tensor "
                        "input. Please file an issue with functorch"
                    )
                state = state_of(state.value)
            else:
                state = state_of(state.primal)
