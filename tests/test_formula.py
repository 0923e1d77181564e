"""The scalar language: tracing, derivatives, exact simplification, typing, and printed sources.

The table of pointwise operators supplies most cases, so that a new operator is tested by being
there. Numba sources run here without Numba, on NumPy scalars, which also shows every dtype.
"""

import copy
import itertools
import math
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from numpy_formulas import print_numpy

import numbagrad.formula as f
import numbagrad.ops.pointwise  # noqa: F401  (fills the table)
from numbagrad.formula import Formula, differentiate, print_numba, trace
from numbagrad.formula.differentiate import PARTIALS
from numbagrad.formula.expression import make, postorder
from numbagrad.formula.special_functions import IN_FLOAT64
from numbagrad.ops.operators.definition import POINTWISE

SAMPLES = 24
COMPUTES = [x for x in POINTWISE.values() if x.dtypes not in ("integral", "integer")]
DIFFERENTIABLE = [x for x in COMPUTES if x.differentiable and x.result != "bool"]


def by_name(definition):
    return definition.name


def draw(definition, dtype, seed=0):
    """Inputs from the domain of an operator, and an incoming gradient."""
    generator = np.random.default_rng(seed)
    values = {"grad": generator.normal(size=SAMPLES).astype(dtype)}
    for name in definition.traced.inputs:
        if name in definition.traced.booleans:
            values[name] = generator.random(SAMPLES) < 0.5
            continue
        intervals = np.array(definition.domain.get(name, ((-3.0, 3.0),)))
        low, high = intervals[generator.integers(0, len(intervals), SAMPLES)].T
        values[name] = generator.uniform(low, high).astype(dtype)
    return values


def evaluate(formula, values, dtype="float64"):
    """All outputs of a formula by way of its NumPy source."""
    namespace = {}
    exec(print_numpy(formula, dtype), namespace)
    results = namespace["formula"](*[values[name] for name in formula.inputs])
    results = results if isinstance(results, tuple) else (results,)
    return [np.broadcast_to(x, SAMPLES) for x in results]


def differences(function, values, name, step=1e-6):
    """Central differences of `function(values)` with respect to one input."""
    above = function({**values, name: values[name] + step})
    below = function({**values, name: values[name] - step})
    return (above - below) / (2 * step)


def tensor_inputs(definition):
    formula = definition.traced
    others = {*definition.scalars, *formula.booleans}
    return [x for x in formula.inputs if x not in others]


class TestTrace:
    def test_inputs_outputs_and_uses(self):
        formula = trace(lambda x, y, unused: (x + y, x))
        assert formula.inputs == ("x", "y", "unused")
        assert len(formula.outputs) == 2
        assert formula.uses == {"x", "y"}

    def test_numbers_are_outputs_too(self):
        assert repr(trace(lambda x: 1).outputs[0]) == "1"

    def test_inputs_can_be_renamed(self):
        assert trace(lambda x, y: x - y, ("a", "b")).uses == {"a", "b"}

    def test_condition_of_where_is_boolean(self):
        formula = trace(lambda a, b, x: f.where(a & ~b, x, 0))
        assert formula.booleans == {"a", "b"}

    def test_branching_on_a_value_says_what_to_do(self):
        with pytest.raises(TypeError, match="use where"):
            trace(lambda x: x if x > 0 else -x)

    def test_strings_are_no_operands(self):
        with pytest.raises(TypeError, match="not on str"):
            trace(lambda x: x + "1")

    def test_names_of_the_generated_source_are_reserved(self):
        with pytest.raises(ValueError, match="'select' cannot name"):
            trace(lambda x: x, ("select",))

    def test_formulas_pickle(self):
        formula = trace(lambda x: f.sin(x) * 2)
        assert repr(pickle.loads(pickle.dumps(formula))) == repr(formula)
        assert repr(copy.deepcopy(formula)) == repr(formula)

    def test_substitute_composes_formulas(self):
        outer = trace(lambda x, y: x * y)
        inner = outer.substitute({"y": f.exp(f.symbol("x"))}, ("x",))
        assert repr(inner) == "Formula((x) -> mul(x, exp(x)))"

    def test_deep_formulas_need_no_recursion(self):
        def chain(x):
            for _ in range(5000):
                x = x * 0.5 + 1
            return x

        formula = trace(chain)
        lines, _ = print_numba(formula.gradient("x"), "float32")
        assert lines


class TestDifferentiate:
    @pytest.mark.parametrize("definition", DIFFERENTIABLE, ids=by_name)
    def test_gradient_is_the_slope(self, definition):
        values = draw(definition, np.float64)
        needed = tensor_inputs(definition)
        gradients = definition.traced.gradients(needed, definition.gradient)

        def forward(v):
            return evaluate(definition.traced, v)[0]

        found = evaluate(gradients, {**values, "result": forward(values)})
        for name, gradient in zip(needed, found, strict=True):
            slope = values["grad"] * differences(forward, values, name)
            np.testing.assert_allclose(gradient, slope, rtol=1e-7, atol=1e-7, err_msg=name)

    @pytest.mark.parametrize("definition", DIFFERENTIABLE, ids=by_name)
    def test_gradient_of_gradient_is_the_slope_of_the_gradient(self, definition):
        """The gradient may use the result, which depends on the inputs in turn."""
        forward = definition.traced
        values = draw(definition, np.float64)
        needed = tensor_inputs(definition)
        gradients = forward.gradients(needed, definition.gradient)
        full = {**values, "result": evaluate(forward, values)[0]}
        for position, name in itertools.product(range(len(needed)), ["grad", *needed]):

            def gradient(v, position=position):
                return evaluate(gradients, {**v, "result": evaluate(forward, v)[0]})[position]

            output = gradients.outputs[position]
            (direct,) = evaluate(Formula(gradients.inputs, [differentiate(output, name)]), full)
            total = np.array(direct, dtype=np.float64)
            if "result" in gradients.uses and name != "grad":
                slopes = [differentiate(output, "result"), differentiate(forward.outputs[0], name)]
                inputs = (*forward.inputs, "grad", "result")
                through, inner = evaluate(Formula(inputs, slopes), full)
                total += through * inner
            slope = differences(gradient, values, name)
            np.testing.assert_allclose(total, slope, rtol=1e-6, atol=1e-6, err_msg=name)

    def test_every_order_exists(self):
        expression = trace(lambda x: f.lgamma(x)).outputs[0]
        for _ in range(4):
            expression = differentiate(expression, "x")
        assert repr(expression) == "polygamma(3, x)"

    @pytest.mark.parametrize(
        ("function", "at", "slope"),
        [
            (lambda x: abs(x), 0.0, 0.0),
            (lambda x: f.where(x <= 0, 0, x), 0.0, 0.0),
            (lambda x: f.maximum(x, 0), 0.0, 0.5),
            (lambda x: f.minimum(x, 0), 0.0, 0.5),
            (lambda x: f.maximum(x, 0), 1.0, 1.0),
            (lambda x: f.floor(x), 1.0, 0.0),
            (lambda x: f.sign(x), 0.0, 0.0),
            (lambda x: f.where(x > 0, f.log(x), 0), 0.0, 0.0),
            (lambda x: f.where(x > 0, f.sqrt(x), 0), 0.0, 0.0),
            (lambda x: x**0, 0.0, 0.0),
        ],
    )
    def test_kinks_follow_torch(self, function, at, slope):
        gradient = trace(function).gradient("x")
        values = {"x": np.full(SAMPLES, at), "grad": np.ones(SAMPLES)}
        np.testing.assert_array_equal(evaluate(gradient, values)[0], slope)

    @pytest.mark.parametrize("name", ["relu", "clamp_min", "hardtanh", "threshold"])
    def test_masks_stop_infinite_gradients(self, name):
        definition = POINTWISE[name]
        values = {x: np.full(SAMPLES, 0.5) for x in definition.traced.inputs}
        values |= {"x": np.full(SAMPLES, -9.0), "min_val": np.full(SAMPLES, -1.0)}
        values |= {"grad": np.full(SAMPLES, np.inf), "result": np.zeros(SAMPLES)}
        gradient = definition.traced.gradient("x", definition.gradient["x"])
        np.testing.assert_array_equal(evaluate(gradient, values)[0], 0.0)

    def test_bit_operations_have_no_derivative(self):
        with pytest.raises(NotImplementedError, match="bits has no derivative"):
            trace(lambda x: f.from_bits(f.bits(x) + 1)).gradient("x")

    def test_explicit_gradient_decides_what_is_saved(self):
        formula = trace(lambda x: f.tanh(x))
        assert formula.gradient("x", lambda grad, result: grad * result).inputs == (
            "grad",
            "result",
        )
        assert formula.gradient("x").inputs == ("grad", "x")

    def test_explicit_gradient_with_an_unknown_name_is_refused(self):
        with pytest.raises(ValueError, match=r"names \['z'\]"):
            trace(lambda x: x).gradient("x", lambda grad, z: grad * z)

    def test_gradients_share_subexpressions(self):
        formula = trace(lambda x, y: f.exp(x * y)).gradients(("x", "y"))
        lines, outputs = print_numba(formula, "float32")
        assert sum("math.exp" in line for line in lines) == 1
        assert len(outputs) == 2

    def test_operations_without_a_partial_are_known(self):
        """Each function that takes floats to floats has its derivative, or is listed here."""
        without = {"bits", "from_bits"}
        elementary = [x for x in f.__all__ if x in PARTIALS or x in without]
        assert {"exp", "lgamma", "atan2", "pow", "ndtr", "erfinv"} <= set(elementary)


class TestSimplify:
    @pytest.mark.parametrize(
        ("function", "expected"),
        [
            (lambda x: x * 1, "x"),
            (lambda x: x / 1, "x"),
            (lambda x: x - 0.0, "x"),
            (lambda x: x + -0.0, "x"),
            (lambda x: make("neg", -x), "x"),
            (lambda x: x * -1, "neg(x)"),
            (lambda x: x + -x, "sub(x, x)"),
            (lambda x: x / 4, "mul(x, 0.25)"),
            (lambda x: x**2, "mul(x, x)"),
            (lambda x: x**0.5, "pow(x, 0.5)"),  # until its derivatives are taken
            (lambda x: x * (f.exp(0.0) + 2), "mul(x, 3.0)"),
            (lambda x: f.where(f.constant(True), x, 0), "x"),
            (lambda x: f.where(~(x > 0), 1, x), "where(gt(x, 0), x, 1)"),
            (lambda x: f.where(x > 0, x, x), "x"),
            # Not identities of floating point:
            (lambda x: x * 0, "mul(x, 0)"),
            (lambda x: x + 0.0, "add(x, 0.0)"),
            (lambda x: x - -0.0, "sub(x, -0.0)"),
            (lambda x: -x * 0, "mul(x, -0.0)"),
            (lambda x: x - x, "sub(x, x)"),
            (lambda x: x / x, "div(x, x)"),
            (lambda x: x / 3, "div(x, 3)"),
            (lambda x: ~(x < 0), "invert(lt(x, 0))"),
            (lambda x: x != x, "ne(x, x)"),
            (lambda x: f.log(f.constant(-1.0)) + x, "add(log(-1.0), x)"),
        ],
    )
    def test_rules(self, function, expected):
        assert repr(trace(function).outputs[0]) == expected

    def test_equal_subexpressions_become_one(self):
        formula = trace(lambda x, y: f.exp(x + y) * f.sin(f.exp(y + x)))
        operations = [node.operation for node in postorder(formula.outputs)]
        assert operations.count("exp") == operations.count("add") == 1

    def test_zeros_of_both_signs_stay_apart(self):
        formula = trace(lambda x: (x * 0.0, x * -0.0))
        assert formula.outputs[0] is not formula.outputs[1]

    @pytest.mark.parametrize("definition", COMPUTES, ids=by_name)
    def test_simplifying_twice_changes_nothing(self, definition):
        output = definition.traced.outputs[0]
        assert repr(f.simplify(output)) == repr(output)


class TestTyping:
    def test_functions_need_floats(self):
        with pytest.raises(TypeError, match="exp computes in float32 or float64, not in int32"):
            print_numba(trace(lambda x: f.exp(x)), "int32")

    def test_fractions_do_not_fit_integers(self):
        with pytest.raises(TypeError, match=r"0\.5 does not fit .* int32"):
            print_numba(trace(lambda x: x + 0.5), "int32")

    def test_mixing_needs_a_cast(self):
        with pytest.raises(TypeError, match="mixes float32 and int32: use cast"):
            print_numba(trace(lambda x: x + f.bits(x)), "float32")

    def test_unknown_dtype(self):
        with pytest.raises(TypeError, match="not in complex64"):
            print_numba(trace(lambda x: x), "complex64")

    def test_condition_must_be_boolean(self):
        with pytest.raises(TypeError, match="the condition of"):
            print_numba(trace(lambda x: f.where(x + 1, x, 0)), "float32")

    def test_subtracting_booleans_has_no_meaning(self):
        with pytest.raises(TypeError, match="sub .* has no meaning for bool"):
            print_numba(trace(lambda x, y: x - y), "bool")


def run_numba_source(formula, dtype, values, lowering=None):
    """The statements for Numba, run by Python on NumPy scalars; every variable, and the outputs."""
    integer = {"float32": np.int32, "float64": np.int64}.get(dtype)
    scalar = np.dtype(dtype).type
    namespace = {
        "math": math, "np": np, "boolean": np.bool_, "float32": np.float32, "float64": np.float64,
        "int8": np.int8, "int32": np.int32, "int64": np.int64, "uint8": np.uint8,
        "select": lambda c, a, b: a if c else b, "absolute": np.abs, "sqrt": np.sqrt,
        "rint": np.rint, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc,
        "copysign": np.copysign, "fmod": np.fmod,
        "fma": lambda a, b, c: scalar(float(a) * float(b) + float(c)),
        "bits": lambda x: x.view(integer), "from_bits": lambda i: i.view(scalar),
    }  # fmt: skip
    lines, outputs = print_numba(formula, dtype, lowering)
    variables = {x: values[x] for x in formula.inputs}
    with np.errstate(all="ignore"):
        exec("\n".join(lines), namespace, variables)
    return variables, [variables[x] for x in outputs]


class TestNumbaSource:
    def test_text(self):
        lines, outputs = print_numba(trace(lambda x, y: f.where(x > 0, x * y, 0.5)), "float32")
        assert lines == [
            "t0 = x > float32(0.0)",
            "t1 = x * y",
            "t2 = select(t0, t1, float32(0.5))",
        ]
        assert outputs == ["t2"]

    def test_special_numbers(self):
        lines, _ = print_numba(
            trace(lambda x: (x * math.inf, x - math.inf, x * math.nan)), "float32"
        )
        assert lines == [
            "t0 = x * float32(math.inf)",
            "t1 = x - float32(math.inf)",
            "t2 = x * float32(math.nan)",
        ]

    def test_outputs_that_are_inputs_or_numbers(self):
        assert print_numba(trace(lambda x: (x, 2)), "float64") == (
            ["t0 = float64(2.0)"],
            ["x", "t0"],
        )

    def test_temporaries_avoid_the_inputs(self):
        lines, _ = print_numba(trace(lambda t0: t0 + t0), "float32")
        assert lines == ["t1 = t0 + t0"]

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    @pytest.mark.parametrize("definition", COMPUTES, ids=by_name)
    def test_agrees_with_numpy_in_one_dtype(self, definition, dtype):
        values = draw(definition, dtype)
        formulas = [definition.traced]
        if definition in DIFFERENTIABLE:
            formulas.append(
                definition.traced.gradients(tensor_inputs(definition), definition.gradient)
            )
        values["result"] = evaluate(definition.traced, values, dtype)[0]
        for formula in formulas:
            nodes = list(postorder(formula.outputs))
            allowed = {dtype, "bool", *[x.value for x in nodes if x.operation == "cast"]}
            if any("bits" in x.operation for x in nodes):
                allowed.add(dtype.replace("float", "int"))
            if any(x.operation in IN_FLOAT64 for x in nodes):
                allowed |= {"float32", "float64", "int64"}
            expected = evaluate(formula, values, dtype)
            tolerance = {"float32": 2e-5, "float64": 1e-12}[dtype]
            for i in range(SAMPLES):
                point = {x: values[x][i] for x in formula.inputs}
                variables, results = run_numba_source(formula, dtype, point)
                for name, value in variables.items():
                    kind = np.asarray(value).dtype.name
                    # What math returns for float64 is a Python float.
                    assert kind in allowed, f"{name} is {kind}"
                for result, array in zip(results, expected, strict=True):
                    np.testing.assert_allclose(result, array[i], rtol=tolerance, atol=tolerance)

    def test_lowering_replaces_functions_within_functions(self):
        lowering = {
            ("tanh", "float32"): lambda x: 1 - 2 / (f.exp(2 * x) + 1),
            ("exp", "float32"): lambda x: f.from_bits((f.cast(f.rint(x), "int32") + 127) << 23),
        }
        formula = trace(lambda x: f.tanh(x) + f.exp(2 * x))
        lines, _ = print_numba(formula, "float32", lowering)
        assert not any("math" in line for line in lines)
        assert sum("from_bits" in line for line in lines) == 1
        lines, _ = print_numba(formula, "float64", lowering)
        assert sum("math" in line for line in lines) == 2

    def test_lowering_that_needs_itself_is_refused(self):
        with pytest.raises(ValueError, match="exp -> exp"):
            print_numba(
                trace(lambda x: f.exp(x)), "float32", {("exp", "float32"): lambda x: f.exp(x / 3)}
            )

    def test_bits_and_shifts(self):
        formula = trace(lambda x: f.from_bits((f.bits(x) & 0x7FFFFFFF) | (1 << 31)))
        _, (result,) = run_numba_source(formula, "float32", {"x": np.float32(1.5)})
        assert result == np.float32(-1.5)
        assert result.dtype == np.float32


INTEGERS = ["int8", "int32", "int64", "uint8"]


class TestIntegers:
    """Integer arithmetic wraps, divides as Python or C do, and never traps."""

    def operands(self, dtype):
        limits = np.iinfo(dtype)
        small = [0, 1, 2, 3, 7, 100, limits.max, limits.min]
        small += [-1, -2, -3, -7] if limits.min else []
        return np.array(list(itertools.product(small, small))).astype(dtype).T

    @pytest.mark.parametrize("dtype", INTEGERS)
    @pytest.mark.parametrize(
        ("function", "reference"),
        [
            (lambda x, y: x + y, np.add),
            (lambda x, y: x - y, np.subtract),
            (lambda x, y: x * y, np.multiply),
            (lambda x, y: x // y, np.floor_divide),
            (lambda x, y: x % y, np.remainder),
            (lambda x, y: f.fmod(x, y), np.fmod),
            (lambda x, y: f.minimum(x, y), np.minimum),
            (lambda x, y: f.maximum(x, y), np.maximum),
            (lambda x, y: x & y, np.bitwise_and),
            (lambda x, y: x | ~y, lambda x, y: x | ~y),
        ],
    )
    def test_agrees_with_numpy(self, function, reference, dtype):
        x, y = self.operands(dtype)
        formula = trace(function)
        with np.errstate(all="ignore"):
            expected = reference(x, y)
        namespace = {}
        exec(print_numpy(formula, dtype), namespace)
        found = namespace["formula"](x, y)
        assert found.dtype == expected.dtype
        divides = reference in (np.floor_divide, np.remainder, np.fmod)
        compared = y != 0 if divides else np.ones(x.shape, bool)
        np.testing.assert_array_equal(found[compared], expected[compared])
        for i in np.flatnonzero(compared):
            point = {"x": x[i], "y": y[i]}
            _, (result,) = run_numba_source(formula, dtype, point)
            assert (result.dtype, result) == (expected.dtype, expected[i]), point

    @pytest.mark.parametrize("dtype", INTEGERS)
    def test_power(self, dtype):
        formula = trace(lambda x, y: x**y)
        for base, exponent in itertools.product([0, 1, 2, 3, 5], [0, 1, 2, 3, 5, 33, 100]):
            values = {"x": np.dtype(dtype).type(base), "y": np.dtype(dtype).type(exponent)}
            _, (result,) = run_numba_source(formula, dtype, values)
            assert result == np.array(base**exponent % 2**64, np.uint64).astype(dtype)

    def test_negative_powers(self):
        formula = trace(lambda x, y: x**y)
        for base, exponent, expected in [(2, -1, 0), (1, -3, 1), (-1, -3, -1), (-1, -2, 1)]:
            values = {"x": np.int32(base), "y": np.int32(exponent)}
            assert run_numba_source(formula, "int32", values)[1] == [expected]

    @pytest.mark.parametrize(
        ("x", "y", "left", "right"),
        [(5, 1, 10, 2), (-5, 1, -10, -3), (5, 40, 0, 0), (-5, 40, 0, -1), (5, -1, 0, 0)],
    )
    def test_shifts_beyond_the_width(self, x, y, left, right):
        values = {"x": np.int32(x), "y": np.int32(y)}
        formula = trace(lambda x, y: (x << y, x >> y))
        assert run_numba_source(formula, "int32", values)[1] == [left, right]

    def test_booleans_add_and_multiply_as_logic(self):
        formula = trace(lambda x, y: (x + y, x * y, f.maximum(x, y), f.logical_xor(x, y)))
        for x, y in itertools.product((False, True), repeat=2):
            values = {"x": np.bool_(x), "y": np.bool_(y)}
            _, results = run_numba_source(formula, "bool", values)
            assert [bool(r) for r in results] == [x or y, x and y, x or y, x != y]


class TestValues:
    """Special values and special functions, against numbers from the literature."""

    def at(self, function, *points):
        formula = trace(function, ["x", "y"][: len(points)])
        arrays = [np.asarray(p, np.float64) for p in points]
        namespace = {}
        exec(print_numpy(formula, "float64"), namespace)
        return namespace["formula"](*arrays)

    def test_minimum_and_maximum_keep_nan(self):
        for function in (f.minimum, f.maximum):
            result = self.at(function, [1, math.nan], [math.nan, 1])
            assert np.isnan(result).all()

    def test_rounding_halves_go_to_even(self):
        result = self.at(lambda x: f.round(x), [0.5, 1.5, 2.5, -0.5, -1.5])
        np.testing.assert_array_equal(result, [0, 2, 2, 0, -2])

    def test_sign_of_nan_is_zero(self):
        np.testing.assert_array_equal(
            self.at(lambda x: f.sign(x), [math.nan, -2, 0, 3]), [0, -1, 0, 1]
        )

    def test_remainder_and_floor_division(self):
        x, y = [7.0, -7.0, 7.0, -7.0, 1.0], [3.0, 3.0, -3.0, -3.0, 0.1]
        np.testing.assert_array_equal(self.at(lambda x, y: x // y, x, y), [2, -3, -3, 2, 9])
        np.testing.assert_array_equal(
            self.at(lambda x, y: x % y, x, y), [a % b for a, b in zip(x, y, strict=True)]
        )

    def test_digamma(self):
        euler = 0.5772156649015329
        expected = [-euler, 1 - euler, -euler - 2 * math.log(2), 2.2517525890667210]
        found = self.at(lambda x: f.digamma(x), [1.0, 2.0, 0.5, 10.0])
        np.testing.assert_allclose(found, expected, rtol=1e-14)
        assert self.at(lambda x: f.digamma(x), [0.0, -0.0, -2.0])[0] == -math.inf

    def test_polygamma(self):
        zeta3 = 1.2020569031595943
        found = self.at(lambda x: f.polygamma(1, x), [1.0, 0.5, -0.5])
        pi2 = math.pi**2
        np.testing.assert_allclose(found, [pi2 / 6, pi2 / 2, pi2 / 2 + 4], rtol=1e-13)
        found = self.at(lambda x: f.polygamma(2, x), [1.0, 0.5])
        np.testing.assert_allclose(found, [-2 * zeta3, -14 * zeta3], rtol=1e-13)

    def test_erfinv_inverts_erf(self):
        y = np.array([-0.999, -0.7, -0.1, 0.0, 1e-8, 0.5, 0.71, 0.9999])
        found = self.at(lambda y: f.erf(f.erfinv(y)), y)
        np.testing.assert_allclose(found, y, rtol=1e-14)
        edges = self.at(lambda y: f.erfinv(y), [1.0, -1.0, 1.5])
        np.testing.assert_array_equal(edges, [math.inf, -math.inf, math.nan])


class TestDeterminism:
    def test_text_does_not_depend_on_the_process(self):
        """The text is part of a cache key: no ids, no order of sets."""
        program = (
            "import numbagrad.ops.pointwise\n"
            "from numpy_formulas import print_numpy\n"
            "from numbagrad.ops.operators.definition import POINTWISE\n"
            "from numbagrad.formula import print_numba\n"
            "for d in POINTWISE.values():\n"
            "    if d.dtypes in ('any', 'number', 'float'):\n"
            "        print(print_numba(d.traced, 'float32'), print_numpy(d.traced, 'float64'))\n"
        )
        root = os.path.dirname(os.path.dirname(os.path.abspath(numbagrad.__file__)))
        texts = set()
        for seed in ("1", "2"):
            environment = {
                **os.environ,
                "PYTHONHASHSEED": seed,
                "PYTHONPATH": os.pathsep.join([root, os.path.dirname(__file__)]),
            }
            texts.add(
                subprocess.run(
                    [sys.executable, "-c", program],
                    env=environment,
                    capture_output=True,
                    text=True,
                    check=True,
                ).stdout
            )
        assert len(texts) == 1

    def test_numba_is_not_imported(self):
        program = "import sys, numbagrad.formula; sys.exit('numba' in sys.modules)"
        root = os.path.dirname(os.path.dirname(os.path.abspath(numbagrad.__file__)))
        subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": root}, check=True
        )

    def test_make_takes_numbers(self):
        assert repr(make("add", f.symbol("x"), 1)) == "add(x, 1)"
