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


SCALARS = {
    "add": lambda t, x, n: x + n,
    "rsub": lambda t, x, n: n - x,
    "mul": lambda t, x, n: x * n,
    "div": lambda t, x, n: x / n,
    "floor_divide": lambda t, x, n: x // n,
    "remainder": lambda t, x, n: x % n,
    "fmod": lambda t, x, n: t.fmod(x, n),
    "pow": lambda t, x, n: x**n,
    "and": lambda t, x, n: x & n,
    "shift": lambda t, x, n: x << n,
    "eq": lambda t, x, n: x == n,
    "lt": lambda t, x, n: x < n,
    "reflected lt": lambda t, x, n: n < x,
    "add_": lambda t, x, n: x.add_(n),
    "div_": lambda t, x, n: x.div_(n),
    "where": lambda t, x, n: t.where(t.tensor([True, False]), x, n),
    "clamp": lambda t, x, n: x.clamp(min=n),
    "clamp_": lambda t, x, n: x.clamp_(max=n),
    "clamp_min": lambda t, x, n: t.clamp_min(x, n),
    "alpha": lambda t, x, n: t.add(x, x, alpha=n),
    "addcmul": lambda t, x, n: t.addcmul(x, x, x, value=n),
    "lerp": lambda t, x, n: t.lerp(x, x, n),
    "hardshrink": lambda t, x, n: t.nn.functional.hardshrink(x, n),
    "leaky_relu": lambda t, x, n: t.nn.functional.leaky_relu(x, n),
    "elu": lambda t, x, n: t.nn.functional.elu(x, n),
    "index_add": lambda t, x, n: x.index_add(0, t.tensor([0]), x[:1], alpha=n),
    "addmv": lambda t, x, n: t.addmv(x, x[:, None].expand(2, 2), x, beta=n),
    "pad": lambda t, x, n: t.nn.functional.pad(x, (1, 1), value=n),
    "isin": lambda t, x, n: t.isin(x, n),
    "float_power": lambda t, x, n: t.float_power(x, n),
    "index_fill": lambda t, x, n: x.index_fill(0, t.tensor([0]), n),
    "masked_fill": lambda t, x, n: x.masked_fill(x == 0, n),
    "full_like": lambda t, x, n: t.full_like(x, n),
    "fill_": lambda t, x, n: x.fill_(n),
    "new_full": lambda t, x, n: x.new_full((2,), n),
    "searchsorted": lambda t, x, n: t.searchsorted(x, n),
    "linspace": lambda t, x, n: t.linspace(0, n, 3, dtype=x.dtype),
    "scatter": lambda t, x, n: x.scatter(0, t.tensor([0]), n, reduce="add"),
    "tensor": lambda t, x, n: t.tensor([n], dtype=x.dtype),
    "element": lambda t, x, n: (x.__setitem__(0, n), x)[1],
    "elements": lambda t, x, n: (x.__setitem__(t.tensor([True, False]), n), x)[1],
}
#: Beyond what torch's own arithmetic comes to: it negates an int64 that has no negative, promotes
#: bools beside ints that only uint64 holds in some operators, and rounds where it is vectorised.
KNOWN = {
    ("pad", "int64", 2**63), ("pad", "int64", 2**63 - 1), ("linspace", "bfloat16", 70000.0),
    ("alpha", "bool", 2**64 - 1),
    ("alpha", "bool", 2**63),
}  # fmt: skip


def closely(library, call, dtype, number):
    """The class of the error, or the dtype and the values to the digits that float16 has."""
    x = library.tensor([1, 0]).to(getattr(library, dtype))
    try:
        made = call(library, x, number)
    except Exception as error:
        refused = isinstance(error, (NotImplementedError, TypeError))
        return "refused" if refused else type(error)
    numbers = np.array(made.tolist())
    return str(made.dtype).split(".")[1], made.shape == (), [f"{z:.3g}" for z in numbers.ravel()]


@pytest.mark.parametrize("dtype", [x for x in DTYPES if "complex" not in x])
@pytest.mark.parametrize("name", SCALARS)
def test_numbers_that_no_element_is_are_refused_or_converted_as_by_torch(name, dtype):
    with np.errstate(all="ignore"):
        for number in (*NUMBERS, 1e39, 1e300, True, 0):
            if (name, dtype, number) in KNOWN:
                continue
            arguments = SCALARS[name], dtype, number
            ours, theirs = closely(numbagrad, *arguments), closely(torch, *arguments)
            if theirs is OverflowError and ours in ("refused", RuntimeError):
                continue  # of two things wrong, each library finds another one first
            assert ours == theirs, number


@pytest.mark.parametrize("name", ["add", "where", "clamp", "alpha", "element", "masked_fill"])
def test_programs_refuse_numbers_too(name):
    call = {**SCALARS, **FILLS}[name]
    for dtype in ("float16", "int8", "float32"):
        for number in (300, 70000.0, 1e39):
            compiled = numbagrad.compile(lambda x, n=number: call(numbagrad, x, n))
            outcomes = []
            for _ in range(3):
                x = numbagrad.tensor([1, 0]).to(getattr(numbagrad, dtype))
                try:
                    outcomes.append(str(compiled(x).tolist()))
                except RuntimeError as error:
                    outcomes.append(str(error))
            assert len(set(outcomes)) == 1


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


def without_signs(found):
    """The same without the signs of zeros and without the class of an error."""
    if not isinstance(found, tuple):
        return "refused"
    return (*found[:2], [f"{complex(x) + 0:.3g}" for x in found[2]])


#: float16 would become complex32, which is not there.
@pytest.mark.parametrize("dtype", [x for x in DTYPES[1:] if "complex" not in x])
@pytest.mark.parametrize("name", SCALARS)
def test_complex_numbers_beside_real_elements_are_refused_or_promote_as_by_torch(name, dtype):
    for number in (1j, 2 - 1j):
        arguments = SCALARS[name], dtype, number
        ours, theirs = closely(numbagrad, *arguments), closely(torch, *arguments)
        assert without_signs(ours) == without_signs(theirs), number
