"""Gradients of a module averaged over ranks while its backward goes on.

The parameters are cut into buckets, in the reverse of their order, which is about that in which
gradients become ready. A hook counts; when all gradients of a bucket are there they are copied into
one flat tensor, and its sum over the ranks is started. When the backward has run all nodes, the
sums are waited for and become the gradients. Buckets start in one order on all ranks.

In a compiled program the start and the end of each sum are operations of the program, between
which it goes on with the launches of the backward.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..autograd import tensor_interface as interface
from ..autograd.engine.walk import reachable
from ..autograd.grad_mode import no_grad
from ..autograd.grad_mode import state as grad_mode
from ..autograd.hooks.tensor_hooks import hooks_of
from ..autograd.node import edge_of
from ..autograd.variable import Variable
from ..autograd.writes.inplace import before_write
from ..backend import address_of
from ..executor import capture
from ..ops.creation.filled import empty, zeros_like
from ..ops.creation.from_memory import from_numpy
from ..ops.pointwise.functions import mul
from ..structure import flatten
from ..tensor import Tensor
from .collectives import joined
from .communicator import Array, Requests, Sum
from .exchange import changed_outcome
from .process_group import ProcessGroup
from .reduce_op import ReduceOp
from .work import Work

__all__ = ["GradBucket", "Reducer", "buckets_of"]

#: The limit of the first bucket, so that the first sum starts early.
FIRST_BUCKET_BYTES = 1 << 20


def buckets_of(
    parameters: Sequence[Tensor], cap: int, first: int = FIRST_BUCKET_BYTES
) -> list[list[int]]:
    """Places of parameters, bucket by bucket: the last ones first, of one dtype each.

    Args:
        parameters: in the order in which the forward uses them.
        cap: bytes that a bucket holds at most, unless a parameter is larger by itself.
        first: the same for the first bucket of a dtype.
    """
    made: list[list[int]] = []
    open_ones: dict[Any, tuple[list[int], int]] = {}
    limits: dict[Any, int] = {}
    for position in reversed(range(len(parameters))):
        kind, size = parameters[position].dtype, parameters[position]._array.nbytes
        positions, filled = open_ones.get(kind, ([], 0))
        if positions and filled + size > limits.setdefault(kind, min(first, cap)):
            made.append(positions)
            limits[kind] = cap
            positions, filled = [], 0
        open_ones[kind] = ([*positions, position], filled + size)
    return made + [positions for positions, _ in open_ones.values()]


class GradBucket:
    """Gradients of several parameters in one flat tensor, as a communication hook gets them."""

    def __init__(
        self, index: int, count: int, buffer: Tensor, parameters: Sequence[Tensor]
    ) -> None:
        self._index = index
        self._count = count
        self._buffer = buffer
        self._parameters = list(parameters)

    def index(self) -> int:
        """The number of the bucket, in the order in which sums are started."""
        return self._index

    def buffer(self) -> Tensor:
        """The gradients, one after another."""
        return self._buffer

    def set_buffer(self, buffer: Tensor) -> None:
        """Replace the flat tensor."""
        self._buffer = buffer

    def gradients(self) -> list[Tensor]:
        """The gradient of each parameter, a view of the flat tensor."""
        return parts_of(self._buffer, self._parameters)

    def parameters(self) -> list[Tensor]:
        """The parameters."""
        return list(self._parameters)

    def is_last(self) -> bool:
        """Whether it is the last bucket of a backward."""
        return self._index == self._count - 1


def parts_of(flat: Tensor, like: Sequence[Tensor]) -> list[Tensor]:
    """Views of a flat tensor, of the shapes of others."""
    parts = flat.split([each.numel() for each in like])
    return [part.view(each.shape) for part, each in zip(parts, like, strict=True)]


class _Averaging:
    """The mean of one bucket over the ranks: two operations of a program, its start and its end."""

    def __init__(self, total: Sum, factor: float, limit: float | None) -> None:
        self._total = total
        self._factor = factor
        self._limit = limit
        self._requests: Requests = ()
        self._array: Array | None = None
        self._keeps = capture.active is not None and capture.current_trace() is not None
        #: The gradients given in the captured call, and their sums.
        self._given: Array | None = None
        self._outcome: Array | None = None
        self._given_now: Array | None = None

    def start_all_reduce(self, array: Array, given: Array) -> None:
        """Start the sum of an array in place; it is named as what is read as well."""
        if capture.rehearsal.active:
            self._given_now = given.copy()
            return
        if self._keeps:
            self._given = given.copy()
        self._array = array  # is written until the sum is there
        self._requests = self._total.start(array, self._factor)

    def wait_all_reduce(self, array: Array) -> None:
        if capture.rehearsal.active:
            if not capture.rehearsal.recalls:
                assert self._given_now is not None
                array[...] = self._given_now
                return
            assert self._given is not None and self._given_now is not None
            assert self._outcome is not None
            array[...] = changed_outcome(self._given, self._given_now, self._outcome, 1.0)
            return
        self.wait()
        if self._keeps:
            self._outcome, self._keeps = array.copy(), False
        else:
            self._given = self._outcome = self._given_now = None

    def wait(self) -> None:
        """Return when the sum is there."""
        Work("DistributedDataParallel", self._requests, limit=self._limit).wait()
        self._requests, self._array = (), None

    def poll(self) -> None:
        """Drive the sum on."""
        for request in self._requests:
            request.done()


def _fill(part: Tensor, gradient: Tensor) -> None:
    """Write a gradient to its place, which has its shape and no gaps; it may lie there."""
    there, array = part._array, gradient._array
    if array.__class__ is not np.ndarray or array.dtype != there.dtype:
        part.copy_(gradient)
    elif address_of(array) != address_of(there) or array.strides != there.strides:
        np.copyto(there, array)


class Reducer:
    """Averages the gradients of parameters over the ranks of a group, during each backward.

    Args:
        parameters: with their names; the same on all ranks.
        group: the ranks.
        cap: bytes that a bucket holds at most.
        finds_unused: whether a backward may leave parameters without a gradient.
        as_views: whether gradients become views of the buckets.
    """

    def __init__(
        self,
        parameters: Sequence[tuple[str, Tensor]],
        group: ProcessGroup,
        cap: int,
        finds_unused: bool,
        as_views: bool,
    ) -> None:
        self._names = [name for name, _ in parameters]
        self._parameters = [parameter for _, parameter in parameters]
        self._group = group
        self._ranks = group.copy()
        self.finds_unused = finds_unused
        self._as_views = as_views
        self.buckets = buckets_of(self._parameters, cap)
        self._sums = tuple(self._ranks.sums([self._form(positions) for positions in self.buckets]))
        #: The flat tensors of sums that have a place for these.
        self._memory = tuple([
            None if (memory := each.memory) is None else from_numpy(memory) for each in self._sums
        ])  # fmt: skip
        #: For each parameter its bucket, and where its elements begin there.
        self._positions: dict[int, tuple[int, int]] = {}
        for k, positions in enumerate(self.buckets):
            sizes = [self._parameters[position].numel() for position in positions]
            starts = itertools.accumulate(sizes, initial=0)
            self._positions.update(
                {position: (k, at) for position, at in zip(positions, starts, strict=False)}
            )
        #: The place of each gradient there, or None where a backward makes its flat tensor anew.
        self._parts = tuple([
            None if (flat := self._memory[self._positions[k][0]]) is None else self._part(flat, k)
            for k in range(len(self._parameters))
        ])  # fmt: skip
        #: Gradients that are views: the same tensors in each backward, so that a program finds the
        #: arrays that it knows, and need not ask where they lie.
        self._views = tuple([None if part is None else part.detach() for part in self._parts])
        #: Whether sums multiply what ranks give by their share in the mean.
        self._sums_scale = None not in self._memory
        self.hook: tuple[Any, Callable[..., Any]] | None = None
        self._syncs = True
        #: Parameters that the outputs of the last forward do not depend on.
        self._unused: frozenset[int] = frozenset()
        self._forget()
        for position, parameter in enumerate(self._parameters):
            parameter.register_post_accumulate_grad_hook(functools.partial(self._ready, position))
            if as_views and self._sums_scale:
                hooks_of(parameter).memory = functools.partial(self._memory_of, position)

    def _forget(self) -> None:
        """Be as between two backwards."""
        #: How many gradients each bucket waits for; None while no backward is under way.
        self._waiting: list[int] | None = None
        #: A bit for each parameter whose gradient is complete. (A number, as what ``compile``
        #: watches has to be after a call what it was before.)
        self._met = 0
        #: A bit for each parameter whose gradient was to be written to its place in the bucket.
        self._placed = 0
        #: Whether gradients are multiplied by their share in the mean as they are given, as in a
        #: program, where the kernel that makes one does it; None while that is open.
        self._scales: bool | None = None
        #: For each bucket what this rank gives, and then the sum.
        self._flats: tuple[Tensor, ...] = ()
        #: The flat tensors and their sums; a tuple, as an empty one is always the same object.
        self._started: tuple[tuple[Tensor, Any], ...] = ()

    def _abandon(self) -> None:
        """End a backward that raised; others still read what this rank gave."""
        for _, reduction in self._started:
            if isinstance(reduction, _Averaging):
                reduction.wait()
        self._forget()

    def prepare(self, syncs: bool, outputs: Any) -> None:
        """Get ready for the backward of a forward.

        Args:
            syncs: whether that averages gradients, or leaves them to a later one.
            outputs: what the forward returned.
        """
        self._syncs = syncs
        if self._waiting is not None:
            self._abandon()
        if self.finds_unused and syncs:
            self._unused = self._unused_by(outputs)

    def _unused_by(self, outputs: Any) -> frozenset[int]:
        leaves, _ = flatten(outputs)
        tensors = [each for each in leaves if isinstance(each, Tensor) and each._requires_grad]
        edges = [edge for edge in map(edge_of, tensors) if edge is not None]
        used = {id(target) for target in reachable([edge[0] for edge in edges])}
        return frozenset([k for k, each in enumerate(self._parameters) if id(each) not in used])

    def _ready(self, position: int, parameter: Tensor) -> None:
        """Count a gradient that is complete; called by the engine."""
        if not self._syncs:
            if capture.is_capturing():  # a call that leaves behind what it found can be a program
                Variable._execution_engine.queue_callback(self._sync_again)
            return
        if self._waiting is None:
            self._begin()
        assert self._waiting is not None
        if self._met >> position & 1:
            raise RuntimeError(
                f"DistributedDataParallel: the gradient of {self._names[position]} was ready twice "
                "in one backward"
            )
        self._met |= 1 << position
        if self.hook is None:
            self._give(position)
        # In a program a bucket that is complete now is started with the next gradient: a product
        # whose gradient is given next to it writes it there itself, but not past the start of a
        # sum. The gradient of a bias, which comes just before that of its weight, starts none.
        in_program = capture.active is not None
        if in_program and parameter._array.ndim != 1:
            self._start_complete()
        if position not in self._unused:
            self._waiting[self._positions[position][0]] -= 1
        if not in_program:
            self._start_complete()
        for _, reduction in self._started:
            if isinstance(reduction, _Averaging):
                reduction.poll()

    def _sync_again(self) -> None:
        self._syncs = True

    def _memory_of(self, position: int) -> Array | None:
        """Where a node may write the gradient of a parameter; asked by the node.

        That has to be the only one, seen by nobody but the engine until it is averaged.
        """
        parameter = self._parameters[position]
        hooks, walk = hooks_of(parameter), grad_mode.walk
        if (
            (walk is None or walk.plan is not None)
            or self.hook is not None
            or not self._syncs
            or self._scales_here()
            or self._placed >> position & 1
            or parameter._accumulated is not None
            or (hooks.tensor or hooks.pre or hooks.post or len(hooks.post_accumulate) != 1)
        ):
            return None
        self._placed |= 1 << position
        return self._parts[position]._array  # type: ignore[union-attr]  # all have one

    def _scales_here(self) -> bool:
        """Whether gradients of this backward are scaled as they are given; decided by the first."""
        if self._scales is None:
            self._scales = capture.active is not None or not self._sums_scale
        return self._scales

    def _begin(self) -> None:
        Variable._execution_engine.queue_callback(self._finish)
        if self.hook is None:
            self._flats = tuple(
                [
                    self._new_memory(k) if (flat := self._memory[k]) is None else flat
                    for k in range(len(self.buckets))
                ]
            )
        self._waiting = [
            len([position for position in positions if position not in self._unused])
            for positions in self.buckets
        ]

    def _start_complete(self) -> None:
        """Start the sums of buckets that are complete, in the order of the buckets."""
        assert self._waiting is not None
        while len(self._started) < len(self.buckets) and not self._waiting[len(self._started)]:
            self._start(len(self._started))

    def _form(self, positions: Sequence[int]) -> tuple[int, np.dtype[Any]]:
        """How many elements a bucket has, and of which dtype."""
        arrays = [self._parameters[position]._array for position in positions]
        return sum([each.size for each in arrays]), arrays[0].dtype

    def _start(self, index: int) -> None:
        parameters = [self._parameters[position] for position in self.buckets[index]]
        if self.hook is not None:
            with no_grad():
                flat = joined([self._gradient(each) for each in parameters])
            state, hook = self.hook
            bucket = GradBucket(index, len(self.buckets), flat, parameters)
            self._started += ((flat, hook(state, bucket)),)
            return
        flat = self._flats[index]
        for position in self.buckets[index]:
            if not self._met >> position & 1:
                self._give(position)
        before_write(flat)
        mean = _Averaging(self._sums[index], self._factor_left(flat), self._group.timeout)
        capture.exchange(mean.start_all_reduce, flat._array, flat._array)
        self._started += ((flat, mean),)

    def _factor_left(self, flat: Tensor) -> float:
        """The factor that the sum has to multiply what this rank gives by."""
        factor = 1 / self._group.size()
        if self._scales_here():
            return 1.0
        if capture.active is not None:  # a program begins amid the backward
            with no_grad():
                mul(flat, factor, out=flat)
            return 1.0
        return factor

    def _give(self, position: int) -> None:
        """Write a gradient, or its share in the mean, to its place in the bucket.

        At once, where it is still in the cache, and in a program an epilogue of its product.
        """
        gradient, factor = self._gradient(self._parameters[position]), 1 / self._group.size()
        part = self._parts[position]
        with no_grad():
            if part is None:
                part = self._part(self._flats[self._positions[position][0]], position)
            if self._scales_here():
                mul(gradient, factor, out=part)
            else:
                _fill(part, gradient)

    def _part(self, flat: Tensor, position: int) -> Tensor:
        """The place of a gradient in the flat tensor of its bucket."""
        at, parameter = self._positions[position][1], self._parameters[position]
        return flat[at : at + parameter.numel()].view(parameter.shape)

    def _new_memory(self, index: int) -> Tensor:
        count, _ = self._form(self.buckets[index])
        return empty((count,), dtype=self._parameters[self.buckets[index][0]].dtype)

    @staticmethod
    def _gradient(parameter: Tensor) -> Tensor:
        return zeros_like(parameter) if parameter.grad is None else parameter.grad

    def _finish(self) -> None:
        """Wait for the sums, and make gradients of them; the end of a backward."""
        assert self._waiting is not None
        missing = [k for k in range(len(self._parameters)) if not self._met >> k & 1]
        if missing and not self.finds_unused:
            self._abandon()
            names = ", ".join([self._names[k] for k in missing[:10]])
            raise RuntimeError(
                "DistributedDataParallel: the loss did not depend on the parameters "
                f"{names}{', ...' if len(missing) > 10 else ''}, so their gradients cannot be "
                "averaged; pass find_unused_parameters=True, or use all of them in the loss"
            )
        for index in range(len(self._started), len(self.buckets)):
            self._start(index)  # what other ranks may have used, and this one has not
        used = self._used_anywhere() if self.finds_unused else None
        for index, (flat, reduction) in enumerate(self._started):
            self._hand_out(index, self._outcome(flat, reduction), used)
        self._forget()

    def _used_anywhere(self) -> Array:
        """For every parameter whether some rank has a gradient of it."""
        capture.refuse(
            "DistributedDataParallel(find_unused_parameters=True), which asks other ranks what "
            "they have used"
        )
        used = np.array([self._met >> k & 1 for k in range(len(self._parameters))], np.uint8)
        self._ranks.all_reduce(used, ReduceOp.MAX, True)
        return used

    def _outcome(self, flat: Tensor, reduction: Any) -> Tensor:
        if isinstance(reduction, _Averaging):
            capture.exchange(reduction.wait_all_reduce, flat._array)
            interface.bump_version(flat)
            return flat
        value = reduction.wait()
        if isinstance(value, (list, tuple)):
            value = value[0] if len(value) == 1 else joined(value)
        if not isinstance(value, Tensor) or value.numel() != flat.numel():
            raise RuntimeError(
                "DistributedDataParallel: a communication hook has to return a future of a tensor "
                f"of {flat.numel()} elements, as the bucket has"
            )
        return value if value.dtype is flat.dtype else value.to(flat.dtype)

    def _hand_out(self, index: int, flat: Tensor, used: Array | None) -> None:
        """Make gradients of the sums of a bucket."""
        positions = self.buckets[index]
        parameters = [self._parameters[position] for position in positions]
        with no_grad():
            if flat is self._memory[index]:
                parts = list(map(self._lasting_view, positions))
            else:
                parts = parts_of(flat, parameters)
            for position, parameter, part in zip(positions, parameters, parts, strict=True):
                if used is not None and not used[position]:
                    continue
                if self._as_views or parameter.grad is None:
                    parameter.grad = part if self._as_views else part.clone()
                else:
                    parameter.grad.copy_(part)

    def _lasting_view(self, position: int) -> Tensor:
        """The place of a gradient in memory that lasts."""
        part, view = self._parts[position], self._views[position]
        assert part is not None and view is not None
        return view if view._array is part._array else part.detach()  # view.data was set
