"""relu and its gradient with the mask, and the gradient of the sigmoid.

Printed by the library; written by tools/write_kernels.py.
"""

from numbagrad.codegen.intrinsics import *

from numbagrad.codegen.kernel import kernel
from numbagrad.kernels.layout import UNIT
from numbagrad.kernels.packing import Operands


@kernel(
    code="formula",
    takes=Operands(
        ("x", "float32", UNIT),
        ("out", "float32", UNIT),
    ),
)
def relu(args, lo, hi):
    """out = 0 where x <= 0, else x; so NaN stays.

    Formula: relu in numbagrad/ops/pointwise/activation.py.

    Printed for x float32 contiguous -> out float32 contiguous, computed in float32.

    Args:
        args: address of int64 words (numbagrad/kernels/layout.py): the number of dimensions, 1;
            their sizes; and for each operand its address, and its strides, which nobody reads,
            since arrays are contiguous. The addresses are words 33 (x), 66 (out).
        lo, hi: the range of elements to compute.
    """
    at_x = load(args, 33, int64)
    at_out = load(args, 66, int64)
    for i in range(lo, hi):
        x = load_apart(at_x, i, float32, 1)
        t0 = x <= float32(0.0)
        t1 = select(t0, float32(0.0), x)
        store_apart(at_out, i, float32(t1), float32, 2)


@kernel(
    code="formula",
    takes=Operands(
        ("grad1", "float32", UNIT),
        ("result1", "float32", UNIT),
        ("out", "float32", UNIT),
    ),
)
def relu_backward(args, lo, hi):
    """The gradient of relu, with its mask: out = 0 where result1 <= 0, else grad1.

    Formula: the ``gradient`` of relu in numbagrad/ops/pointwise/activation.py. result1 is what
    relu returned, so that x need not be saved; grad1 is the gradient of that. It is masked, not
    multiplied with zero, so that NaN and infinity do not leak.

    Printed for grad1 float32 contiguous, result1 float32 contiguous -> out float32 contiguous,
    computed in float32.

    Args:
        args: address of int64 words (numbagrad/kernels/layout.py): the number of dimensions, 1;
            their sizes; and for each operand its address, and its strides, which nobody reads,
            since arrays are contiguous. The addresses are words 33 (grad1), 66 (result1), 99
            (out).
        lo, hi: the range of elements to compute.
    """
    at_grad1 = load(args, 33, int64)
    at_result1 = load(args, 66, int64)
    at_out = load(args, 99, int64)
    for i in range(lo, hi):
        grad1 = load_apart(at_grad1, i, float32, 1)
        result1 = load_apart(at_result1, i, float32, 1)
        t0 = result1 <= float32(0.0)
        t1 = select(t0, float32(0.0), grad1)
        store_apart(at_out, i, float32(t1), float32, 2)


@kernel(
    code="formula",
    takes=Operands(
        ("grad1", "float32", UNIT),
        ("result1", "float32", UNIT),
        ("out", "float32", UNIT),
    ),
)
def sigmoid_backward(args, lo, hi):
    """The gradient of the sigmoid: out = grad1 * (1 - result1) * result1.

    Formula: the ``gradient`` of sigmoid in numbagrad/ops/pointwise/activation.py. result1 is
    what sigmoid returned, grad1 the gradient of that.

    Printed for grad1 float32 contiguous, result1 float32 contiguous -> out float32 contiguous,
    computed in float32.

    Args:
        args: address of int64 words (numbagrad/kernels/layout.py): the number of dimensions, 1;
            their sizes; and for each operand its address, and its strides, which nobody reads,
            since arrays are contiguous. The addresses are words 33 (grad1), 66 (result1), 99
            (out).
        lo, hi: the range of elements to compute.
    """
    at_grad1 = load(args, 33, int64)
    at_result1 = load(args, 66, int64)
    at_out = load(args, 99, int64)
    for i in range(lo, hi):
        grad1 = load_apart(at_grad1, i, float32, 1)
        result1 = load_apart(at_result1, i, float32, 1)
        t0 = float32(1.0) - result1
        t1 = grad1 * t0
        t2 = t1 * result1
        store_apart(at_out, i, float32(t2), float32, 2)
