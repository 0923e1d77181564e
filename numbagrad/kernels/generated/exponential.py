"""exp.

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
def exp(args, lo, hi):
    """out = exp(x).

    Formula: exp in numbagrad/ops/pointwise/elementary.py, which
    numbagrad/kernels/vector_math/exponential.py lowers to arithmetic: a power of two times a
    polynomial, within 2 units in the last place. Its gradient is grad * result. CPUs with
    AVX-512 have an instruction for the last step: they are printed another kernel.

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
        t0 = x < float32(-104.0)
        t1 = select(t0, float32(-104.0), x)
        t2 = t1 > float32(89.0)
        t3 = select(t2, float32(89.0), t1)
        t4 = fma(t3, float32(1.4426950408889634), float32(12582912.0))
        t5 = t4 - float32(12582912.0)
        t6 = -t5
        t7 = fma(t6, float32(0.6931471824645996), t3)
        t8 = fma(t6, float32(-1.9046542121259336e-09), t7)
        t9 = t8 * t8
        t10 = fma(t8, float32(0.0013823485933244228), float32(0.008368815295398235))
        t11 = fma(t8, t10, float32(0.04166823625564575))
        t12 = fma(t8, t11, float32(0.1666651964187622))
        t13 = fma(t8, t12, float32(0.4999999403953552))
        t14 = fma(t9, t13, t8)
        t15 = t14 + float32(1.0)
        t16 = t3 < float32(0.0)
        t17 = bits(t4)
        t18 = int32(t17 << int32(23))
        t19 = int32(t18 + int32(1602224128))
        t20 = int32(t18 + int32(528482304))
        t21 = select(t16, t19, t20)
        t22 = from_bits(t21)
        t23 = t15 * t22
        t24 = select(t16, float32(5.421010862427522e-20), float32(1.8446744073709552e+19))
        t25 = t23 * t24
        store_apart(at_out, i, float32(t25), float32, 2)
