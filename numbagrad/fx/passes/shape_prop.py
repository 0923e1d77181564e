"""``torch.fx.passes.shape_prop``: shapes and dtypes of the values of a graph, for an example."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...dtype import dtype as DType
from ...tensor import Tensor
from ..interpreter import Interpreter
from ..node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """The entry of a node's ``meta["tensor_meta"]``, about its tensor."""

    shape: Any
    dtype: DType
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


class ShapeProp(Interpreter):
    """Runs a graph, and notes with each node what its value is."""

    def run_node(self, n: Node) -> Any:
        """The value; ``meta`` gets ``tensor_meta`` for tensors, and ``type``."""
        result = super().run_node(n)
        found = False

        def described(x: Any) -> Any:
            nonlocal found
            if not isinstance(x, Tensor):
                return x
            found = True
            return TensorMetadata(x.shape, x.dtype, x.requires_grad, x.stride(), None, False, {})

        meta = map_aggregate(result, described)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """``run``."""
        return super().run(*args)
