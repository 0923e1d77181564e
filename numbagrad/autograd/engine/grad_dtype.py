"""The dtypes of gradients: that of the tensor, unless somebody declared another one.

``Tensor.grad_dtype`` is for leaves, ``ctx.set_output_grad_dtype`` for what a ``Function`` returns.
The engine finishes a leaf with a declared dtype like one with hooks, so others pay nothing.
"""

from __future__ import annotations

from typing import Any

from ...dtype import name_of
from .. import tensor_interface as interface
from ..hooks.tensor_hooks import hooks_of
from ..node import Node
from ..saved import name_of_type

__all__ = [
    "OWN", "check_assigned", "check_declared", "converted", "declare", "declared_of",
    "dtype_of_edge",
]  # fmt: skip

#: Declared is nothing: the gradient has the dtype of the tensor.
OWN: Any = "that of the tensor"


def declared_of(leaf: Any) -> Any:
    """``grad_dtype`` of a tensor: a dtype, or None for any.

    Raises:
        RuntimeError: if the tensor is no leaf.
    """
    if leaf._producer is not None:
        raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
    return leaf.dtype if leaf._grad_dtype is OWN else leaf._grad_dtype


def declare(leaf: Any, dtype: Any) -> None:
    """Set the dtype of the gradients of a leaf; None stands for any.

    Raises:
        RuntimeError: if the tensor is no leaf, if it has a gradient of another dtype, or if
            ``dtype`` is neither a dtype nor None.
    """
    if dtype is not None and not isinstance(dtype, type(leaf.dtype)):
        raise RuntimeError(
            f"grad_dtype must be a torch.dtype or None, but got {type(dtype).__name__}"
        )
    if leaf._producer is not None:
        raise RuntimeError("grad_dtype can only be set on leaf tensors.")
    if dtype is not None and leaf._accumulated is not None and leaf._accumulated.dtype is not dtype:
        raise RuntimeError(
            f"Cannot set grad_dtype to '{_scalar_type(dtype)}' because there is already a gradient "
            f"with dtype '{_c_type(leaf._accumulated)}'. Please clear the gradient (.grad = None) "
            "before changing grad_dtype, or ensure the new grad_dtype matches the existing "
            "gradient's dtype."
        )
    hooks_of(leaf)
    leaf._grad_dtype = dtype


def check_assigned(leaf: Any, grad: Any) -> None:
    """Raise if ``grad`` has another dtype than gradients of ``leaf`` may have."""
    expected = leaf.dtype if leaf._grad_dtype is OWN else leaf._grad_dtype
    if expected is not None and grad.dtype is not expected:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{_c_type(grad)}' to a tensor with "
            f"grad_dtype '{_scalar_type(expected)}'. The gradient must match the tensor's "
            "grad_dtype (defaults to the tensor's dtype). You can set the tensor's grad_dtype "
            "attribute with a specific dtype, or None to allow any dtype. Set grad_dtype with "
            "caution. Diverging the dtypes of a tensor and its gradient may break downstream "
            "systems that assume they match."
        )


def dtype_of_edge(edge: tuple[Any, int], default: Any) -> Any:
    """The NumPy dtype of gradients on an edge, None for any; ``default`` if none is declared."""
    target, output_nr = edge
    if isinstance(target, Node):
        declared = getattr(target, "_output_grad_dtypes", None)
        dtype = OWN if declared is None else declared[output_nr]
    else:
        dtype = target._grad_dtype
    if dtype is OWN:
        return default
    return None if dtype is None else dtype.numpy


def converted(gradient: Any, dtype: Any) -> Any:
    """A gradient in a declared dtype."""
    if gradient is None or dtype is OWN or dtype is None or gradient._array.dtype == dtype.numpy:
        return gradient
    return interface.cast(gradient, dtype.numpy)


def check_declared(name: str, declared: tuple[Any, ...], differentiable: list[bool]) -> None:
    """Raise unless what a Function declared fits its outputs, one entry for each.

    Raises:
        RuntimeError: naming the Function.
    """
    if len(declared) != len(differentiable):
        raise RuntimeError(
            f"{name}: ctx.set_output_grad_dtype expects the number of declarations to match the "
            f"number of outputs, but got {len(declared)} for {len(differentiable)} outputs"
        )
    for index, dtype in enumerate(declared):
        if dtype is not None and not differentiable[index]:
            raise RuntimeError(
                f"{name}: ctx.set_output_grad_dtype was given a dtype for output {index}, which is "
                "not a differentiable tensor; pass None there"
            )


def _scalar_type(dtype: Any) -> str:
    """The name of a dtype as torch's ``ScalarType``: Half, Float, Long."""
    return name_of_type(dtype.numpy).removeprefix("torch.").removesuffix("Tensor")


#: The names of C++ that torch's messages use for the dtype of a gradient.
_C_TYPES = {
    "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float",
    "float64": "double", "int8": "signed char", "uint8": "unsigned char", "int16": "short",
    "int32": "int", "int64": "long",
    "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
}  # fmt: skip


def _c_type(tensor: Any) -> str:
    name = name_of(tensor._array.dtype)
    return _C_TYPES.get(name, name)
