"""Forward mode: tensors that carry a directional derivative through everything computed from them.

The names of ``torch.autograd.forward_ad``. A dual tensor is made and taken apart here; what
operators do with one is in ``numbagrad/transforms``. Imported when a name of it is asked for.
"""

from __future__ import annotations

from typing import NamedTuple

from ..tensor import Tensor
from ..transforms import levels
from ..transforms.layouts import check_differentiable, laid_out_as, of_dtype
from ..transforms.levels import DUAL, Dual, Level, dual, settled, state_of
from ..transforms.tracking import has_history
from .grad_mode import GradModeContext

__all__ = [
    "UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual",
    "unpack_dual",
]  # fmt: skip


class UnpackedDualTensor(NamedTuple):
    """Result of ``unpack_dual``: the tensor, and its tangent or None."""

    primal: Tensor
    tangent: Tensor | None


def _open_levels() -> list[Level]:
    return [level for level in levels.stack.levels if level.explicit]


def enter_dual_level() -> int:
    """Open the level that dual tensors belong to; its number is 0.

    Raises:
        RuntimeError: if one is open: nested forward mode is ``numbagrad.func.jvp``.
    """
    if _open_levels():
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    level = Level(DUAL)
    level.explicit = True
    level.__enter__()
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the level; its tangents are gone with it.

    Raises:
        RuntimeError: if no level is open, or another transformation was opened inside.
    """
    found = _open_levels()
    if not found and level is None:
        raise RuntimeError("Dual level must be a positive number.")
    if not found or level not in (None, 0) or levels.stack.levels[-1] is not found[-1]:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is "
            "not supported."
        )
    found[-1].__exit__()


class dual_level(GradModeContext):
    """Context manager, and decorator, within which there are dual tensors."""

    def __enter__(self) -> int:  # type: ignore[override]
        return enter_dual_level()

    def __exit__(self, *exception: object) -> None:
        exit_dual_level()


_is_fwd_grad_enabled = levels.tangents_are_enabled


class _set_fwd_grad_enabled(GradModeContext):
    """Switch the computation of tangents on or off in this thread; a ``with`` ends it.

    Args:
        mode: whether operators see tangents.
    """

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self.prev = _is_fwd_grad_enabled()
        levels.enable_tangents(mode)

    def clone(self) -> _set_fwd_grad_enabled:
        """A new context of the same mode."""
        return type(self)(self.mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        levels.enable_tangents(self.prev)


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A view of ``tensor`` that carries ``tangent``, of the same shape; in its dtype.

    Raises:
        RuntimeError: outside of a dual level, if shapes differ, or if one of them is dual already.
        ValueError: for tensors that are not of floating point, or a complex tangent of a real one.
    """
    found = _open_levels()
    if not found or (level is not None and level < 0):
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
            "enter_dual_level() first."
        )
    return dual_view(found[-1], tensor, tangent)


def dual_view(level: Level, tensor: Tensor, tangent: Tensor) -> Tensor:
    """A dual tensor, as of ``make_dual``, for a level of any kind of forward mode."""
    if tensor._array.dtype.kind not in "fcV":
        raise ValueError(
            f"Expected primal to be floating point or complex, but got: {tensor.dtype}"
        )
    check_differentiable(tangent)
    if tensor._array.shape != tangent._array.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original "
            f"Tensor, this is not supported. Tensor is of size {list(tensor._array.shape)} while "
            f"the given forward gradient is of size {list(tangent._array.shape)}."
        )
    tensor, tangent = settled(tensor), settled(of_dtype(tensor, tangent))
    if _is_dual_at(level, tensor):
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the "
            "same level 0 is not supported."
        )
    if _is_dual_at(level, tangent):
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level0 is not "
            "supported."
        )
    tangent = laid_out_as(tensor, tangent)
    level.has_history |= has_history(tangent)
    made = dual(level, tensor, tangent)
    if not tensor._requires_grad:  # a view without a history has no more than its base
        made._viewed = tensor if tensor._viewed is None else tensor._viewed
        return made
    view = tensor.view_as(tensor)
    made._viewed, made._requires_grad = view._viewed, view._requires_grad
    made._producer, made._output_nr = view._producer, view._output_nr
    return made


def _is_dual_at(level: Level, tensor: Tensor) -> bool:
    state = state_of(tensor)
    return state.__class__ is Dual and state.level is level


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """A tensor apart from its tangent, which is None for a tensor that is not dual."""
    found = _open_levels()
    if not found or (level is not None and level < 0):
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(*parts(found[-1], tensor))


def parts(level: Level, tensor: Tensor) -> tuple[Tensor, Tensor | None]:
    """The primal and the tangent that a tensor has at a level."""
    state = state_of(settled(tensor))
    if state.__class__ is Dual and state.level is level:
        return state.primal.view_as(state.primal), state.tangent
    return settled(tensor), None


def __getattr__(name: str) -> int:
    """``_current_level``: the number of the open level, -1 if there is none."""
    if name == "_current_level":
        return len(_open_levels()) - 1
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
