"""Methods of Tensor that few programs call."""

from __future__ import annotations

import importlib
import math
from typing import Any, NoReturn

from ...dtype import complex128, float64, scalar_type_name
from ...executor.plan.forms import memory_order
from ...layout import memory_format
from ...tensor import Tensor
from ...type_names import type_name
from ...untyped_storage import owner_of
from ...warn_once import warn_caller
from ..arguments.kinds import Ints
from ..arguments.requirements import require_tensor_or_number
from ..arguments.shapes import sizes_of
from ..arguments.shared_parameters import TENSOR_OPTIONS, shares
from ..conversion.dtypes import cast
from ..creation.filled import empty_strided
from ..operators.pointwise_operator import pointwise
from .registry import method

__all__: list[str] = []


@method("hardshrink")
def _hardshrink(self: Tensor, lambd: float = 0.5) -> Tensor:
    """The elements outside [-lambd, lambd], zeros for the others."""
    return pointwise("hardshrink")(self, float(lambd))


@method("float_power_")
def _float_power_(self: Tensor, exponent: Any) -> Tensor:
    """``float_power`` written into the tensor, which has to be float64 or complex128.

    Raises:
        RuntimeError: for another dtype.
    """
    require_tensor_or_number("float_power_", exponent, "exponent", 2)
    others = [self, exponent] if isinstance(exponent, Tensor) else [self]
    is_complex = isinstance(exponent, complex) or any([x.is_complex() for x in others])
    needed = complex128 if is_complex else float64
    if self.dtype is not needed:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {scalar_type_name(self.dtype)} but the "
            f"operation's result requires dtype {scalar_type_name(needed)}"
        )
    # In place from the start: a copy of what was computed would change what its node has saved.
    if isinstance(exponent, Tensor):
        return self.pow_(cast(exponent, needed.numpy))
    return self.pow_(complex(exponent) if is_complex else float(exponent))


@method()
@shares(TENSOR_OPTIONS, name="new_empty_strided")
def _new_empty_strided(
    self: Tensor, size: Ints, stride: Ints, *, dtype: Any, device: Any, requires_grad: bool
) -> Tensor:
    """A tensor of these sizes and strides whose elements are not set, of this one's dtype."""
    kind = self.dtype if dtype is None else dtype
    return empty_strided(size, stride, dtype=kind, device=device, requires_grad=requires_grad)


@method("__rdiv__")
def _reflected_quotient(self: Tensor, other: Any) -> Any:
    """``other / self``: the method's name in torch of old."""
    if not isinstance(self, Tensor):
        raise AttributeError(f"Tensor.__rdiv__(): {type_name(self)!r} object has no reciprocal")
    return self.__rtruediv__(other)


#: Versions of the array API standard that are in the one that ``numbagrad.array_api`` follows.
_ARRAY_API = ("2021.12", "2022.12", "2023.12", "2024.12")


@method("__array_namespace__")
def _array_namespace(self: Tensor, *, api_version: str | None = None) -> Any:
    """``numbagrad.array_api``, the functions of the Python array API standard.

    Raises:
        ValueError: for a version of the standard that is not known.
    """
    if api_version is not None and api_version not in _ARRAY_API:
        raise ValueError(
            f"api_version {api_version!r} is not known; there are {', '.join(_ARRAY_API)}"
        )
    return importlib.import_module("numbagrad.array_api")


@method("to_device")
def _to_device(self: Tensor, device: Any, /, *, stream: Any = None) -> Tensor:
    """The tensor on a device, as the array API has it: ``to(device)``.

    Raises:
        ValueError: for a stream, which no device here has.
    """
    if stream is not None:
        raise ValueError(f"to_device(): devices have no streams, but got stream={stream!r}")
    return self.to(device)


# --- memory ---------------------------------------------------------------------------------------


@method("__nonzero__")
def _nonzero(self: Tensor) -> bool:
    """``bool(self)``, as Python 2 called it."""
    return bool(self)


@method("const_data_ptr")
def _const_data_ptr(self: Tensor) -> int:
    """The address of the first element, for reading."""
    return self.data_ptr()


@method("dim_order")
def _dim_order(self: Tensor, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """The dimensions as they lie in memory, outermost first.

    Args:
        ambiguity_check: True to refuse strides that leave several orders; or a list of memory
            formats, of which one has to be that of the tensor and alone.

    Raises:
        RuntimeError: for an order that is not the only one.
        TypeError: for another ``ambiguity_check``.
    """
    strides = self.stride()
    formats = ambiguity_check if isinstance(ambiguity_check, list) else []
    if type(ambiguity_check) is not bool and (
        formats is not ambiguity_check or not all(isinstance(x, memory_format) for x in formats)
    ):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    if ambiguity_check is not False:
        steps = [step for step, size in zip(strides, self.shape, strict=True) if size != 1]
        several = len(steps) < self.ndim or len(set(steps)) < len(steps)
        fitting = [x for x in formats if self.is_contiguous(memory_format=x)]
        if (ambiguity_check and 0 in steps) or (several and len(fitting) != 1):
            raise RuntimeError(
                "The tensor does not have unique dim order, or cannot map to exact one of the "
                f"given memory formats: sizes {list(self.shape)}, strides {list(strides)}"
            )
    return memory_order(tuple(self.shape), tuple(strides))


@method("is_set_to")
def _is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both show the same memory by the same sizes and strides."""
    return bool(
        self.data_ptr() == tensor.data_ptr()
        and (self._array.size or owner_of(self._array) is owner_of(tensor._array))
        and self.storage_offset() == tensor.storage_offset()
        and self.shape == tensor.shape
        and self.stride() == tensor.stride()
    )


@method("resize")
def _resize(self: Tensor, *sizes: Any) -> Tensor:
    """``view`` of as many elements: the method's name of old.

    Raises:
        RuntimeError: for another number of elements.
    """
    warn_caller("non-inplace resize is deprecated")
    shape = sizes_of(sizes)
    if math.prod(shape) != self.numel():
        raise RuntimeError(
            f"requested resize to {list(shape)} ({math.prod(shape)} elements in total), but the "
            f"given tensor has a size of {list(self.shape)} ({self.numel()} elements)"
        )
    return self.contiguous().view(shape)


@method("resize_as")
def _resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """``resize`` to the sizes of another tensor."""
    return _resize(self, *tensor.shape)


# --- what tensors are not -------------------------------------------------------------------------


@method("is_coalesced")
def _is_coalesced(self: Tensor) -> NoReturn:
    """Raises RuntimeError: it is asked of sparse tensors."""
    raise RuntimeError("is_coalesced expected sparse coordinate tensor layout but got Strided")


@method("is_distributed")
def _is_distributed(self: Tensor) -> bool:
    """False: no tensor lies in several processes."""
    return False


@method("sparse_dim")
def _sparse_dim(self: Tensor) -> int:
    """0: no dimension is sparse."""
    return 0


@method("dense_dim")
def _dense_dim(self: Tensor) -> int:
    """All dimensions are dense."""
    return self.ndim


@method("module_load")
def _module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """The new value of a parameter in ``load_state_dict``: a copy into it, or the other."""
    if assign:
        return other.detach()
    return self.copy_(other).detach()
