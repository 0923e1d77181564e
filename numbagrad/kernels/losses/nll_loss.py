"""Kernels of the negative log likelihood: factors of elements, entries of their classes, gradients.

``executor/families/nll_loss.py`` compiles them by name. They see input as (batch, classes, inner),
target (int64) and factors as (batch, inner), all contiguous; an element whose target is the
ignored class counts for nothing. Its factor is 0, or NaN in a mean of nothing else, and so is its
loss: this makes the mean NaN. Imported only to compile.
"""

from __future__ import annotations

from ...codegen.intrinsics import float64, int64, load, load_apart, store, store_apart
from ...codegen.kernel import element, kernel, real
from ...codegen.record import Word
from ..dtypes import FLOATS
from ..packing import Arguments, Elements, OptionalElements


class Factors(Arguments):
    """Arguments of ``factors``."""

    factor = Elements(element)
    target = Elements(int64)
    number = Word()  # of elements
    ignored = Word()  # class
    mean = Word()
    weights = OptionalElements(element)


class Picked(Arguments):
    """Arguments of kernels that read or write the entry of a class."""

    output = Elements(element)
    input = Elements(element)
    target = Elements(int64)
    factor = Elements(element)
    classes = Word()
    inner = Word()
    ignored = Word()


class PickedTotal(Picked):
    number = Word()  # of elements


class Placed(Arguments):
    """Arguments of ``placed``."""

    output = Elements(element)
    grad = Elements(element)
    target = Elements(int64)
    factor = Elements(element)
    classes = Word()
    inner = Word()
    ignored = Word()
    step = Word()  # of grad: 0 if it is one number


@kernel(variants=FLOATS, takes=Factors)
def factors(args, lo, hi):
    """factor[k] = weights[target[k]], or 1 without weights; ``mean`` divides by their sum.

    One unit of work.
    """
    given = Factors(args)
    factor, targets, weights = given.factor, given.target, given.weights
    number, ignored = given.number, given.ignored
    if weights == 0:  # a count, which is summed in any order: vectors
        count = 0
        for k in range(number):
            count += 1 if load_apart(targets, k, int64, 1) != ignored else 0
        divisor = float64(count if given.mean != 0 else 1)
        counted, other = real(float64(1) / divisor), real(float64(0) / divisor)
        for k in range(number):
            value = counted if load_apart(targets, k, int64, 1) != ignored else other
            store_apart(factor, k, value, element, 2)
        return
    total = float64(0)
    for k in range(number):
        target = load(targets, k, int64)
        value = real(0)
        if target != ignored:
            value = load(weights, target, element)
        total += float64(value)
        store(factor, k, value, element)
    if given.mean != 0:
        for k in range(number):
            store(factor, k, real(float64(load(factor, k, element)) / total), element)


@kernel(variants=FLOATS, takes=Picked)
def elements(args, lo, hi):
    """output[b, i] = -input[b, target[b, i], i] * factor[b, i], over elements."""
    given = Picked(args)
    output, source, targets, factor = given.output, given.input, given.target, given.factor
    classes, inner, ignored = given.classes, given.inner, given.ignored
    for k in range(lo, hi):
        target = load(targets, k, int64)
        value = load(factor, k, element)
        if target != ignored:
            batch = k // inner
            position = (batch * classes + target) * inner + k - batch * inner
            value = -load(source, position, element) * value
        store(output, k, value, element)


@kernel(variants=FLOATS, takes=PickedTotal)
def total(args, lo, hi):
    """output = the sum of what ``elements`` computes; one unit of work."""
    given = PickedTotal(args)
    source, targets, factor = given.input, given.target, given.factor
    classes, inner, ignored = given.classes, given.inner, given.ignored
    total = float64(0)
    for k in range(given.number):
        target = load(targets, k, int64)
        if target != ignored:
            batch = k // inner
            position = (batch * classes + target) * inner + k - batch * inner
            total -= float64(load(source, position, element)) * float64(load(factor, k, element))
        else:
            total += float64(load(factor, k, element))
    store(given.output, 0, real(total), element)


@kernel(variants=FLOATS, takes=Placed)
def placed(args, lo, hi):
    """output[b, target[b, i], i] = -grad[b, i] * factor[b, i], all else 0, over the batch."""
    given = Placed(args)
    output, grad, targets, factor = given.output, given.grad, given.target, given.factor
    classes, inner, ignored, step = given.classes, given.inner, given.ignored, given.step
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
