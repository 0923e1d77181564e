"""Matrix products that do more: sums of products in one launch, and pointwise work on their tiles.

``fusion.optimise`` calls ``summed`` before it fuses loops, so that products that are added up need
no memory of their own, and ``with_epilogues`` afterwards: a loop over what a product wrote becomes
the epilogue of the product.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ..executor.plan.operations import Operation, Pointwise, Product
from ..executor.plan.views import Memory, View, covers, overlap
from .index import OperationIndex

#: Depth up to which the terms of a sum share a launch. C is then read and written once for all of
#: them, but their operands have to wait for the last.
_DEPTH = 128


def _factors(product: Product) -> list[View]:
    return [view for term in product.terms for view in term]


def _is_whole(view: View) -> bool:
    """Whether a view is all of its memory, in C order."""
    return view.contiguous and covers(view)


# --- sums -----------------------------------------------------------------------------------------


def summed(operations: Sequence[Operation], kept: set[Memory]) -> list[Operation]:
    """The operations with products that are only added to something as ``c += a @ b``.

    Where such products of little depth follow each other, as the gradients of a weight that is used
    in every step of a recurrence, several become one launch.
    """
    index = OperationIndex(operations)
    for at, operation in enumerate(operations):
        if isinstance(operation, Pointwise) and _is_sum(operation):
            _add_up(index, at, kept)
    return index.remaining()


def _is_sum(operation: Pointwise) -> bool:
    """Whether an operation adds two arrays of the shape and dtype of its result."""
    if len(operation.operands) != 2 or len(operation.outputs) != 1:
        return False
    output, result = operation.outputs[0], operation.formula.outputs[0]
    if result.operation != "add" or len(output.shape) < 2 or output.size == 0:
        return False
    names = {x.value for x in result.operands if x.operation == "input"}
    same = [
        isinstance(x, View) and x.shape == output.shape and x.dtype == output.dtype
        for x in operation.operands
    ]
    known = names == set(operation.formula.inputs)
    return known and all(same) and operation.compute == output.dtype.name


def _add_up(index: OperationIndex, at: int, kept: set[Memory]) -> None:
    """Make the sum at a place a product that accumulates, if one of the two is a product."""
    operation = index.operations[at]
    assert isinstance(operation, Pointwise)
    output, pair = operation.outputs[0], [x for x in operation.operands if isinstance(x, View)]
    for total, made in (pair, pair[::-1]):
        position = _only_product(index, made, at, kept)
        if position is None or not _takes_position(index, output, total, at, kept):
            continue
        product = index.operations[position]
        assert isinstance(product, Product)
        if any([overlap(x, total) or overlap(x, output) for x in _factors(product)]):
            continue
        index.put(position, None)
        index.put(at, dataclasses.replace(product, c=output, accumulates=True))
        if output.memory is not total.memory:
            index.rename(total.memory, output.memory)
        _join(index, at)
        return


def _only_product(index: OperationIndex, view: View, at: int, kept: set[Memory]) -> int | None:
    """Where the product is that makes a view, if only the operation ``at`` reads it."""
    memory = view.memory
    writers = index.writers(memory)
    made = memory.made and memory not in kept and _is_whole(view)
    if not made or len(writers) != 1 or index.readers(memory) != [at]:
        return None
    product = index.operations[writers[0]]
    if not isinstance(product, Product) or product.accumulates or product.c != view:
        return None
    return None if index.written(_factors(product), writers[0], at) else writers[0]


def _takes_position(
    index: OperationIndex, output: View, total: View, at: int, kept: set[Memory]
) -> bool:
    """Whether a sum may lie where one of the two that it is made of lies."""
    if output == total:
        return total.strides[-1] == total.dtype.itemsize
    if not (_is_whole(total) and _is_whole(output) and total.memory.made and output.memory.made):
        return False
    begin, *_ = index.writers(total.memory) or [at]
    if begin == at or index.readers(total.memory)[0] <= begin:
        return False  # another program made it
    first = min([*index.readers(output.memory), *index.writers(output.memory)])
    last = max([*index.readers(total.memory), *index.writers(total.memory)])
    return first == last == at and total.memory not in kept


def _join(index: OperationIndex, at: int) -> None:
    """Take the terms that were summed just before into the launch of the product at a place."""
    product = index.operations[at]
    assert isinstance(product, Product)
    position = max([k for k in index.writers(product.c.memory) if k < at], default=None)
    before = None if position is None else index.operations[position]
    if position is None or not isinstance(before, Product):
        return
    depth = (len(before.terms) + 1) * product.a.shape[-1]
    if before.c != product.c or not _alike(before, product) or depth > _DEPTH:
        return
    if index.written(_factors(before), position, at) or index.touched([product.c], position, at):
        return
    if index.visible([product.c], position, at):
        return
    (a, b), *further = (*before.terms, *product.terms)
    joined = dataclasses.replace(
        product, a=a, b=b, further=tuple(further), accumulates=before.accumulates
    )
    index.put(position, None)
    index.put(at, joined)


def _alike(first: Product, second: Product) -> bool:
    """Whether the factors of two products have equal shapes and strides."""
    return all(
        [
            (x.shape, x.strides) == (y.shape, y.strides)
            for x, y in ((first.a, second.a), (first.b, second.b))
        ]
    )


# --- epilogues ------------------------------------------------------------------------------------


def with_epilogues(operations: Sequence[Operation], kept: set[Memory]) -> list[Operation]:
    """The operations with loops over what a product wrote as the epilogue of the product."""
    index = OperationIndex(operations)
    for at, operation in enumerate(operations):
        if isinstance(operation, Pointwise) and len(operation.shape) >= 2:
            _become_epilogue(index, at, kept)
    return index.remaining()


def _become_epilogue(index: OperationIndex, at: int, kept: set[Memory]) -> None:
    """Let the last product that a loop reads run it, if that changes nothing."""
    loop = index.operations[at]
    assert isinstance(loop, Pointwise)
    found = {}
    for view in loop.reads:
        writers = [k for k in index.writers(view.memory) if k < at]
        product = index.operations[writers[-1]] if writers else None
        if isinstance(product, Product) and product.c == view and product.epilogue is None:
            found[writers[-1]] = product
    for position in sorted(found, reverse=True):
        product = found[position]
        if loop.shape != product.c.shape or not _apart(loop, product):
            continue
        if index.visible([product.c, *loop.writes], position, at):
            continue
        moved = _meeting_position(index, position, at, product, loop)
        if moved is None:
            continue
        parts = (*(product.parts or (product.name,)), *(loop.parts or (loop.name,)))
        product, loop = _without_block(index, product, loop, at, kept)
        fused = dataclasses.replace(product, name=f"{product.name}_{loop.name}", epilogue=loop)
        fused.parts = parts
        for k in (position, at):
            index.put(k, None)
        index.put(moved, fused)
        return


def _apart(loop: Pointwise, product: Product) -> bool:
    """Whether a loop reads and writes of C only the element it is at, and writes no factor."""
    c = product.c
    views = [x.expanded(loop.shape) for x in loop.reads] + list(loop.writes)
    if any([overlap(view, c) and view != c for view in views]):
        return False
    return not any([overlap(view, x) for view in loop.writes for x in _factors(product)])


def _meeting_position(
    index: OperationIndex, position: int, at: int, product: Product, loop: Pointwise
) -> int | None:
    """Where a product and a loop can run together: at the place of one of the two, or nowhere.

    Rather at that of the product, since its factors need not wait then.
    """
    reads = [view for view in loop.reads if view != product.c]
    if not (index.touched(list(loop.writes), position, at) or index.written(reads, position, at)):
        return position
    factors = _factors(product)
    if not (index.touched([product.c], position, at) or index.written(factors, position, at)):
        return at
    return None


def _without_block(
    index: OperationIndex, product: Product, loop: Pointwise, at: int, kept: set[Memory]
) -> tuple[Product, Pointwise]:
    """The two, with the product written where the loop stores, if nobody else reads it."""
    c = product.c
    needed = not c.memory.made or c.memory in kept or index.readers(c.memory) != [at]
    if needed or product.accumulates or c in loop.outputs:
        return product, loop
    others = [view for view in loop.reads if view != c]
    for output in loop.outputs:
        fits = output.dtype == c.dtype and output.contiguous
        if fits and not any([overlap(view, output) for view in others]):
            operands = tuple([output if x == c else x for x in loop.operands])
            return (
                dataclasses.replace(product, c=output),
                dataclasses.replace(loop, operands=operands),
            )
    return product, loop


__all__ = ["summed", "with_epilogues"]
