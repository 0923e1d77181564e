"""Collectives that return new tensors and have gradients, as in ``torch.distributed.nn``.

A collective is linear in what the ranks give, and its gradient is the transpose: that of a
broadcast a reduction, of a gather a scatter. All ranks of the group run the backward as well,
in one order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...autograd.function import Function
from ...ops.creation.filled import empty, empty_like, zeros_like
from ...tensor import Tensor
from .. import collectives, rearranging
from ..process_group import get_rank, get_world_size
from ..reduce_op import ReduceOp

__all__ = [
    "all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce",
    "reduce_scatter", "scatter",
]  # fmt: skip

_LINEAR = (ReduceOp.SUM, ReduceOp.AVG)


def _check_linear(function: str, op: ReduceOp) -> None:
    if op not in _LINEAR:
        raise NotImplementedError(
            f"distributed.nn.functional.{function}(): ReduceOp.{op.name} has no gradient here; "
            "use SUM or AVG, or torch.distributed without a gradient"
        )


def _contiguous(tensor: Tensor) -> Tensor:
    return tensor.contiguous()


class _AllReduce(Function):
    """The gradient of a sum of all ranks' tensors is the sum of all ranks' gradients."""

    @staticmethod
    def forward(ctx: Any, op: ReduceOp, group: Any, tensor: Tensor) -> Tensor:
        ctx.op, ctx.group = op, group
        made = tensor.clone()
        collectives.all_reduce(made, op, group)
        return made

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, _AllReduce.apply(ctx.op, ctx.group, grad)


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, tensor: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        made = tensor.clone()
        collectives.broadcast(made, src, group)
        return made

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        found = _Reduce.apply(ctx.src, ReduceOp.SUM, ctx.group, grad)
        return None, None, found if get_rank() == ctx.src else zeros_like(grad)


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, op: ReduceOp, group: Any, tensor: Tensor) -> Tensor:
        ctx.dst, ctx.op, ctx.group = dst, op, group
        made = tensor.clone()
        collectives.reduce(made, dst, op, group)
        return made

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        found = _Broadcast.apply(ctx.dst, ctx.group, grad)
        if ctx.op is ReduceOp.AVG:
            found = found / get_world_size(ctx.group)
        return None, None, None, found


class _AllGather(Function):
    """Stacks the tensors of all ranks; the gradient is a reduction of which each gets its part."""

    @staticmethod
    def forward(ctx: Any, group: Any, tensor: Tensor) -> Tensor:
        ctx.group = group
        made = empty((get_world_size(group), *tensor.shape), dtype=tensor.dtype)
        collectives.all_gather_into_tensor(made, tensor, group)
        return made

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, _ReduceScatter.apply(ReduceOp.SUM, ctx.group, _contiguous(grad))


class _ReduceScatter(Function):
    """Reduces stacked tensors, of which each rank gets its own; the gradient gathers."""

    @staticmethod
    def forward(ctx: Any, op: ReduceOp, group: Any, stacked: Tensor) -> Tensor:
        ctx.op, ctx.group = op, group
        made = empty(tuple(stacked.shape[1:]), dtype=stacked.dtype)
        collectives.reduce_scatter_tensor(made, stacked, op, group)
        return made

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        found = _AllGather.apply(ctx.group, _contiguous(grad))
        if ctx.op is ReduceOp.AVG:
            found = found / get_world_size(ctx.group)
        return None, None, found


class _AllToAll(Function):
    """Exchanges rows; the gradient sends them back."""

    @staticmethod
    def forward(
        ctx: Any, group: Any, output: Tensor, received: Any, sent: Any, input: Tensor
    ) -> Tensor:
        ctx.group, ctx.received, ctx.sent, ctx.like = group, received, sent, input.shape
        made = empty_like(output)
        rearranging.all_to_all_single(made, input, received, sent, group)
        return made

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        like = empty(tuple(ctx.like), dtype=grad.dtype)
        found = _AllToAll.apply(ctx.group, like, ctx.sent, ctx.received, _contiguous(grad))
        return None, None, None, None, found


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """The tensor of ``src``, a global rank; its gradient is the sum of the gradients of all."""
    return _Broadcast.apply(src, group, tensor)


def reduce(tensor: Tensor, dst: int, op: ReduceOp = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The tensors of all ranks joined on ``dst``; other ranks get their own back.

    Raises:
        NotImplementedError: for reductions other than SUM and AVG.
    """
    _check_linear("reduce", op)
    return _Reduce.apply(dst, op, group, tensor)


def all_reduce(tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The tensors of all ranks joined; the gradients of all ranks are joined in the same way.

    Raises:
        NotImplementedError: for reductions other than SUM and AVG.
    """
    _check_linear("all_reduce", op)
    return _AllReduce.apply(op, group, tensor)


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks, of one shape and dtype."""
    return _AllGather.apply(group, tensor).unbind(0)


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks on ``dst``; zeros of their shape on other ranks."""
    made = _AllGather.apply(group, tensor)
    if get_rank() != dst:
        made = made * 0
    return made.unbind(0)


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """The tensor of a list of ``src`` that is for this rank; all ranks give a list of one form."""
    from ...ops.views.join import stack

    stacked = stack(list(tensors))
    if get_rank() != src:
        stacked = stacked * 0
    return _ReduceScatter.apply(ReduceOp.SUM, group, stacked)


def reduce_scatter(
    output: Tensor, input_list: Sequence[Tensor], op: ReduceOp = ReduceOp.SUM, group: Any = None
) -> Tensor:
    """The lists of all ranks joined tensor by tensor, of which rank k gets the k-th result.

    Args:
        output: of the shape of the result; not written.

    Raises:
        NotImplementedError: for reductions other than SUM and AVG.
    """
    from ...ops.views.join import stack

    _check_linear("reduce_scatter", op)
    return _ReduceScatter.apply(op, group, stack(list(input_list)))


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
) -> Tensor:
    """Rows of the input to all ranks, and those that come back; ``output`` gives the shape."""
    return _AllToAll.apply(group, output, output_split_sizes, input_split_sizes, input)


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None
) -> tuple[Tensor, ...]:
    """The k-th tensor of the list to rank k, and one from each; the outputs give the shapes."""
    from ...ops.views.join import cat

    sent = [each.numel() for each in input_tensor_list]
    received = [each.numel() for each in output_tensor_list]
    flat = cat([each.reshape(-1) for each in input_tensor_list])
    made = _AllToAll.apply(group, empty((sum(received),), dtype=flat.dtype), received, sent, flat)
    parts = made.split(received)
    return tuple(
        [part.view(like.shape) for part, like in zip(parts, output_tensor_list, strict=True)]
    )
