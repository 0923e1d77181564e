"""Reductions of losses to one number, by the name of today and by the flags of 2017.

Called by the losses beside this file and by ``nn/loss.py``.
"""

from __future__ import annotations

from ...ops.arguments.shared_parameters import BY_PLACE, Group, Parameter
from ...tensor import Tensor
from ...type_names import type_name
from ...warn_once import warn_caller
from .checks import Reduction

__all__ = ["REDUCTION", "reduce_loss", "reduction_name"]


def reduction_name(
    size_average: bool | None, reduce: bool | None, reduction: Reduction
) -> Reduction:
    """The reduction, or what the two flags of the time before torch 0.4.1 say."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is not None and not reduce:
        name = "none"
    else:
        name = "mean" if size_average is None or size_average else "sum"
    warn_caller(
        f"size_average and reduce args will be deprecated, please use reduction='{name}' instead.",
    )
    return name


#: ``reduction``, and the flags of before, which few calls have.
REDUCTION = Group(
    (
        Parameter("size_average", BY_PLACE, default=None, annotation="bool | None"),
        Parameter("reduce", BY_PLACE, default=None, annotation="bool | None"),
        Parameter("reduction", BY_PLACE, default="mean", annotation="Reduction"),
    ),
    {
        "reduction": "reduction if size_average is None and reduce is None else "
        "reduction_name(size_average, reduce, reduction)"
    },
    {"reduction_name": reduction_name},
)


def reduce_loss(loss: Tensor, reduction: str) -> Tensor:
    """The mean or the sum of a loss, or the loss itself for "none"."""
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    checked_reduction(reduction)
    return loss


def checked_reduction(reduction: Reduction) -> Reduction:
    """The name of a reduction, for losses that look at it before anything else.

    Raises:
        ValueError: if there is none of this name.
    """
    if isinstance(reduction, str):
        if reduction in ("mean", "sum", "none"):
            return reduction
        raise ValueError(f"{reduction} is not a valid value for reduction")
    raise ValueError(
        f"{reduction} is not a valid value for reduction: it must be 'mean', 'sum' or 'none', not "
        f"{type_name(reduction)}"
    )
