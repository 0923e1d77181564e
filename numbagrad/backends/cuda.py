"""``torch.backends.cuda``: switches of GPUs by NVIDIA; tensors are on the CPU."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ..absent import absent
from . import Switches

matmul = Switches(
    allow_tf32=False,
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True,
    allow_fp16_accumulation=False,
    fp32_precision="none",
)
cufft_plan_cache = Switches(size=0, max_size=0)
SDPAParams = absent("torch.backends.cuda.SDPAParams", "there is no GPU")
for _name in """allow_fp16_bf16_reduction_math_sdp blas_workspace_size cuBLASModule cuFFTPlanCache
    cuFFTPlanCacheAttrContextProp cuFFTPlanCacheManager cublas_workspace_size
    cublaslt_workspace_size fp16_bf16_reduction_math_sdp_allowed is_ck_sdpa_available
    preferred_rocm_fa_library""".split():
    globals()[_name] = absent(f"torch.backends.cuda.{_name}", "there is no GPU")

_enabled = {"flash": True, "math": True, "mem_efficient": True, "cudnn": True}
_libraries = {"blas": "default", "linalg": "default"}


def is_built() -> bool:
    """Whether the library can use GPUs: no."""
    return False


def is_flash_attention_available() -> bool:
    """Whether attention has a kernel for GPUs: no."""
    return False


def flash_sdp_enabled() -> bool:
    """The last setting of ``enable_flash_sdp``."""
    return _enabled["flash"]


def enable_flash_sdp(enabled: bool) -> None:
    """Kept, and changes nothing."""
    _enabled["flash"] = enabled


def mem_efficient_sdp_enabled() -> bool:
    """The last setting of ``enable_mem_efficient_sdp``."""
    return _enabled["mem_efficient"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Kept, and changes nothing."""
    _enabled["mem_efficient"] = enabled


def math_sdp_enabled() -> bool:
    """The last setting of ``enable_math_sdp``."""
    return _enabled["math"]


def enable_math_sdp(enabled: bool) -> None:
    """Kept, and changes nothing."""
    _enabled["math"] = enabled


def cudnn_sdp_enabled() -> bool:
    """The last setting of ``enable_cudnn_sdp``."""
    return _enabled["cudnn"]


def enable_cudnn_sdp(enabled: bool) -> None:
    """Kept, and changes nothing."""
    _enabled["cudnn"] = enabled


def can_use_flash_attention(params: Any, debug: bool = False) -> bool:
    """No."""
    return False


def can_use_efficient_attention(params: Any, debug: bool = False) -> bool:
    """No."""
    return False


def can_use_cudnn_attention(params: Any, debug: bool = False) -> bool:
    """No."""
    return False


def preferred_linalg_library(backend: Any = None) -> Any:
    """Kept, and changes nothing; returns what was chosen last."""
    return _preferred("linalg", backend)


def preferred_blas_library(backend: Any = None) -> Any:
    """Kept, and changes nothing; returns what was chosen last."""
    return _preferred("blas", backend)


def _preferred(kind: str, backend: Any) -> Any:
    if backend is not None:
        _libraries[kind] = backend
    return _libraries[kind]


@contextlib.contextmanager
def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> Iterator[dict[str, bool]]:
    """Set the switches of attention for a ``with`` block."""
    before = dict(_enabled)
    _enabled.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient,
                    cudnn=enable_cudnn)  # fmt: skip
    try:
        yield {}
    finally:
        _enabled.update(before)
