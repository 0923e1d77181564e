"""Numbers that are special, against torch: NumPy's bools as operands, and ints without a type."""

import numpy as np
import pytest
import torch

import numbagrad

DTYPES = [
    "float16", "bfloat16", "float32", "float64", "int8", "uint8", "int16", "int32", "int64", "bool",
    "complex64", "complex128",
]  # fmt: skip

CALLS = {
    "add": lambda t, x, b: x + b,
    "reflected add": lambda t, x, b: b + x,
    "sub": lambda t, x, b: x - b,
    "mul": lambda t, x, b: x * b,
    "div": lambda t, x, b: x / b,
    "pow": lambda t, x, b: x**b,
    "and": lambda t, x, b: x & b,
    "eq": lambda t, x, b: x == b,
    "lt": lambda t, x, b: x < b,
    "where": lambda t, x, b: t.where(t.tensor([True, False]), x, b),
    "where, reflected": lambda t, x, b: t.where(t.tensor([True, False]), b, x),
    "masked_fill": lambda t, x, b: x.masked_fill(t.tensor([True, False]), b),
    "fill_": lambda t, x, b: x.fill_(b),
    "add_": lambda t, x, b: x.add_(b),
    "clamp": lambda t, x, b: x.clamp(min=b),
}


def found(library, call, dtype, number):
    """The dtype and the values of a result, or the class of the error."""
    x = library.tensor([1, 0]).to(getattr(library, dtype))
    try:
        made = call(library, x, number)
    except Exception as error:
        return type(error)
    return str(made.dtype).split(".")[1], str(made.tolist())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CALLS)
def test_bools_of_numpy_are_operands_as_in_torch(name, dtype):
    for value in (True, False):
        arguments = CALLS[name], dtype, np.bool_(value)
        assert found(numbagrad, *arguments) == found(torch, *arguments), value


FILLS = {
    "fill_": lambda t, x, n: x.fill_(n),
    "full": lambda t, x, n: t.full((2,), n, dtype=x.dtype),
    "full_like": lambda t, x, n: t.full_like(x, n),
    "new_full": lambda t, x, n: x.new_full((2,), n),
    "masked_fill": lambda t, x, n: x.masked_fill(t.tensor([True, False]), n),
    "index_fill": lambda t, x, n: x.index_fill(0, t.tensor([0]), n),
}
NUMBERS = [
    10**30, -(10**30), 10**400, 2**64, -(2**63) - 1, 2**64 - 1, 2**63, 2**63 - 1, -(2**63), 300,
    256, -1, -129, 70000.0, 2.7, -2.7, float("nan"), float("inf"),
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FILLS)
def test_what_does_not_fit_is_refused_as_by_torch(name, dtype):
    for number in NUMBERS:
        arguments = FILLS[name], dtype, number
        assert found(numbagrad, *arguments) == found(torch, *arguments), number


def test_memory_that_replaces_that_of_a_computed_tensor():
    """Gradients of other sizes than those it was computed with are errors, and not wrong."""
    for library in (torch, numbagrad):
        leaf = library.ones(3, requires_grad=True)
        computed = leaf * 2
        with library.no_grad():
            computed.set_(library.ones(2))
        assert computed.requires_grad and computed.tolist() == [1.0, 1.0]
        with pytest.raises(RuntimeError, match="invalid gradient"):
            computed.sum().backward()
        computed = leaf * 2
        with library.no_grad():
            computed.set_(library.ones(3) * 5)
        computed.sum().backward()
        assert leaf.grad.tolist() == [2.0, 2.0, 2.0]


def test_the_history_of_a_source_is_not_lost_unsaid():
    x = numbagrad.ones(3)
    with pytest.raises(RuntimeError, match="no_grad"):
        x.set_(numbagrad.ones(2, requires_grad=True))
    with numbagrad.no_grad():
        x.set_(numbagrad.ones(2, requires_grad=True))
    assert x.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("name", ["add", "mul", "lt", "where", "clamp"])
@pytest.mark.parametrize("dtype", DTYPES[:9])
def test_operands_that_no_number_holds(name, dtype):
    arguments = CALLS[name], dtype, 10**400
    assert found(numbagrad, *arguments) is found(torch, *arguments) is OverflowError
