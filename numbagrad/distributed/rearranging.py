"""Collectives that cut tensors into parts for all ranks, and those of several tensors at once."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from ..ops.creation.filled import empty
from ..tensor import Tensor
from .collectives import (
    Plan,
    check_tensor,
    check_tensors,
    copied_out,
    form,
    joined,
    start_all_gather,
)
from .communicator import Communicator, Requests
from .process_group import ProcessGroup, group_of
from .reduce_op import ReduceOp, check_reduction
from .work import Work

__all__ = [
    "all_gather_coalesced", "all_reduce_coalesced", "all_to_all", "all_to_all_single",
]  # fmt: skip


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Cut the input along dimension 0, a part for each rank, and join the parts that come back.

    Args:
        output: the parts of all ranks for this one, in the order of ranks.
        input: of one dtype, and of one shape but for dimension 0, on all ranks.
        output_split_sizes, input_split_sizes: rows for each rank; equal parts without.

    Raises:
        ValueError: for rows that do not add up.
        RuntimeError: on every rank, if one sends other rows than another expects.
    """
    name = "all_to_all_single"
    found = group_of(group, name)
    check_tensor(name, "output", output)
    check_tensor(name, "input", input)
    if found is None:
        return None
    if output.dtype is not input.dtype:
        raise ValueError(
            f"{name}(): output is {form(output)}, input {form(input)}: the dtypes have to be one"
        )
    sent = _rows(name, "input", input, input_split_sizes, found.size())
    received = _rows(name, "output", output, output_split_sizes, found.size())
    return _all_to_all(found, name, output, input, sent, received, async_op)


def _rows(
    function: str, name: str, tensor: Tensor, sizes: Sequence[int] | None, count: int
) -> list[int]:
    """How many elements of a tensor each rank has."""
    rows = tensor.shape[0] if tensor.dim() else 1
    if not sizes:
        if rows % count:
            raise ValueError(
                f"{function}(): {rows} rows of {name} cannot be cut into {count} equal parts; give "
                f"{name}_split_sizes="
            )
        sizes = [rows // count] * count
    if len(sizes) != count or sum(sizes) != rows or min(sizes) < 0:
        raise ValueError(
            f"{function}(): {name}_split_sizes {list(sizes)} have to be {count} sizes that add up "
            f"to the {rows} rows of {name}"
        )
    row = tensor.numel() // rows if rows else 0
    return [int(size) * row for size in sizes]


def _all_to_all(
    group: ProcessGroup,
    name: str,
    output: Tensor,
    input: Tensor,
    sent: list[int],
    received: list[int],
    async_op: bool,
    **keywords: Any,
) -> Work | None:
    def start(ranks: Communicator, made: Any, array: Any, blocking: bool) -> Requests:
        _check_counts(name, ranks, sent, received)
        return ranks.all_to_all(array, sent, made, received, blocking)

    plan = Plan(group, name, str(input.dtype).rpartition(".")[2], start, async_op)
    return plan.run(output, input, **keywords)


def _check_counts(name: str, ranks: Communicator, sent: list[int], received: list[int]) -> None:
    """Raise on every rank if one sends another number of elements than another one expects."""
    counts = ranks.objects((sent, received))
    for source, (given, _) in enumerate(counts):
        for rank, (_, expected) in enumerate(counts):
            if given[rank] != expected[source]:
                raise RuntimeError(
                    f"{name}(): rank {source} sends {given[rank]} elements to rank {rank}, which "
                    f"expects {expected[source]} (ranks of the group)"
                )


def all_to_all(
    output_tensor_list: list[Tensor],
    input_tensor_list: list[Tensor],
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Send the k-th tensor of a list to rank k, and receive one from each rank.

    Args:
        output_tensor_list: what is received, in the order of ranks, of any shapes.
        input_tensor_list: what is sent; all tensors of all ranks are of one dtype.
    """
    found = group_of(group, "all_to_all")
    check_tensors("all_to_all", "output_tensor_list", output_tensor_list)
    check_tensors("all_to_all", "input_tensor_list", input_tensor_list)
    if found is None:
        return None
    for name, tensors in (("output", output_tensor_list), ("input", input_tensor_list)):
        check_tensors("all_to_all", f"{name}_tensor_list", tensors, found.size())
    if output_tensor_list[0].dtype is not input_tensor_list[0].dtype:
        raise ValueError("all_to_all(): outputs and inputs have to be of one dtype")
    sent = [each.numel() for each in input_tensor_list]
    received = [each.numel() for each in output_tensor_list]
    made = empty((sum(received),), dtype=output_tensor_list[0].dtype)
    return _all_to_all(
        found, "all_to_all", made, joined(input_tensor_list), sent, received, async_op,
        then=functools.partial(copied_out, made, output_tensor_list), outcome=output_tensor_list,
    )  # fmt: skip


def all_reduce_coalesced(
    tensors: list[Tensor], op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """``all_reduce`` of several tensors of one dtype in one exchange."""
    found = group_of(group, "all_reduce_coalesced")
    check_tensors("all_reduce_coalesced", "tensors", tensors)
    if found is None or not tensors:
        return None
    check_reduction("all_reduce_coalesced", tensors[0]._array.dtype, op)

    def start(ranks: Communicator, array: Any, blocking: bool) -> Requests:
        return ranks.all_reduce(array, op, blocking)

    words = ", ".join(map(form, tensors))
    plan = Plan(found, "all_reduce_coalesced", words, start, async_op, op)
    flat = joined(tensors)
    return plan.run(flat, then=functools.partial(copied_out, flat, tensors), outcome=tensors)


def all_gather_coalesced(
    output_tensor_lists: list[list[Tensor]],
    input_tensor_list: list[Tensor],
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """``all_gather`` of several tensors of one dtype in one exchange.

    Args:
        output_tensor_lists: for each rank a list of tensors like those of the input.
    """
    name = "all_gather_coalesced"
    found = group_of(group, name)
    check_tensors(name, "input_tensor_list", input_tensor_list)
    if found is None:
        return None
    if len(output_tensor_lists) != found.size():
        raise ValueError(f"{name}(): a group of {found.size()} ranks needs as many lists")
    for tensors in output_tensor_lists:
        check_tensors(name, "output_tensor_lists", tensors, len(input_tensor_list))
    flat = joined(input_tensor_list)
    made = empty((found.size(), flat.numel()), dtype=flat.dtype)
    outputs = [each for tensors in output_tensor_lists for each in tensors]
    words = ", ".join(map(form, input_tensor_list))
    plan = Plan(found, name, words, start_all_gather, async_op)
    then = functools.partial(copied_out, made.view(-1), outputs)
    return plan.run(made, flat, then=then, outcome=outputs)
