"""Products that are added to a tensor, as one node each: addmm, addmv, addr, baddbmm, addbmm.

``beta * input + alpha * product``; the products, their gradients and checks are in ``matmul.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...dispatch import layers
from ...dispatch.policies import autocasts
from ...dtype import bool_, promote_types
from ...executor.families.matmul import matmul as _product
from ...executor.memory.arrays import filled
from ...number_range import checked_number
from ...tensor import Tensor, new_tensor
from ...transforms.batching import broadcast_samples
from ..arguments.requirements import is_complex_number, require_real
from ..arguments.shapes import check_expands
from ..complex.lazy_conj import conjugate
from ..conversion.dtypes import cast
from ..methods.registry import method
from ..methods.variants import install_in_place
from ..operators.pointwise_operator import pointwise
from ..operators.tensor_operator import TensorOperator
from ..views.expand import expand, sum_to_size
from .matmul import (
    bmm,
    check_bmm,
    check_mm,
    check_mv,
    mm,
    mv,
    mv_operator,
    outer,
    samples_of_stacks,
    samples_times_vector,
)

__all__ = ["addbmm", "addmm", "addmv", "addr", "baddbmm"]

Array = np.ndarray[Any, Any]


def _added(input: Array, product: Array, beta: float, alpha: float) -> Array:
    """``beta * input + alpha * product``, written into ``product``; not read where beta is 0."""
    result = new_tensor(product)
    if alpha != 1:
        pointwise("mul").into(result, (result, alpha))
    if beta == 1:
        pointwise("add").into(result, (result, new_tensor(input)))
    elif beta != 0:
        pointwise("add_scaled").into(result, (result, new_tensor(input), beta))
    return product


def _times(tensor: Tensor, factor: float) -> Tensor:
    return tensor if factor == 1 else tensor * factor


def _adding(
    name: str,
    product: Callable[[Array, Array], Array],
    to_first: Callable[[Tensor, Tensor, tuple[int, ...]], Tensor],
    to_second: Callable[[Tensor, Tensor, tuple[int, ...]], Tensor],
    of_samples: Callable[..., Tensor] = samples_of_stacks,
) -> TensorOperator:
    """``beta * input + alpha * product(a, b)`` as one node.

    ``to_first(grad, b, shape of a)`` and ``to_second(grad, a, shape of b)`` are the gradients of
    the product, ``of_samples`` its rule for batches.
    """

    def batch(operator: Any, size: int, arguments: Any, mapped: Any) -> Tensor:
        input, a, b, beta, alpha = arguments
        either = mapped[1] or mapped[2]
        made = (
            of_samples(operator, size, (a, b), mapped[1:3])
            if either
            else operator(new_tensor(filled((), a._array.dtype, 0)), a, b, beta, 1)
        )
        made = _times(made, alpha)
        if beta == 0 and either:
            return made
        added, made = broadcast_samples([_times(input, beta), made], (mapped[0], either))
        return added + made

    return TensorOperator(
        name,
        lambda input, a, b, beta, alpha: _added(input, product(a, b), beta, alpha),
        {
            "input": lambda grad, input_shape, beta: sum_to_size(
                _times(grad, beta.conjugate()), input_shape
            ),
            "a": lambda grad, a_shape, b, alpha: _times(
                to_first(grad, b, a_shape), alpha.conjugate()
            ),
            "b": lambda grad, a, b_shape, alpha: _times(
                to_second(grad, a, b_shape), alpha.conjugate()
            ),
        },
        batch=batch,
        portable=True,
    )


def _stacked(grad: Tensor, count: int) -> Tensor:
    """The gradient of a sum over a batch."""
    return expand(grad, (count, *grad._array.shape))


_addmm = _adding(
    "addmm",
    _product,
    lambda grad, b, _: mm(grad, conjugate(b).t()),
    lambda grad, a, _: mm(conjugate(a).t(), grad),
)
_addmv = _adding("addmv", mv_operator.forward, lambda grad, b, _: outer(grad, conjugate(b)),
                 lambda grad, a, _: mv(conjugate(a).t(), grad), samples_times_vector)  # fmt: skip
_addr = _adding(
    "addr",
    lambda a, b: pointwise("mul")(new_tensor(a[:, None]), new_tensor(b))._array,
    lambda grad, b, _: mv(grad, conjugate(b)),
    lambda grad, a, _: mv(grad.t(), conjugate(a)),
    lambda operator, size, arguments, mapped: (
        arguments[0].unsqueeze(-1) * arguments[1].unsqueeze(-2)
    ),
)
_baddbmm = _adding(
    "baddbmm",
    _product,
    lambda grad, b, _: bmm(grad, conjugate(b).mT),
    lambda grad, a, _: bmm(conjugate(a).mT, grad),
)
_addbmm = _adding(
    "addbmm",
    lambda a, b: _product(
        a.transpose(1, 0, 2).reshape(a.shape[1], a.shape[0] * a.shape[2]),
        b.reshape(b.shape[0] * b.shape[1], b.shape[2]),
    ),
    lambda grad, b, shape: bmm(_stacked(grad, shape[0]), conjugate(b).mT),
    lambda grad, a, shape: bmm(conjugate(a).mT, _stacked(grad, shape[0])),
    lambda operator, size, arguments, mapped: samples_of_stacks(
        operator, size, arguments, mapped
    ).sum(1),
)


def _sum(
    operator: TensorOperator,
    shape: tuple[int, ...],
    input: Tensor,
    a: Tensor,
    b: Tensor,
    beta: float,
    alpha: float,
) -> Tensor:
    """Check ``input`` against the shape and dtype of the product, and add them."""
    dtype = a._array.dtype
    if input._array.dtype != dtype:
        raise RuntimeError(
            f"{operator.name}: expected input and factors to have the same dtype, but got "
            f"{input.dtype} and {a.dtype}; convert one with .to(dtype)"
        )
    if dtype == np.bool_ and operator is not _addr:
        raise NotImplementedError(
            f"\"{operator.name}_impl_cpu\" not implemented for 'Bool'; cast to an integer dtype "
            "first"
        )
    if input._array.shape != shape:
        check_expands(input._array.shape, shape)
    if beta.__class__ is not int or alpha.__class__ is not int:
        for name, factor in (("beta", beta), ("alpha", alpha)):
            if not (dtype.kind == "c" and is_complex_number(factor)):
                require_real(operator.name, name, factor)
    return operator(input, a, b, checked_number(beta, dtype), checked_number(alpha, dtype))


@method()
@autocasts("lower", asks_itself=True)
def addmm(
    input: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    *,
    beta: float = 1,
    alpha: float = 1,
) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)``; input broadcasts to the product's shape."""
    if layers.active and layers.asks(addmm):
        return layers.descend(addmm, (input, mat1, mat2), {"beta": beta, "alpha": alpha})
    for position, factor in enumerate((mat1, mat2), 1):
        if factor._array.ndim != 2:
            raise RuntimeError(f"mat{position} must be a matrix, got {factor._array.ndim}-D tensor")
    check_mm(mat1, mat2)
    shape = (mat1._array.shape[0], mat2._array.shape[1])
    return _sum(_addmm, shape, input, mat1, mat2, beta, alpha)


@method()
def addmv(
    input: Tensor,
    mat: Tensor,
    vec: Tensor,
    *,
    beta: float = 1,
    alpha: float = 1,
) -> Tensor:
    """``beta * input + alpha * (mat @ vec)``."""
    check_mv(mat, vec)
    return _sum(_addmv, mat._array.shape[:1], input, mat, vec, beta, alpha)


@method()
def addr(
    input: Tensor,
    vec1: Tensor,
    vec2: Tensor,
    *,
    beta: float = 1,
    alpha: float = 1,
) -> Tensor:
    """``beta * input + alpha * outer(vec1, vec2)``; unlike its relatives it promotes dtypes."""
    if vec1._array.ndim != 1 or vec2._array.ndim != 1:
        raise RuntimeError(
            "addr: Expected 1-D argument vec1 and vec2, but got "
            f"{vec1._array.ndim}-D and {vec2._array.ndim}-D"
        )
    dtype = promote_types(promote_types(input.dtype, vec1.dtype), vec2.dtype)
    for name, number in (("beta", beta), ("alpha", alpha)):
        if isinstance(number, bool) and dtype is not bool_:
            raise RuntimeError(
                f"addr: Boolean {name} only supported for Boolean results; give 0 or 1"
            )
        if isinstance(number, float) and not (dtype.is_floating_point or dtype.is_complex):
            raise RuntimeError(
                f"addr: For integral input tensors, argument {name} must not be a floating point "
                "number."
            )
    shape = (vec1._array.size, vec2._array.size)
    input, vec1, vec2 = [cast(x, dtype.numpy) for x in (input, vec1, vec2)]
    return _sum(_addr, shape, input, vec1, vec2, beta, alpha)


def _check_ranks(name: str, batch1: Tensor, batch2: Tensor) -> None:
    """Raise an IndexError where torch asks for a size that a tensor does not have."""
    for batch, least in ((batch1, 2), (batch2, 3)):
        if batch._array.ndim < least:
            raise IndexError(
                f"{name}(): Dimension out of range: both operands must be 3D tensors, but got "
                f"shapes {list(batch1._array.shape)} and {list(batch2._array.shape)}"
            )


@method()
@autocasts("lower", asks_itself=True)
def baddbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *,
    beta: float = 1,
    alpha: float = 1,
) -> Tensor:
    """``beta * input + alpha * bmm(batch1, batch2)``."""
    if layers.active and layers.asks(baddbmm):
        return layers.descend(baddbmm, (input, batch1, batch2), {"beta": beta, "alpha": alpha})
    _check_ranks("baddbmm", batch1, batch2)
    check_bmm("baddbmm", batch1, batch2)
    shape = (*batch1._array.shape[:2], batch2._array.shape[2])
    return _sum(_baddbmm, shape, input, batch1, batch2, beta, alpha)


@method()
@autocasts("lower")
def addbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *,
    beta: float = 1,
    alpha: float = 1,
) -> Tensor:
    """``beta * input + alpha * bmm(batch1, batch2).sum(0)``, as one product."""
    _check_ranks("addbmm", batch1, batch2)
    check_bmm("addbmm", batch1, batch2)
    shape = (batch1._array.shape[1], batch2._array.shape[2])
    return _sum(_addbmm, shape, input, batch1, batch2, beta, alpha)


for _function in (addmm, addmv, addr, baddbmm, addbmm):
    # The product is complete before anything is written, but for that of two vectors.
    install_in_place(_function, refused="partly" if _function is addr else None)
