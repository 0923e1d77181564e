"""``torch.nn.parallel.data_parallel``: a module on several GPUs, where there is none."""

from typing import Any

from ..data_parallel import DataParallel

__all__ = ["DataParallel", "data_parallel"]


def data_parallel(
    module: Any,
    inputs: Any,
    device_ids: Any = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """``module(*inputs, **module_kwargs)``; with GPUs torch would share the samples among them."""
    arguments = inputs if isinstance(inputs, tuple) else (inputs,)
    return module(*arguments, **(module_kwargs or {}))
