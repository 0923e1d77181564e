"""Hooks that average a bucket of gradients, as they are or in a dtype of two bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....dtype import bfloat16, float16
from ....futures import Future
from ....tensor import Tensor
from ... import collectives
from ...process_group import group_of
from ...reducer import GradBucket

__all__ = [
    "allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "fp16_compress_hook",
    "fp16_compress_wrapper",
]  # fmt: skip


def _average(process_group: Any, tensor: Tensor) -> Future[Any]:
    """A future of the mean of a tensor over the ranks, which it becomes."""
    group = group_of(process_group, "allreduce_hook")
    assert group is not None
    tensor.div_(group.size())
    work = collectives.all_reduce(tensor, group=group, async_op=True)
    assert work is not None
    return work.get_future().then(lambda future: future.value()[0])


def allreduce_hook(process_group: Any, bucket: GradBucket) -> Future[Any]:
    """The mean over the ranks, as without a hook.

    Args:
        process_group: the ranks; all for None.
    """
    return _average(process_group, bucket.buffer())


def _compressed(process_group: Any, bucket: GradBucket, dtype: Any) -> Future[Any]:
    buffer = bucket.buffer()

    def restored(future: Any) -> Tensor:
        buffer.copy_(future.value())
        return buffer

    return _average(process_group, buffer.to(dtype)).then(restored)


def fp16_compress_hook(process_group: Any, bucket: GradBucket) -> Future[Any]:
    """The mean over the ranks of gradients rounded to float16, half the bytes.

    Gradients are divided by the number of ranks before they are added: sums do not overflow.
    """
    return _compressed(process_group, bucket, float16)


def bf16_compress_hook(process_group: Any, bucket: GradBucket) -> Future[Any]:
    """The mean over the ranks of gradients rounded to bfloat16, half the bytes."""
    return _compressed(process_group, bucket, bfloat16)


def _wrapped(hook: Callable[..., Any], dtype: Any) -> Callable[..., Any]:
    def compressed(state: Any, bucket: GradBucket) -> Future[Any]:
        buffer = bucket.buffer()
        bucket.set_buffer(buffer.to(dtype))

        def restored(future: Any) -> Tensor:
            buffer.copy_(future.value())
            return buffer

        return hook(state, bucket).then(restored)

    return compressed


def fp16_compress_wrapper(hook: Callable[..., Any]) -> Callable[..., Any]:
    """A hook that gives another one gradients of float16."""
    return _wrapped(hook, float16)


def bf16_compress_wrapper(hook: Callable[..., Any]) -> Callable[..., Any]:
    """A hook that gives another one gradients of bfloat16."""
    return _wrapped(hook, bfloat16)
