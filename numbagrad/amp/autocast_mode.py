"""``autocast``: contexts in which a thread computes some operators in lower precision.

What is on is in ``autocast_state.py``; ``dispatch/autocast.py`` acts on it. The functions that
torch has in its main namespace to ask for the switches, and to set them, are here too.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from ..absent import absent
from ..autocast_state import leave, state
from ..cuda.devices import is_available
from ..dispatch import layers
from ..dtype import bfloat16, float16
from ..dtype import dtype as DType

__all__ = [
    "autocast", "autocast_decrement_nesting", "autocast_increment_nesting", "clear_autocast_cache",
    "get_autocast_cpu_dtype", "get_autocast_dtype", "get_autocast_gpu_dtype",
    "is_autocast_available", "is_autocast_cache_enabled", "is_autocast_cpu_enabled",
    "is_autocast_enabled", "set_autocast_cache_enabled", "set_autocast_cpu_dtype",
    "set_autocast_cpu_enabled", "set_autocast_dtype", "set_autocast_enabled",
    "set_autocast_gpu_dtype",
]  # fmt: skip

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_DEVICES = ("cpu", "cuda")
#: Types of devices that programs ask about and that are not there: what torch would cast to.
_ELSEWHERE = {"hpu": bfloat16, "ipu": float16, "mps": float16, "mtia": float16, "xla": bfloat16,
              "xpu": float16}  # fmt: skip
_LOWER = (bfloat16, float16)


def _device(function: str, device_type: Any) -> str:
    if not isinstance(device_type, str):
        raise TypeError(
            f"{function}(): argument 'device_type' (position 1) must be str, not "
            f"{type(device_type).__name__}"
        )
    if device_type not in _DEVICES:
        raise RuntimeError(f"unknown device type for autocast: {device_type}")
    return device_type


def is_autocast_available(device_type: str) -> bool:
    """Whether autocast knows a type of device: "cpu" and "cuda"."""
    if not isinstance(device_type, str):
        raise TypeError(f"device_type must be str, not {type(device_type).__name__}")
    return device_type in _DEVICES


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether autocast is on for a type of device; without one for CUDA, as of old."""
    if device_type in _ELSEWHERE:
        return False
    device = "cuda" if device_type is None else _device("is_autocast_enabled", device_type)
    return device in state.settings.enabled


def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Switch autocast on or off for a type of device; for CUDA if only the switch is given."""
    if enabled is None:
        device_type, enabled = "cuda", device_type
    if enabled:
        layers.change("autocast", 1)  # for good: the thread may end with it on
    _switch(_device("set_autocast_enabled", device_type), bool(enabled))


def _switch(device: str, enabled: bool) -> None:
    settings = state.settings
    others = settings.enabled - {device}
    state.settings = settings._replace(enabled=others | {device} if enabled else others)


def get_autocast_dtype(device_type: str) -> DType:
    """The dtype that operators are cast to on a type of device."""
    if device_type in _ELSEWHERE:
        return _ELSEWHERE[device_type]
    return dict(state.settings.dtypes)[_device("get_autocast_dtype", device_type)]


def set_autocast_dtype(device_type: str, dtype: DType) -> None:
    """Choose that dtype."""
    device = _device("set_autocast_dtype", device_type)
    if not isinstance(dtype, DType):
        raise TypeError(
            "set_autocast_dtype(): argument 'dtype' (position 2) must be torch.dtype, not "
            f"{type(dtype).__name__}"
        )
    chosen = {**dict(state.settings.dtypes), device: dtype}
    state.settings = state.settings._replace(dtypes=tuple(chosen.items()))


def is_autocast_cache_enabled() -> bool:
    """Whether leaves that require grad are cast once a context, not once a use."""
    return state.settings.caches


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Switch that on or off."""
    state.settings = state.settings._replace(caches=bool(enabled))


def clear_autocast_cache() -> None:
    """Forget the leaves that were cast."""
    state.cache.clear()


def autocast_increment_nesting() -> int:
    """Count one more open context; returns how many there are."""
    state.nesting += 1
    return state.nesting


def autocast_decrement_nesting() -> int:
    """Count one less; the last one takes the cache with it."""
    leave()
    return state.nesting


def is_autocast_cpu_enabled() -> bool:
    """The older name of ``is_autocast_enabled("cpu")``."""
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """The older name of ``set_autocast_enabled("cpu", enabled)``."""
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype() -> DType:
    """The older name of ``get_autocast_dtype("cpu")``."""
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: DType) -> None:
    """The older name of ``set_autocast_dtype("cpu", dtype)``."""
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype() -> DType:
    """The older name of ``get_autocast_dtype("cuda")``."""
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype: DType) -> None:
    """The older name of ``set_autocast_dtype("cuda", dtype)``."""
    set_autocast_dtype("cuda", dtype)


class autocast:  # noqa: N801 - torch's name
    """A context, or a decorator, in which a thread casts some operators to lower precision.

    Products and convolutions are computed in ``dtype``, losses and what else is sensitive in
    float32: each function says which, by ``@autocasts``. Gradients come back through the casts in
    the dtype of what was cast.

    Args:
        device_type: "cpu" or "cuda": where tensors are that are cast. Without a GPU "cuda" warns.
        dtype: bfloat16 or float16; by default what ``set_autocast_dtype`` chose.
        enabled: False switches casting off inside.
        cache_enabled: whether a leaf that requires grad is cast once in the outermost context.

    Raises:
        RuntimeError: for a type of device that is not known.
    """

    def __init__(
        self,
        device_type: str,
        dtype: DType | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if device_type not in _DEVICES:
            raise RuntimeError(
                f"User specified an unsupported autocast device_type '{device_type}'"
            )
        self.device = device_type
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        caches = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        self._cache_enabled = caches
        if enabled and device_type == "cuda" and not is_available():
            warnings.warn(
                "User provided device_type of 'cuda', but CUDA is not available. Disabling",
                stacklevel=2,
            )
            enabled = False
        if enabled and self.fast_dtype not in _LOWER:
            warnings.warn(
                "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
                "CPU Autocast only supports dtype of torch.bfloat16, torch.float16 currently.",
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled
        self._before: list[Any] = []

    def __enter__(self) -> autocast:
        self._before.append(state.settings)
        if self._enabled:
            layers.change("autocast", 1)
        _switch(self.device, self._enabled)
        set_autocast_dtype(self.device, self.fast_dtype)
        set_autocast_cache_enabled(self._cache_enabled)
        autocast_increment_nesting()
        return self

    def __exit__(self, *exception: object) -> None:
        autocast_decrement_nesting()
        state.settings = self._before.pop()
        if self._enabled:
            layers.change("autocast", -1)

    def __call__(self, function: Decorated) -> Decorated:
        @functools.wraps(function)
        def decorated(*arguments: Any, **named: Any) -> Any:
            with self:
                return function(*arguments, **named)

        return decorated  # type: ignore[return-value]


autocast_decorator = absent(
    "torch.amp.autocast_mode.autocast_decorator", "autocast(...) decorates functions"
)
