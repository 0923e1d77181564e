"""Questions about tensors that have Python answers: ``is_tensor``, ``equal``, ``result_type``, ...

Public functions, most of them methods too; comparisons run the pointwise kernels.
"""

from __future__ import annotations

from typing import Any

from ...dtype import dtype as DType
from ...dtype import scalar_dtype, type_string
from ...executor.memory.arrays import values_on_host
from ...executor.plan.dtypes import promoted
from ...tensor import Tensor
from ...transforms.levels import is_batched
from ...untyped_storage import UntypedStorage
from ..arguments.requirements import require_tensor
from ..methods.registry import method
from ..operators.pointwise_operator import pointwise
from ..pointwise.selection import isclose

__all__ = [
    "allclose", "equal", "is_complex", "is_floating_point", "is_inference", "is_nonzero",
    "is_same_size", "is_signed", "is_storage", "is_tensor", "numel", "result_type", "typename",
]  # fmt: skip


def is_tensor(obj: Any) -> bool:
    """Whether ``obj`` is a Tensor."""
    return isinstance(obj, Tensor)


def is_storage(obj: Any) -> bool:
    """Whether ``obj`` is a block of memory, as ``Tensor.untyped_storage`` returns it."""
    return isinstance(obj, UntypedStorage)


def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a float."""
    require_tensor("is_floating_point", input)
    return input.is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Whether the dtype is complex."""
    require_tensor("is_complex", input)
    return input.is_complex()


def is_inference(input: Tensor) -> bool:
    """Whether ``input`` was made in ``inference_mode``, so that autograd refuses it."""
    require_tensor("is_inference", input)
    return input.is_inference()


def is_signed(input: Tensor) -> bool:
    """Whether the dtype has negative numbers."""
    require_tensor("is_signed", input)
    return input.is_signed()


@method()
def is_nonzero(input: Tensor) -> bool:
    """Whether the only element of ``input`` is not zero.

    Raises:
        RuntimeError: unless there is exactly one element.
    """
    return bool(input)


def numel(input: Tensor) -> int:
    """Number of elements."""
    require_tensor("numel", input)
    return input.numel()


@method()
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape."""
    return input._array.shape == other._array.shape


def _all_hold(name: str, found: Tensor) -> bool:
    return bool(values_on_host(found._array, f"{name}(), a branch on the values of tensors").all())


@method()
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and the same elements (NaN equals nothing)."""
    require_tensor("equal", other, "other", 2)
    if input._array.shape != other._array.shape:
        return False
    if is_batched(input) or is_batched(other):
        raise RuntimeError(
            "Batching rule not implemented for aten::equal. We could not generate a fallback."
        )
    return _all_hold("equal", pointwise("eq")(input, other))


@method()
def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Whether ``|input - other| <= atol + rtol * |other|`` holds everywhere.

    Raises:
        RuntimeError: if the dtypes differ.
    """
    if input._array.dtype != other._array.dtype:
        raise RuntimeError(
            f"{input.dtype} did not match {other.dtype}: allclose compares tensors of one dtype; "
            "convert one with .to(dtype)"
        )
    if is_batched(input) or is_batched(other):
        raise RuntimeError(
            "vmap over torch.allclose isn't supported yet. Please file an issue at "
            "https://github.com/pytorch/pytorch/issues if you need this feature."
        )
    return _all_hold("allclose", isclose(input, other, rtol, atol, equal_nan))


def result_type(tensor1: Any, tensor2: Any) -> DType:
    """The dtype in which an operator computes with these two operands, tensors or numbers."""
    for operand in (tensor1, tensor2):
        if not isinstance(operand, Tensor):
            scalar_dtype(operand)  # raises for what is no number
    return promoted([x._array if isinstance(x, Tensor) else x for x in (tensor1, tensor2)])


def typename(obj: Any) -> str:
    """The type of ``obj`` as text; of a tensor with its dtype, as ``"torch.FloatTensor"``."""
    if isinstance(obj, Tensor):
        return type_string(obj.dtype)
    kind = obj if isinstance(obj, type) else type(obj)
    module = kind.__module__
    return kind.__qualname__ if module == "builtins" else f"{module}.{kind.__qualname__}"
