"""Convolutions of ndarrays, transposed ones, and gradients of their weights.

Called by ``nn/functional/convolution.py``; runs what ``kernels/convolution`` holds, by the plans of
``plan/windows.py``. What has no kernel (integers, complex numbers, windows too wide for the
kernels' scratch memory) comes back as None, and is computed there.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ...backend import foreign
from .. import capture
from ..hand_written import HandWrittenKernel, with_scratch
from ..memory.arrays import constant, in_c_order, new_array
from ..plan.windows import Form, Plan, product_plan, weights_plan

Array = np.ndarray[Any, Any]

_GRAIN = 16384  # elements that are worth a thread of their own where they are copied


@functools.cache
def _kernel(module: str, name: str, dtype: str) -> HandWrittenKernel:
    return HandWrittenKernel(f"kernels.convolution.{module}", f"{name}_{dtype}")


def _has_kernel(*arrays: Array) -> bool:
    dtype = arrays[0].dtype
    return (
        dtype.kind == "f"
        and dtype.itemsize in (4, 8)
        and dtype.isnative
        and not any([not x.size for x in arrays])
    )


def _words(plan: Plan) -> Array:
    """The words of a plan; a program keeps its own."""
    if capture.active is None:
        return plan.words
    made: Array = constant(plan.words.copy())
    return made


def convolve(form: Form, source: Array, weights: Array, bias: Array | None) -> Array | None:
    """The result (N, groups * rows, ...) of a form, for contiguous or other operands.

    ``weights`` are those of the convolution, also where the form is transposed. A bias has an
    element for each row of each group.
    """
    if (where := foreign(source)) is not None:
        elsewhere: Array = where.window("convolve", (source, weights, bias), {"form": form})
        return elsewhere
    if not _has_kernel(source, weights) or not all(form.result):
        return None
    plan = product_plan(form)
    if plan is None:
        return None
    words, dtype = _words(plan), source.dtype.name
    source, weights = in_c_order(source), in_c_order(weights)
    if form.transposed:
        arranged = new_array((weights.size,), weights.dtype)
        rows = form.groups * form.rows
        grain = max(1, _GRAIN * rows // weights.size)
        _kernel("product", "arrange", dtype)(rows, grain, arranged, weights, words)
        weights = arranged
    made = new_array((form.batch, form.groups * form.rows, *form.result), source.dtype)
    added = 0 if bias is None else in_c_order(bias)
    with_scratch(_kernel("product", "convolve", dtype), 5)(
        plan.units, plan.grain, made, source, weights, added, words
    )
    return made


def correlate(form: Form, source: Array, grad: Array, shape: tuple[int, ...]) -> Array | None:
    """The gradient of the weights, of a shape, from that of the result of a form."""
    if (where := foreign(source)) is not None:
        options = {"form": form, "shape": shape}
        elsewhere: Array = where.window("correlate", (source, grad), options)
        return elsewhere
    if not _has_kernel(source, grad) or not all(shape):
        return None
    plan = weights_plan(form)
    if plan is None:
        return None
    words, dtype = _words(plan), source.dtype.name
    source, grad = in_c_order(source), in_c_order(grad)
    made = new_array(shape, source.dtype)
    sums = made if plan.parts == 1 else new_array((plan.parts, *shape), source.dtype)
    kernel = with_scratch(_kernel("weights", "correlate", dtype), 4)
    kernel(plan.units, plan.grain, sums, source, grad, words)
    if plan.parts > 1:
        grain = max(1, _GRAIN // plan.parts)
        _kernel("weights", "join", dtype)(made.size, grain, made, sums, plan.parts, made.size)
    return made
