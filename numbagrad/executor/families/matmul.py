"""The matrix product of ndarrays: stacks of matrices through the launcher, the rest around it.

Called by ``ops/products/matmul.py``. Integers and float16 have no kernel of their own, and
bfloat16 only where the CPU has an instruction (``bfloat16_products.py``): half precision computes
in float32, integers go to NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...backend import shared_by
from ...native import layout
from ...native.layout import MatmulTable
from .. import capture
from ..builtin import (
    LaunchMiss,
    Repairs,
    at_hand,
    leave_to_capture,
    make_launcher,
    runtime,
)
from ..cache import library
from ..mode import NATIVE
from ..plan import direct
from ..plan.forms import stacked
from ..plan.product_kernels import kernel_of
from ..plan.result_forms import product
from ..threads import pool
from .bfloat16_products import bfloat16_product
from .conversion import has_half, narrowed, widened

Array = np.ndarray[Any, Any]


@library.remembered
def _launcher() -> tuple[Callable[..., Array], MatmulTable]:
    """The launcher of a product, and its table."""
    table = MatmulTable()
    table.runtime = runtime().address

    signature = f"int64({', '.join(['int64'] * 5)})"
    divide = library.HandWritten("kernels.matmul.division", "divide", signature, code="calls")

    def prepare_to_share() -> None:
        table.divide = library.hand_written(*divide)

    pool.when_sharing(prepare_to_share, divide)
    return make_launcher("matmul", table, "matmul", "matmul_launch"), table


@library.remembered
def _launcher_with_tangent() -> Callable[..., tuple[Array, Array]]:
    """The launcher of a product with its tangent, which few programs need."""
    table = _launcher()[1]
    return make_launcher("matmul_and_tangent", table, "matmul_and_tangent", "matmul_launch")


#: The launcher of a product, once it was there.
_made: list[Callable[..., Array]] = []
library.when_forgetting(_made.clear)


def _launcher_or_direct() -> Callable[..., Array]:
    """The launcher if it can be had without a stall; else what does the same without one."""
    if not NATIVE or not at_hand("matmul", "matmul_launch"):
        return direct.product
    _made.append(_launcher()[0])
    return _made[0]


def _compile(key: int, dtype: str) -> None:
    """Put the kernel that a launcher missed into the table of both."""
    method, _ = divmod(key, layout.MATMUL_TYPES)
    _launcher()[1].kernels[key] = kernel_of(method, dtype)


class HalfPrecision(Exception):  # noqa: N818 - a signal to a caller that goes another way
    """Raised for a product of half precision of which the caller wants the sums unrounded."""


def matmul(a: Array, b: Array, rounded: bool = True) -> Array:
    """``a @ b`` of two stacks of matrices whose leading dimensions broadcast.

    Both have the same dtype and at least two dimensions; the caller has checked the shapes. Where
    the result of half precision is not to be ``rounded``, raises ``HalfPrecision``.
    """
    repairs = None
    while True:
        try:
            if capture.active is not None:
                leave_to_capture()
            launch = _made[0] if _made else _launcher_or_direct()
            return launch(a, b)
        except LaunchMiss as miss:
            code = miss.args[0]
        if (where := shared_by("matmul", (a, b))) is not None:
            if a.dtype.kind == "c":
                capture.refuse("a product of complex matrices")
            if capture.active is not None:
                if made := capture.hand_over("product", matmul, a, b):
                    return made[0]
            return where.matmul(a, b)
        if a.dtype.kind == "c":
            return _of_complex(a, b)
        if not rounded and has_half((a, b)):
            raise HalfPrecision
        if code == layout.MISS_CAPTURE:
            if made := capture.hand_over("product", matmul, a, b):
                return made[0]
            continue
        if code < 0:
            return _general(a, b)
        repairs = repairs or Repairs("matmul")
        repairs.add(code, (a, b))
        _compile(code, a.dtype.name)


def matmul_into(a: Array, b: Array, out: Array) -> bool:
    """Write ``a @ b`` of two matrices into an array of its shape and dtype, by one launch.

    False where it takes more, or another way; then nothing was written. For calls that nobody
    records.
    """
    if not NATIVE or not at_hand("matmul", "matmul_launch"):
        return False
    repairs = None
    while True:
        try:
            _launcher()[0](a, b, out)
        except LaunchMiss as miss:
            code = miss.args[0]
        else:
            return True
        if code < 0:
            return False
        repairs = repairs or Repairs("matmul")
        repairs.add(code, (a, b))
        _compile(code, a.dtype.name)


def matmul_and_tangent(
    a: Array, b: Array, da: Array | None, db: Array | None
) -> tuple[Array, Array] | None:
    """``a @ b``, and its derivative ``da @ b + a @ db``, without the terms that are None.

    Each of the two by one launch; None where it takes more, or another way. As for ``matmul``;
    ``da`` and ``db``, of which one is given, have the shapes of ``a`` and ``b``.
    """
    if not NATIVE:
        return None
    repairs = None
    while True:
        try:
            return _launcher_with_tangent()(a, b, da, db)
        except LaunchMiss as miss:
            code = miss.args[0]
        if code < 0:
            return None
        repairs = repairs or Repairs("matmul_and_tangent")
        repairs.add(code, (a, b, da, db))
        _compile(code, a.dtype.name)


def unrounded(a: Array, b: Array) -> Array:
    """``a @ b`` of half precision as float32: for what raised ``HalfPrecision``."""
    made = bfloat16_product(a, b, rounded=False)
    return matmul(widened(a), widened(b)) if made is None else made


def _general(a: Array, b: Array) -> Array:
    """Products that the launcher does not take as they are."""
    if has_half((a, b)):
        made = bfloat16_product(a, b, rounded=True)
        if made is None:
            made = narrowed(matmul(widened(a), widened(b)), a.dtype)
        return made
    if a.dtype.kind != "f":
        return _reference(a, b)
    form = product(a, b)
    a, b = [np.ascontiguousarray(x) for x in stacked(a, b)]
    if a.ndim > 4:
        count = math.prod(form.shape[:-2])
        a, b = [x.reshape(count, *x.shape[-2:]) for x in (a, b)]
    return matmul(a, b).reshape(form.shape)


def _of_complex(a: Array, b: Array) -> Array:
    """The product of complex matrices, from the four products of their parts."""
    capture.refuse("a product of complex matrices")
    (a_re, a_im), (b_re, b_im) = [
        [np.ascontiguousarray(part) for part in (x.real, x.imag)] for x in (a, b)
    ]
    real = matmul(a_re, b_re)
    made = np.empty(real.shape, a.dtype)
    np.subtract(real, matmul(a_im, b_im), out=made.real)
    np.add(matmul(a_re, b_im), matmul(a_im, b_re), out=made.imag)
    return made


def _reference(a: Array, b: Array) -> Array:
    """The product as NumPy computes it, in the dtype of the operands."""
    if has_half((a, b)):
        return narrowed(np.matmul(widened(a), widened(b)), a.dtype)
    if a.dtype == np.bool_:
        raise NotImplementedError(
            "\"matmul\" not implemented for 'Bool'; cast to an integer dtype first"
        )
    return np.matmul(a, b)
