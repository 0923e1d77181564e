"""Launches of matrix products, with what runs on their results."""

from __future__ import annotations

import functools

import numpy as np

from ..dtype import from_numpy as dtype_of
from ..executor.plan.operations import Pointwise, Product
from ..executor.plan.views import View
from .driver import driver
from .driver.source import Source
from .kernels import matmul
from .kernels.matmul import Epilogue
from .kernels.pointwise import NUMBER, STRIDED, Operand
from .launches import Launch, LaunchArgs, blocks_for
from .pointwise import kinds_of, lower_pointwise, output_names, printed


def lower_product(operation: Product) -> list[Launch]:
    """A launch for each term; the first writes (or accumulates), the last runs the epilogue."""
    c = operation.c
    count = int(np.prod(c.shape[:-2], dtype=np.int64))
    if count * c.shape[-2] * c.shape[-1] == 0:
        return []
    launches: list[Launch] = []
    accumulates = operation.accumulates
    terms = [term for term in operation.terms if term[0].shape[-1]]
    if not terms and not accumulates:
        launches += lower_pointwise(Pointwise.fill(c, 0))
    for k, (a, b) in enumerate(terms):
        epilogue = operation.epilogue if k == len(terms) - 1 else None
        launches.append(_launch(operation.name, a, b, c, accumulates, epilogue, count))
        accumulates = True
    if not terms and operation.epilogue is not None:
        launches += lower_pointwise(operation.epilogue)
    return launches


def _batch_strides(view: View) -> tuple[int, int]:
    """The strides of the two dimensions of samples, 0 where they repeat."""
    strides = [
        0 if size == 1 else stride
        for size, stride in zip(view.shape[:-2], view.strides[:-2], strict=True)
    ]
    outer, inner = (0, 0, *strides)[-2:]
    return outer, inner


def _launch(
    name: str, a: View, b: View, c: View, accumulates: bool, tail: Pointwise | None, count: int
) -> Launch:
    rows, depth, columns = a.shape[-2], a.shape[-1], b.shape[-1]
    item = c.dtype.itemsize
    shape = driver().product_shape(dtype_of(c.dtype).name, rows, columns, count)
    across = -(-columns // shape.square)
    of_matrix = across * -(-rows // shape.square)
    launch_args = LaunchArgs()
    for view in (a, b, c):
        launch_args.add_view(view)
    launch_args.add(rows, columns, depth, of_matrix * count, across, of_matrix)
    launch_args.add((1, 1, *c.shape[:-2])[-1])
    for view in (a, b, c):
        launch_args.add(*view.strides[-2:])
    for view in (a, b, c):
        launch_args.add(*_batch_strides(view))
    epilogue = None
    if tail is not None:
        epilogue = _epilogue(tail, c, launch_args)
    source = _source(
        name, dtype_of(c.dtype).name, shape, a.strides[-1] == item, b.strides[-2] == item,
        accumulates, epilogue,
    )  # fmt: skip
    return launch_args.launch(source, blocks_for(of_matrix * count, 1))


_source = functools.lru_cache(maxsize=1024)(matmul.source)


def _epilogue(tail: Pointwise, c: View, launch_args: LaunchArgs) -> Epilogue:
    """A formula over the result of a product, whose arguments are added to those of the product."""
    formula = tail.formula
    result = []
    inputs: list[Operand] = []
    for name, x, number in zip(formula.inputs, tail.operands, tail.numbers, strict=True):
        if isinstance(x, View):
            inputs.append(Operand(name, dtype_of(x.dtype).name, STRIDED))
            if x == c:
                result.append(name)
            else:
                _add_strided(launch_args, x, tail.shape)
        else:
            assert number is not None
            inputs.append(Operand(name, number, NUMBER))
            launch_args.add_number(x, number)
    outputs = []
    for name, x in zip(output_names(len(tail.outputs)), tail.outputs, strict=True):
        outputs.append(Operand(name, dtype_of(x.dtype).name, STRIDED))
        _add_strided(launch_args, x, tail.shape)
    kinds = tuple(kinds_of(formula, tail.compute).items())
    body = printed(formula, tail.compute)
    return Epilogue(tuple(inputs), tuple(outputs), kinds, body, tuple(result))


def _add_strided(launch_args: LaunchArgs, view: View, shape: tuple[int, ...]) -> None:
    """The arguments of an operand of an epilogue."""
    strides = view.expanded(shape).strides
    launch_args.add_view(view)
    launch_args.add(*(0, 0, *strides[:-2])[-2:], *strides[-2:])


__all__ = ["Source", "lower_product"]
