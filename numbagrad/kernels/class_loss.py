"""Kernels of the negative log likelihood: factors of elements, entries of their classes, gradients.

``executor/class_loss.py`` compiles them by name. They see input as (batch, classes, inner), target
(int64) and factors as (batch, inner), all contiguous; an element whose target is the ignored class
counts for nothing. Its factor is 0, or NaN in a mean of nothing else, and so is its loss: this
makes the mean NaN. Imported only to compile.
"""

from __future__ import annotations

from ..codegen.intrinsics import float64, int64, load, store
from ..codegen.kernel import element, kernel, real
from .dtypes import FLOATS
from .packing import Words, optional

_WORDS = {
    "output": element, "input": element, "target": int64, "factor": element, "classes": int,
    "inner": int, "ignored": int,
}  # fmt: skip


@kernel(
    variants=FLOATS,
    takes=Words(
        factor=element, target=int64, number=int, ignored=int, mean=int, weights=optional(element)
    ),
)
def factors(args, lo, hi):
    """factor[k] = weights[target[k]], or 1 without weights; ``mean`` divides by their sum.

    Words: factor, target, number of elements, ignored class, mean, weights or 0. One unit of work.
    """
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
                value = load(weights, target, element)
        total += float64(value)
        store(factor, k, value, element)
    if load(args, 4, int64) != 0:
        for k in range(number):
            store(factor, k, real(float64(load(factor, k, element)) / total), element)


@kernel(variants=FLOATS, takes=Words(**_WORDS))
def elements(args, lo, hi):
    """output[b, i] = -input[b, target[b, i], i] * factor[b, i], over elements.

    Words: output, input, target, factor, classes, inner size, ignored class.
    """
    output = load(args, 0, int64)
    source = load(args, 1, int64)
    targets = load(args, 2, int64)
    factor = load(args, 3, int64)
    classes = load(args, 4, int64)
    inner = load(args, 5, int64)
    ignored = load(args, 6, int64)
    for k in range(lo, hi):
        target = load(targets, k, int64)
        value = load(factor, k, element)
        if target != ignored:
            batch = k // inner
            place = (batch * classes + target) * inner + k - batch * inner
            value = -load(source, place, element) * value
        store(output, k, value, element)


@kernel(variants=FLOATS, takes=Words(**_WORDS, number=int))
def total(args, lo, hi):
    """output = the sum of what ``elements`` computes; one unit of work.

    Words: output, input, target, factor, classes, inner size, ignored class, number of elements.
    """
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
            total -= float64(load(source, place, element)) * float64(load(factor, k, element))
        else:
            total += float64(load(factor, k, element))
    store(load(args, 0, int64), 0, real(total), element)


@kernel(variants=FLOATS, takes=Words(**_WORDS, step=int))
def placed(args, lo, hi):
    """output[b, target[b, i], i] = -grad[b, i] * factor[b, i], all else 0, over the batch.

    Words: output, grad, target, factor, classes, inner size, ignored class, step of grad (0 or 1).
    """
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
            store(output, k, real(0), element)
        for i in range(inner):
            k = batch * inner + i
            target = load(targets, k, int64)
            if target != ignored:
                value = -load(grad, k * step, element) * load(factor, k, element)
                store(output, first + target * inner + i, value, element)
