"""The vectorised logarithm of the gamma function, and divisions of integers as floats.

Both hold within bounds, and kernels compute what is beyond by the C library or the processor's
division: values beside mpmath's, and integers at the ends of their range beside Python's.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import numbagrad
from numbagrad.kernels.pointwise.source import BLOCK

#: lgamma to 20 digits, near its zeros, where its parts meet, and far out (mpmath).
EXACT = {
    1.0000000031710769e-30: 69.077552786650293675, 0.009999999776482582: 4.5994799005191314324,
    0.30000001192092896: 1.0957979530647339755, 0.699999988079071: 0.26086726107548082291,
    0.7900000214576721: 0.16182546138876842108, 0.800000011920929: 0.15205966689603918742,
    0.8100000023841858: 0.14252383218349882198, 0.8999999761581421: 0.066376257733604590793,
    0.9990000128746033: 0.0005780310802754650866, 0.9999899864196777: 5.7800778944061547912e-6,
    1.0: 0.0, 1.0000100135803223: -5.7799129539214026407e-6,
    1.2000000476837158: -0.085374103785810698713, 1.4615999460220337: -0.12148629003421686648,
    1.7000000476837158: -0.095807687462727362328, 1.9900000095367432: -0.0041955251185052085138,
    1.999899983406067: -0.000042282223356811171181, 2.0: 0.0,
    2.0000998973846436: 0.00004223826733317384261, 2.240000009536743: 0.11917417284979378522,
    2.5: 0.28468287047291915963, 2.990000009536743: 0.68393911841022905565,
    3.0: 0.69314718055994530942, 3.5: 1.2009736023470742248,
    3.990000009536743: 1.7792125090023703181, 4.0: 1.7917594692280550008,
    4.099999904632568: 1.9187770723029691377, 5.5: 3.9578139676187162939,
    7.989999771118164: 8.5050111450496912805, 8.0: 8.5251613610654143002,
    8.100000381469727: 8.7273890373835641638, 20.0: 39.339884187199494036,
    1000.0: 5905.2204232091812118, 10000000000.0: 220258509288.81058147,
    1.0000000150474662e+29: 6.5774968701621395701e+30,
    2.0000000300949324e+30: 1.3754140204050713377e+32,
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_logarithm_of_gamma_is_accurate_to_four_units(dtype: str) -> None:
    x = np.array(list(EXACT))
    computed = numbagrad.lgamma(numbagrad.tensor(x, dtype=getattr(numbagrad, dtype))).numpy()
    true = np.array(list(EXACT.values()), np.longdouble)
    units = np.abs(computed - true) / np.spacing(np.abs(true).astype(dtype))
    assert units.max() <= 4, x[units.argmax()]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_arguments_that_are_not_positive_are_left_to_the_library(dtype: str) -> None:
    x = np.linspace(0.1, 30, 3 * BLOCK).astype(dtype)
    usual = numbagrad.lgamma(numbagrad.tensor(x)).numpy()
    special = np.array([0, -0.0, -1, -2.5, -0.25, math.nan, math.inf, -math.inf], dtype)
    x[BLOCK : BLOCK + 8] = special
    result = numbagrad.lgamma(numbagrad.tensor(x)).numpy()
    expected = (
        [math.inf] * 3 + [-0.05624371649767405, 1.5895753125511862, math.nan] + [math.inf] * 2
    )
    np.testing.assert_allclose(result[BLOCK : BLOCK + 8], np.array(expected, dtype), rtol=1e-5)
    usual[BLOCK : BLOCK + 8] = result[BLOCK : BLOCK + 8]
    np.testing.assert_array_equal(result, usual)
    assert numbagrad.lgamma(numbagrad.tensor(1e31, dtype=getattr(numbagrad, dtype))) > 7e32


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
def test_integers_divide_as_pythons_do(dtype: str) -> None:
    info = np.iinfo(dtype)
    ends = [info.min, info.min + 1, -3, -2, -1, 1, 2, 3, 7, info.max - 1, info.max]
    near = [n for k in (24, 53) for n in (2**k - 1, 2**k, 2**k + 1, -(2**k), 1 - 2**k)]
    numbers = sorted({n for n in (*ends, *near) if info.min <= n <= info.max})
    pairs = [(a, b) for a in [0, *numbers] for b in numbers if b and (a, b) != (info.min, -1)]
    a, b = (numbagrad.tensor(np.array(x, dtype)) for x in zip(*pairs, strict=True))
    assert (a // b).tolist() == [x // y for x, y in pairs]
    assert (a % b).tolist() == [x % y for x, y in pairs]
    down = [abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1) for x, y in pairs]
    assert numbagrad.div(a, b, rounding_mode="trunc").tolist() == down
    assert numbagrad.fmod(a, b).tolist() == [
        x - y * q for (x, y), q in zip(pairs, down, strict=True)
    ]
    if info.min:  # as the processor wraps
        least, minus = (numbagrad.tensor([x] * 9, dtype=a.dtype) for x in (info.min, -1))
        assert (least // minus).tolist() == [info.min] * 9 and not (least % minus).any()
