"""Finding out what a captured call left behind: results, gradients, counts of writes.

``call_capture.py`` asks after the call; the answer is an ``Effects``, which every run of the
program then repeats. What no run could leave behind in the same way is ``Unusable``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..autograd.hooks.tensor_hooks import registered
from ..autograd.node import UNRECORDED, Node
from ..autograd.writes.inplace import MULTIPLE
from ..executor.plan.views import Memory
from ..program.input_numbers import DrawnNumber, is_given
from ..program.trace import Trace
from ..structure import containers_in, flatten
from ..tensor import Tensor
from .effects import COMPUTED, CONSTANT, INFERENCE, KNOWN, MADE, Effects, Made, Position, Unusable
from .reachable_state import ReachableState, extras_of
from .snapshot import Owners, Snapshot
from .watched import Assigned


class EffectsOfCall:
    """The effects of one call.

    ``may_be_written`` says that the results are of the middle of a function, which may write them.

    Attributes:
        results: memory that runs have to make, in order.
        live: results with a graph that somebody may walk later.
    """

    def __init__(
        self,
        trace: Trace,
        reachable: ReachableState,
        before: Snapshot,
        owners: Owners,
        may_be_written: bool,
    ):
        self._may_be_written = may_be_written
        self._trace = trace
        self._reachable = reachable
        self._before = before
        self._owners = owners
        self._results: dict[Memory, int] = {}
        self.live: list[Tensor] = []
        self._known: dict[int, Position] = {}
        #: Counts of writes: the tensor that each belongs to.
        self._cells: dict[int, Position] = {}
        for position in before.positions:
            tensor = before.tensor(position)
            self._known.setdefault(id(tensor), position)
            if tensor._version_cell is not None and not tensor.is_inference():
                self._cells.setdefault(id(tensor._version_cell), position)
        self._made: dict[int, Made] = {}
        self._tensors: dict[int, Tensor] = {}

    @property
    def made(self) -> list[Made]:
        """The tensors that runs have to make."""
        return list(self._made.values())

    @property
    def results(self) -> list[Memory]:
        """The memory that runs have to make."""
        return list(self._results)

    def find(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        result: Any,
        assigned: Sequence[Assigned],
    ) -> Effects:
        """The effects of the call with these arguments, which returned ``result``."""
        flags = self._flags()
        gradients = self._gradients()
        versions = self._versions()
        leaves, structure = flatten(result)
        containers = {id(x) for x in containers_in((args, kwargs))}
        for container in containers_in(result):
            if id(container) in self._reachable.reached or id(container) in containers:
                raise Unusable("a list, dict or dataclass that outlives the call, returned")
        for leaf in leaves:
            if not isinstance(leaf, (Tensor, bool, int, float, str, bytes, type(None))):
                raise Unusable(f"a result of type {type(leaf).__name__}")
            if isinstance(leaf, DrawnNumber):
                raise Unusable("a number that changes from step to step, returned")
        returned = [self._reference(leaf) for leaf in leaves]
        attributes = [(x.dictionary, x.key, self._reference(x.new)) for x in assigned]
        self._link_views()
        return Effects(flags, gradients, versions, structure, returned, attributes)

    def _flags(self) -> list[tuple[Position, bool]]:
        """The leaves that require gradients now and did not before the call, or the other way."""
        flags = []
        for position in self._before.positions:
            tensor, state = self._before.tensor(position), self._before.state(position)
            if tensor._array is not state.array:
                raise Unusable("a tensor that was given other memory, as by .data = ...")
            if tensor._producer is not state.grad_fn:
                raise Unusable("a tensor that exists outside and got a history")
            if registered(tensor) != state.hooks:
                raise Unusable("a hook of a tensor that exists outside, which outlives the call")
            if tensor._requires_grad != state.requires_grad:
                if position.of_gradient:
                    raise Unusable("a gradient that got a history")
                flags.append((position, tensor._requires_grad))
        return flags

    def _gradients(self) -> list[tuple[Position, tuple[int, Any]]]:
        """The gradients that are not those from before the call."""
        gradients = []
        for position in self._before.positions:
            tensor, state = self._before.tensor(position), self._before.state(position)
            if not position.of_gradient and tensor._accumulated is not state.gradient:
                gradients.append((position, self._reference(tensor._accumulated)))
                if self.live:
                    raise Unusable("a gradient that has a graph")
        return gradients

    def _versions(self) -> list[tuple[Position, int]]:
        """The tensors that were written, and how often."""
        versions, seen = [], set()
        for position in self._before.positions:
            cell = self._before.tensor(position)._version_cell
            if cell is None or id(cell) in seen:
                continue
            seen.add(id(cell))
            version = self._before.state(position).version
            if cell[0] != version:
                versions.append((position, cell[0] - version))
        return versions

    def _reference(self, value: Any) -> tuple[int, Any]:
        """How a later run finds, or makes, a value that the call left behind."""
        if is_given(value):
            return COMPUTED, value.compute
        if not isinstance(value, Tensor):
            return CONSTANT, value
        if id(value) in self._known:
            return KNOWN, self._known[id(value)]
        if id(value) not in self._made:
            self._made[id(value)] = self._described(value)
            self._tensors[id(value)] = value
        return MADE, self._made[id(value)]

    def _described(self, tensor: Tensor) -> Made:
        """A tensor that the call made, as a view of a result or of given memory."""
        view = self._trace.view(tensor._array)
        memory = view.memory
        if not memory.made and memory not in self._owners:  # nothing but views of it were made
            self._owners.find(self._trace, self._before.positions, self._before.arrays)
        if memory.made:
            position: Any = self._results.setdefault(memory, len(self._results))
            owner = None
        elif memory in self._owners:
            position, owner = None, self._owners[memory]
        else:
            raise Unusable("a result in memory that the program does not know")
        _check_plain(tensor)
        name, output = self._graph(tensor, owner is not None)
        cell, base = tensor._version_cell, tensor._viewed
        count: Position | int | None = None
        if cell is not None:
            count = INFERENCE if tensor.is_inference() else self._cells.get(id(cell), id(cell))
        return Made(
            view, position, owner, tensor._requires_grad, name, output,
            count, 0 if cell is None else cell[0],
            None if base is None else self._known.get(id(base)),
            is_unrecorded=tensor._producer is UNRECORDED,
            is_of_memory=tensor._memory is not None or base is not None,
        )  # fmt: skip

    def _link_views(self) -> None:
        """Let results that are views of others be so in every run.

        Their histories follow each other's writes. Those of results with a live graph cannot, as
        they come out of one node: these must not be written.
        """
        for key, tensor in list(self._tensors.items()):
            base = tensor._viewed
            if base is None or base._producer is not None or base._requires_grad:
                continue
            if not self._made[key].is_unshared:
                self._reference(base)  # it may be known by its views alone
        found = [(self._tensors[key], made) for key, made in self._made.items()]
        found.sort(key=lambda pair: pair[0]._viewed is not None)  # a base before its views
        heads: dict[int, Made] = {}
        for tensor, made in found:
            base = tensor._viewed
            cell: Any = tensor._version_cell
            if base is not None and made.base is None and id(base) in self._made:
                made.base = self._made[id(base)]
            if made.base is not None and cell is not None:
                made.origin = tensor._view_origin
                made.is_registered = any([known() is tensor for known in cell[1:]])
            if made.output is None or cell is None:
                continue
            head = heads.setdefault(id(cell), made)
            if head is not made:
                if self._may_be_written:
                    raise Unusable("results that share memory, and a graph")
                made.base, made.origin, made.is_registered = head, MULTIPLE, True

    def _graph(self, tensor: Tensor, is_view: bool) -> tuple[str | None, int | None]:
        """The name of a graph that was used up; which of the live results this is."""
        node = tensor._producer
        if node is None or node is UNRECORDED:
            return None, None
        if _is_freed(node):
            return node.name(), None
        if is_view:
            raise Unusable("a view of an argument whose graph is still needed")
        self.live.append(tensor)
        return None, len(self.live) - 1


def _check_plain(tensor: Tensor) -> None:
    """Raise for a result that has more to it than elements and a graph."""
    if type(tensor) is not Tensor:
        raise Unusable(f"a result of the class {type(tensor).__name__}")
    if extras_of(tensor):
        raise Unusable("a result with hooks, or with attributes of its own")
    if tensor._accumulated is not None:
        raise Unusable("a result that has a gradient")


def _is_freed(node: Any) -> bool:
    """Whether backward freed a node, or one that it leads to, so that it cannot run again."""
    pending, seen = [node], set()
    while pending:
        node = pending.pop()
        if not isinstance(node, Node) or id(node) in seen:
            continue
        if None in (getattr(node, "saved", ()), getattr(node, "_saved_variables", ())):
            return True
        seen.add(id(node))
        pending += [edge[0] for edge in node.next_edges if edge is not None]
    return False


__all__ = ["EffectsOfCall"]
