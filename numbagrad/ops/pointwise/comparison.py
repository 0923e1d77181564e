"""Comparisons, tests and the operations on bits. ``__init__.py`` says what an entry is."""

from __future__ import annotations

from ...formula import (
    abs,
    cast,
    copysign,
    isfinite,
    isinf,
    isnan,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
)
from ..operators.definition import HOLOMORPHIC, Refused, define

# Comparisons and tests; they give bool

define("eq", lambda x, y: x == y, result="bool", complex=HOLOMORPHIC)
define("ne", lambda x, y: x != y, result="bool", aliases=("not_equal",), complex=HOLOMORPHIC)
define("lt", lambda x, y: x < y, result="bool", aliases=("less",))
define("le", lambda x, y: x <= y, result="bool", aliases=("less_equal",))
define("gt", lambda x, y: x > y, result="bool", aliases=("greater",))
define("ge", lambda x, y: x >= y, result="bool", aliases=("greater_equal",))
define("isnan", lambda x: isnan(x), result="bool", in_place=False, complex=HOLOMORPHIC)
define("isinf", lambda x: isinf(x), result="bool", in_place=False, complex=HOLOMORPHIC)
define("isfinite", lambda x: isfinite(x), result="bool", in_place=False, complex=HOLOMORPHIC)
define(
    "isposinf",
    lambda x: isinf(x) & (x > 0),
    result="bool",
    in_place=False,
    complex=Refused("isposinf does not support complex inputs.", RuntimeError),
)
define(
    "isneginf",
    lambda x: isinf(x) & (x < 0),
    result="bool",
    in_place=False,
    complex=Refused("isneginf does not support complex inputs.", RuntimeError),
)
define(
    "signbit", lambda x: copysign(1, cast(x, "float64")) < 0, result="bool", in_place=False,
    complex=Refused("signbit is not implemented for complex tensors."),
)  # fmt: skip
define(
    "isclose",
    lambda x, y, rtol, atol: (x == y) | (isfinite(y) & (abs(x - y) <= atol + abs(rtol * y))),
    scalars={"rtol": 1e-5, "atol": 1e-8},
    promoting=("rtol", "atol"),
    dtypes="float",
    result="bool",
    in_place=False,
    complex=HOLOMORPHIC,
    converted=("rtol", "atol"),
)
define("logical_not", lambda x: logical_not(x), result="bool", complex=HOLOMORPHIC)
define("logical_and", lambda x, y: logical_and(x, y), result="bool", complex=HOLOMORPHIC)
define("logical_or", lambda x, y: logical_or(x, y), result="bool", complex=HOLOMORPHIC)
define("logical_xor", lambda x, y: logical_xor(x, y), result="bool", complex=HOLOMORPHIC)

# Bits

define("bitwise_not", lambda x: ~x, dtypes="integral")
define("bitwise_and", lambda x, y: x & y, dtypes="integral")
define("bitwise_or", lambda x, y: x | y, dtypes="integral")
define("bitwise_xor", lambda x, y: x ^ y, dtypes="integral")
define("bitwise_left_shift", lambda x, y: x << y, dtypes="integer")
define("bitwise_right_shift", lambda x, y: x >> y, dtypes="integer")
