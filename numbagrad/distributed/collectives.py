"""Collectives on tensors: all ranks of a group call the same function.

Each describes what it exchanges in words that all ranks have to agree on, and hands arrays to an
``Exchange``. Tensors are written in place and nothing is recorded in the graph; collectives with a
gradient are in ``numbagrad.distributed.nn.functional``. Where this process is not in the group they
do nothing and return None.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..autograd import tensor_interface as interface
from ..autograd.grad_mode import no_grad
from ..autograd.writes.inplace import before_write
from ..executor import capture
from ..ops.creation.filled import empty
from ..ops.views.join import cat
from ..tensor import Tensor
from .communicator import Communicator, Requests
from .exchange import Exchange
from .process_group import ProcessGroup, group_of
from .reduce_op import ReduceOp, check_reduction
from .work import Work

__all__ = [
    "all_gather", "all_gather_into_tensor", "all_reduce", "barrier", "broadcast", "gather",
    "reduce", "reduce_scatter", "reduce_scatter_tensor", "scatter",
]  # fmt: skip


def check_tensor(function: str, name: str, value: Any) -> None:
    """Raise unless a value is a Tensor with ordinary memory of this machine.

    Raises:
        TypeError: if it is no Tensor.
        RuntimeError: for one under a transformation, and for one of another device.
    """
    if not isinstance(value, Tensor):
        raise TypeError(f"{function}(): {name} has to be a Tensor, got {type(value).__name__}")
    if value._array.__class__ is not np.ndarray:
        raise RuntimeError(
            f"{function}(): {name} has to be a tensor of the CPU, outside of vmap and forward mode"
        )


def check_tensors(function: str, name: str, values: Any, count: int | None = None) -> None:
    """Raise unless a value is a list of Tensors, of one dtype, and so many.

    Raises:
        TypeError: if it is no list of Tensors.
        ValueError: if there are not ``count``, or dtypes differ.
    """
    if not isinstance(values, (list, tuple)):
        raise TypeError(f"{function}(): {name} has to be a list of Tensors, "
                        f"got {type(values).__name__}")  # fmt: skip
    for k, value in enumerate(values):
        check_tensor(function, f"{name}[{k}]", value)
    if count is not None and len(values) != count:
        raise ValueError(
            f"{function}(): {name} has {len(values)} tensors; a group of {count} ranks "
            f"needs {count}"
        )
    if len({value.dtype for value in values}) > 1:
        raise ValueError(f"{function}(): the tensors of {name} are not of one dtype")


def form(tensor: Tensor) -> str:
    """The dtype and the shape of a tensor, for messages."""
    return f"{str(tensor.dtype).rpartition('.')[2]}{list(tensor._array.shape)}"


def rank_in(group: ProcessGroup, function: str, rank: int | None, of_group: int | None) -> int:
    """The rank in a group of a process, given as its global rank or as that of the group.

    Raises:
        ValueError: if neither or both are given, and if the group has no such rank.
    """
    if (rank is None) == (of_group is None):
        raise ValueError(f"{function}(): give the global rank, or the rank in the group, not both")
    if of_group is None:
        assert rank is not None
        return group.rank_of(rank)
    if not 0 <= of_group < group.size():
        raise ValueError(f"{function}(): a group of {group.size()} ranks has no rank {of_group}")
    return of_group


class Plan:
    """An exchange of one call: between whom, in which words, and how it is started."""

    def __init__(
        self,
        group: ProcessGroup,
        name: str,
        words: str,
        start: Callable[..., Requests],
        async_op: bool,
        op: ReduceOp | None = None,
        takes_part: bool = True,
    ) -> None:
        size = group.size()
        divisor = size if op is ReduceOp.AVG and takes_part else 0
        share = 1.0 if op is ReduceOp.SUM else 1.0 / size if op is ReduceOp.AVG else None
        if not takes_part:  # its own tensor stays as it is
            share = 1.0 if share is not None else None
        # A blocking exchange of MPI does not meet one that is not.
        waits = group.timeout is None and not async_op
        kind = "" if waits else ", asynchronous"
        joined = "" if op is None else f", {op.name}"
        text = f"{name}({words}{joined}{kind})"
        self._start = start
        self._waits = waits
        self.name = name
        self.group = group
        self.is_asynchronous = async_op
        self.exchange = Exchange(name, group.communicator, text, self._begin, divisor, share)

    def _begin(self, *arrays: Any, blocking: bool) -> Requests:
        requests = self._start(self.group.communicator, *arrays, blocking=self._waits)
        if blocking and requests:
            Work(self.name, requests, limit=self.group.timeout).wait()
            return ()
        return requests

    def run(
        self,
        output: Tensor,
        *inputs: Tensor,
        then: Callable[[], None] | None = None,
        outcome: Any = None,
    ) -> Work | None:
        """Write ``output`` with what the ranks have; ``then()`` is called when that is there.

        Returns:
            A ``Work`` for an asynchronous call, else None when it is over.
        """
        outcome = output if outcome is None else outcome
        before_write(output)
        given = [each._array for each in inputs]
        if not self.is_asynchronous or capture.is_capturing():
            # In a program each call is over when it returns: what follows may read the outcome.
            capture.exchange(self.exchange, output._array, *given)
            interface.bump_version(output)
            if then is not None:
                then()
            if not self.is_asynchronous:
                return None
            work = Work(self.name, outcome=outcome)
            work.wait()
            return work
        requests, finish = self.exchange.begin(output._array, *given, blocking=False)
        interface.bump_version(output)

        def end() -> None:
            finish()
            if then is not None:
                then()

        return Work(self.name, requests, end, outcome, self.group.timeout)


def copied_out(flat: Tensor, tensors: Sequence[Tensor]) -> None:
    """Write the parts of a flat tensor into tensors."""
    with no_grad():
        for part, tensor in zip(
            flat.split([each.numel() for each in tensors]), tensors, strict=True
        ):
            tensor.copy_(part.view(tensor.shape))


def joined(tensors: Sequence[Tensor]) -> Tensor:
    """The elements of tensors of one dtype, one after another."""
    with no_grad():
        return cat([each.detach().reshape(-1) for each in tensors])


def all_reduce(
    tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Join the tensors of all ranks; each gets the same result, bit by bit, in place.

    Args:
        tensor: of one shape and dtype on all ranks.
        op: how; see :class:`ReduceOp`.
        async_op: return a :class:`Work` at once.

    Raises:
        RuntimeError: on every rank, if they disagree about shape, dtype or ``op``.
    """
    found = group_of(group, "all_reduce")
    check_tensor("all_reduce", "tensor", tensor)
    check_reduction("all_reduce", tensor._array.dtype, op)
    if found is None:
        return None

    def start(ranks: Communicator, array: Any, blocking: bool) -> Requests:
        return ranks.all_reduce(array, op, blocking)

    return Plan(found, "all_reduce", form(tensor), start, async_op, op).run(tensor)


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: ReduceOp = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Join the tensors of all ranks in that of ``dst``, in place; others are as they were.

    Args:
        dst: a global rank; ``group_dst`` is one of the group.
    """
    found = group_of(group, "reduce")
    check_tensor("reduce", "tensor", tensor)
    check_reduction("reduce", tensor._array.dtype, op)
    if found is None:
        return None
    root = rank_in(found, "reduce", dst, group_dst)

    def start(ranks: Communicator, array: Any, blocking: bool) -> Requests:
        return ranks.reduce(array, op, root, blocking)

    words = f"{form(tensor)}, dst={root}"
    mine = found.rank() == root
    return Plan(found, "reduce", words, start, async_op, op, mine).run(tensor)


def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Write the tensor of ``src`` into those of all other ranks.

    Args:
        src: a global rank; ``group_src`` is one of the group.
    """
    found = group_of(group, "broadcast")
    check_tensor("broadcast", "tensor", tensor)
    if found is None:
        return None
    root = rank_in(found, "broadcast", src, group_src)

    def start(ranks: Communicator, array: Any, blocking: bool) -> Requests:
        return ranks.broadcast(array, root, blocking)

    return Plan(found, "broadcast", f"{form(tensor)}, src={root}", start, async_op).run(tensor)


def start_all_gather(ranks: Communicator, made: Any, array: Any, blocking: bool) -> Requests:
    return ranks.all_gather(array, made, blocking)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Write the tensors of all ranks one after another into ``output_tensor``.

    Args:
        output_tensor: joined along dimension 0, or stacked along a new one: only the number of
            elements counts.
        input_tensor: of one shape and dtype on all ranks.

    Raises:
        ValueError: if the output has another dtype, or not so many elements.
    """
    name = "all_gather_into_tensor"
    found = group_of(group, name)
    check_tensor(name, "output_tensor", output_tensor)
    check_tensor(name, "input_tensor", input_tensor)
    if found is None:
        return None
    if output_tensor.dtype is not input_tensor.dtype:
        raise ValueError(
            f"{name}(): output is {form(output_tensor)}, input {form(input_tensor)}: "
            "the dtypes have to be one"
        )
    if output_tensor.numel() != found.size() * input_tensor.numel():
        raise ValueError(
            f"{name}(): output {form(output_tensor)} has to hold {found.size()} times the input, "
            f"which is {form(input_tensor)}"
        )
    plan = Plan(found, name, form(input_tensor), start_all_gather, async_op)
    return plan.run(output_tensor, input_tensor)


def all_gather(
    tensor_list: list[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Write the tensors of all ranks into those of a list, one for each rank.

    Args:
        tensor_list: of the dtype of ``tensor``; all of its shape.
        tensor: of one shape and dtype on all ranks.
    """
    found = group_of(group, "all_gather")
    check_tensor("all_gather", "tensor", tensor)
    check_tensors("all_gather", "tensor_list", tensor_list)
    if found is None:
        return None
    _check_like("all_gather", "tensor_list", tensor_list, tensor, found.size())
    made = empty((found.size(), *tensor.shape), dtype=tensor.dtype)
    plan = Plan(found, "all_gather", form(tensor), start_all_gather, async_op)
    then = functools.partial(copied_out, made.view(-1), tensor_list)
    return plan.run(made, tensor, then=then, outcome=tensor_list)


def _check_like(
    function: str, name: str, tensors: Sequence[Tensor], like: Tensor, count: int
) -> None:
    check_tensors(function, name, tensors, count)
    for k, each in enumerate(tensors):
        if each.dtype is not like.dtype or each.shape != like.shape:
            raise ValueError(
                f"{function}(): {name}[{k}] is {form(each)}, and {form(like)} is what it exchanges"
            )


class _ListOfRoot:
    """A call in which the root alone has a list of tensors, one for each rank.

    The root is rank 0 unless it is named.

    Args:
        name: of the function, and ``list_name`` of the list, for messages.
        tensor: what each rank gives or gets; its dtype and shape are those of the list.
        tensors: the list, empty or None but on the root.
        role: the parameter that names the root, ``src`` or ``dst``.

    Raises:
        ValueError: if the list is not there on the root, or there elsewhere, and if its tensors are
            not like ``tensor``.
    """

    def __init__(
        self, name: str, tensor: Tensor, list_name: str, tensors: list[Tensor] | None,
        group: ProcessGroup, rank: int | None, rank_of_group: int | None, role: str,
    ) -> None:  # fmt: skip
        first = 0 if rank is None and rank_of_group is None else rank
        self.root = rank_in(group, name, first, rank_of_group)
        self.is_here = group.rank() == self.root
        self.words = f"{form(tensor)}, {role}={self.root}"
        if self.is_here != bool(tensors):
            side = "source" if role == "src" else "destination"
            raise ValueError(
                f"{name}(): {list_name} has to be given on the {side} rank, and there alone"
            )
        self.tensors = tensors or []
        if self.is_here:
            _check_like(name, list_name, self.tensors, tensor, group.size())


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Write the tensors of all ranks into those of a list of ``dst``.

    Args:
        gather_list: on ``dst`` alone, a tensor for each rank.
        dst: a global rank, 0 without; ``group_dst`` is one of the group.
    """
    found = group_of(group, "gather")
    check_tensor("gather", "tensor", tensor)
    if found is None:
        return None
    of_root = _ListOfRoot(
        "gather", tensor, "gather_list", gather_list, found, dst, group_dst, "dst"
    )

    def start(ranks: Communicator, made: Any, array: Any, blocking: bool) -> Requests:
        return ranks.gather(array, made if of_root.is_here else None, of_root.root, blocking)

    plan = Plan(found, "gather", of_root.words, start, async_op)
    shape = (found.size(), *tensor.shape) if of_root.is_here else (0,)
    made = empty(shape, dtype=tensor.dtype)
    then = functools.partial(copied_out, made.view(-1), of_root.tensors)
    return plan.run(made, tensor, then=then if of_root.is_here else None, outcome=of_root.tensors)


def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Write each of a list of tensors of ``src`` into the tensor of one rank.

    Args:
        scatter_list: on ``src`` alone, a tensor for each rank.
        src: a global rank, 0 without; ``group_src`` is one of the group.
    """
    found = group_of(group, "scatter")
    check_tensor("scatter", "tensor", tensor)
    if found is None:
        return None
    of_root = _ListOfRoot(
        "scatter", tensor, "scatter_list", scatter_list, found, src, group_src, "src"
    )

    def start(ranks: Communicator, made: Any, *array: Any, blocking: bool) -> Requests:
        return ranks.scatter(array[0] if array else None, made, of_root.root, blocking)

    plan = Plan(found, "scatter", of_root.words, start, async_op)
    return plan.run(tensor, *([joined(of_root.tensors)] if of_root.is_here else []))


def _start_reduce_scatter(op: ReduceOp) -> Callable[..., Requests]:
    def start(ranks: Communicator, made: Any, array: Any, blocking: bool) -> Requests:
        return ranks.reduce_scatter(array, made, op, blocking)

    return start


def reduce_scatter_tensor(
    output: Tensor,
    input: Tensor,
    op: ReduceOp = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Join the inputs of all ranks; each gets one of as many equal parts as there are ranks.

    Args:
        output: the part of this rank.
        input: as many elements times the number of ranks; of one shape and dtype on all ranks.

    Raises:
        ValueError: if the output has another dtype, or not so many elements.
    """
    name = "reduce_scatter_tensor"
    found = group_of(group, name)
    check_tensor(name, "output", output)
    check_tensor(name, "input", input)
    check_reduction(name, input._array.dtype, op)
    if found is None:
        return None
    if output.dtype is not input.dtype or input.numel() != found.size() * output.numel():
        raise ValueError(
            f"{name}(): input {form(input)} has to be of the dtype of the output, and "
            f"{found.size()} times as large: {form(output)}"
        )
    plan = Plan(found, name, form(input), _start_reduce_scatter(op), async_op, op)
    plan.exchange._share = None  # the parts of an input go to several ranks
    return plan.run(output, input)


def reduce_scatter(
    output: Tensor,
    input_list: list[Tensor],
    op: ReduceOp = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Join the lists of all ranks, tensor by tensor; rank k gets the k-th result.

    Args:
        output: of the shape and dtype of the tensors of the list.
        input_list: a tensor for each rank.
    """
    found = group_of(group, "reduce_scatter")
    check_tensor("reduce_scatter", "output", output)
    check_tensors("reduce_scatter", "input_list", input_list)
    check_reduction("reduce_scatter", output._array.dtype, op)
    if found is None:
        return None
    _check_like("reduce_scatter", "input_list", input_list, output, found.size())
    start = _start_reduce_scatter(op)
    plan = Plan(found, "reduce_scatter", form(output), start, async_op, op)
    plan.exchange._share = None
    return plan.run(output, joined(input_list))


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    """Return when all ranks of the group have called it."""
    found = group_of(group, "barrier")
    capture.refuse("distributed.barrier(), which a program cannot repeat")
    if found is None:
        return None
    waits = found.timeout is None and not async_op
    work = Work("barrier", found.communicator.barrier(waits), limit=found.timeout)
    if async_op:
        return work
    work.wait()
    return None
