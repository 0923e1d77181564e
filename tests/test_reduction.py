"""Reductions, softmax and scans: values against NumPy, laws, torch's errors, and gradients.

Comparisons with a live torch are in tests/parity/test_reduction.py.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy_reductions import reduced_by_numpy

import numbagrad as ng
from numbagrad.autograd import gradcheck, gradgradcheck
from numbagrad.ops.reductions import extremum, reduction, statistics

INF, NAN = math.inf, math.nan
SHAPES = [(), (1,), (0,), (7,), (8, 8), (3, 1, 5), (2, 3, 4), (5, 0), (130, 70), (2, 9000)]
DTYPES = ["float16", "float32", "float64", "int8", "uint8", "int32", "int64", "bool"]


def random_array(shape, dtype, seed=0):
    values = np.random.default_rng(seed).standard_normal(shape) * 2
    return np.asarray(np.abs(values) if dtype == "uint8" else values).astype(dtype)


def masks(rank):
    """Every choice of dimensions as (mask, axes)."""
    for mask in range(1 << rank):
        yield mask, tuple(d for d in range(rank) if (mask >> d) & 1)


def layouts(array):
    """The array contiguous, transposed, with gaps, and repeated without a copy."""
    yield array
    yield array.T
    if array.ndim:
        yield np.repeat(array, 2, axis=-1)[..., ::2]
        yield np.broadcast_to(array, (3, *array.shape))


FLOATS = ["float16", "float32"]
FEW = ["float32", "uint8", "bool"]
PROGRAMS = {
    "sum": (reduction._sum.program, DTYPES),
    "mean": (reduction._mean.program, DTYPES[:3]),
    "nansum": (reduction._nansum_program, FLOATS),
    "count_nonzero": (reduction._count_nonzero_program, FEW),
    "any": (reduction._question("any", "either", "bool"), FEW),
    "all": (reduction._question("all", "both", "bool"), FEW),
    "max": (extremum._programs["max"], [*FEW, "int64"]),
    "min": (extremum._programs["min"], [*FEW, "int64"]),
    "norm_1": (statistics._norm_program(1.0), FLOATS),
    "norm_2": (statistics._norm_program(2.0), FLOATS),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_compute_what_their_numpy_reference_does(name):
    program, dtypes = PROGRAMS[name]
    for shape, dtype in itertools.product(SHAPES, dtypes):
        for array in layouts(random_array(shape, dtype)):
            for (mask, _), keepdim in itertools.product(masks(array.ndim), (False, True)):
                made = program.run(array, mask, keepdim)
                expected = reduced_by_numpy(program, array, mask, keepdim)
                assert made.shape == expected.shape and made.dtype == expected.dtype
                tolerance = {"float16": 2e-3, "float32": 2e-5}.get(made.dtype.name, 1e-12)
                np.testing.assert_allclose(made, expected, tolerance, tolerance)


def test_float32_sums_are_as_accurate_as_pairwise_ones():
    array = np.random.default_rng(1).random(3_000_001, dtype=np.float32)
    exact = array.astype(np.float64).sum()
    assert abs(ng.tensor(array).sum().item() - exact) < 1e-6 * exact
    tall = np.random.default_rng(1).random((200_000, 5), dtype=np.float32)
    error = ng.tensor(tall).sum(0).numpy() - tall.sum(0, dtype=np.float64)
    assert np.abs(error).max() < 1e-6 * 200_000


def test_float16_is_summed_in_float32():
    assert ng.ones(100_000, dtype=ng.float16).mean().item() == 1
    assert ng.ones(4096, dtype=ng.float16).sum().item() == 4096


@pytest.mark.parametrize("shape", [(300_000,), (3000, 100), (7, 50_000), (100, 30, 100)])
def test_bits_do_not_depend_on_the_number_of_threads(shape):
    x = ng.tensor(random_array(shape, "float32"))
    functions = [
        lambda d: x.sum(d), lambda d: x.mean(d), lambda d: x.var(d), lambda d: x.logsumexp(d),
        lambda d: x.softmax(d), lambda d: x.cumsum(d), lambda d: x.max(d)[1],
    ]  # fmt: skip
    before = ng.get_num_threads()
    try:
        made = []
        for threads in (1, 2, 5):
            ng.set_num_threads(threads)
            made.append([f(d).numpy().tobytes() for f in functions for d in range(len(shape))])
            made[-1] += [x.sum().numpy().tobytes(), x.var().numpy().tobytes()]
    finally:
        ng.set_num_threads(before)
    assert made[0] == made[1] == made[2]


def test_integers_and_bools_are_summed_in_int64_and_dtype_converts_first():
    assert ng.tensor([100, 100], dtype=ng.int8).sum().dtype is ng.int64
    assert ng.tensor([100, 100], dtype=ng.int8).sum().item() == 200
    assert ng.tensor([True, True]).prod().dtype is ng.int64
    assert ng.tensor([1.5, 2.7]).sum(dtype=ng.int32).item() == 3
    assert ng.tensor([1, 2]).mean(dtype=ng.float64).item() == 1.5
    assert ng.tensor([True, True]).sum(dtype=ng.uint8).item() == 2


def test_empty_reductions_give_the_identity():
    empty = ng.zeros(0, 3)
    assert empty.sum(0).tolist() == [0, 0, 0]
    assert empty.prod(0).tolist() == [1, 1, 1]
    assert math.isnan(empty.mean().item())
    assert empty.all().item() is True and empty.any().item() is False
    assert empty.logsumexp(0).tolist() == [-INF] * 3
    assert empty.amax(1).shape == (0,)


@pytest.mark.parametrize(
    ("error", "text", "call"),
    [
        (IndexError, "Dimension out of range .expected to be in range of .-2, 1., but got 5",
         lambda x: x.sum(5)),
        (RuntimeError, "dim 1 appears multiple times in the list of dims",
         lambda x: x.sum((1, -1))),
        (RuntimeError, "mean.*Input dtype must be either a floating point.*Got: Long",
         lambda x: x.long().mean()),
        (RuntimeError, "Expected reduction dim to be specified for input.numel.. == 0",
         lambda x: x[:0].max()),
        (IndexError, "max.*: Expected reduction dim 0 to have non-zero size",
         lambda x: x[:0].max(0)),
        (IndexError, "argmin.*: Expected reduction dim 0 to have non-zero size",
         lambda x: x[:0].argmin(0)),
        (RuntimeError, "argmax.*: does not support bool input", lambda x: x.bool().argmax()),
        (RuntimeError, "std and var only support floating point", lambda x: x.long().var()),
        (RuntimeError, "Expected a floating point or complex tensor as input. Got Long",
         lambda x: x.long().norm()),
        (RuntimeError, "cannot compute the inf norm on an empty tensor", lambda x: x[:0].norm(INF)),
        (NotImplementedError, "not implemented for 'Long'", lambda x: x.long().softmax(0)),
        (TypeError, "argument 'dim' .position 1. must be int, not tuple",
         lambda x: x.softmax((0, 1))),
    ],
)  # fmt: skip
def test_errors_have_the_text_of_torch(error, text, call):
    with pytest.raises(error, match=text):
        call(ng.ones(2, 3))


def test_nan_is_the_extremum_and_the_first_of_equals_is_its_index():
    x = ng.tensor([[1.0, NAN, 3.0, NAN], [2.0, 5.0, 5.0, 1.0], [-INF, -INF, -INF, -INF]])
    values, indices = x.max(1)
    np.testing.assert_array_equal(values.numpy(), [NAN, 5, -INF])
    assert indices.tolist() == [1, 1, 0]
    assert x.argmin(1).tolist() == [1, 3, 0]
    assert x.t().contiguous().max(0)[1].tolist() == [1, 1, 0]
    assert math.isnan(x.amax().item()) and math.isnan(x.min().item())
    large = np.zeros(200_000, dtype=np.float32)
    large[[77_777, 150_000]] = 1
    assert ng.tensor(large).argmax().item() == 77_777
    assert repr(ng.tensor([1.0, 2.0]).max(0)) == (
        "torch.return_types.max(\nvalues=tensor(2.),\nindices=tensor(1))"
    )


def test_max_of_two_tensors_is_elementwise():
    assert ng.max(ng.tensor([1.0, 2.0]), ng.tensor([2.0, 1.0])).tolist() == [2, 2]
    assert ng.tensor([1, 2]).min(ng.tensor([2, 1])).tolist() == [1, 1]


def test_axis_and_keepdims_are_understood():
    x = ng.ones(2, 3)
    assert x.sum(axis=1, keepdims=True).shape == (2, 1)
    assert x.max(axis=1)[0].shape == (2,)
    with pytest.raises(TypeError, match="unexpected keyword argument 'dims'"):
        x.sum(dims=1)


def test_medians_are_the_lower_ones_and_nan_wins():
    assert ng.tensor([3, 1, 2, 2]).median().item() == 2
    assert ng.tensor([4.0, 1.0, 3.0, 2.0]).median().item() == 2
    assert math.isnan(ng.tensor([1.0, NAN, 3.0]).median().item())
    assert ng.tensor([1.0, NAN, 3.0]).nanmedian().item() == 1
    values, indices = ng.tensor([[5.0, 1.0, 3.0], [1.0, NAN, 2.0]]).median(1)
    np.testing.assert_array_equal(values.numpy(), [3, NAN])
    assert indices.tolist() == [2, 1]


def test_moments_have_the_correction_that_was_asked_for():
    x = ng.tensor([1.0, 2.0, 4.0])
    assert x.var().item() == pytest.approx(7 / 3)
    assert x.var(unbiased=False).item() == pytest.approx(14 / 9)
    assert x.std(0, False).item() == pytest.approx(math.sqrt(14 / 9))
    assert x.var(correction=3).item() == INF
    assert math.isnan(ng.tensor([1.0]).var().item())
    variance, mean = ng.var_mean(x, correction=0)
    assert variance.item() == pytest.approx(14 / 9) and mean.item() == pytest.approx(7 / 3)
    far = ng.tensor(np.float32(1e6) + np.arange(4, dtype=np.float32))
    assert far.var().item() == pytest.approx(5 / 3)


def test_softmax_survives_large_and_infinite_numbers():
    assert ng.tensor([1000.0, 1000.0]).softmax(0).tolist() == [0.5, 0.5]
    assert ng.tensor([0.0, -INF]).log_softmax(0).tolist() == [0, -INF]
    assert all(math.isnan(v) for v in ng.tensor([-INF, -INF]).softmax(0).tolist())
    assert ng.tensor([1000.0, 1000.0]).logsumexp(0).item() == pytest.approx(1000.6931)
    assert ng.tensor([INF, 1.0]).logsumexp(0).item() == INF
    assert ng.tensor([1, 2]).softmax(0, dtype=ng.float64).dtype is ng.float64


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(7,), (3, 40), (2, 5, 33), (600, 20), (4, 0)])
def test_softmax_of_every_dimension(shape, dtype):
    array = random_array(shape, dtype)
    wide = array.astype(np.float64)
    tolerance = {"float16": 2e-3, "float32": 2e-6, "float64": 1e-14}[dtype]
    for dim in range(len(shape)):
        if shape[dim] == 0:
            continue
        exponentials = np.exp(wide - wide.max(dim, keepdims=True))
        expected = exponentials / exponentials.sum(dim, keepdims=True)
        made = ng.tensor(array).softmax(dim)
        np.testing.assert_allclose(made.numpy(), expected, rtol=tolerance * 4, atol=tolerance)
        made = ng.tensor(array).log_softmax(dim)
        np.testing.assert_allclose(made.numpy(), np.log(expected), tolerance * 4, tolerance)


@pytest.mark.parametrize("shape", [(5,), (3, 40), (2, 5, 7)])
def test_scans_of_every_dimension(shape):
    array = random_array(shape, "float64")
    x = ng.tensor(array)
    for dim in range(len(shape)):
        np.testing.assert_allclose(x.cumsum(dim).numpy(), array.cumsum(dim))
        np.testing.assert_allclose(x.cumprod(dim).numpy(), array.cumprod(dim))
        np.testing.assert_allclose(
            x.logcumsumexp(dim).numpy(), np.log(np.exp(array).cumsum(dim)), atol=1e-14
        )
        values, indices = x.cummax(dim)
        np.testing.assert_array_equal(values.numpy(), np.maximum.accumulate(array, dim))
        np.testing.assert_array_equal(
            np.take_along_axis(array, indices.numpy(), dim), values.numpy()
        )
    assert ng.tensor([1, 1, 2, 2]).cummax(0)[1].tolist() == [0, 1, 2, 3]
    assert ng.tensor([1.0, NAN, 3.0]).cummin(0)[1].tolist() == [0, 1, 1]
    assert ng.tensor([True, True]).cumsum(0).dtype is ng.int64


def test_norms_of_every_order():
    x = ng.tensor([3.0, -4.0, 0.0])
    orders = {0: 2, 1: 7, 2: 5, INF: 4, -INF: 0, 3: 91 ** (1 / 3), 0.5: (3**0.5 + 2) ** 2}
    for order, expected in orders.items():
        assert x.norm(order).item() == pytest.approx(expected)
    assert ng.ones(2, 3).norm(dim=(0, 1), keepdim=True).shape == (1, 1)


# --- gradients ------------------------------------------------------------------------------------

DIFFERENTIABLE = {
    "sum": lambda x: x.sum(1),
    "sum of all": lambda x: x.sum(),
    "mean": lambda x: x.mean((0, 2), keepdim=True),
    "prod": lambda x: x.prod(1),
    "prod of all": lambda x: x.prod(),
    "amax": lambda x: x.amax((0, 1)),
    "max": lambda x: x.max(),
    "max along": lambda x: x.max(2, keepdim=True)[0],
    "median": lambda x: x.median(1)[0],
    "var": lambda x: x.var((0, 2)),
    "std": lambda x: x.std(1, correction=0),
    "nansum": lambda x: x.nansum(0),
    "norm 1": lambda x: x.norm(1, 0),
    "norm 1.5": lambda x: x.norm(1.5, 0),
    "norm 2": lambda x: x.norm(),
    "norm 3": lambda x: x.norm(3, (0, 1)),
    "norm inf": lambda x: x.norm(INF, 2),
    "logsumexp": lambda x: x.logsumexp((0, 1)),
    "softmax": lambda x: x.softmax(1),
    "log_softmax": lambda x: x.log_softmax(-1),
    "cumsum": lambda x: x.cumsum(1),
    "cumprod": lambda x: x.cumprod(0),
    "logcumsumexp": lambda x: x.logcumsumexp(1),
    "cummax": lambda x: x.cummax(2)[0],
}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_and_their_gradients(name):
    function = DIFFERENTIABLE[name]
    x = ng.tensor(random_array((2, 3, 4), "float64", seed=5), requires_grad=True)
    assert gradcheck(function, (x,))
    assert gradgradcheck(function, (x,))


@pytest.mark.parametrize("name", ["prod", "prod of all", "cumprod"])
def test_gradients_of_products_with_zeros(name):
    array = random_array((2, 3, 4), "float64", seed=5)
    array[0, :2, 0] = 0
    array[1, 1, 1] = 0
    x = ng.tensor(array, requires_grad=True)
    assert gradcheck(DIFFERENTIABLE[name], (x,))
    assert gradgradcheck(DIFFERENTIABLE[name], (x,))


def gradient_of(function, values):
    x = ng.tensor(values, requires_grad=True)
    function(x).backward()
    return x.grad.tolist()


def test_ties_share_the_gradient_unless_an_index_was_chosen():
    assert gradient_of(lambda x: x.max(), [2.0, 2.0, 1.0]) == [0.5, 0.5, 0]
    assert gradient_of(lambda x: x.amin(), [2.0, 1.0, 1.0]) == [0, 0.5, 0.5]
    assert gradient_of(lambda x: x.median(), [2.0, 2.0, 1.0]) == [0.5, 0.5, 0]
    assert gradient_of(lambda x: x.max(0)[0], [2.0, 2.0, 1.0]) == [1, 0, 0]
    assert gradient_of(lambda x: x.max(), [1.0, NAN]) == [0, 1]
    assert gradient_of(lambda x: x.norm(INF), [1.0, -1.0, 0.0]) == [0.5, -0.5, 0]


def test_norms_and_deviations_have_gradient_zero_where_they_are_zero():
    for order in (1, 1.5, 2, 3, 0.5, INF):
        assert gradient_of(lambda x, order=order: x.norm(order), [0.0, 0.0]) == [0, 0]
    assert gradient_of(lambda x: x.std(), [1.0, 1.0]) == [0, 0]


def test_the_gradient_of_a_sum_is_not_copied():
    x = ng.ones(1000, 1000, requires_grad=True)
    (grad,) = ng.autograd.grad(x.sum(), x)
    assert grad.stride() == (0, 0) and grad.shape == (1000, 1000)


def test_nodes_are_named_as_those_of_torch():
    x = ng.ones(2, 3, requires_grad=True)
    names = {
        x.sum(): "SumBackward0", x.sum(1): "SumBackward1", x.mean(): "MeanBackward0",
        x.max(): "MaxBackward1", x.max(1)[0]: "MaxBackward0", x.prod(1): "ProdBackward1",
        x.norm(): "LinalgVectorNormBackward0", x.softmax(1): "SoftmaxBackward0",
        x.log_softmax(1): "LogSoftmaxBackward0", x.cumsum(1): "CumsumBackward0",
        x.median(1)[0]: "MedianBackward1", x.cummax(0)[0]: "CummaxBackward0",
    }  # fmt: skip
    assert {result.grad_fn.name() for result in names} == set(names.values())
    for result, name in names.items():
        assert result.grad_fn.name() == name
