"""``torch.nn.utils.init``: modules without initial values."""

from __future__ import annotations

import inspect
from typing import Any

from ...random import fork_rng

__all__ = ["skip_init"]


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """A module whose parameters are to be filled by the caller; no random number is used up.

    The parameters hold what its constructor gave them, which torch leaves undefined.

    Raises:
        RuntimeError: for a class that is no Module, or whose constructor takes no ``device``.
    """
    from ..module import Module

    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    with fork_rng():
        return module_cls(*args, **kwargs)
