"""Products with the vectors of a basis, a block of them at a time, so that they stay in the cache.

``basis.py`` asks here for Jacobians of many rows or columns. The function runs once, for the first
block, while a trace listens; the launches that depend on the block are run again for the others,
without Python in between. Nothing is remembered from one call to the next but programs, by exactly
what launches they have, so that a call never runs launches that its own first block did not. What
cannot be repeated is computed for all other vectors at once, by running the function again.
"""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

import numpy as np

from ..autograd.grad_mode import state as grad_mode
from ..autograd.hooks import watching
from ..backend import home_of
from ..executor import capture
from ..executor.memory.arrays import new_array
from ..executor.mode import NATIVE
from ..executor.plan.views import Memory
from ..executor.threads.pool import get_num_threads
from ..ops.views.join import cat
from ..program.trace import Trace
from ..tensor import Tensor, new_tensor
from ..transforms import levels
from .block_program import BlockProgram, Dependent, Launches, Units
from .vmap import vmap

__all__ = ["products_in_blocks"]

Product = Callable[..., list[Tensor]]

#: Vectors from which on a basis may be cut; those of a first block of which nothing is known.
MANY_VECTORS, FIRST_ROWS = 128, 32
#: Vectors that a block has at least.
MIN_ROWS = 4
#: Bytes that a block may take: what stays in a usual cache of the second level beside all else. The
#: first block runs operator by operator, in memory that is new to each, so a small one is best.
BLOCK_BYTES = 1 << 18
#: Bytes that all vectors together have to write, so that recording a block is worth the time.
MANY_BYTES = 32 << 20
#: Programs that are kept; those that one function may need before it is left alone.
MANY_PROGRAMS, MANY_FORMS = 16, 8


@dataclasses.dataclass
class _Experience:
    """Findings about a function and a basis of one form: they decide nothing but speed."""

    rows: int
    #: Whether ``rows`` follows from what a block writes; if they are 0, the basis is not cut.
    settled: bool = False
    programs: int = 0


_experiences: weakref.WeakKeyDictionary[CodeType, dict[Any, _Experience]] = (
    weakref.WeakKeyDictionary()
)
#: By the launches of a block: the program, or None if it does not do what the function does.
_programs: dict[Any, BlockProgram | None] = {}


def products_in_blocks(
    product: Product, like: Sequence[Tensor], function: Callable[..., Any]
) -> list[Tensor] | None:
    """``vmap(product)`` of all unit vectors in the form of ``like``; None if that is not for here.

    ``product`` runs once; once more when a program is made, or if there cannot be one.

    Args:
        product: takes Tensors in the form of ``like``, and is linear in them.
        like: the Tensors that the vectors are made for.
        function: the function of the user that ``product`` runs.
    """
    if any([home_of(tensor._array) is not None for tensor in like]):
        return None  # arrays that no program of the CPU reads
    units = Units([tensor._array for tensor in like])
    count = units.count
    known = _experience_of(function, like, count)
    if known is None:
        return None
    rows, every = known.rows, vmap(product)
    trace = Trace()
    given = units(0, rows)
    basis, first = _recorded(trace, every, given)
    program = None
    dependent = _dependent(trace, basis, first)
    if dependent is not None and dependent.nbytes * count >= MANY_BYTES * rows:
        program = _program_of(dependent, known, every)
    if dependent is None or program is None:
        known.rows, known.settled = 0, True
        rest = every(*map(new_tensor, units(rows, count)))
        return [cat([a, b], 0) for a, b in zip(first, rest, strict=True)]
    _settle(known, dependent, program, count)
    made = [new_array((count, *x._array.shape[1:]), x._array.dtype) for x in first]
    for array, tensor in zip(made, first, strict=True):
        array[:rows] = tensor._array
    program.write_rows(dependent, units, made, count % rows or rows)  # some of the first again
    return [new_tensor(array) for array in made]


def _recorded(
    trace: Trace, every: Callable[..., Any], given: Sequence[Any]
) -> tuple[list[Any], Any]:
    """The memory of the vectors given, and what is computed of them."""
    with trace.capturing():
        basis = [trace.view(array).memory for array in given]
        return basis, every(*map(new_tensor, given))


def _experience_of(
    function: Callable[..., Any], like: Sequence[Tensor], count: int
) -> _Experience | None:
    """The findings about a function, if its basis is to be cut at all."""
    if count < MANY_VECTORS or not NATIVE or capture.active is not None or watching.count:
        return None
    if levels.stack.levels or not all([x._array.dtype.char in "fd" for x in like]):
        return None
    if grad_mode.enabled and any([x._requires_grad for x in like]):
        return None
    code = _code_of(function)
    if code is None:
        return None
    form = get_num_threads(), *[(x._array.shape, x._array.dtype.char) for x in like]
    of_code = _experiences.setdefault(code, {})
    if len(of_code) > MANY_FORMS:
        of_code.clear()
    known = of_code.setdefault(form, _Experience(FIRST_ROWS))
    return known if 0 < 2 * known.rows <= count else None


def _code_of(function: Any) -> CodeType | None:
    """The code of a function behind its decorators, if it has one."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return getattr(function, "__code__", None)


def _dependent(trace: Trace, basis: list[Memory], made: Sequence[Tensor]) -> Dependent | None:
    """The launches that depend on the basis; None if they cannot be run again."""
    if trace.failure is not None or trace.numbers or trace.number_sources:
        return None
    for tensor in made:  # something outside of all this may follow them
        if tensor._requires_grad or tensor._array.__class__ is not np.ndarray:
            return None
    launches = Launches(trace.operations, basis)
    return launches.dependent([trace.view(tensor._array) for tensor in made])


def _settle(known: _Experience, dependent: Dependent, program: BlockProgram, count: int) -> None:
    """Decide how many rows the next call has in a block, once it is known what a row takes.

    The first block is computed by all threads together, the others by a thread each.
    """
    if known.settled:
        return
    known.settled = True
    held = program.arena_bytes + sum([x.array.nbytes for x in dependent.basis])
    fitting = max(MIN_ROWS, BLOCK_BYTES * known.rows // held)
    threads = get_num_threads()
    shared = -(-max(-(-count // fitting) - 1, 1) // threads) * threads
    rows = max(MIN_ROWS, -(-count // (shared + 1)))
    known.rows = rows if 2 * rows <= count else 0


def _program_of(dependent: Dependent, known: _Experience, every: Product) -> BlockProgram | None:
    """The program of some launches."""
    key = dependent.key
    if key in _programs:
        return _programs.get(key)
    known.programs += 1
    if known.programs > MANY_FORMS:
        return None
    while len(_programs) >= MANY_PROGRAMS:
        _programs.pop(next(iter(_programs)), None)
    program = dependent.program()
    if program is not None and not _agrees(program, dependent, every):
        program = None
    _programs[key] = program
    return program


def _agrees(program: BlockProgram, dependent: Dependent, every: Product) -> bool:
    """Whether the program does to some vectors just what the function does.

    It would not if an operator computed with the vectors in a way that no trace sees.
    """
    generator = np.random.default_rng(0)
    vectors = [
        np.asarray(generator.standard_normal(memory.array.shape), memory.array.dtype)
        for memory in dependent.basis
    ]
    expected = every(*map(new_tensor, vectors))
    block = dict(zip(dependent.basis, vectors, strict=True))
    found = program.run(dependent, block)
    return all(
        [np.array_equal(a._array, b, equal_nan=True) for a, b in zip(expected, found, strict=True)]
    )
