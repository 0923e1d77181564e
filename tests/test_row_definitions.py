"""Operators along one dimension, defined in Tensor operations and fused into one kernel."""

import numpy as np
import pytest

import numbagrad as ng
from numbagrad.executor.families.rowwise import RowDefinition
from numbagrad.formula.rows import trace_rows


def exponentials(x, dim):
    powers = (x - x.amax(dim, keepdim=True)).exp()
    return powers / powers.sum(dim, keepdim=True)


def two_dear_values(x, y, dim):
    """Two values that a loop would keep, where there is room for one."""
    sines, roots = (x * y).sin(), (y * y + 1).sqrt().log()
    total = sines.sum(dim, keepdim=True) + roots.amin(dim, keepdim=True)
    return sines * total - roots / (1 + total * total) + sines.exp()


def three_stages(x, dim):
    centred = x - x.sum(dim, keepdim=True) / 8
    scale = (centred * centred).sum(dim, keepdim=True).rsqrt()
    return -(centred * scale) + (centred * scale).amax(dim, keepdim=True)


DEFINITIONS = exponentials, two_dear_values, three_stages


def arguments(definition, shape, dtype):
    draw = np.random.default_rng(3).standard_normal
    count = len(trace_rows(definition).inputs)
    return [draw(shape).astype(dtype) for _ in range(count)]


@pytest.mark.parametrize("definition", DEFINITIONS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape, dim", [((9, 70), 1), ((9, 70), 0), ((3, 5, 700), 1), ((2, 64), 1)])
def test_a_kernel_computes_what_its_definition_does(definition, dtype, shape, dim):
    program = RowDefinition(definition.__name__, definition)
    arrays = arguments(definition, shape, dtype)
    expected = definition(*map(ng.from_numpy, arrays), dim).numpy()
    tolerance = 2e-4 if dtype == "float32" else 1e-11
    made = program.run(dim, *arrays)
    assert made.dtype == expected.dtype
    np.testing.assert_allclose(made, expected, rtol=tolerance, atol=tolerance)


def test_a_trace_has_the_reductions_in_order():
    rows = trace_rows(exponentials)
    assert rows.inputs == ("x",)
    assert [kind for _, kind, _ in rows.reductions] == ["maximum", "add"]
    assert repr(rows.output) == "div(exp(sub(x, row0)), row1)"


@pytest.mark.parametrize(
    "definition",
    [
        lambda x, dim: x - x.amax(0, keepdim=True),
        lambda x, dim: x - x.amax(dim, keepdim=False),
        lambda x, dim: x.no_such_function(),
    ],
)
def test_what_is_not_over_rows_raises(definition):
    with pytest.raises((TypeError, AttributeError)):
        trace_rows(definition)
