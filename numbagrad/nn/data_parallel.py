"""``DataParallel``: torch's wrapper for training on several GPUs, where there is none.

Programs that wrap their model in it whatever the machine run unchanged, and state dictionaries have
the same names.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import GenericAlias
from typing import Any

from .module import Module

__all__ = ["DataParallel"]


class DataParallel(Module):
    """Calls a module. With GPUs torch would share the samples of a batch among them.

    Args:
        module: what is called; its parameters are named ``module.*``.
        device_ids, output_device, dim: which GPUs, and the dimension of the samples; not used.
    """

    #: Annotations name its elements, as `DataParallel[int]`; nothing asks for them.
    __class_getitem__: Any = classmethod(GenericAlias)

    module: Module

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[Any] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """``module(*inputs, **kwargs)``."""
        return self.module(*inputs, **kwargs)
