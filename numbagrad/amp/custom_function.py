"""``custom_fwd`` and ``custom_bwd``: what a ``Function`` computes under autocast."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from ..dtype import dtype as DType
from ..dtype import float64
from ..ops.conversion.dtypes import cast
from ..tensor import Tensor
from .autocast_mode import autocast, get_autocast_dtype, is_autocast_enabled


def _converted(value: Any, device_type: str, dtype: DType) -> Any:
    """Tensors of floats, but of float64, as ``dtype``, wherever they are in containers."""
    if isinstance(value, Tensor):
        eligible = value.is_floating_point() and value.dtype is not float64
        return cast(value, dtype.numpy) if eligible and value.device.type == device_type else value
    if isinstance(value, (str, bytes)):
        return value
    if isinstance(value, Mapping):
        return {
            _converted(key, device_type, dtype): _converted(each, device_type, dtype)
            for key, each in value.items()
        }
    if isinstance(value, (list, tuple)):
        made = [_converted(each, device_type, dtype) for each in value]
        return tuple(made) if isinstance(value, tuple) else made
    return value


def custom_fwd(
    fwd: Callable[..., Any] | None = None,
    *,
    device_type: str,
    cast_inputs: DType | None = None,
) -> Callable[..., Any]:
    """A decorator of the ``forward`` of a ``Function``, which goes with ``custom_bwd``.

    With ``cast_inputs`` the Tensors among the arguments are cast to it where autocast is on, and
    nothing else is cast inside; without it the body runs as it is called.
    """
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    forward = fwd

    @functools.wraps(forward)
    def decorated(ctx: Any, *arguments: Any, **named: Any) -> Any:
        ctx._dtype = get_autocast_dtype(device_type)
        enabled = is_autocast_enabled(device_type)
        ctx._fwd_used_autocast = enabled and cast_inputs is None
        if cast_inputs is None or not enabled:
            return forward(ctx, *arguments, **named)
        with autocast(device_type, enabled=False):
            return forward(
                ctx,
                *_converted(arguments, device_type, cast_inputs),
                **_converted(named, device_type, cast_inputs),
            )

    return decorated


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """A decorator of ``backward``, which then computes as ``forward`` did."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)
    backward = bwd

    @functools.wraps(backward)
    def decorated(ctx: Any, *arguments: Any, **named: Any) -> Any:
        with autocast(device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return backward(ctx, *arguments, **named)

    return decorated
