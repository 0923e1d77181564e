"""clamp, and its gradient with the mask.

Printed by the library; written by tools/write_kernels.py.
"""

from numbagrad.codegen.intrinsics import *

from numbagrad.codegen.kernel import kernel
from numbagrad.kernels.layout import UNIT, ZERO
from numbagrad.kernels.packing import Operands


@kernel(
    code="formula",
    takes=Operands(
        ("x", "float32", UNIT),
        ("low", "float32", ZERO),
        ("high", "float32", ZERO),
        ("out", "float32", UNIT),
    ),
)
def clamp(args, lo, hi):
    """out = minimum(maximum(x, low), high); NaN stays.

    Formula: clamp in numbagrad/ops/pointwise/bounds.py. The bounds are single values.

    Printed for x float32 contiguous, low float32 repeated, high float32 repeated -> out float32
    contiguous, computed in float32.

    Args:
        args: address of int64 words (numbagrad/kernels/layout.py): the number of dimensions, 1;
            their sizes; and for each operand its address, and its strides, which nobody reads,
            since arrays are contiguous. The addresses are words 33 (x), 66 (low), 99 (high),
            132 (out).
        lo, hi: the range of elements to compute.
    """
    at_x = load(args, 33, int64)
    at_low = load(args, 66, int64)
    at_high = load(args, 99, int64)
    at_out = load(args, 132, int64)
    low = load_apart(at_low, 0, float32, 1)
    high = load_apart(at_high, 0, float32, 1)
    for i in range(lo, hi):
        x = load_apart(at_x, i, float32, 1)
        t0 = x > low
        t1 = x != x
        t2 = t0 | t1
        t3 = select(t2, x, low)
        t4 = t3 < high
        t5 = t3 != t3
        t6 = t4 | t5
        t7 = select(t6, t3, high)
        store_apart(at_out, i, float32(t7), float32, 2)


@kernel(
    code="formula",
    takes=Operands(
        ("grad1", "float32", UNIT),
        ("x", "float32", UNIT),
        ("low", "float32", ZERO),
        ("high", "float32", ZERO),
        ("out", "float32", UNIT),
    ),
)
def clamp_backward(args, lo, hi):
    """The gradient of clamp, and its mask: out = grad1 where low <= x <= high, else 0.

    Formula: the ``gradient`` of clamp in numbagrad/ops/pointwise/bounds.py; torch too passes it
    at the bounds. grad1 is the gradient of the result.

    Printed for grad1 float32 contiguous, x float32 contiguous, low float32 repeated, high
    float32 repeated -> out float32 contiguous, computed in float32.

    Args:
        args: address of int64 words (numbagrad/kernels/layout.py): the number of dimensions, 1;
            their sizes; and for each operand its address, and its strides, which nobody reads,
            since arrays are contiguous. The addresses are words 33 (grad1), 66 (x), 99 (low),
            132 (high), 165 (out).
        lo, hi: the range of elements to compute.
    """
    at_grad1 = load(args, 33, int64)
    at_x = load(args, 66, int64)
    at_low = load(args, 99, int64)
    at_high = load(args, 132, int64)
    at_out = load(args, 165, int64)
    low = load_apart(at_low, 0, float32, 1)
    high = load_apart(at_high, 0, float32, 1)
    for i in range(lo, hi):
        grad1 = load_apart(at_grad1, i, float32, 1)
        x = load_apart(at_x, i, float32, 1)
        t0 = x >= low
        t1 = x <= high
        t2 = t0 & t1
        t3 = select(t2, grad1, float32(0.0))
        store_apart(at_out, i, float32(t3), float32, 2)
