"""Sums, products, and the accumulation of gradients.

Printed by the library; written by tools/write_kernels.py.
"""

from numbagrad.codegen.intrinsics import *

from numbagrad.codegen.kernel import kernel
from numbagrad.kernels.layout import ALIAS, UNIT
from numbagrad.kernels.packing import Operands


@kernel(
    code="formula",
    takes=Operands(
        ("x", "float32", UNIT),
        ("y", "float32", UNIT),
        ("out", "float32", UNIT),
    ),
)
def add(args, lo, hi):
    """out = x + y.

    Formula: add in numbagrad/ops/pointwise/arithmetic.py. Both gradients are the incoming one,
    which is passed on: there is no kernel for them.

    Printed for x float32 contiguous, y float32 contiguous -> out float32 contiguous, computed
    in float32.

    Args:
        args: address of int64 words (numbagrad/kernels/layout.py): the number of dimensions, 1;
            their sizes; and for each operand its address, and its strides, which nobody reads,
            since arrays are contiguous. The addresses are words 33 (x), 66 (y), 99 (out).
        lo, hi: the range of elements to compute.
    """
    at_x = load(args, 33, int64)
    at_y = load(args, 66, int64)
    at_out = load(args, 99, int64)
    for i in range(lo, hi):
        x = load_apart(at_x, i, float32, 1)
        y = load_apart(at_y, i, float32, 1)
        t0 = x + y
        store_apart(at_out, i, float32(t0), float32, 2)


@kernel(
    code="formula",
    takes=Operands(
        ("x", "float32", UNIT),
        ("y", "float32", UNIT),
        ("out", "float32", UNIT),
    ),
)
def mul(args, lo, hi):
    """out = x * y.

    Formula: mul in numbagrad/ops/pointwise/arithmetic.py.

    Printed for x float32 contiguous, y float32 contiguous -> out float32 contiguous, computed
    in float32.

    Args:
        args: address of int64 words (numbagrad/kernels/layout.py): the number of dimensions, 1;
            their sizes; and for each operand its address, and its strides, which nobody reads,
            since arrays are contiguous. The addresses are words 33 (x), 66 (y), 99 (out).
        lo, hi: the range of elements to compute.
    """
    at_x = load(args, 33, int64)
    at_y = load(args, 66, int64)
    at_out = load(args, 99, int64)
    for i in range(lo, hi):
        x = load_apart(at_x, i, float32, 1)
        y = load_apart(at_y, i, float32, 1)
        t0 = x * y
        store_apart(at_out, i, float32(t0), float32, 2)


@kernel(
    code="formula",
    takes=Operands(
        ("grad1", "float32", UNIT),
        ("x", "float32", UNIT),
        ("y", "float32", UNIT),
        ("out0", "float32", UNIT),
        ("out1", "float32", UNIT),
        outputs=2,
    ),
)
def mul_backward(args, lo, hi):
    """The gradients of mul: out0 = grad1 * y for x, out1 = grad1 * x for y.

    Formula: numbagrad/formula/differentiate.py derives it from that of mul. grad1 is the
    gradient of the result.

    Printed for grad1 float32 contiguous, x float32 contiguous, y float32 contiguous -> out0
    float32 contiguous, out1 float32 contiguous, computed in float32.

    Args:
        args: address of int64 words (numbagrad/kernels/layout.py): the number of dimensions, 1;
            their sizes; and for each operand its address, and its strides, which nobody reads,
            since arrays are contiguous. The addresses are words 33 (grad1), 66 (x), 99 (y), 132
            (out0), 165 (out1).
        lo, hi: the range of elements to compute.
    """
    at_grad1 = load(args, 33, int64)
    at_x = load(args, 66, int64)
    at_y = load(args, 99, int64)
    at_out0 = load(args, 132, int64)
    at_out1 = load(args, 165, int64)
    for i in range(lo, hi):
        grad1 = load_apart(at_grad1, i, float32, 1)
        x = load_apart(at_x, i, float32, 1)
        y = load_apart(at_y, i, float32, 1)
        t0 = grad1 * y
        t1 = grad1 * x
        store_apart(at_out0, i, float32(t0), float32, 2)
        store_apart(at_out1, i, float32(t1), float32, 3)


@kernel(
    code="formula",
    takes=Operands(
        ("x", "float32", ALIAS),
        ("y", "float32", UNIT),
        ("out", "float32", UNIT),
    ),
)
def accumulate(args, lo, hi):
    """Accumulation of a gradient: x += y, where x is the ``grad`` of a leaf.

    Called by numbagrad/autograd/engine/backward.py, with what a backward adds as y. It is the
    kernel of ``add_``: out is x itself, whose address is in the words of out.

    Printed for x float32 in place, y float32 contiguous -> out float32 contiguous, computed in
    float32.

    Args:
        args: address of int64 words (numbagrad/kernels/layout.py): the number of dimensions, 1;
            their sizes; and for each operand its address, and its strides, which nobody reads,
            since arrays are contiguous. The addresses are words 33 (x), 66 (y), 99 (out).
        lo, hi: the range of elements to compute.
    """
    at_y = load(args, 66, int64)
    at_out = load(args, 99, int64)
    for i in range(lo, hi):
        x = load_apart(at_out, i, float32, 2)
        y = load_apart(at_y, i, float32, 1)
        t0 = x + y
        store_apart(at_out, i, float32(t0), float32, 2)
