"""The launches of a capture that depend on some memory, and a program that runs them again.

``blocks.py`` captures what a function does to a block of vectors; here the launches are taken out
that follow from the block. They are run as they are, in their order, so results have the same bits.
Blocks of unit vectors are shared by threads: each is done as a whole by one of them.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np

from ..executor.plan.operations import Array, Operation, Pointwise, Product, Reduce, Rowwise
from ..executor.plan.views import Memory, Number, View
from ..executor.threads.pool import get_num_threads
from ..ops.operators.program_call import ProgramCall
from ..program import timing
from ..program.program import Program, as_view
from ..program.unit_vectors import Repeated
from ..tensor import new_tensor

__all__ = ["BlockProgram", "Dependent", "Launches", "Units"]


class _Touched(NamedTuple):
    """The memory that an operation reads, and that it writes."""

    reads: set[Memory]
    writes: set[Memory]

    @classmethod
    def by(cls, operation: Operation) -> _Touched:
        return cls({x.memory for x in operation.reads}, {x.memory for x in operation.writes})


class Launches:
    """The operations of a capture, and which of them depend on the memory ``basis``."""

    def __init__(self, operations: Sequence[Operation], basis: Sequence[Memory]):
        self.operations = operations
        self.basis = tuple(basis)
        self._touched = [_Touched.by(operation) for operation in operations]
        #: Memory whose contents depend on the basis.
        self.varying = set(basis)
        while self._spread():
            pass

    def _spread(self) -> bool:
        """Let what an operation reads decide about what it writes; whether anything changed.

        What varies in part is written by launches that do not depend on the basis as well, if they
        set the other parts: they belong to it.
        """
        before = len(self.varying)
        for touched in self._touched:
            if self._depends(touched):
                self.varying |= touched.writes
        return len(self.varying) != before

    def _depends(self, touched: _Touched) -> bool:
        varying = self.varying
        return not (varying.isdisjoint(touched.reads) and varying.isdisjoint(touched.writes))

    def dependent(self, results: Sequence[View]) -> Dependent | None:
        """The launches that make ``results`` of the basis; None if they cannot be run again."""
        kept = [self._depends(touched) for touched in self._touched]
        chosen = [each for each, keep in zip(self.operations, kept, strict=True) if keep]
        touched = [each for each, keep in zip(self._touched, kept, strict=True) if keep]
        made = set().union(*[each.writes for each in touched])
        if not all(map(_is_repeatable, chosen)) or not all([x.memory in made for x in results]):
            return None
        if not made.isdisjoint(self.basis) or not all([memory.made for memory in made]):
            return None
        given = dict.fromkeys(
            [view.memory for each in chosen for view in each.reads if view.memory not in made]
        )
        if not self._is_final(given.keys(), kept) or not _written_first(touched, made):
            return None
        return Dependent(chosen, self.basis, list(given), results)

    def _is_final(self, given: Set[Memory], kept: Sequence[bool]) -> bool:
        """Whether nothing writes memory after a launch that is run again has read it."""
        read: set[Memory] = set()
        for touched, keep in zip(self._touched, kept, strict=True):
            if keep:
                read |= touched.reads & given
            elif not read.isdisjoint(touched.writes):
                return False
        return True


def _is_repeatable(operation: Operation) -> bool:
    """Whether an operation is a launch and nothing else, of which all is known."""
    if not isinstance(operation, Pointwise | Product | Reduce | Rowwise):
        return False
    operands = operation.operands if isinstance(operation, Pointwise) else ()
    return not any([isinstance(x, Number) for x in operands])


def _written_first(operations: Sequence[_Touched], made: set[Memory]) -> bool:
    """Whether operations read nothing of what they make before it was written."""
    missing = set(made)
    for touched in operations:
        if not missing.isdisjoint(touched.reads):
            return False
        missing -= touched.writes
    return True


class Dependent:
    """Launches that make some results of a basis, and memory that does not depend on it.

    Attributes:
        given: the memory that they read, as views of all of it; of the basis and any other.
        results: for each result its place among what the program returns, and how it lies there.
        nbytes: what they write.
    """

    def __init__(
        self,
        operations: list[Operation],
        basis: tuple[Memory, ...],
        given: list[Memory],
        results: Sequence[View],
    ):
        self.operations = operations
        self.basis = basis
        self.given = [_whole(memory) for memory in given]
        self._memories = list(dict.fromkeys([view.memory for view in results]))
        self.results = [(self._memories.index(view.memory), view) for view in results]
        self.nbytes = sum(
            [view.size * view.dtype.itemsize for each in operations for view in each.writes]
        )

    @functools.cached_property
    def whole(self) -> bool:
        """Whether each result is a memory, so that its rows can be written where they belong."""
        views = [view for _, view in self.results]
        apart = len(self._memories) == len(views)
        return apart and all([x.contiguous and x == _whole(x.memory) for x in views])

    @functools.cached_property
    def key(self) -> Any:
        """All that the program follows from: equal for launches that are done by one program."""
        numbers: dict[Memory, int] = {}
        entries: list[Any] = [_key(operation, numbers) for operation in self.operations]
        entries += [_key_of_view(view, numbers) for view in self.given]
        entries += [_key_of_view(view, numbers) for _, view in self.results]
        forms = [(x.array.shape, x.array.strides, x.array.dtype.num, x.made) for x in numbers]
        return tuple(entries), tuple(forms)

    def program(self) -> BlockProgram | None:
        """A program of the launches, which keeps no memory of the capture."""
        try:
            made = ProgramCall(Program(self.operations, self.given, self._memories))
        except ValueError:  # a part of it runs in Python
            return None
        return BlockProgram(made)


class BlockProgram:
    """The program of some launches, run for other vectors than those that were captured.

    It belongs to any :class:`Dependent` with the same key. Any thread may run it.
    """

    def __init__(self, call: ProgramCall):
        self._call = call
        #: By threads, and by the basis: those that nobody runs.
        self._repeated: dict[Any, list[Repeated]] = {}

    @property
    def arena_bytes(self) -> int:
        """Bytes of what lies between the launches."""
        return self._call.program.arena_bytes

    def run(self, dependent: Dependent, block: Mapping[Memory, Array]) -> list[Array]:
        """The results for a block of vectors."""
        arrays = [block.get(view.memory, view.memory.array) for view in dependent.given]
        made = self._call(*map(new_tensor, arrays))
        return [as_view(made[position], view) for position, view in dependent.results]

    def write_rows(
        self, dependent: Dependent, units: Units, results: Sequence[Array], start: int
    ) -> None:
        """Write the rows of ``results``, contiguous arrays, from ``start`` on: whole blocks."""
        count, rows = len(results[0]), len(dependent.basis[0].array)
        if dependent.whole and timing.active is None:
            self._repeat(dependent, units, results, start, (count - start) // rows)
            return
        for first in range(start, count, rows):
            vectors = units(first, first + rows)
            block = dict(zip(dependent.basis, vectors, strict=True))
            for array, found in zip(results, self.run(dependent, block), strict=True):
                array[first : first + rows] = found

    def _repeat(
        self, dependent: Dependent, units: Units, results: Sequence[Array], start: int, blocks: int
    ) -> None:
        """The same with a program for each thread."""
        firsts = dict(zip(dependent.basis, units.firsts, strict=True))
        basis = {k: firsts[x.memory] for k, x in enumerate(dependent.given) if x.memory in firsts}
        workers = min(get_num_threads(), blocks)
        free = self._repeated.setdefault((workers, *basis.items()), [])
        given = [x.memory.array for x in dependent.given]
        repeated = _taken(free) or Repeated(self._call.program, basis, workers)
        _run_and_give_back(repeated, free, given, results, start, blocks)


def _run_and_give_back(repeated: Repeated, free: list[Repeated], *arguments: Any) -> None:
    try:
        repeated.run(*arguments)
    finally:
        free.append(repeated)


def _taken(free: list[Repeated]) -> Repeated | None:
    """One of the programs that no thread runs, if there is any."""
    try:
        return free.pop()
    except IndexError:
        return None


class Units:
    """Unit vectors of all of some arrays together."""

    def __init__(self, like: Sequence[Array]):
        self._forms = [(array.shape, array.dtype, array.size) for array in like]
        sizes = [array.size for array in like]
        #: For each array the number of the vector whose one is its first element.
        self.firsts = [sum(sizes[:k]) for k in range(len(sizes))]
        self.count = sum(sizes)

    def __call__(self, start: int, stop: int) -> list[Array]:
        """Some of them: an array ``(stop - start, *shape)`` for each."""
        blocks = []
        for first, (shape, dtype, size) in zip(self.firsts, self._forms, strict=True):
            block = np.zeros((stop - start, *shape), dtype)
            numbers = np.arange(max(start, first), min(stop, first + size))
            block.reshape(stop - start, -1)[numbers - start, numbers - first] = 1
            blocks.append(block)
        return blocks


def _whole(memory: Memory) -> View:
    array = memory.array
    address = array.ctypes.data
    return View(memory, address - memory.address, array.shape, array.strides, array.dtype)


def _key(operation: Operation, numbers: dict[Memory, int]) -> Any:
    """The description of an operation, with numbers in the place of memory.

    Formulas and programs are those of operators, of which there is one each; a program keeps its
    operations, so an identity is not given to another one while the key is used.
    """
    reads = [_key_of_view(view, numbers) for view in operation.reads]
    writes = [_key_of_view(view, numbers) for view in operation.writes]
    what: Any
    if isinstance(operation, Pointwise):
        constant = not operation.formula.inputs  # of a fill, which makes its formula anew
        formula = repr(operation.formula) if constant else id(operation.formula)
        numbers_given = [
            (type(x).__name__, repr(x)) if not isinstance(x, View) else None
            for x in operation.operands
        ]
        what = (formula, operation.compute, operation.numbers, *numbers_given)
    elif isinstance(operation, Reduce):
        shifted = operation.shift is not None
        what = (id(operation.program), operation.mask, operation.keepdim, shifted,
                repr(operation.parameter))  # fmt: skip
    elif isinstance(operation, Rowwise):
        what = (id(operation.program), operation.dim)
    else:
        assert isinstance(operation, Product)
        what = (operation.accumulates, len(operation.further), operation.epilogue is None)
    return (type(operation).__name__, what, *reads, None, *writes)


def _key_of_view(view: View, numbers: dict[Memory, int]) -> Any:
    number = numbers.setdefault(view.memory, len(numbers))
    return number, view.offset, view.shape, view.strides, view.dtype.num
