"""Negative log likelihood: factors of elements, the entries of their classes, and gradients.

Parameters are those of the kernels of these names in ``numbagrad.kernels.losses.nll_loss``. Sums
are taken in segments, a block each, which a second launch joins in their order. Whether targets are
classes was not waited for (``cuda/asserts.py``), so nothing beyond the classes is read or written.
"""

from __future__ import annotations

from ..driver.source import Source
from .indexing import INSIDE
from .text import indented, loaded_as, numba_name, passed
from .warps import joined

_POSITION = [
    "batch = k // inner",
    "position = (batch * classes + inside(target, classes)) * inner + k - batch * inner",
]


def _made(name: str, dtype: str, parameters: str, body: list[str], threads: int) -> Source:
    text = [f"# {name} of {dtype}", *INSIDE, f"def kernel({parameters}):", *indented(1, body), ""]
    return Source(name, "\n".join(text), threads)


def _shared(threads: int, lanes: int) -> list[str]:
    return [
        f"parts = cuda.shared.array({threads // lanes}, float64)",
        "thread = int64(cuda.threadIdx.x)",
    ]


def _segments(
    dtype: str, name: str, parameters: str, step: list[str], threads: int, lanes: int
) -> Source:
    """The kernel that sums segments: ``step`` adds element ``k`` of ``target`` to ``total``."""
    body = [
        *_shared(threads, lanes),
        "for unit in range(cuda.blockIdx.x, segments, cuda.gridDim.x):",
        "    total = float64(0)",
        f"    for k in range(unit * length + thread, min((unit + 1) * length, number), {threads}):",
        "        target = load(targets, k, int64)",
        *indented(2, step),
        *indented(1, joined("total", "add", threads, lanes)),
        "    if thread == 0:",
        "        store(partials, unit, total, float64)",
    ]
    return _made(name, dtype, f"partials, {parameters}, number, segments, length", body, threads)


def _sum_of_partials(threads: int, lanes: int) -> list[str]:
    """Statements after which ``total`` is the sum of all segments, in every thread."""
    return [
        "total = float64(0)",
        f"for k in range(thread, segments, {threads}):",
        "    total += load(partials, k, float64)",
        *joined("total", "add", threads, lanes),
    ]


def partial_counts_source(dtype: str, weighted: bool, threads: int, lanes: int) -> Source:
    """partials[s] = the sum of the weights of a segment, 1 each without weights."""
    value = "float64(1)"
    if weighted:
        value = f"float64(load(weights, inside(target, classes), {numba_name(dtype)}))"
    step = ["if target != ignored:", f"    total += {value}"]
    parameters = "targets, weights, classes, ignored"
    return _segments(dtype, "partial_counts", parameters, step, threads, lanes)


def partial_losses_source(dtype: str, threads: int, lanes: int) -> Source:
    """partials[s] = the sum of what ``elements`` computes of a segment."""
    kind = numba_name(dtype)
    step = [
        f"value = float64(load(factors, k, {kind}))",
        "if target != ignored:",
        *indented(1, [*_POSITION, f"value = -float64(load(source, position, {kind})) * value"]),
        "total += value",
    ]
    parameters = "source, targets, factors, classes, inner, ignored"
    return _segments(dtype, "partial_losses", parameters, step, threads, lanes)


def factors_source(dtype: str, threads: int, lanes: int) -> Source:
    """factor[k] = the weight of a class, or 1, over the sum of segments if there are any.

    ``classes`` is the number of weights, 0 where there are none.
    """
    kind = numba_name(dtype)
    body = [
        *_shared(threads, lanes),
        "divisor = float64(1)",
        "if segments > 0:",
        *indented(1, [*_sum_of_partials(threads, lanes), "divisor = total"]),
        "for k in range(cuda.grid(1), number, cuda.gridsize(1)):",
        "    target = load(targets, k, int64)",
        "    value = float64(0)",
        "    if target != ignored:",
        "        value = float64(1)",
        "        if classes > 0:",
        f"            value = float64(load(weights, inside(target, classes), {kind}))",
        f"    store(factor, k, {passed('(value / divisor)', dtype)}, {kind})",
    ]
    parameters = "factor, targets, number, ignored, weights, classes, partials, segments"
    return _made("factors", dtype, parameters, body, threads)


def total_source(dtype: str, threads: int, lanes: int) -> Source:
    """output = the sum of segments; one block."""
    body = [
        *_shared(threads, lanes),
        *_sum_of_partials(threads, lanes),
        "if thread == 0:",
        f"    store(output, 0, {passed('total', dtype)}, {numba_name(dtype)})",
    ]
    return _made("total", dtype, "output, partials, segments", body, threads)


def elements_source(dtype: str, threads: int, lanes: int) -> Source:
    """output[b, i] = -input[b, target[b, i], i] * factor[b, i]."""
    kind, computed = numba_name(dtype), numba_name(loaded_as(dtype))
    body = [
        "for k in range(cuda.grid(1), total, cuda.gridsize(1)):",
        "    target = load(targets, k, int64)",
        f"    value = load(factors, k, {kind})",
        "    if target != ignored:",
        *indented(2, [*_POSITION, f"value = {computed}(-load(source, position, {kind}) * value)"]),
        f"    store(output, k, {passed('value', dtype)}, {kind})",
    ]
    parameters = "output, source, targets, factors, classes, inner, ignored, total"
    return _made("elements", dtype, parameters, body, threads)


def placed_source(dtype: str, threads: int, lanes: int) -> Source:
    """output[b, c, i] = -grad[b, i] * factor[b, i] where c is the target of (b, i), else 0."""
    kind, computed = numba_name(dtype), numba_name(loaded_as(dtype))
    body = [
        "for at in range(cuda.grid(1), total, cuda.gridsize(1)):",
        "    row = at // inner",
        "    batch = row // classes",
        "    k = batch * inner + at - row * inner",
        "    target = load(targets, k, int64)",
        f"    value = {computed}(0)",
        "    if target == row - batch * classes and target != ignored:",
        f"        value = {computed}(-load(grad, k * step, {kind}) * load(factors, k, {kind}))",
        f"    store(output, at, {passed('value', dtype)}, {kind})",
    ]
    parameters = "output, grad, targets, factors, classes, inner, ignored, step, total"
    return _made("placed", dtype, parameters, body, threads)
