"""Kernels of the negative log likelihood: factors of elements, entries of their classes, gradients.

``executor/class_loss.py`` compiles them by name. They see input as (batch, classes, inner), target
(int64) and factors as (batch, inner), all contiguous; an element whose target is the ignored class
counts for nothing. Its factor is 0, or NaN in a mean of nothing else, and so is its loss: this
makes the mean NaN. Imported only to compile.
"""

from __future__ import annotations

from ..codegen.intrinsics import bfloat16, float16, float32, float64, int64, load, store


def _factors(kind, real):
    """factor[k] = weights[target[k]], or 1 without weights; ``mean`` divides by their sum.

    Words: factor, target, number of elements, ignored class, mean, weights or 0. One unit of work.
    """

    def kernel(args, lo, hi):
        factor = load(args, 0, int64)
        targets = load(args, 1, int64)
        number = load(args, 2, int64)
        ignored = load(args, 3, int64)
        weights = load(args, 5, int64)
        total = float64(0)
        for k in range(number):
            target = load(targets, k, int64)
            value = real(0)
            if target != ignored:
                value = real(1)
                if weights != 0:
                    value = load(weights, target, kind)
            total += float64(value)
            store(factor, k, value, kind)
        if load(args, 4, int64) != 0:
            for k in range(number):
                store(factor, k, real(float64(load(factor, k, kind)) / total), kind)

    return kernel


def _elements(kind, real):
    """output[b, i] = -input[b, target[b, i], i] * factor[b, i], over elements.

    Words: output, input, target, factor, classes, inner size, ignored class.
    """

    def kernel(args, lo, hi):
        output = load(args, 0, int64)
        source = load(args, 1, int64)
        targets = load(args, 2, int64)
        factor = load(args, 3, int64)
        classes = load(args, 4, int64)
        inner = load(args, 5, int64)
        ignored = load(args, 6, int64)
        for k in range(lo, hi):
            target = load(targets, k, int64)
            value = load(factor, k, kind)
            if target != ignored:
                batch = k // inner
                place = (batch * classes + target) * inner + k - batch * inner
                value = -load(source, place, kind) * value
            store(output, k, value, kind)

    return kernel


def _total(kind, real):
    """output = the sum of what ``_elements`` computes; one unit of work.

    Words: output, input, target, factor, classes, inner size, ignored class, number of elements.
    """

    def kernel(args, lo, hi):
        source = load(args, 1, int64)
        targets = load(args, 2, int64)
        factor = load(args, 3, int64)
        classes = load(args, 4, int64)
        inner = load(args, 5, int64)
        ignored = load(args, 6, int64)
        total = float64(0)
        for k in range(load(args, 7, int64)):
            target = load(targets, k, int64)
            if target != ignored:
                batch = k // inner
                place = (batch * classes + target) * inner + k - batch * inner
                total -= float64(load(source, place, kind)) * float64(load(factor, k, kind))
            else:
                total += float64(load(factor, k, kind))
        store(load(args, 0, int64), 0, real(total), kind)

    return kernel


def _placed(kind, real):
    """output[b, target[b, i], i] = -grad[b, i] * factor[b, i], all else 0, over the batch.

    Words: output, grad, target, factor, classes, inner size, ignored class, step of grad (0 or 1).
    """

    def kernel(args, lo, hi):
        output = load(args, 0, int64)
        grad = load(args, 1, int64)
        targets = load(args, 2, int64)
        factor = load(args, 3, int64)
        classes = load(args, 4, int64)
        inner = load(args, 5, int64)
        ignored = load(args, 6, int64)
        step = load(args, 7, int64)
        for batch in range(lo, hi):
            first = batch * classes * inner
            for k in range(first, first + classes * inner):
                store(output, k, real(0), kind)
            for i in range(inner):
                k = batch * inner + i
                target = load(targets, k, int64)
                if target != ignored:
                    value = -load(grad, k * step, kind) * load(factor, k, kind)
                    store(output, first + target * inner + i, value, kind)

    return kernel


_KINDS = {
    "float16": (float16, float32),
    "bfloat16": (bfloat16, float32),
    "float32": (float32, float32),
    "float64": (float64, float64),
}
_KERNELS = {"factors": _factors, "elements": _elements, "total": _total, "placed": _placed}
for _dtype, _kinds in _KINDS.items():
    for _name, _build in _KERNELS.items():
        globals()[f"{_name}_{_dtype}"] = _build(*_kinds)
