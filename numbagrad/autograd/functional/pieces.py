"""Pieces of torch.autograd.functional that libraries build upon, under torch's private names."""

from __future__ import annotations

from typing import Any

from ...tensor import Tensor
from .arguments import as_tensors
from .arguments import connected as _grad_preprocess

__all__ = [
    "_as_tuple", "_as_tuple_nocheck", "_grad_postprocess", "_grad_preprocess", "_tuple_postprocess",
]  # fmt: skip


def _as_tuple_nocheck(x: Any) -> tuple[Any, ...]:
    """A tuple of what a list or tuple holds, or of ``x`` alone."""
    return tuple(x) if isinstance(x, (list, tuple)) else (x,)


def _as_tuple(inp: Any, arg_name: str | None = None, fn_name: str | None = None) -> Any:
    """``_as_tuple_nocheck``; with names for the error, whether a tuple was given, and tensors.

    Raises:
        TypeError: if there are names, and something that is no tensor.
    """
    if arg_name is None and fn_name is None:
        return _as_tuple_nocheck(inp)
    return as_tensors(inp, str(arg_name), str(fn_name))


def _tuple_postprocess(res: Any, to_unpack: bool | tuple[bool, bool]) -> Any:
    """Take away the tuples that were made around single results: one level, or two of them."""
    outer, inner = to_unpack if isinstance(to_unpack, tuple) else (to_unpack, True)
    if not inner:
        res = tuple([each[0] for each in res])
    return res if outer else res[0]


def _grad_postprocess(inputs: Any, create_graph: bool) -> Any:
    """Tensors, in tuples of tuples as they are, without their history unless it is asked for."""
    if not isinstance(inputs[0], Tensor):
        return tuple([_grad_postprocess(each, create_graph) for each in inputs])
    return inputs if create_graph else tuple([each.detach() for each in inputs])
