"""Results that are written to memory of another dtype: computed in their own, then cast.

What torch does decides: a sum of two numbers of float16 that overflows is infinite in an ``out`` of
float32 as well, and the number beside operands of float64 is one of float64 whatever the target is.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

import numbagrad as ng

VALUES = {
    "int8": [100, -100, 7],
    "uint8": [250, 8, 3],
    "int32": [2**31 - 5, -(2**31) + 3, 9],
    "float16": [60000.0, 1.501, -3.3],
    "bfloat16": [3e38, 1.5, -3.3],
    "float32": [3e38, 1.1, -7.7],
    "float64": [1e5, 0.3, 2.2],
}
COMPUTED = {
    "add": lambda t, x, out: t.add(x, x, out=out),
    "add with alpha": lambda t, x, out: t.add(x, x, alpha=3, out=out),
    "mul": lambda t, x, out: t.mul(x, x, out=out),
    "exp": lambda t, x, out: t.exp(x, out=out),
    "logit": lambda t, x, out: t.logit(x, 0.25, out=out),
}
CASTS = [
    ("float16", "float32"), ("float16", "float64"), ("bfloat16", "float32"),
    ("bfloat16", "float16"), ("float64", "float16"), ("float64", "float32"),
    ("float32", "bfloat16"), ("int8", "complex64"), ("uint8", "int32"), ("float16", "complex64"),
]  # fmt: skip


def numbers(t, dtype):
    return t.tensor(VALUES[dtype], dtype=getattr(t, dtype))


def outcome(call, *arguments):
    """The elements of a result, or the class of the error."""
    try:
        made = call(*arguments)
    except Exception as error:
        return type(error)
    return str(made.dtype), np.array(made.tolist())


def assert_same(mine, other, dtype):
    if isinstance(other, type) or isinstance(mine, type):
        assert mine is other
        return
    assert mine[0].removeprefix("torch.") == other[0].removeprefix("torch.")
    #: A number beside operands of half precision may be rounded before or after.
    rtol = {"float16": 2e-3, "bfloat16": 2e-2}.get(dtype, 1e-6)
    np.testing.assert_allclose(mine[1], other[1], rtol=rtol)


@pytest.mark.parametrize(("source", "target"), CASTS)
@pytest.mark.parametrize("name", COMPUTED)
def test_result_is_cast_to_out(name, source, target):
    def call(t):
        return COMPUTED[name](t, numbers(t, source), t.zeros(3, dtype=getattr(t, target)))

    assert_same(outcome(call, ng), outcome(call, torch), source)


SAME = {
    **{
        name: lambda t, x, out, name=name: getattr(t, name)(x, out=out)
        for name in ("neg", "abs", "floor", "ceil", "trunc", "sign", "sgn", "nan_to_num", "round")
    },
    "clamp": lambda t, x, out: t.clamp(x, 0, 1, out=out),
    "clamp between tensors": lambda t, x, out: t.clamp(x, x, x, out=out),
    "clamp_max": lambda t, x, out: t.clamp_max(x, 1, out=out),
    "heaviside": lambda t, x, out: t.heaviside(x, x, out=out),
    "lerp": lambda t, x, out: t.lerp(x, x, x, out=out),
}


@pytest.mark.parametrize("name", SAME)
@pytest.mark.parametrize(("source", "target"), [("float32", "float64"), ("float32", "float32")])
def test_out_of_the_dtype_of_the_result(name, source, target):
    def call(t):
        return SAME[name](t, numbers(t, source), t.zeros(3, dtype=getattr(t, target)))

    assert_same(outcome(call, ng), outcome(call, torch), source)


@pytest.mark.filterwarnings("ignore:Casting complex values to real")
@pytest.mark.parametrize("name", ["sum", "prod", "nansum", "mean", "cumsum", "cumprod"])
@pytest.mark.parametrize(
    "target", ["bool", "uint8", "int32", "float16", "float32", "float64", "complex64"]
)
@pytest.mark.parametrize("source", ["float64", "bfloat16", "int8", "bool", "complex64"])
def test_sum_is_computed_in_the_dtype_of_out(name, source, target):
    def call(t):
        out = t.zeros(3 if name.startswith("cum") else (), dtype=getattr(t, target))
        return getattr(t, name)(t.tensor([0.5, 200, 100.75]).to(getattr(t, source)), 0, out=out)

    assert_same(outcome(call, ng), outcome(call, torch), target)


IN_PLACE = {
    "add_": lambda x, y: x.add_(y, alpha=0.5),
    "sub_": lambda x, y: x.sub_(y, alpha=3),
    "addcmul_": lambda x, y: x.addcmul_(y, y, value=0.5),
    "addcdiv_": lambda x, y: x.addcdiv_(y, y, value=100000.0),
}


@pytest.mark.parametrize("name", IN_PLACE)
@pytest.mark.parametrize("target", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("source", ["float32", "float64"])
def test_number_beside_wider_operands(name, source, target):
    def call(t):
        x = t.tensor([1000.0, 1.5, -3.25]).to(getattr(t, target))
        return IN_PLACE[name](x, t.tensor([4.0, 0.5, 8.0]).to(getattr(t, source)))

    assert_same(outcome(call, ng), outcome(call, torch), target)
