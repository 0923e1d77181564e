"""``poisson`` and ``binomial`` of the public namespace: numbers drawn for rates and counts.

Their gradients are zeros, as in torch: what is drawn is not differentiated.
"""

from __future__ import annotations

from typing import Any

from .. import half_precision as half
from ..dtype import scalar_type_name
from ..executor import capture
from ..executor.families.checks import check_fractions, check_signs
from ..ops.creation.filled import zeros
from ..ops.operators.tensor_operator import TensorOperator
from ..random import Generator
from ..tensor import Tensor, new_tensor
from ..type_names import type_name
from . import sampling

__all__ = ["binomial", "poisson"]

_poisson = TensorOperator(
    "poisson",
    lambda input, generator: sampling.poisson(new_tensor(input), generator)._array,
    {"input": lambda grad, input_shape: zeros(input_shape, dtype=grad.dtype, device=grad.device)},
    portable=True,
)
_binomial = TensorOperator(
    "binomial",
    lambda count, prob, generator: (
        sampling.binomial(new_tensor(count), new_tensor(prob), generator)._array
    ),
    {
        "count": lambda grad, count_shape: zeros(count_shape, dtype=grad.dtype, device=grad.device),
        "prob": lambda grad, prob_shape: zeros(prob_shape, dtype=grad.dtype, device=grad.device),
    },
    portable=True,
)


def _check_generator(name: str, generator: Generator | None) -> None:
    if generator is not None and not isinstance(generator, Generator):
        raise TypeError(
            f"{name}(): argument 'generator' must be a torch.Generator, not {type_name(generator)}"
        )


def _explain_counts(counts: Any) -> None:
    if (half.readable(counts) < 0).any():
        raise RuntimeError("binomial: expected all elements of count to be non-negative")


def _explain_chances(chances: Any) -> None:
    chances = half.readable(chances)
    if ((chances < 0) | (chances > 1)).any():
        raise RuntimeError("binomial: expected all elements of prob to be between 0 and 1")


def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Poisson numbers of these rates, in their dtype; the gradient is zero.

    Raises:
        RuntimeError: for negative rates.
        NotImplementedError: for what are no floats.
    """
    _check_generator("poisson", generator)
    if not input.is_floating_point():
        raise NotImplementedError(
            f"\"poisson_cpu\" not implemented for '{scalar_type_name(input.dtype)}'; convert the "
            "input with .to(dtype)"
        )
    capture.refuse("poisson(), whose numbers are drawn one by one")
    made: Tensor = _poisson(input, generator)
    return made


def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """How many of ``count`` trials succeed, each with probability ``prob``; broadcast.

    Raises:
        RuntimeError: for dtypes that differ, negative counts, and probabilities outside [0, 1].
        ValueError: for what are no floats.
    """
    _check_generator("binomial", generator)
    for name, x in (("count", count), ("prob", prob)):
        if not x.is_floating_point():
            raise ValueError(
                f"binomial only supports floating-point dtypes for {name}, got: "
                f"{scalar_type_name(x.dtype)}; convert it with .to(dtype)"
            )
    if count.dtype is not prob.dtype:
        raise RuntimeError(
            f"Found dtype {scalar_type_name(prob.dtype)} but expected "
            f"{scalar_type_name(count.dtype)}"
        )
    capture.refuse("binomial(), whose numbers are drawn one by one")
    check_signs("binomial(): a count", count.detach()._array, _explain_counts)
    check_fractions("binomial(): a probability", prob.detach()._array, _explain_chances)
    made: Tensor = _binomial(count, prob, generator)
    return made
