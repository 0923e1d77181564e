"""From an operation to launches: the kernel, its packed arguments, and how the work is cut.

Called by the planner for every operation that runs without Python. Pointwise operations, products
and kernels with arguments of their own are lowered here, reductions next door; programs register
how their own kinds of operations are lowered.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from ...codegen import loader
from ...dtype import from_numpy as dtype_of
from ...formula.expression import postorder
from ...kernels import layout
from ...kernels.matmul import layout as matmul_layout
from ...kernels.pointwise import source as pointwise
from ..cache import library
from ..memory.buffers import stream_bytes
from ..threads import pool
from ..user_kernels import numba_function
from .formula_kernels import GRAIN, is_guarded, kernel_source, told_apart
from .launch import Launch
from .operations import Check, Kernel, Opaque, Operation, Pointwise, Product, Reduce, Rowwise
from .product_kernels import kernel_of
from .reduction_launches import lower_reduction, lower_rowwise
from .spaces import merged, operand_word, pointwise_words
from .views import Memory, Number, Operand, View, numbered_apart

Shape = tuple[int, ...]
Lowering = Callable[[Any], list[Launch]]


def lowers(kind: type[Operation]) -> Callable[[Lowering], Lowering]:
    """Decorator of the function that gives the launches of a kind of operation."""

    def register(function: Lowering) -> Lowering:
        _LOWERINGS[kind] = function
        return function

    return register


def lower(operation: Operation) -> list[Launch]:
    """The launches of an operation."""
    return _LOWERINGS[type(operation)](operation)


# --- pointwise ------------------------------------------------------------------------------------


def _layout_of(step: int, itemsize: int) -> int:
    if step == itemsize:
        return layout.UNIT
    return layout.ZERO if step == 0 else layout.STRIDED


def _pointwise(operation: Pointwise) -> list[Launch]:
    views = [x.expanded(operation.shape) for x in operation.operands if isinstance(x, View)]
    arrays = (*views, *operation.outputs)
    sizes, steps = merged(operation.shape, [x.strides for x in arrays])
    if not sizes:
        sizes, steps = [1], [[x.dtype.itemsize] for x in arrays]
    inputs, made = _described(operation, steps)
    flat = len(sizes) == 1 and all([x.layout != layout.STRIDED for x in (*inputs, *made)])
    streamed = _is_streamed(operation.outputs, sizes[-1], inputs, made)
    code = "formula"
    if operation.eager:
        inputs, made = [[dataclasses.replace(x, memory=0) for x in y] for y in (inputs, made)]
        inputs, made = told_apart(inputs, made)
        code = "guarded" if is_guarded(operation.formula, operation.compute) else code
    source = kernel_source(
        operation.name, operation.formula, inputs, made, operation.compute, flat, streamed
    )
    kernel = library.generated(operation.name, operation.commented(source), code=code)
    return [_packed(operation, kernel, sizes, steps)]


def _described(
    operation: Pointwise, steps: list[list[int]]
) -> tuple[list[pointwise.Operand], list[pointwise.Operand]]:
    """The inputs and the outputs of the kernel; ``steps`` are the strides of all that are views."""
    outputs = list(operation.outputs)
    remaining = iter(steps)
    inputs = []
    for name, operand, number in zip(
        operation.formula.inputs, operation.operands, operation.numbers, strict=True
    ):
        if isinstance(operand, View):
            kind, item = dtype_of(operand.dtype).name, operand.dtype.itemsize
            inputs.append(pointwise.Operand(name, kind, _layout_of(next(remaining)[-1], item)))
        else:
            assert number is not None
            inputs.append(pointwise.Operand(name, number, layout.ZERO))
    names = ["out"] if len(outputs) == 1 else [f"out{j}" for j in range(len(outputs))]
    made = [
        pointwise.Operand(
            name, dtype_of(view.dtype).name,
            layout.STRIDED if own[-1] != view.dtype.itemsize else layout.UNIT,
        )
        for name, view, own in zip(names, outputs, remaining, strict=True)
    ]  # fmt: skip
    inputs = [
        _aliased(operand, x, names, outputs, operation.shape)
        for operand, x in zip(inputs, operation.operands, strict=True)
    ]
    numbers = numbered_apart(
        [x if isinstance(x, View) else None for x in (*operation.operands, *outputs)]
    )
    described = [
        dataclasses.replace(x, memory=number)
        for x, number in zip((*inputs, *made), numbers, strict=True)
    ]
    return described[: len(inputs)], described[len(inputs) :]


def _is_streamed(
    outputs: tuple[View, ...],
    row: int,
    inputs: list[pointwise.Operand],
    made: list[pointwise.Operand],
) -> bool:
    """Whether the outputs are written past the caches: long rows of memory that nothing reads."""
    known = {x.memory for x in made}
    return (
        row * min([x.dtype.itemsize for x in outputs]) >= layout.STREAM_ROW_BYTES
        and all([x.layout in (layout.UNIT, layout.ZERO) for x in (*inputs, *made)])
        and all([x.size * x.dtype.itemsize >= stream_bytes() for x in outputs])
        and 0 not in known
        and not known & {x.memory for x in inputs}
    )


def _packed(operation: Pointwise, kernel: int, sizes: list[int], steps: list[list[int]]) -> Launch:
    """The launch of a kernel over a space of these sizes."""
    operands = (*operation.operands, *operation.outputs)
    remaining = iter(steps)
    launch_args, total = pointwise_words(
        sizes, [next(remaining) if isinstance(x, View) else None for x in operands]
    )
    launch = Launch(operation.name, kernel, launch_args, total, 2 * GRAIN, [], work=total)
    for k, x in enumerate(operands):
        if isinstance(x, View):
            launch.addresses.append((operand_word(k), x.memory, x.offset))
        else:
            dtype = operation.numbers[k]
            assert dtype is not None
            launch.numbers.append((operand_word(k), x, dtype))
    return launch


def _aliased(
    operand: pointwise.Operand, x: Operand, names: list[str], outputs: list[View], shape: Shape
) -> pointwise.Operand:
    """An input that is one of the outputs, element for element, read from where that is.

    Elements that lie apart keep an address of their own, with its step.
    """
    apart = operand.layout == layout.STRIDED
    if isinstance(x, View) and x.expanded(shape) in outputs and not apart:
        name = names[outputs.index(x.expanded(shape))]
        return dataclasses.replace(operand, layout=layout.ALIAS, of=name)
    return operand


# --- matrix products ------------------------------------------------------------------------------


def _product(operation: Product, single: bool = False) -> list[Launch]:
    """The launch of a product, as ``native/matmul_launch.py`` makes it, for known sizes.

    A product that is ``single`` runs on one thread, whatever the others do.
    """
    a, b, c, w = operation.a, operation.b, operation.c, matmul_layout
    item = c.dtype.itemsize
    rows, depth, columns = a.shape[-2], a.shape[-1], b.shape[-1]
    batch = c.shape[:-2]
    count = int(np.prod(batch))
    if count * rows * columns == 0:
        return []
    if depth == 0:
        return _without_depth(operation)
    turned = columns == 1  # C.T = B.T @ A.T is a single row
    if turned:
        rows, columns, a, b = 1, rows, b, a
    outer, inner = (1, 1, *batch)[-2:]
    launch_args = np.zeros(w.WORDS + 2 * len(operation.further), dtype=np.int64)
    launch_args[[w.M, w.N, w.K, w.OUTER, w.INNER]] = rows, columns, depth, outer, inner
    for start, view in ((w.A_ROW, a), (w.B_ROW, b), (w.C_ROW, c)):
        strides = [
            stride // item if position >= len(view.shape) - 2 or size > 1 else 0
            for position, (size, stride) in enumerate(zip(view.shape, view.strides, strict=True))
        ]
        matrix = strides[-2:][::-1] if turned else strides[-2:]
        launch_args[start : start + 4] = *matrix, *(0, 0, *strides[:-2])[-2:]
    a_row, a_column, b_row, b_column = launch_args[
        [w.A_ROW, w.A_COLUMN, w.B_ROW, w.B_COLUMN]
    ].tolist()
    vector_bytes = loader.target().vector_bits // 8
    method, launch_args[w.PACKS] = w.method_of(
        rows, columns, depth, a_row, a_column, b_row, b_column, item, vector_bytes,
        plain=not operation.accumulates and len(operation.terms) == 1,
    )  # fmt: skip
    launch_args[[w.ACCUMULATES, w.TERMS]] = operation.accumulates, len(operation.further)
    steps = depth * len(operation.terms)
    threads = 1 if single else pool.get_num_threads()
    a_deep, b_deep = a_column > a_row, b_row > b_column
    pieces, width = w.division(
        method, rows, columns, depth, len(operation.terms), count, a_deep, b_deep, item, threads
    )
    launch_args[w.WIDTH] = width
    units = w.matmul_units(rows, columns, width, count)
    launch = Launch(
        operation.name, kernel_of(method, c.dtype.name), launch_args, units, 0, [],
        work=count * rows * columns * steps // 16,
    )  # fmt: skip
    launch.addresses.append((w.C, c.memory, c.offset))
    for k, term in enumerate(operation.terms):
        start = w.A if k == 0 else w.WORDS + 2 * (k - 1)
        for j, view in enumerate(reversed(term) if turned else term):
            launch.addresses.append((start + j, view.memory, view.offset))
    if operation.epilogue is not None:
        _add_epilogue(launch, operation.epilogue, (outer, inner), turned)
        steps += len(postorder(operation.epilogue.formula.outputs))
    if pieces:
        _share_depth(launch, pieces, rows, rows * columns * item)
    share = w.least_share(rows, columns, depth, a_deep, b_deep, item)
    launch.grain = w.matmul_grain(rows, columns, width, count, threads, steps, pieces, share)
    return [launch]


def lower_single(operation: Operation) -> list[Launch]:
    """The launches of an operation that one thread runs by itself, whatever the others do."""
    return _product(operation, single=True) if isinstance(operation, Product) else lower(operation)


def _share_depth(launch: Launch, pieces: int, rows: int, result_bytes: int) -> None:
    """Have the units of a product be pieces of its depth: memory and counters for them."""
    w = matmul_layout
    partials = Memory.scratch((pieces - 1) * result_bytes)
    launch.addresses.append((w.PARTIALS, partials, 0))
    launch.args[[w.PIECES, w.COUNTERS]] = pieces, launch.args.size + w.APART
    counters = np.zeros(2 * w.APART + w.joined_groups(rows), dtype=np.int64)
    launch.args = np.append(launch.args, counters)
    launch.total *= pieces
    launch.changing = True


def _without_depth(operation: Product) -> list[Launch]:
    """A sum of nothing is zero."""
    launches = []
    if not operation.accumulates:
        launches += _pointwise(Pointwise.fill(operation.c, 0))
    if operation.epilogue is not None:
        launches += _pointwise(operation.epilogue)
    return launches


def _add_epilogue(
    launch: Launch, operation: Pointwise, batch: tuple[int, int], turned: bool
) -> None:
    """Have a product run a pointwise operation over its tiles: its arguments come second."""
    views = [x for x in (*operation.operands, *operation.outputs) if isinstance(x, View)]
    steps = []
    for view in views:
        strides = view.expanded(operation.shape).strides
        matrix = strides[-2:][::-1] if turned else strides[-2:]
        steps.append([*(0, 0, *strides[:-2])[-2:], *matrix])
    sizes = [*batch, *(operation.shape[-2:][::-1] if turned else operation.shape[-2:])]
    inputs, made = _described(operation, steps)
    flat = all([own[-2] == sizes[-1] * own[-1] for own in steps])
    repeated = frozenset() if flat else _repeated(operation, sizes[-1], steps, inputs)
    source = kernel_source(
        operation.name, operation.formula, inputs, made, operation.compute, flat, tile=True,
        repeated=repeated,
    )  # fmt: skip
    kernel = library.generated(operation.name, operation.commented(source))
    own, start = _packed(operation, kernel, sizes, steps), launch.args.size
    launch.args[[matmul_layout.EPILOGUE, matmul_layout.EPILOGUE_WORDS]] = kernel, start
    launch.args = np.append(launch.args, own.args)
    launch.addresses += [(start + word, memory, at) for word, memory, at in own.addresses]
    launch.numbers += [(start + word, number, dtype) for word, number, dtype in own.numbers]
    launch.work += own.work


def _repeated(
    operation: Pointwise, columns: int, steps: list[list[int]], inputs: list[pointwise.Operand]
) -> frozenset[str]:
    """The inputs of an epilogue with the same row for every one, if all else are rows of one run.

    ``steps`` are those of all that are views.
    """
    views = [x for x, o in zip(inputs, operation.operands, strict=True) if isinstance(o, View)]
    names = set()
    for k, (*_, row, column) in enumerate(steps):
        if row == columns * column:
            continue
        operand = views[k] if k < len(views) else None
        # Nothing that is written may lie where a copy was taken from.
        if operand is None or row != 0 or operand.layout != layout.UNIT or operand.memory == 0:
            return frozenset()
        names.add(operand.name)
    return frozenset(names)


# --- functions of users ---------------------------------------------------------------------------


def _opaque(operation: Opaque) -> list[Launch]:
    """A call of a function that a user compiled, see ``user_kernels/numba_function.py``."""
    w = numba_function
    kinds: list[Any] = []
    launch_args = [0] * w.ARGUMENTS
    addresses: list[tuple[int, Memory, int]] = []
    numbers: list[tuple[int, Any, str]] = []
    for argument in operation.arguments:
        start = len(launch_args)
        if isinstance(argument, View):
            kinds.append((argument.dtype, len(argument.shape)))
            addresses.append((start + w.ADDRESS, argument.memory, argument.offset))
            launch_args += [0] * w.FIELDS
            launch_args[start + w.ELEMENTS] = argument.size
            launch_args[start + w.ITEM] = argument.dtype.itemsize
            launch_args += [*argument.shape, *argument.strides]
        else:
            kinds.append("float64" if isinstance(argument, Number) else w.kind_of(argument))
            numbers.append((start, argument, kinds[-1]))
            launch_args.append(0)
    kernel, launch_args[w.FUNCTION] = w.entry(operation.function, tuple(kinds))
    work = sum([x.size for x in operation.arguments if isinstance(x, View)])
    packed = np.array(launch_args, dtype=np.int64)
    return [Launch(operation.name, kernel, packed, 1, 1, addresses, numbers, work, fallible=True)]


# --- kernels that bring their own arguments
# -----------------------------------------------------------


def _kernel(operation: Kernel) -> list[Launch]:
    return [_word_launch(operation, operation.args)]


def _check(operation: Check) -> list[Launch]:
    launch = _word_launch(operation, (0, 0, *operation.args))  # FAILED and FAILURE come later
    return [dataclasses.replace(launch, fallible=True)]


def _word_launch(operation: Kernel | Check, given: tuple[Any, ...]) -> Launch:
    """The launch of a ``HandWrittenKernel`` with these arguments."""
    launch_args = np.array(
        [0 if isinstance(word, View) else word for word in given], dtype=np.int64
    )
    addresses = [
        (k, word.memory, word.offset) for k, word in enumerate(given) if isinstance(word, View)
    ]
    work = max([view.size for view in (*operation.reads, *operation.writes)])
    total = operation.total
    grain = total if total < 2 * operation.grain else operation.grain
    address = operation.kernel.address
    return Launch(operation.name, address, launch_args, total, grain, addresses, work=work)


_LOWERINGS: dict[type, Lowering] = {
    Pointwise: _pointwise,
    Product: _product,
    Reduce: lower_reduction,
    Rowwise: lower_rowwise,
    Opaque: _opaque,
    Kernel: _kernel,
    Check: _check,
}

__all__ = ["Launch", "Number", "lower"]
