"""The launchers of formulas: broadcasting, strides, dtypes, aliasing, and what they refuse."""

import itertools

import numpy as np
import pytest

from numbagrad import formula
from numbagrad.executor.families.pointwise import PointwiseProgram
from numbagrad.formula import trace

RNG = np.random.default_rng(0)


def program(function, result="same", name="test"):
    return PointwiseProgram(name, lambda: trace(function), result, 16)


def run(target, *operands, into=False):
    return (target.write if into else target.run)(*operands)


MUL = program(lambda x, y: x * y, name="mul")
AXPY = program(lambda x, y, alpha: x + alpha * y, name="axpy")


def layouts(shape, dtype=np.float32):
    """Arrays of one shape in memory orders that a launcher has to tell apart."""
    base = RNG.standard_normal(shape).astype(dtype)
    yield base
    yield np.asfortranarray(base)
    wide = RNG.standard_normal((*shape[:-1], 2 * shape[-1])).astype(dtype)
    yield wide[..., ::2]
    order = RNG.permutation(len(shape))
    yield base.transpose(order).copy().transpose(np.argsort(order))
    yield np.broadcast_to(base[..., :1], shape)
    yield np.broadcast_to(base[:1], shape)
    yield np.broadcast_to(np.asarray(base.flat[0]), shape)


@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 3, 4), (1, 6, 1), (4, 1, 3, 2)])
def test_every_pair_of_layouts(shape):
    for x, y in itertools.product(layouts(shape), layouts(shape)):
        np.testing.assert_array_equal(run(MUL, x, y), x * y)


@pytest.mark.parametrize(
    "first, second",
    [((3, 4), (4,)), ((3, 1), (1, 4)), ((5, 1, 2), (3, 1)), ((), (2, 3)), ((1,), (1, 1, 1)),
     ((2, 0), (1,)), ((0,), ()), ((1, 3), (3,))],
)  # fmt: skip
def test_shapes_broadcast_as_in_numpy(first, second):
    x = RNG.standard_normal(first).astype(np.float32)
    y = RNG.standard_normal(second).astype(np.float32)
    x, y = np.asarray(x), np.asarray(y)
    result = run(MUL, x, y)
    assert result.shape == (x * y).shape
    np.testing.assert_array_equal(result, x * y)


def test_output_keeps_the_order_of_dimensions():
    x = np.ones((2, 3, 4), np.float32).transpose(2, 0, 1)
    assert run(MUL, x, x).strides == x.strides
    assert run(MUL, x, 2.0).strides == x.strides


@pytest.mark.parametrize("size", [1, 15, 16, 17, 31, 33, 64, 1000, 100_003])
def test_sizes_around_vectors_and_threads(size):
    x, y = RNG.standard_normal((2, size)).astype(np.float32)
    np.testing.assert_array_equal(run(MUL, x, y), x * y)
    np.testing.assert_array_equal(run(MUL, x[1:], y[:-1]), x[1:] * y[:-1])


@pytest.mark.parametrize("number", [2, 2.5, True])
def test_numbers_take_the_dtype_of_the_arrays(number):
    x = np.arange(5, dtype=np.float32)
    result = run(MUL, x, number)
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, x * np.float32(number))


def test_mixed_dtypes_promote():
    ints, halves = np.arange(4), np.arange(4, dtype=np.float16)
    assert run(MUL, ints, ints.astype(np.int8)).dtype == np.int64
    assert run(MUL, halves, ints).dtype == np.float16
    assert run(MUL, halves, np.ones(4, np.float32)).dtype == np.float32
    assert run(MUL, ints, 2.5).dtype == np.float32
    # An array without dimensions does not widen one with dimensions.
    assert run(MUL, halves, np.asarray(2.0)).dtype == np.float16
    np.testing.assert_array_equal(run(MUL, ints, 2.5), ints * np.float32(2.5))


def test_three_operands_one_of_them_a_number():
    x, y = RNG.standard_normal((2, 6, 5)).astype(np.float32)
    np.testing.assert_allclose(run(AXPY, x, y, 0.5), x + np.float32(0.5) * y, rtol=1e-6)
    np.testing.assert_allclose(
        run(AXPY, x, y[0], 0.5), x + np.float32(0.5) * y[0], rtol=1e-6, atol=1e-6
    )


def test_several_outputs():
    both = program(lambda x, y: (x + y, x - y), name="both")
    x, y = RNG.standard_normal((2, 4, 3)).astype(np.float32)
    total, difference = run(both, x, y[0])
    np.testing.assert_array_equal(total, x + y[0])
    np.testing.assert_array_equal(difference, x - y[0])


@pytest.mark.parametrize("view", [np.s_[:], np.s_[::2], np.s_[:, 1:3]])
def test_writing_in_place(view):
    x, y = RNG.standard_normal((2, 6, 4)).astype(np.float32)
    target = x[view]
    expected = target * y[view]
    assert run(MUL, target, y[view], target, into=True) is None
    np.testing.assert_array_equal(target, expected)


def test_writing_over_a_shifted_input_reads_the_old_values():
    x = np.arange(20, dtype=np.float32)[::2]
    expected = x[:-1] * 2
    run(MUL, x[:-1], 2.0, x[1:], into=True)
    np.testing.assert_array_equal(x[1:], expected)


def test_writing_a_transposed_self_reads_the_old_values():
    x = RNG.standard_normal((5, 6)).astype(np.float32)[:, :5]
    expected = x * x.T
    run(MUL, x, x.T, x, into=True)
    np.testing.assert_array_equal(x, expected)


def test_writing_without_gaps_over_a_part_of_an_input_is_refused():
    x = np.arange(25, dtype=np.float32).reshape(5, 5)
    for source, target in ((x[:-1], x[1:]), (x.T, x)):
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            run(MUL, source, 2.0, target, into=True)
    # Launchers look at memory first, Python at shapes.
    with pytest.raises(RuntimeError, match="refer to a single memory location|broadcast shape"):
        run(MUL, x[0], 2.0, x, into=True)


def test_writing_converts_to_the_dtype_of_the_output():
    out = np.empty(3, np.float64)
    run(MUL, np.ones(3, np.float32), 2, out, into=True)
    np.testing.assert_array_equal(out, [2, 2, 2])


def test_refused_outputs():
    x = np.ones((3, 4), np.float32)
    with pytest.raises(RuntimeError, match=r"output with shape \[4\] doesn't match .* \[3, 4\]"):
        run(MUL, x, x, np.ones(4, np.float32), into=True)
    with pytest.raises(RuntimeError, match="single memory location"):
        run(MUL, x, x, np.lib.stride_tricks.as_strided(x, (3, 4), (0, 4)), into=True)
    with pytest.raises(RuntimeError, match="result type Float can't be cast .* Long"):
        run(MUL, x, x, np.ones((3, 4), np.int64), into=True)


def test_shapes_that_do_not_fit_are_named():
    message = r"The size of tensor a \(4\) must match the size of tensor b \(3\) at non-singleton"
    with pytest.raises(RuntimeError, match=message):
        run(MUL, np.ones((2, 4)), np.ones((2, 3)))


def test_operands_that_are_not_numbers_are_named():
    with pytest.raises(TypeError, match="mul.*not str"):
        run(MUL, np.ones(3), "three")


def test_a_number_that_does_not_fit():
    with pytest.raises(OverflowError, match="int too big to convert"):
        run(MUL, np.ones(3, np.int64), 1 << 70)


def test_more_dimensions_than_the_launcher_takes():
    x = np.ones((1,) * 39 + (4,), np.float32)[..., ::2]
    with pytest.raises(RuntimeError, match="at most 32 dimensions"):
        run(MUL, x, x)


def test_many_signatures_of_one_operator():
    target = program(lambda x, y: x + y, name="many")
    kinds = ["float32", "float64", "int8", "int16", "int32", "int64", "uint8", "float16"]
    for first, second in itertools.product(kinds, kinds):
        x, y = np.arange(3).astype(first), np.arange(3).astype(second)
        np.testing.assert_array_equal(run(target, x, y).astype(float), [0, 2, 4])


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_arguments_beyond_the_range_of_a_lowering(name):
    function = getattr(formula, name)
    target = program(lambda x: function(x), name=name)
    x = RNG.standard_normal(3000) * 10
    x[[5, 700, 2999]] = 1e15, -1e300, 1e22
    # Near a zero the result loses digits of the argument, not of the function.
    np.testing.assert_allclose(run(target, x), getattr(np, name)(x), rtol=1e-14, atol=1e-16)
    np.testing.assert_array_equal(np.isnan(run(target, np.array([np.inf, np.nan, 1.0]))), [1, 1, 0])
