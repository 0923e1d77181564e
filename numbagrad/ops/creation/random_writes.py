"""Methods that fill a tensor with random numbers in place: ``uniform_``, ``normal_`` and their kin.

Torch's signatures over ``numbagrad/random.py``. A recorded filling cuts the history off: its
gradient is zero, as in torch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import random_filling as filling
from ...autograd.grad_mode import no_grad
from ...autograd.grad_mode import state as grad_mode
from ...autograd.tensor_interface import bump_version
from ...autograd.writes.inplace import before_write, compute_then_write
from ...dtype import bool_, finfo, iinfo
from ...executor.plan.sharing import check_written_once, refuse_overlap
from ...random import Generator
from ...tensor import Tensor
from ...transforms.levels import is_transformed
from ...transforms.randomness import fill_samples, has_samples, refuse_same
from ..arguments.kinds import NOT_GIVEN, Real, takes
from ..methods.registry import method
from ..operators.tensor_operator import TensorOperator, camel_case
from .filled import zeros_like
from .random import Draw, bernoulli, drawn

__all__: list[str] = []


def _in_place(name: str, grad_fn: str = "") -> Callable[[Tensor, Draw], Tensor]:
    """How a tensor is filled by a method of this name, which autograd sees as a constant."""
    recorded = TensorOperator(
        name,
        lambda input, draw: drawn(input, draw),
        {"input": lambda grad: zeros_like(grad)},
        grad_fn=grad_fn or camel_case(name) + "Backward0",
        takes_half=True,
        portable=True,
    )

    def fill_plain(tensor: Tensor, draw: Draw) -> None:
        before_write(tensor)
        draw(tensor._array)
        bump_version(tensor)

    def fill(tensor: Tensor, draw: Draw) -> Tensor:
        if 0 in tensor._array.strides:
            check_written_once(tensor._array)
        if has_samples() or is_transformed(tensor):
            tensor.zero_()  # for its history
            fill_samples(tensor, lambda memory: fill_plain(memory, draw))
            return tensor
        if tensor._requires_grad and grad_mode.enabled:
            return compute_then_write(tensor, lambda before: recorded(before, draw))
        fill_plain(tensor, draw)
        return tensor

    return fill


_fill_uniform, _fill_normal = _in_place("uniform"), _in_place("normal")
_fill_random, _fill_bernoulli = _in_place("random"), _in_place("bernoulli")
_fill_log_normal, _fill_cauchy = _in_place("log_normal"), _in_place("cauchy")
_fill_exponential, _fill_geometric = _in_place("exponential"), _in_place("geometric")


@method()
def uniform_(
    self: Tensor, from_: Real = 0, to: Real = 1, *, generator: Generator | None = None
) -> Tensor:
    """Fill with uniform numbers in [from, to)."""
    return _fill_uniform(self, lambda array: filling.fill_uniform(generator, array, from_, to))


@method()
def normal_(
    self: Tensor, mean: Real = 0, std: Real = 1, *, generator: Generator | None = None
) -> Tensor:
    """Fill with normal numbers."""
    return _fill_normal(self, lambda array: filling.fill_normal(generator, array, mean, std))


@method()
@takes("self: Tensor", "self: Tensor, to: int", "self: Tensor, from_: int, to: int | None")
def random_(
    self: Tensor, from_: Any = None, to: Any = NOT_GIVEN, *, generator: Generator | None = None
) -> Tensor:
    """Fill with whole numbers: ``random_()``, ``random_(to)`` or ``random_(from, to)``.

    With None for ``to`` they go up to the largest number of the dtype; of a float, to that up to
    which it has all of them.
    """

    def draw(array: np.ndarray[Any, Any]) -> None:
        if from_ is None and (to is NOT_GIVEN or to is None):
            filling.fill_random(generator, array)
        elif to is NOT_GIVEN:
            filling.fill_randint(generator, array, 0, from_)
        elif to is None:
            filling.fill_randint(generator, array, from_, _largest(self) + 1)
        else:
            filling.fill_randint(generator, array, from_ or 0, to)

    return _fill_random(self, draw)


def _largest(tensor: Tensor) -> int:
    """The largest whole number up to which a dtype has all of them."""
    if tensor.dtype.is_floating_point:
        return round(2 / finfo(tensor.dtype).eps)
    return 1 if tensor.dtype is bool_ else iinfo(tensor.dtype).max


@method()
@takes("self: Tensor, p?: Tensor | Real")
def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Fill with ones of probability ``p`` (a number, or a tensor of them) and zeros."""
    if isinstance(p, Tensor) and (has_samples() or is_transformed((self, p))):
        refuse_same(p)
        with no_grad():
            return self.copy_(bernoulli(p.expand(self._array.shape), generator=generator))
    probability = p
    if isinstance(p, Tensor):
        probability = p._array
        refuse_overlap(self._array, (probability,))
    return _fill_bernoulli(
        self, lambda array: filling.fill_bernoulli(generator, array, probability)
    )


@method()
def log_normal_(
    self: Tensor, mean: Real = 1, std: Real = 2, *, generator: Generator | None = None
) -> Tensor:
    """Fill with numbers whose logarithms are normal."""
    return _fill_log_normal(
        self, lambda array: filling.fill_log_normal(generator, array, mean, std)
    )


@method()
def exponential_(self: Tensor, lambd: Real = 1, *, generator: Generator | None = None) -> Tensor:
    """Fill with exponentially distributed numbers of rate ``lambd``."""
    return _fill_exponential(self, lambda array: filling.fill_exponential(generator, array, lambd))


@method()
def cauchy_(
    self: Tensor, median: Real = 0, sigma: Real = 1, *, generator: Generator | None = None
) -> Tensor:
    """Fill with numbers of the Cauchy distribution."""
    return _fill_cauchy(self, lambda array: filling.fill_cauchy(generator, array, median, sigma))


@method()
def geometric_(self: Tensor, p: Real, *, generator: Generator | None = None) -> Tensor:
    """Fill with the numbers of trials up to the first success of probability ``p``."""
    return _fill_geometric(self, lambda array: filling.fill_geometric(generator, array, p))
