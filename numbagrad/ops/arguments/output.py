"""``out=``: results written into a tensor that the caller gives.

For the functions that compute a new array anyway; pointwise functions write into ``out`` directly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...autograd import tensor_interface as tensors
from ...dtype import can_cast, scalar_type_name
from ...executor.plan.sharing import check_written_once, refuse_overlap
from ...tensor import Tensor
from ...transforms.reading import refuse_tangents
from ...type_names import type_name
from .requirements import refuse_gradients, resize_output

__all__: list[str] = []


def require_output(name: str, out: Any) -> None:
    """Raise a TypeError unless what was given for ``out`` is a Tensor."""
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type_name(out)}")


def write_result(
    name: str,
    result: Tensor,
    out: Tensor | None,
    *,
    casts: bool = False,
    uncastable: type[Exception] = RuntimeError,
    reads: Sequence[Tensor] = (),
    whole: bool = False,
) -> Tensor:
    """``result`` if there is no ``out``, else ``out`` with its elements.

    An ``out`` of another shape gets memory of its own. ``uncastable`` is the class of the error
    of a dtype that the result cannot be cast to. ``reads`` are operands that may not lie partly in
    the memory of ``out``, and with ``whole`` not in all of it either.

    Raises:
        RuntimeError: if autograd would have to follow, or the dtypes differ (with ``casts``, if the
            dtype of ``out`` is of a lower kind; then the error is an ``uncastable``).
    """
    if out is None:
        return result
    require_output(name, out)
    refuse_gradients(name, result, out)
    refuse_tangents(name, (result, out))
    if casts and not can_cast(result.dtype, out.dtype):
        raise uncastable(
            f"{name}(): result type {scalar_type_name(result.dtype)} can't be cast to the desired "
            f"output type {scalar_type_name(out.dtype)}"
        )
    if not casts and result._array.dtype != out._array.dtype:
        raise RuntimeError(
            f"{name}(): Expected out tensor to have dtype {result.dtype}, but got {out.dtype} "
            "instead"
        )
    check_written_once(out._array)
    # An out of another shape gets other memory; pointwise operators of torch look before that.
    if out._array.shape == result._array.shape or (casts and not whole):
        refuse_overlap(out._array, [x._array for x in reads], whole=whole)
    resize_output(out, result._array.shape)
    written: Tensor = tensors.copy_into(out, result)
    return written


def write_results(name: str, results: Sequence[Tensor], out: Any) -> list[Tensor]:
    """``results`` if there is no ``out``, else the Tensors of ``out`` with their elements.

    Raises:
        TypeError: if ``out`` is no tuple of as many Tensors.
    """
    if out is None:
        return list(results)
    if not isinstance(out, (tuple, list)) or len(out) != len(results):
        given = f"{len(out)} of them" if isinstance(out, (tuple, list)) else type_name(out)
        raise TypeError(
            f"{name}(): argument 'out' must be tuple of {len(results)} Tensors, not {given}"
        )
    return [write_result(name, result, x) for result, x in zip(results, out, strict=True)]
