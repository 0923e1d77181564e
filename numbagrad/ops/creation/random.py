"""Random tensors: ``rand``, ``randn``, ``randint``, ``normal``, ``bernoulli``, ``multinomial``.

Torch's signatures over ``numbagrad/random.py``, which draws torch's numbers from the same seed.
``random_writes.py`` has the methods that fill a tensor in place.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ... import half_precision as half
from ... import random as numbers
from ... import random_filling as filling
from ...autograd.grad_mode import no_grad
from ...autograd.grad_mode import state as grad_mode
from ...backend import Backend, foreign, shared_by
from ...dtype import int64, scalar_type_name
from ...executor.capture import outside_programs
from ...executor.families.checks import check_fractions, check_signs
from ...executor.families.conversion import convert
from ...executor.memory.arrays import filled, new_array
from ...executor.plan.sharing import check_written_once
from ...number_range import checked_number
from ...random import Generator, default_generator, initial_seed, manual_seed, seed
from ...tensor import Tensor, new_tensor
from ...transforms.batching import folded
from ...transforms.levels import is_transformed
from ...transforms.randomness import drawn_for_samples, has_samples, refuse_same
from ..arguments.kinds import takes
from ..arguments.requirements import (
    kind_of_new,
    leaf,
    numpy_dtype,
    require_tensor,
    shape_of,
    write,
)  # fmt: skip
from ..arguments.shapes import common_shape
from ..arguments.shared_parameters import SIZES, TENSOR_OPTIONS, shares
from ..conversion.dtypes import cast
from ..methods.registry import method
from ..operators.array_function import array_function
from ..operators.tensor_operator import TensorOperator
from .filled import empty_array_like, zeros_like

__all__ = [
    "Generator", "bernoulli", "default_generator", "get_rng_state", "initial_seed", "manual_seed",
    "multinomial", "normal", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like",
    "randperm", "seed", "set_rng_state",
]  # fmt: skip


def get_rng_state() -> Tensor:
    """The state of the default generator as a uint8 tensor."""
    return new_tensor(numbers.get_rng_state())


def set_rng_state(new_state: Tensor) -> None:
    """Let the default generator go on from a state that ``get_rng_state`` returned."""
    numbers.set_rng_state(new_state._array)


# --- new tensors ----------------------------------------------------------------------------------

Shape = tuple[int, ...]
Array = np.ndarray[Any, Any]
#: Draws numbers into an ndarray.
Draw = Callable[[Array], None]


def drawn(like: Array, draw: Draw) -> Array:
    """A new array like another one, filled with numbers."""
    made = new_array(like.shape, like.dtype, foreign(like))
    draw(made)
    return made


def _new(shape: Shape, make: Callable[[Shape], Array], requires_grad: bool) -> Tensor:
    """A leaf of what ``make(shape)`` draws; inside of ``vmap`` for all samples that differ."""
    if has_samples():
        return drawn_for_samples(lambda sizes: new_tensor(make((*sizes, *shape))))
    return leaf(make(shape), requires_grad)


def _filled(
    kind: np.dtype[Any], fill: Callable[[Array], None], where: Backend | None = None
) -> Callable[[Shape], Array]:
    """A function of a shape that makes an array of it, on a device, and fills that."""

    def make(shape: Shape) -> Array:
        array = new_array(shape, kind, where)
        fill(array)
        return array

    return make


def noise(shape: Shape, kind: np.dtype[Any], p: float) -> Tensor:
    """Ones with probability ``p``, else zeros, of a shape; inside of ``vmap`` for all samples."""
    fill = partial(_fill_with_bernoulli, None, p)
    return _new(shape, _filled(kind, fill), False)


def _fill_with_bernoulli(generator: Generator | None, p: Any, array: Array) -> None:
    filling.fill_bernoulli(generator, array, p)


def _sampler(name: str, fill: Callable[..., None], content: str) -> Any:
    """``rand`` or ``randn``."""

    def function(
        shape: Any,
        *,
        generator: Generator | None = None,
        dtype: Any,
        where: Any,
        requires_grad: bool,
    ) -> Tensor:
        make = _filled(numpy_dtype(name, dtype), partial(fill, generator), where)
        return _new(shape, make, requires_grad)

    function.__doc__ = f"A tensor of the given sizes of {content}."
    return shares(SIZES, TENSOR_OPTIONS, name=name)(function)


def _sampler_like(name: str, fill: Callable[..., None], content: str) -> Any:
    """``rand_like`` or ``randn_like``."""

    def function(
        input: Tensor, *, dtype: Any, device: Any, requires_grad: bool, memory_format: Any = None
    ) -> Tensor:
        require_tensor(name, input)
        if has_samples():
            kind = numpy_dtype(name, dtype, input._array.dtype)
            make = _filled(kind, partial(fill, None))
            return _new(input._array.shape, make, requires_grad)
        array = empty_array_like(name, input, dtype, device, memory_format)
        fill(None, array)
        return leaf(array, requires_grad)

    function.__doc__ = f"A tensor of the size and the dtype of ``input`` of {content}."
    return shares(TENSOR_OPTIONS, name=name)(function)


_UNIFORM, _NORMAL = "uniform numbers in [0, 1)", "normal numbers of mean 0 and deviation 1"
rand = _sampler("rand", filling.fill_uniform, _UNIFORM)
randn = _sampler("randn", filling.fill_normal, _NORMAL)
rand_like = _sampler_like("rand_like", filling.fill_uniform, _UNIFORM)
randn_like = _sampler_like("randn_like", filling.fill_normal, _NORMAL)


@takes("high: int, size: Ints", "low: int, high: int, size: Ints")
@shares(TENSOR_OPTIONS)
def randint(
    low: Any = None,
    high: Any = None,
    size: Any = None,
    *,
    generator: Generator | None = None,
    dtype: Any,
    where: Any,
    requires_grad: bool,
) -> Tensor:
    """A tensor of whole numbers in [low, high), where low may be left out: it is 0 then."""
    if size is None:
        high, size = None, high
    if high is None:
        low, high = 0, low
    elif low is None:
        low = 0
    if not isinstance(size, (tuple, list)):
        raise TypeError(
            f"randint(): argument 'size' must be tuple of ints, not {type(size).__name__}"
        )
    make = _filled(
        numpy_dtype("randint", dtype, int64.numpy),
        lambda array: filling.fill_randint(generator, array, low, high),
        where,
    )
    return _new(shape_of("randint", (), size), make, requires_grad)


@takes("input: Tensor, high: int | Tensor", "input: Tensor, low: int, high: int")
@shares(TENSOR_OPTIONS)
def randint_like(
    input: Tensor,
    low: Any = None,
    high: Any = None,
    *,
    dtype: Any,
    device: Any,
    requires_grad: bool,
    memory_format: Any = None,
) -> Tensor:
    """Whole numbers in [low, high), or [0, low), in the size and dtype of ``input``."""
    require_tensor("randint_like", input)
    if high is None:
        low, high = 0, low
        if isinstance(high, Tensor):
            if high._array.ndim:
                raise RuntimeError("randint_like(): high must be a scalar tensor and on CPU")
            high = int(high)
    elif low is None:
        low = 0
    if has_samples():
        kind = numpy_dtype("randint_like", dtype, input._array.dtype)
        make = _filled(kind, lambda array: filling.fill_randint(None, array, low, high))
        return _new(input._array.shape, make, requires_grad)
    array = empty_array_like("randint_like", input, dtype, device, memory_format)
    filling.fill_randint(None, array, low, high)
    return leaf(array, requires_grad)


@shares(TENSOR_OPTIONS)
def randperm(
    n: int, *, generator: Generator | None = None, dtype: Any, where: Any, requires_grad: bool
) -> Tensor:
    """A random permutation of 0 ... n - 1, as int64 unless another dtype is given."""
    kind = kind_of_new("randperm", dtype, int64.numpy, without="bc")
    if n > 0 and kind is not int64.numpy:
        checked_number(n - 1, kind)
    if has_samples():
        return _new((n,), lambda shape: _permutations(generator, shape, kind), requires_grad)
    if where is not None and where.generator_class is not None:
        return leaf(_permutation_elsewhere(generator, n, kind, where), requires_grad)
    return leaf(_permutation(generator, n, kind), requires_grad, where)


def _permutation_elsewhere(
    generator: Generator | None, n: int, kind: np.dtype[Any], position: Backend
) -> Array:
    """The order of random keys of 64 bits; that two are equal is as good as impossible."""
    if n < 0:
        raise RuntimeError(f"randperm: n must be non-negative, got {n}")
    keys = new_array((n,), int64.numpy, position)
    filling.fill_randint(generator, keys, -(1 << 63))
    order: Array = position.argsort(keys, 0, False)
    return order if kind == int64.numpy else convert(order, kind)


def _permutations(generator: Generator | None, shape: Shape, kind: np.dtype[Any]) -> Array:
    """Permutations along the last dimension."""
    made = new_array(shape, kind)
    for row in made.reshape(-1, shape[-1]):
        half.copy_into(row, filling.permutation(generator, shape[-1]))
    return made


@array_function("draw")
def _permutation(generator: Generator | None, n: int, kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
    return half.converted(filling.permutation(generator, n), kind)


@takes(
    "mean: Tensor, std?: Tensor | Real",
    "mean: Real, std: Tensor",
    "mean: Real, std: Real, size: Ints",
)
@shares(TENSOR_OPTIONS)
def normal(
    mean: Any,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Generator | None = None,
    dtype: Any,
    where: Any,
    requires_grad: bool,
) -> Tensor:
    """Normal numbers of the given means and deviations: two numbers and a size, or tensors.

    Raises:
        RuntimeError: for a negative deviation.
    """
    kind = kind_of_new("normal", dtype, without="biu")
    if size is not None:
        make = _filled(
            kind,
            lambda array: filling.fill_normal(generator, array, float(mean), float(std)),
            where,
        )
        return _new(shape_of("normal", (), size), make, requires_grad)
    tensors = [x for x in (mean, std) if isinstance(x, Tensor)]
    if not tensors:
        raise TypeError(
            "normal(): two numbers need the argument 'size'; mean or std may be a Tensor"
        )
    shape = common_shape([x._array.shape for x in tensors])
    kind = tensors[0]._array.dtype
    _check_parameters(mean, std)
    if has_samples() or is_transformed(tensors):
        refuse_same(*tensors)
        _check_std(std)
        return _normal_of_operators(generator, shape, kind, mean, std)
    given = [x._array if isinstance(x, Tensor) else x for x in (mean, std)]
    if (
        position := shared_by("normal", given)
    ) is not None and position.generator_class is not None:
        _check_std(std)
        array = _normal_elsewhere(generator, new_array(shape, kind, position), mean, std)
    else:
        array = _normal(generator, shape, kind, *given)
    result = leaf(array, requires_grad)
    if grad_mode.enabled and True in [x._requires_grad for x in tensors]:
        _HISTORIES[isinstance(mean, Tensor), isinstance(std, Tensor)].record((result,), (mean, std))
    return result


def _normal_elsewhere(generator: Generator | None, standard: Array, mean: Any, std: Any) -> Any:
    """Numbers of another device, which draws standard ones into an array of its own."""
    filling.fill_normal(generator, standard, 0.0, 1.0)
    with no_grad():
        return cast(new_tensor(standard) * std + mean, standard.dtype)._array


def _normal_of_operators(
    generator: Generator | None, shape: Any, kind: Any, mean: Any, std: Any
) -> Tensor:
    """Normal numbers for Tensors of a transformation, each of which has its own mean or std."""
    standard = _filled(kind, lambda array: filling.fill_normal(generator, array, 0.0, 1.0))
    with no_grad():
        return (_new(shape, standard, False) * std + mean).detach()


def _check_parameters(mean: Any, std: Any) -> None:
    """Raise torch's errors for tensors of means and deviations."""
    if isinstance(std, Tensor) and std._array.dtype.kind == "c":
        raise RuntimeError("normal expects standard deviation to be non-complex")
    first = mean if isinstance(mean, Tensor) else std
    if first._array.dtype.kind in "biu":
        kind = scalar_type_name(first.dtype)
        raise NotImplementedError(f"\"normal\" not implemented for '{kind}'")


def _no_gradient(grad: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The gradient of what was only drawn from: zeros."""
    return new_tensor(filled(shape, grad._array.dtype, 0))


def _history(grad_fn: str, *inputs: str) -> TensorOperator:
    """The operator whose nodes ``normal`` leaves where these inputs are tensors."""
    rules: dict[str, Any] = {
        "mean": lambda grad, mean_shape: _no_gradient(grad, mean_shape),
        "std": lambda grad, std_shape: _no_gradient(grad, std_shape),
    }
    return TensorOperator(
        "normal", lambda mean, std: None, {x: rules[x] for x in inputs}, grad_fn=grad_fn
    )


#: By whether the mean and the deviation are tensors.
_HISTORIES = {
    (True, False): _history("NormalBackward1", "mean"),
    (False, True): _history("NormalBackward2", "std"),
    (True, True): _history("NormalBackward3", "mean", "std"),
}


def _check_std(std: Any) -> None:
    if isinstance(std, Tensor):
        check_signs("normal(): an element of std", std._array, _check_deviations)
    else:
        _check_deviations(std)


def _check_deviations(std: Any) -> None:
    """Raise torch's errors for a number or an array with a negative one."""
    if isinstance(std, np.ndarray):
        if (half.readable(std) < 0).any():
            raise RuntimeError(
                f"normal expects all elements of std >= 0.0, but found min std {std.min():g}"
            )
    elif not float(std) >= 0.0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {float(std)}")


@array_function("draw")
def _normal(
    generator: Generator | None, shape: tuple[int, ...], kind: np.dtype[Any], mean: Any, std: Any
) -> np.ndarray[Any, Any]:
    """Normal numbers of means and deviations that are numbers or broadcast to ``shape``."""
    array = new_array(shape, kind)
    if isinstance(std, np.ndarray):
        _check_deviations(std)
        filling.fill_normal(generator, array, 0.0, 1.0)
        array = _rounded(np.multiply, array, std)
    else:
        filling.fill_normal(generator, array, 0.0, std)
    return _rounded(np.add, array, np.asarray(mean))


def _rounded(function: Callable[..., Array], array: Array, other: Array) -> Array:
    """The function of an array and another one of its dtype, in that dtype."""
    kind = array.dtype
    other = half.readable(half.converted(other, kind))
    return half.converted(function(half.readable(array), other), kind)


_bernoulli = TensorOperator(
    "bernoulli",
    lambda input, draw: drawn(input, draw),
    {"input": lambda grad: zeros_like(grad)},
    takes_half=True,
    portable=True,
)


@method()
@takes("input: Tensor", "input: Tensor, p: Real")
def bernoulli(
    input: Tensor, p: Any = None, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor:
    """Ones with the probabilities in ``input``, or with probability ``p``, else zeros."""
    require_tensor("bernoulli", input)
    if out is not None:
        check_written_once(out._array)
    if has_samples() or is_transformed(input):
        return _bernoulli_of_samples(input, p, generator)
    probabilities = input._array if p is None else p

    def draw(array: np.ndarray[Any, Any]) -> None:
        filling.fill_bernoulli(generator, array, probabilities)

    made = _bernoulli(input, draw)
    return made if out is None else write(out, made._array)


def _bernoulli_of_samples(input: Tensor, p: Any, generator: Generator | None) -> Tensor:
    refuse_same(input)
    shape, kind = input._array.shape, input._array.dtype
    if isinstance(p, float | int):
        return _new(shape, _filled(kind, partial(_fill_with_bernoulli, generator, p)), False)
    chances = input if p is None else p
    check_fractions("bernoulli(): an element of p", chances._array, filling.check_probabilities)
    make = _filled(kind, partial(filling.fill_uniform, generator))
    return _is_below(shape, make, chances).to(input.dtype)


def _is_below(shape: tuple[int, ...], make: Any, chances: Tensor) -> Tensor:
    with no_grad():
        return _new(shape, make, False) < chances


@method()
def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Indices drawn from a row of weights, or from each row of a matrix of them."""
    require_tensor("multinomial", input)
    if out is not None and out._array.dtype != np.int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {out.dtype}")
    if has_samples() or is_transformed(input):
        refuse_same(input)
        # Zeros for the samples that differ make the weights theirs.
        samples = _new((), lambda shape: np.zeros(shape, input._array.dtype), False)
        made: Tensor = _multinomial(input.detach() + samples, generator, num_samples, replacement)
        return made
    where, given = foreign(input._array), (generator, input._array, num_samples, replacement)
    if where is not None and not where.has_elements:
        filling.check_draws(*given[1:])
        shape = (*input._array.shape[:-1], num_samples)
        chosen = new_array(shape, np.dtype(np.int64), where)
    elif where is not None and where.generator_class is not None:
        chosen = _chosen_elsewhere(where, *given)
    else:
        chosen = _chosen(*given)
    return leaf(chosen, False) if out is None else write(out, chosen)


@outside_programs("random numbers on another device")
def _chosen_elsewhere(where: Backend, *arguments: Any) -> Any:
    return where.call(filling.multinomial, *arguments)


_chosen = array_function("draw")(filling.multinomial)


def _rows_of_weights(operator: Any, size: int, arguments: Any, mapped: Any) -> Tensor:
    input, *options = arguments
    if input._array.ndim == 2:
        made: Tensor = operator(input, *options)
        return made
    return folded(operator, size, arguments, mapped)


_multinomial = TensorOperator(
    "multinomial",
    lambda input, generator, count, replacement: filling.multinomial(
        generator, input, count, replacement
    ),
    {},
    batch=_rows_of_weights,
    takes_half=True,
)
