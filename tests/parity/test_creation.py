"""Creation against torch: the same calls give the same values and strides, or both refuse."""

import itertools

import numpy as np
import pytest
import torch

import numbagrad

DTYPES = ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool"]


def assert_same(made, expected):
    assert str(made.dtype) == str(expected.dtype)
    assert tuple(made.shape) == tuple(expected.shape)
    assert made.stride() == expected.stride()
    np.testing.assert_array_equal(made.numpy(), expected.numpy())


def outcome(expression, module):
    """What an expression gives: a tensor's properties, or the type of the error it raises."""
    try:
        made = eval(expression, {"torch": module, "np": np})
    except Exception as error:
        return type(error)
    return str(made.dtype), tuple(made.shape), made.stride(), made.tolist()


DATA = [
    "1", "True", "1.5", "[]", "[[]]", "[1, 2.5]", "[True, False]", "[True, 3]", "[[1], [2]]",
    "(1, (2,))", "range(4)", "[[1, 2], [3]]", "[1, [2]]", "np.arange(3)", "np.float32(2)",
    "np.array(3, dtype=np.int16)", "[np.int8(3), 4]", "[np.float64(3), 4.0]", "[300, -1]",
    "[1e40]", "[float('inf')]", "[2**62]", "[2**70]", "'text'", "None", "[None]", "{}", "[1, 'a']",
    "np.arange(6).reshape(2, 3).T", "torch.ones(2)", "[torch.tensor(1), 2.5]", "[torch.ones(1)]",
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("dtype", [None, *DTYPES])
@pytest.mark.parametrize("function", ["tensor", "as_tensor"])
def test_from_data(function, data, dtype):
    keyword = "" if dtype is None else f", dtype=torch.{dtype}"
    expression = f"torch.{function}({data}{keyword})"
    assert outcome(expression, numbagrad) == outcome(expression, torch)


@pytest.mark.parametrize("dtype", DTYPES)
def test_arange_of_ints(dtype):
    for start, end, step in itertools.product((-5, 0, 3), (4, 11, 60), (1, 2, 7)):
        assert_same(
            numbagrad.arange(start, end, step, dtype=getattr(numbagrad, dtype))
            if dtype != "bool"
            else numbagrad.arange(start, end, step),
            torch.arange(start, end, step, dtype=getattr(torch, dtype))
            if dtype != "bool"
            else torch.arange(start, end, step),
        )


def test_arange_of_floats_is_within_rounding():
    for start, end, step in itertools.product((-0.7, 0.0, 0.3), (1.1, 5.0), (0.1, 0.33, 2.0)):
        made, expected = numbagrad.arange(start, end, step), torch.arange(start, end, step)
        np.testing.assert_allclose(made.numpy(), expected.numpy(), rtol=3e-7, atol=1e-6)


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 7, 16, 100, 1001])
def test_linspace_has_torchs_bits_in_float32(steps):
    for start, end in itertools.product((-1, 0.1, 3), (-2.7, 1, 1e5)):
        assert_same(numbagrad.linspace(start, end, steps), torch.linspace(start, end, steps))


@pytest.mark.parametrize("steps", [0, 1, 2, 5, 20])
def test_logspace(steps):
    made, expected = numbagrad.logspace(-1, 3, steps), torch.logspace(-1, 3, steps)
    np.testing.assert_allclose(made.numpy(), expected.numpy(), rtol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("value", ["0", "1", "-3", "2.5", "True", "300", "1e40", "float('nan')"])
def test_full(value, dtype):
    expression = f"torch.full((2, 3), {value}, dtype=torch.{dtype})"
    made, expected = outcome(expression, numbagrad), outcome(expression, torch)
    assert str(made) == str(expected)  # as text, since NaN equals nothing


@pytest.mark.parametrize("function", ["zeros_like", "ones_like", "empty_like"])
def test_like_keeps_the_order_in_memory(function):
    for order in itertools.permutations(range(3)):
        mine = getattr(numbagrad, function)(numbagrad.zeros(2, 3, 4).permute(*order))
        theirs = getattr(torch, function)(torch.zeros(2, 3, 4).permute(*order))
        assert mine.stride() == theirs.stride() and tuple(mine.shape) == tuple(theirs.shape)


@pytest.mark.parametrize(
    "expression",
    [
        "torch.rand(5, 7)", "torch.randn(3)", "torch.randn(33)", "torch.randn(3, 5, 7).double()",
        "torch.rand(9, dtype=torch.float64)", "torch.randint(100, (20,))",
        "torch.randint(-5, 5, (4, 4), dtype=torch.int8)", "torch.randperm(50)",
        "torch.normal(2.0, 3.0, (20,))", "torch.normal(torch.arange(20.0), 2.0)",
        "torch.normal(1.0, torch.arange(20.0))", "torch.bernoulli(torch.full((50,), 0.3))",
        "torch.zeros(30).uniform_(-1, 2)", "torch.zeros(30).normal_(1, 2)",
        "torch.zeros(30).bernoulli_(0.3)", "torch.zeros(30).random_(7)",
        "torch.zeros(30).random_(3, 9)", "torch.zeros(30).random_()",
        "torch.zeros(30, dtype=torch.int64).random_()", "torch.rand_like(torch.zeros(3, 4).t())",
        "torch.randint_like(torch.zeros(5), 3, 9)", "torch.zeros(4, 6).t().uniform_()",
    ],
)  # fmt: skip
def test_random_tensors_are_torchs(expression):
    numbagrad.manual_seed(11)
    torch.manual_seed(11)
    assert_same(eval(expression, {"torch": numbagrad}), eval(expression, {"torch": torch}))
