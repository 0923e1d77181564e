"""Kernels of attention: softmax of scores times values, block by block, and its gradients.

``executor/families/attention.py`` compiles them by name. No matrix of all scores is ever kept: the
softmax of a query is carried from one block of keys to the next (Milakov and Gimelshein, 2018; Dao
et al., 2022), and the backward computes scores again from the logarithm of their sums. Scores lie
with queries beside each other, so that vectors hold one key's score for each, and nothing is
summed across a vector. Imported only to compile.
"""

from __future__ import annotations

import functools
from typing import Any

from numba import types

from ...codegen import intrinsics, loader
from ...codegen.instructions import multiply_by_power
from ...codegen.intrinsics import (
    external,
    float64,
    int64,
    load,
    load_apart,
    select,
    store,
    store_apart,
    subroutine,
)
from ...codegen.kernel import Values, element, kernel, variable
from ...codegen.vector_emitter import tile_shape
from ...formula import exp, print_numba, trace
from ..matmul.packing import pack_panels
from ..matmul.problem import quotient, smaller
from ..matmul.scratch import acquire, aligned, release
from ..matmul.tile import multiply_tiles
from ..packing import Arguments, Elements, OptionalElements
from ..vector_math import CPU_INSTRUCTED, CPU_LOWERING
from .layout import BYTES, KEY_BLOCK, PANELS, QUERY_BLOCK, SCORES, Sizes

_log = external("log", float64, float64)

_LEAST = float("-inf")

multiply, pack = variable("multiply"), variable("pack")
panel, tallest, size = variable("panel"), variable("tallest"), variable("size")
score, raise_maxima, weigh = variable("score"), variable("raise_maxima"), variable("weigh")
rescale, write_results = variable("rescale"), variable("write_results")
add_mask, multiply_rows = variable("add_mask"), variable("multiply_rows")
differentiate = variable("differentiate")


def _exponential(dtype: str) -> Any:
    """``exp`` as pointwise kernels have it, which becomes vectors."""
    instructed = CPU_INSTRUCTED if loader.target().vector_bits == 512 else {}
    lines, results = print_numba(trace(exp, ("x",)), dtype, {**CPU_LOWERING, **instructed})
    text = "\n    ".join(["def exponential(x):", *lines, f"return {results[0]}"])
    namespace: dict[str, Any] = {name: getattr(intrinsics, name) for name in intrinsics.__all__}
    namespace["multiply_by_power"] = multiply_by_power
    exec(text, namespace)
    return subroutine(namespace["exponential"])


def _forward_loops(dtype: str, exponential: Any) -> Values:
    """The loops over a block of scores, rows of keys, with queries beside each other."""
    element: Any = getattr(types, dtype)
    pitch = QUERY_BLOCK * (element.bitwidth // 8)

    @subroutine
    def score(rows, columns, scores, scale, behind):
        """Scale scores; key j is masked for query i where ``j - i > behind``."""
        for j in range(rows):
            at, first = scores + j * pitch, j - behind
            for i in range(columns):
                value = load_apart(at, i, element, 1) * scale
                store_apart(at, i, select(i < first, element(_LEAST), value), element, 1)

    @subroutine
    def raise_maxima(rows, columns, scores, maxima, factors, shifts):
        """Maxima over keys so far, what to scale former sums by, and what exponents are less."""
        for i in range(columns):
            store_apart(shifts, i, load_apart(maxima, i, element, 2), element, 3)
        for j in range(rows):
            at = scores + j * pitch
            for i in range(columns):
                value, most = load_apart(at, i, element, 1), load_apart(shifts, i, element, 3)
                store_apart(shifts, i, select(value > most, value, most), element, 3)
        for i in range(columns):
            most, before = load_apart(shifts, i, element, 3), load_apart(maxima, i, element, 2)
            shift = select(most == element(_LEAST), element(0), most)
            store_apart(maxima, i, most, element, 2)
            store_apart(shifts, i, shift, element, 3)
            store_apart(factors, i, exponential(before - shift), element, 4)

    @subroutine
    def weigh(rows, columns, scores, sums, factors, shifts):
        """Exponentials in place of scores, and their sums."""
        for i in range(columns):
            value = load_apart(sums, i, element, 2) * load_apart(factors, i, element, 4)
            store_apart(sums, i, value, element, 2)
        for j in range(rows):
            at = scores + j * pitch
            for i in range(columns):
                shifted = load_apart(at, i, element, 1) - load_apart(shifts, i, element, 3)
                value = exponential(shifted)
                store_apart(at, i, value, element, 1)
                store_apart(sums, i, load_apart(sums, i, element, 2) + value, element, 2)

    @subroutine
    def rescale(rows, columns, values, factors):
        for j in range(rows):
            at = values + j * pitch
            for i in range(columns):
                value = load_apart(at, i, element, 1) * load_apart(factors, i, element, 2)
                store_apart(at, i, value, element, 1)

    return {"score": score, "raise_maxima": raise_maxima, "weigh": weigh, "rescale": rescale}


def _other_loops(dtype: str, exponential: Any) -> Values:
    """The mask, the results of a block of queries, and the gradients of a block of scores."""
    element: Any = getattr(types, dtype)
    pitch = QUERY_BLOCK * (element.bitwidth // 8)

    @subroutine
    def add_mask(mask, step, along, rows, columns, scores):
        for j in range(rows):
            for i in range(columns):
                value = load(scores + j * pitch, i, element)
                value += load(mask, j * along + i * step, element)
                store(scores + j * pitch, i, value, element)

    @subroutine
    def write_results(count, wide, gathered, maxima, sums, result, logarithms):
        """Divide by the sums, and write queries one behind the other."""
        for i in range(count):
            total = load(sums, i, element)
            logarithm, factor = element(-_LEAST), element(0)
            if total != 0:
                logarithm = load(maxima, i, element) + element(_log(float64(total)))
                factor = element(1) / total
            store(logarithms, i, logarithm, element)
            for k in range(wide):
                value = load_apart(gathered + k * pitch, i, element, 1) * factor
                store_apart(result, i * wide + k, value, element, 2)

    @subroutine
    def multiply_rows(count, wide, products, first, second):
        """Dot products of rows."""
        for i in range(count):
            even = odd = element(0)
            for k in range(i * wide, i * wide + wide - 1, 2):
                even += load(first, k, element) * load(second, k, element)
                odd += load(first, k + 1, element) * load(second, k + 1, element)
            if wide % 2 == 1:
                k = i * wide + wide - 1
                even += load(first, k, element) * load(second, k, element)
            store(products, i, even + odd, element)

    @subroutine
    def differentiate(rows, columns, scores, grads, logarithms, products, scale):
        """Weights in place of scores, and gradients of scores in place of those of weights."""
        for j in range(rows):
            at, grad_at = scores + j * pitch, grads + j * pitch
            for i in range(columns):
                shifted = load_apart(at, i, element, 1) - load_apart(logarithms, i, element, 3)
                weight = exponential(shifted)
                grad = load_apart(grad_at, i, element, 2) - load_apart(products, i, element, 4)
                store_apart(at, i, weight, element, 1)
                store_apart(grad_at, i, weight * grad * scale, element, 2)

    return {
        "add_mask": add_mask, "write_results": write_results, "multiply_rows": multiply_rows,
        "differentiate": differentiate,
    }  # fmt: skip


def values_of(dtype: str, vector_bits: int | None = None) -> Values:
    """The variables of the kernels' text for a dtype, with narrower vectors if asked."""
    kind: Any = getattr(types, dtype)
    shape, exponential = tile_shape(kind, vector_bits), _exponential(dtype)
    return {
        "element": kind, "size": shape.bytes, "panel": shape.panel_b, "tallest": shape.heights[0],
        "multiply": multiply_tiles(shape), "pack": pack_panels(shape),
        **_forward_loops(dtype, exponential), **_other_loops(dtype, exponential),
    }  # fmt: skip


_VARIANTS = {dtype: functools.partial(values_of, dtype) for dtype in ("float32", "float64")}


class Attention(Arguments):
    """Arguments of ``attend``."""

    result = Elements(element)
    logarithms = Elements(element)  # of the sums of queries
    query = Elements(element)
    key = Elements(element)
    value = Elements(element)
    mask = OptionalElements(element)
    sizes = Elements(int64)  # ``Sizes``
    scale = Elements(element)  # a single one


class AttentionBackward(Arguments):
    """Arguments of ``attend_backward``."""

    query_grad = Elements(element)
    key_grad = Elements(element)
    value_grad = Elements(element)
    result = Elements(element)
    logarithms = Elements(element)
    query = Elements(element)
    key = Elements(element)
    value = Elements(element)
    mask = OptionalElements(element)
    sizes = Elements(int64)
    scale = Elements(element)
    result_grad = Elements(element)


@subroutine
def _visible(sizes, query, count):
    """How many keys the last of ``count`` queries from ``query`` on sees."""
    keys = sizes.keys
    if sizes.causal != 0:
        keys = smaller(keys, query + count)
    return keys


@subroutine
def _mask_block(sizes, head, query, key):
    """Elements from the beginning of the mask to what a block of scores adds."""
    sample = quotient(head, sizes.heads)
    position = sample * sizes.mask_batch + (head - sample * sizes.heads) * sizes.mask_head
    return position + query * sizes.mask_query + key * sizes.mask_key


@kernel(variants=_VARIANTS, takes=Attention)
def attend(args, lo, hi):
    """Softmax of the scores times the values, and the logarithm of the sum for each query.

    Args:
        args: address of an ``Attention``.
        lo, hi: a unit is a block of queries of one head.

    A query that sees no key gets 0, and infinity for its logarithm, so that its weights are 0 in
    the backward too. A call with the range ``[0, -1)`` reserves the scratch memory; its ``result``
    becomes 0 where there is none.
    """
    given = Attention(args)
    buffer = acquire(BYTES, lo < hi)
    if hi < lo:
        given.result = buffer
    if buffer == 0:
        return
    packed = aligned(buffer)
    gathered, scores = packed + PANELS * size, packed + 2 * PANELS * size
    maxima = scores + 2 * SCORES * size
    sums, factors = maxima + QUERY_BLOCK * size, maxima + 2 * QUERY_BLOCK * size
    shifts, sizes = maxima + 3 * QUERY_BLOCK * size, Sizes(given.sizes)
    for unit in range(lo, hi):
        queries, width, wide = sizes.queries, sizes.width, sizes.value_width
        blocks = quotient(queries + QUERY_BLOCK - 1, QUERY_BLOCK)
        head = quotient(unit, blocks)
        query = (unit - head * blocks) * QUERY_BLOCK
        count, row = smaller(QUERY_BLOCK, queries - query), head * queries + query
        keys = given.key + head * sizes.keys * width * size
        values = given.value + head * sizes.keys * wide * size
        pack(count, width, packed, given.query + row * width * size, width, 1, panel)
        for i in range(QUERY_BLOCK):
            store(maxima, i, element(_LEAST), element)
            store(sums, i, element(0), element)
        for k in range(wide * QUERY_BLOCK):
            store(gathered, k, element(0), element)
        visible = _visible(sizes, query, count)
        for key in range(0, visible, KEY_BLOCK):
            rows = smaller(KEY_BLOCK, visible - key)
            multiply(
                rows, count, width, keys + key * width * size, width, 1, tallest * width, packed,
                panel, panel * width, scores, QUERY_BLOCK, False,
            )  # fmt: skip
            behind = query - key if sizes.causal != 0 else rows
            score(rows, count, scores, load(given.scale, 0, element), behind)
            if given.mask != 0:
                mask = given.mask + _mask_block(sizes, head, query, key) * size
                add_mask(mask, sizes.mask_query, sizes.mask_key, rows, count, scores)
            raise_maxima(rows, count, scores, maxima, factors, shifts)
            weigh(rows, count, scores, sums, factors, shifts)
            rescale(wide, count, gathered, factors)
            multiply(
                wide, count, rows, values + key * wide * size, 1, wide, tallest, scores,
                QUERY_BLOCK, panel, gathered, QUERY_BLOCK, True,
            )  # fmt: skip
        write_results(
            count, wide, gathered, maxima, sums, given.result + row * wide * size,
            given.logarithms + row * size,
        )  # fmt: skip
    release(buffer)


@subroutine
def _clear(target, count, item):
    for k in range(quotient(count * item, 4)):
        store(target, k, types.int32(0), types.int32)


@kernel(variants=_VARIANTS, takes=AttentionBackward)
def attend_backward(args, lo, hi):
    """The gradients of queries, keys and values; a unit is a head.

    Scores are computed again, block by block; scratch memory is as of ``attend``.
    """
    given = AttentionBackward(args)
    buffer = acquire(BYTES, lo < hi)
    if hi < lo:
        given.query_grad = buffer
    if buffer == 0:
        return
    packed, sizes = aligned(buffer), Sizes(given.sizes)
    packed_grad, scores = packed + PANELS * size, packed + 2 * PANELS * size
    grads = scores + SCORES * size
    products = grads + SCORES * size
    for head in range(lo, hi):
        queries, width, wide = sizes.queries, sizes.width, sizes.value_width
        first, beginning = head * queries, head * sizes.keys
        _clear(given.query_grad + first * width * size, queries * width, size)
        _clear(given.key_grad + beginning * width * size, sizes.keys * width, size)
        _clear(given.value_grad + beginning * wide * size, sizes.keys * wide, size)
        for query in range(0, queries, QUERY_BLOCK):
            count = smaller(QUERY_BLOCK, queries - query)
            at, wide_at = (first + query) * width * size, (first + query) * wide * size
            source, incoming = given.query + at, given.result_grad + wide_at
            pack(count, width, packed, source, width, 1, panel)
            pack(count, wide, packed_grad, incoming, wide, 1, panel)
            multiply_rows(count, wide, products, incoming, given.result + wide_at)
            visible = _visible(sizes, query, count)
            for key in range(0, visible, KEY_BLOCK):
                rows = smaller(KEY_BLOCK, visible - key)
                position, wide_position = (
                    (beginning + key) * width * size,
                    (beginning + key) * wide * size,
                )
                multiply(
                    rows, count, width, given.key + position, width, 1, tallest * width,
                    packed, panel, panel * width, scores, QUERY_BLOCK, False,
                )  # fmt: skip
                multiply(
                    rows, count, wide, given.value + wide_position, wide, 1, tallest * wide,
                    packed_grad, panel, panel * wide, grads, QUERY_BLOCK, False,
                )  # fmt: skip
                behind = query - key if sizes.causal != 0 else rows
                scale = load(given.scale, 0, element)
                score(rows, count, scores, scale, behind)
                if given.mask != 0:
                    mask = given.mask + _mask_block(sizes, head, query, key) * size
                    step, along = sizes.mask_query, sizes.mask_key
                    add_mask(mask, step, along, rows, count, scores)
                logarithms = given.logarithms + (first + query) * size
                differentiate(rows, count, scores, grads, logarithms, products, scale)
                multiply(
                    rows, wide, count, scores, QUERY_BLOCK, 1, tallest * QUERY_BLOCK, incoming,
                    wide, panel, given.value_grad + wide_position, wide, True,
                )  # fmt: skip
                multiply(
                    rows, width, count, grads, QUERY_BLOCK, 1, tallest * QUERY_BLOCK, source,
                    width, panel, given.key_grad + position, width, True,
                )  # fmt: skip
                multiply(
                    count, width, rows, grads, 1, QUERY_BLOCK, tallest,
                    given.key + position, width, panel,
                    given.query_grad + at, width, True,
                )  # fmt: skip
    release(buffer)
