"""``torch.utils.tensorboard``: curves for TensorBoard, written by tensorboardX if it is there.

Raises:
    ImportError: at the import of ``SummaryWriter``, without tensorboardX.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from ..tensor import Tensor
from ._pytree import tree_map_only


def _as_array(value: Any) -> Any:
    return tree_map_only(Tensor, lambda tensor: tensor.detach().numpy(), value)


def _with_arrays(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that gets arrays where it is given tensors: tensorboardX knows those of torch."""

    @functools.wraps(method)
    def call(self: Any, *arguments: Any, **keywords: Any) -> Any:
        return method(self, *_as_array(arguments), **_as_array(keywords))

    return call


def _summary_writer() -> Any:
    try:
        import tensorboardX
    except ImportError as error:
        raise ImportError(
            "torch.utils.tensorboard writes with tensorboardX, which is not installed: "
            "pip install tensorboardX"
        ) from error
    methods = {
        name: _with_arrays(method)
        for name, method in vars(tensorboardX.SummaryWriter).items()
        if name.startswith("add_") and name not in ("add_graph", "add_hparams")
    }
    return type("SummaryWriter", (tensorboardX.SummaryWriter,), {"__module__": __name__, **methods})


def __getattr__(name: str) -> Any:
    if name == "SummaryWriter":
        value = _summary_writer()
    elif name == "FileWriter":
        import tensorboardX

        value = tensorboardX.FileWriter
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    setattr(sys.modules[__name__], name, value)
    return value
