"""The parts of a program: operations on views of memory (``views.py``), in the order they ran.

The trace writes a list of these operations; fusion, planning and lowering read it. Everything
here is about addresses and arrays; Tensors and gradients have already become plain operations.
"""

from __future__ import annotations

import dataclasses
import functools
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ...backend import is_array
from ...dtype import computed_as, from_numpy
from ...dtype import dtype as DType
from ...formula import Expression, Formula, constant, symbol
from ...kernels.rowwise.rows import ClassKind
from .forms import Array
from .views import (
    Memory,
    Operand,
    View,
    ViewOf,
    bytes_of,
    mapped,
    views_in,
)


class Operation:
    """One step of a program. Subclasses say what it does."""

    name: str
    #: The operators that were fused into it, in the order they ran.
    parts: tuple[str, ...] = ()

    def commented(self, source: str) -> str:
        """The source of its kernel, with the operators that were fused named below the header."""
        if len(self.parts) < 2:
            return source
        header, _, body = source.partition("\n")
        names = textwrap.wrap(f"fuses {', '.join(self.parts)}", 97)
        return "\n".join([header, *[f"# {line}" for line in names], body])

    @property
    def reads(self) -> Iterator[View]:
        """The views it reads."""
        raise NotImplementedError

    @property
    def writes(self) -> Iterator[View]:
        """The views it writes."""
        raise NotImplementedError


@functools.lru_cache(maxsize=256)
def _formula_of(number: Any, text: str) -> Formula:
    return Formula((), [constant(number)])


@functools.cache
def _identity() -> Formula:
    return Formula(("x",), [symbol("x")])


def _computed(view: View) -> str:
    return computed_as(from_numpy(view.dtype)).name


@dataclasses.dataclass(eq=False)
class Pointwise(Operation):
    """A formula over operands broadcast to the shape of the outputs.

    ``compute`` is the dtype it computes in; ``numbers`` the dtype in which each Python number among
    the operands reaches it (None for views). An ``eager`` one has the kernel that launchers run,
    which knows nothing of where operands lie.
    """

    name: str
    formula: Formula
    operands: tuple[Operand, ...]
    outputs: tuple[View, ...]
    compute: str
    numbers: tuple[str | None, ...]
    eager: bool = False

    @classmethod
    def of_call(
        cls,
        view: ViewOf,
        called: tuple[str, Formula],
        operands: Sequence[Any],
        made: Sequence[Array],
        signature: tuple[DType, Sequence[str | None]],
        number: Callable[[Any, str | None], Any] | None = None,
        new: bool = False,
        eager: bool = False,
    ) -> Pointwise:
        """The operation of a call of a formula, by its name; ``view`` gives the views of arrays.

        ``signature`` is the dtype it computes in, and the dtypes in which numbers reach it;
        ``number(value, dtype)`` is what stands for a number among the operands, by default itself.
        ``new`` says that the call made the memory of its outputs.
        """
        compute, numbers = signature
        passed = tuple([
            view(x) if is_array(x) else x if number is None else number(x, kind)
            for x, kind in zip(operands, numbers, strict=True)
        ])  # fmt: skip
        written = tuple([view(x, new) for x in made])
        return cls(*called, passed, written, compute.name, tuple(numbers), eager)

    @classmethod
    def of_views(
        cls, name: str, formula: Formula, operands: Iterable[View], output: View, compute: str
    ) -> Pointwise:
        """A formula over views alone, without numbers among its operands, into one of them."""
        given = tuple(operands)
        return cls(name, formula, given, (output,), compute, (None,) * len(given))

    @classmethod
    def fill(cls, written: View, element: Any) -> Pointwise:
        """Every element of a view becomes a number."""
        formula = _formula_of(element, repr(element))  # -0.0 equals 0.0, and True equals 1
        return cls("fill", formula, (), (written,), _computed(written), ())

    @classmethod
    def copy(cls, read: View, written: View) -> Pointwise:
        """The elements of a view in another one of its dtype; it broadcasts."""
        return cls.of_views("copy", _identity(), (read,), written, _computed(written))

    @property
    def shape(self) -> tuple[int, ...]:
        """The iteration space."""
        return self.outputs[0].shape

    @property
    def reads(self) -> Iterator[View]:
        return (x for x in self.operands if isinstance(x, View))

    @property
    def writes(self) -> Iterator[View]:
        return iter(self.outputs)


@dataclasses.dataclass(eq=False)
class Product(Operation):
    """``c = a @ b`` for float32 or float64 stacks of matrices; the batches broadcast.

    It may be ``c += a @ b``, ``c`` may be a sum with ``further`` products of equal shapes and
    strides, and an ``epilogue`` over all of ``c``, which it reads, may run on what was written.
    """

    a: View
    b: View
    c: View
    name: str = "matmul"
    accumulates: bool = False
    further: tuple[tuple[View, View], ...] = ()
    epilogue: Pointwise | None = None

    @classmethod
    def of_call(cls, view: ViewOf, a: Array, b: Array, made: Array) -> Product:
        """The operation of a product that was made; ``view`` gives the views of arrays."""
        return cls(view(a), view(b), view(made, True))

    @property
    def terms(self) -> tuple[tuple[View, View], ...]:
        """The factors of each product that it sums."""
        return ((self.a, self.b), *self.further)

    @property
    def reads(self) -> Iterator[View]:
        for term in self.terms:
            yield from term
        if self.accumulates:
            yield self.c
        if self.epilogue is not None:
            yield from [view for view in self.epilogue.reads if view != self.c]

    @property
    def writes(self) -> Iterator[View]:
        yield self.c
        if self.epilogue is not None:
            yield from [view for view in self.epilogue.writes if view != self.c]


@dataclasses.dataclass(eq=False)
class Reduce(Operation):
    """A reduction of some dimensions (bits of ``mask``) as ``program`` defines it.

    ``parameter`` is the number ``p`` of its formulas.
    """

    program: Any
    source: View
    mask: int
    keepdim: bool
    shift: View | None
    output: View
    parameter: float | None = None
    #: The indices of a selection; None for other reductions.
    indices: View | None = None

    @classmethod
    def of_call(
        cls, view: ViewOf, program: Any, arguments: tuple[Any, ...], made: Sequence[Array]
    ) -> Reduce:
        """The operation of a call of a ``ReductionProgram``; ``view`` gives the views of arrays."""
        array, mask, keepdim, *rest = arguments
        shift, parameters = (*rest, None, None)[:2]
        output, *indices = [view(x, True) for x in made]
        return cls(
            program, view(array), int(mask), bool(keepdim),
            None if shift is None else view(shift), output,
            None if parameters is None else float(parameters[0]),
            indices[0] if indices else None,
        )  # fmt: skip

    @property
    def name(self) -> str:  # type: ignore[override]
        return str(self.program.definition.name)

    @property
    def reads(self) -> Iterator[View]:
        return iter((self.source,) if self.shift is None else (self.source, self.shift))

    @property
    def writes(self) -> Iterator[View]:
        return iter((self.output,) if self.indices is None else (self.output, self.indices))


@dataclasses.dataclass(eq=False)
class Rowwise(Operation):
    """A kernel along one dimension of contiguous arrays, as ``program`` defines it."""

    program: Any
    dim: int
    inputs: tuple[View, ...]
    outputs: tuple[View, ...]

    @classmethod
    def of_call(
        cls, view: ViewOf, program: Any, dim: int, arrays: Sequence[Array], made: Sequence[Array]
    ) -> Rowwise:
        """The operation of a call of a ``RowwiseProgram``; ``view`` gives the views of arrays."""
        inputs = tuple([view(x) for x in arrays])
        return cls(program, dim, inputs, tuple([view(x, True) for x in made]))

    @property
    def name(self) -> str:  # type: ignore[override]
        return str(self.program.name)

    @property
    def reads(self) -> Iterator[View]:
        return iter(self.inputs)

    @property
    def writes(self) -> Iterator[View]:
        return iter(self.outputs)


@dataclasses.dataclass(frozen=True)
class Input:
    """An operand of a :class:`RowLoop`: as a variable, and what is read of it.

    Views are as large as the space; ``number`` is the dtype in which a Python number arrives.
    """

    name: str
    operand: Operand
    #: A truth value or not, or what is known of the class of a row (``kernels/rowwise/rows.py``).
    kind: bool | ClassKind
    number: str | None


@dataclasses.dataclass(frozen=True)
class Total:
    """A value that a :class:`RowLoop` combines over rows: of every column, or all elements."""

    partials: View  # (chunks, columns) or (chunks,)
    combine: str
    value: Expression
    by_columns: bool


@dataclasses.dataclass(eq=False)
class RowLoop(Operation):
    """Formulas and reductions over the rows of a space (all its dimensions but the last).

    ``reductions`` lists variable, combination and what is combined; expressions may use inputs and
    the variables of reductions before. Outputs with a last stride of 0 have one element a row.
    ``totals`` are reductions over rows, one result for every ``chunk`` of rows. ``elements`` is the
    number of elements, less than the space has if its last row is not full.
    """

    name: str
    space: tuple[int, ...]
    compute: str
    inputs: tuple[Input, ...]
    reductions: tuple[tuple[str, str, Expression], ...]
    outputs: tuple[tuple[View, Expression], ...]
    totals: tuple[Total, ...]
    chunk: int
    elements: int

    @property
    def reads(self) -> Iterator[View]:
        return (x.operand for x in self.inputs if isinstance(x.operand, View))

    @property
    def writes(self) -> Iterator[View]:
        yield from [view for view, _ in self.outputs]
        yield from [total.partials for total in self.totals]


@dataclasses.dataclass(eq=False)
class Kernel(Operation):
    """A ``HandWrittenKernel`` over ``total`` units of work.

    It writes the first of its arguments, of which it reads the last ``kernel.updates`` as well.
    """

    kernel: Any
    total: int
    grain: int
    args: tuple[Any, ...]

    @property
    def name(self) -> str:  # type: ignore[override]
        return str(self.kernel.name)

    @property
    def reads(self) -> Iterator[View]:
        return views_in(self.args[self.kernel.writes - self.kernel.updates :])

    @property
    def writes(self) -> Iterator[View]:
        return views_in(self.args[: self.kernel.writes])


@dataclasses.dataclass(eq=False)
class Call(Operation):
    """A Python function of arrays, called at each run: what has no kernel a program can hold.

    ``arguments`` holds a View where the function gets an array. What it returns is stored in
    ``outputs``; ``written`` are the arguments that it writes.
    """

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    outputs: tuple[View, ...]
    written: tuple[View, ...] = ()
    #: Whether it must run though nobody reads what it makes, as a random draw.
    effect: bool = False
    #: Whether it only raises or does nothing.
    check: bool = False
    #: Whether other processes take part: if it raises, the function is not called in its place.
    exchanges: bool = False

    @property
    def reads(self) -> Iterator[View]:
        return views_in(self.arguments)

    @property
    def writes(self) -> Iterator[View]:
        return iter((*self.outputs, *self.written))


@dataclasses.dataclass(eq=False)
class Check(Operation):
    """A ``HandWrittenKernel`` that says whether a check fails: ``explain(*arguments)`` then raises.

    ``args`` are its arguments but for the first two, which are those of a launch that may fail.
    """

    kernel: Any
    total: int
    grain: int
    args: tuple[Any, ...]
    arguments: tuple[Any, ...]
    explain: Callable[..., None]

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"check_{self.kernel.name}"

    @property
    def reads(self) -> Iterator[View]:
        return views_in(self.arguments)

    @property
    def writes(self) -> Iterator[View]:
        return iter(())


@dataclasses.dataclass(eq=False)
class Opaque(Operation):
    """A function that a user compiled with Numba: it reads its arguments and writes the outputs.

    ``arguments`` are all that it is called with, in order, the outputs among them; views are in C
    order.
    """

    name: str
    function: Any
    arguments: tuple[Operand, ...]
    outputs: tuple[View, ...]

    @property
    def reads(self) -> Iterator[View]:
        return (x for x in self.arguments if isinstance(x, View) and x not in self.outputs)

    @property
    def writes(self) -> Iterator[View]:
        return iter(self.outputs)


def moved(operation: Operation) -> int:
    """Bytes that one run reads and writes, each view once."""
    return sum([bytes_of(view) for view in (*set(operation.reads), *set(operation.writes))])


def is_check(operation: Operation) -> bool:
    """Whether an operation only raises or does nothing."""
    return isinstance(operation, Check) or (isinstance(operation, Call) and operation.check)


def may_raise(operation: Operation) -> bool:
    """Whether there are values that make an operation fail."""
    return isinstance(operation, (Call, Check, Opaque))


def with_views(operation: Operation, function: Callable[[View], View]) -> Operation:
    """The operation on other views: ``function`` maps each to the one it is now."""

    def replace(value: Any) -> Any:
        if isinstance(value, View):
            return function(value)
        if isinstance(value, Input):
            return dataclasses.replace(value, operand=replace(value.operand))
        if isinstance(value, Total):
            return dataclasses.replace(value, partials=replace(value.partials))
        return with_views(value, function) if isinstance(value, Operation) else value

    changes = {
        field.name: mapped(getattr(operation, field.name), replace)
        for field in dataclasses.fields(operation)  # type: ignore[arg-type]
        if isinstance(getattr(operation, field.name), (View, Operation, tuple, list))
    }
    made = dataclasses.replace(operation, **changes)  # type: ignore[type-var]
    made.parts = operation.parts
    return made


def renamed(operation: Operation, name: Callable[[Memory], Memory]) -> Operation:
    """The operation on other blocks of memory: ``name`` maps each to the one it is now."""
    return with_views(operation, lambda view: dataclasses.replace(view, memory=name(view.memory)))
