"""softmax, log_softmax and softmin, with gradients of every order.

They are defined in Tensor operations, and so are their gradients. What is along one dimension is
fused into one pass over a row while it is in the cache (``executor/families/rowwise.py``).
"""

from __future__ import annotations

from typing import Any

from ...autograd import tensor_interface as tensors
from ...dtype import dtype as DType
from ...dtype import scalar_type_name
from ...executor.families.rowwise import RowDefinition
from ...tensor import Tensor
from ...transforms.batching import after_samples, stacked
from ...transforms.tangents import symmetric
from ..arguments.requirements import require_tensor
from ..arguments.shapes import as_int, dimension
from ..methods.registry import method
from ..operators.tensor_operator import TensorOperator

__all__ = ["log_softmax", "softmax", "softmin"]


def _exponentials(input: Any, dim: int) -> Any:
    powers = (input - input.amax(dim, keepdim=True)).exp()
    # One of the powers is 1, so their sum has an inverse; that costs elements no division.
    return powers * (1 / powers.sum(dim, keepdim=True))


def _logarithms(input: Any, dim: int) -> Any:
    shifted = input - input.amax(dim, keepdim=True)
    return shifted - shifted.exp().sum(dim, keepdim=True).log()


_softmax_program = RowDefinition("softmax", _exponentials)
_log_softmax_program = RowDefinition("log_softmax", _logarithms)
_softmax_gradient_program = RowDefinition(
    "softmax_backward", lambda grad, y, dim: y * (grad - (grad * y).sum(dim, keepdim=True))
)
_log_softmax_gradient_program = RowDefinition(
    "log_softmax_backward", lambda grad, y, dim: grad - y.exp() * grad.sum(dim, keepdim=True)
)

_softmax = TensorOperator(
    "softmax",
    lambda input, dim: _softmax_program.run(dim, input),
    {"input": lambda grad, result, dim: _softmax_backward(grad, result, dim)},
    batch=stacked(dim=after_samples),
    tangent=symmetric,
    portable=True,
)
_log_softmax = TensorOperator(
    "log_softmax",
    lambda input, dim: _log_softmax_program.run(dim, input),
    {"input": lambda grad, result, dim: _log_softmax_backward(grad, result, dim)},
    batch=stacked(dim=after_samples),
    tangent=lambda operator, primals, tangents, results: (
        tangents[0] - (results[0].exp() * tangents[0]).sum(primals[1], keepdim=True),
    ),
    portable=True,
)


def _softmax_by_result(grad: Tensor, upstream: Tensor, result: Tensor, dim: int) -> Tensor:
    """d/dy of the sum of ``grad * y * (upstream - sum(upstream * y))``."""
    inner = (upstream * result).sum(dim, keepdim=True)
    outer = (grad * result).sum(dim, keepdim=True)
    return grad * (upstream - inner) - upstream * outer


_softmax_backward = TensorOperator(
    "softmax_backward_data",
    lambda upstream, y, dim: _softmax_gradient_program.run(dim, upstream, y),
    {
        "upstream": lambda grad, y, dim: _softmax_backward(grad, y, dim),
        "y": lambda grad, upstream, y, dim: _softmax_by_result(grad, upstream, y, dim),
    },
    batch=stacked(dim=after_samples),
    portable=True,
)
_log_softmax_backward = TensorOperator(
    "log_softmax_backward_data",
    lambda upstream, y, dim: _log_softmax_gradient_program.run(dim, upstream, y),
    {
        "upstream": lambda grad, y, dim: grad - (grad * y.exp()).sum(dim, keepdim=True),
        "y": lambda grad, upstream, y, dim: -(grad * y.exp()) * upstream.sum(dim, keepdim=True),
    },
    batch=stacked(dim=after_samples),
    portable=True,
)


def _along(operator: TensorOperator, input: Tensor, dim: int, dtype: DType | None) -> Tensor:
    name = operator.name
    try:
        array = input._array
    except AttributeError:
        require_tensor(name, input)
        raise
    if dim.__class__ is not int:
        dim = as_int(dim, f"{name}(): argument 'dim' must be int, not")
    position = dimension(array.ndim, dim)
    if dtype is not None and dtype.numpy != array.dtype:
        input = tensors.cast(input, dtype.numpy)
    if input._array.dtype.kind not in "fV":
        if not input._array.size:
            return input.clone()
        raise NotImplementedError(
            f'"{name}_lastdim_kernel_impl" not implemented for '
            f"'{scalar_type_name(input.dtype)}'; give a float dtype="
        )
    return operator(input, position)


@method()
def softmax(input: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """``exp(x)`` over its sum along ``dim``, without overflow. ``dtype`` converts first."""
    return _along(_softmax, input, dim, dtype)


@method()
def log_softmax(input: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """The logarithm of ``softmax``, accurate where that is tiny. ``dtype`` converts first."""
    return _along(_log_softmax, input, dim, dtype)


# --- of torch.nn.functional, where the dimension may be left to a guess ---------------------------


def _along_guess(
    operator: TensorOperator, input: Tensor, dim: Any, dtype: DType | None, given: dict[str, Any]
) -> Tensor:
    dim = given.pop("axis", dim)
    if given:
        name = next(iter(given))
        raise TypeError(f"{operator.name}() got an unexpected keyword argument '{name}'")
    if dim is None and isinstance(input, Tensor):  # as in torch: the guess of its first versions
        dim = 0 if input._array.ndim in (0, 1, 3) else 1
    return _along(operator, input, dim, dtype)


def softmax_of_guess(
    input: Tensor,
    dim: int | None = None,
    _stacklevel: Any = 3,
    dtype: DType | None = None,
    **given: Any,
) -> Tensor:
    """``exp(x)`` over its sum along ``dim``, without overflow. ``dtype`` converts first."""
    return _along_guess(_softmax, input, dim, dtype, given)


def log_softmax_of_guess(
    input: Tensor,
    dim: int | None = None,
    _stacklevel: Any = 3,
    dtype: DType | None = None,
    **given: Any,
) -> Tensor:
    """The logarithm of ``softmax``, accurate where that is tiny. ``dtype`` converts first."""
    return _along_guess(_log_softmax, input, dim, dtype, given)


def softmin(
    input: Tensor,
    dim: int | None = None,
    _stacklevel: Any = 3,
    dtype: DType | None = None,
    **given: Any,
) -> Tensor:
    """``softmax(-x)``."""
    return _along_guess(_softmax, -input, dim, dtype, given)


softmax_of_guess.__name__ = softmax_of_guess.__qualname__ = "softmax"
log_softmax_of_guess.__name__ = log_softmax_of_guess.__qualname__ = "log_softmax"
