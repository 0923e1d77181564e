"""Every operator of the table: values, dtypes, layouts, special numbers, gradients and errors.

The references are NumPy and the NumPy source of the formulas; `operator_table.py` says what is
called with what. A new operator is tested by being in the table, and missing there fails here.
"""

from __future__ import annotations

import importlib
import inspect
import os
import pathlib
import pkgutil
import re
import subprocess
import sys

import numpy as np
import pytest
from operator_entry import as_tuple
from operator_table import ENTRIES, NO_ENTRY, NO_OPERATORS, POINTWISE_ENTRIES
from operators_pointwise import CALLS, ELEMENTARY, FUNCTIONAL, INDEPENDENT, operands_of

import numbagrad as torch
from numbagrad.autograd import gradcheck, gradgradcheck
from numbagrad.executor.mode import NATIVE
from numbagrad.ops.operators.definition import POINTWISE
from numbagrad.ops.operators.pointwise_operator import pointwise

ALL = POINTWISE_ENTRIES + ENTRIES
#: The pointwise operators that stand for the others where only loads and stores differ: a kernel
#: takes 50 ms to compile, and the tests compile every one they use.
TYPICAL = {"add", "mul", "div", "exp", "tanh", "where", "clamp", "lt", "gelu", "pow_2", "floor"}


def by_name(entry):
    return entry.name


def over(entries, condition=lambda entry: True):
    """Parametrise a test over the entries that fulfil a condition."""
    return pytest.mark.parametrize("entry", [x for x in entries if condition(x)], ids=by_name)


def of_dtype(dtype):
    return lambda entry: entry.admits(dtype)


def typical(entry):
    return entry.definition is None or entry.name in TYPICAL


def differentiable(entry):
    return entry.differentiable and entry.admits("float64")


def several(entry):
    return len(entry.inputs) > 1


def tensors(arrays, requires_grad=False):
    """Tensors of the arrays; those with floats require grad if asked."""
    return [
        torch.from_numpy(x).requires_grad_(requires_grad and x.dtype.kind == "f") for x in arrays
    ]


#: Pointwise operators with rules of their own for integers.
INTEGRAL = {"abs", "sign", "pow", "floor_divide", "div_trunc", "remainder", "fmod", "minimum",
            "bitwise_not", "bitwise_left_shift", "bitwise_right_shift"}  # fmt: skip


#: The dtypes of two bytes.
HALF = ["float16", "bfloat16"]
#: Calls that are made of several operators, each of which rounds.
OF_SEVERAL = {
    "linear", "matrix_power-3", "linalg_multi_dot", "einsum-bn,anm,bm->ba", "dist", "cov",
    "corrcoef", "diff-twice", "chain_matmul",
}  # fmt: skip


def halves(arrays, dtype):
    """Tensors of the arrays, those with floats of a dtype of half precision."""
    made = [torch.from_numpy(x) for x in arrays]
    return [x.to(getattr(torch, dtype)) if x.is_floating_point() else x for x in made]


def wider(tensor):
    """Floats as float32."""
    return tensor.detach().float() if tensor.is_floating_point() else tensor.detach()


def rounded(tensor, dtype):
    """Floats rounded to half precision."""
    return tensor.to(getattr(torch, dtype)) if tensor.is_floating_point() else tensor


def gradients_of_ones(entry, inputs):
    """The gradients of the sum of all results, by the inputs with floats."""
    inputs = [x.clone().requires_grad_() if x.is_floating_point() else x for x in inputs]
    outputs = [x for x in as_tuple(entry.call(torch, *inputs)) if x.requires_grad]
    wanted = [x for x in inputs if x.requires_grad]
    ones = [torch.ones_like(x) for x in outputs]
    return torch.autograd.grad(outputs, wanted, ones, allow_unused=True) if outputs else ()


def assert_same(results, expected, rtol=0.0, atol=0.0):
    """Shapes and values of tensors are those of the arrays."""
    results, expected = as_tuple(results), as_tuple(expected)
    assert len(results) == len(expected)
    for result, wanted in zip(results, expected, strict=True):
        assert tuple(result.shape) == np.shape(wanted)
        np.testing.assert_allclose(
            result.detach().numpy(), np.asarray(wanted), rtol=rtol, atol=atol, equal_nan=True
        )


def wide(arrays):
    """The same values in float64, for a reference that rounds later."""
    return [x.astype(np.float64) if x.dtype.kind == "f" else x for x in arrays]


def expected_dtype(entry, dtype, kind):
    """The dtype of a result whose reference is of a kind, as torch chooses it."""
    if kind == "b":
        return torch.int64 if entry.name == "pow_scalar" else torch.bool
    if kind in "iu":
        return torch.int64
    return getattr(torch, dtype) if "float" in dtype else torch.float32


def ulps(found, exact, dtype):
    """Distance in units in the last place of ``dtype``."""
    spacing = np.spacing(np.abs(exact).astype(dtype)).astype(np.float64)
    return np.abs(found.astype(np.float64) - exact) / spacing


# --- values ---------------------------------------------------------------------------------------


class TestValues:
    @over(ALL, of_dtype("float64"))
    def test_double(self, entry):
        arrays = entry.draw("float64")
        expected = entry.reference(*arrays)
        assert_same(entry.call(torch, *tensors(arrays)), expected, 1e-12, 1e-12)

    @over(ALL, lambda entry: typical(entry) and entry.admits("float32"))
    def test_single(self, entry):
        """Elementary functions are held to more below; the parity tests take all operators."""
        arrays = entry.draw("float32")
        expected = entry.reference(*wide(arrays))
        rtol = entry.tolerance
        assert_same(entry.call(torch, *tensors(arrays)), expected, rtol, rtol)

    @pytest.mark.parametrize("dtype", HALF)
    @over(ALL, lambda entry: typical(entry) and entry.admits("float16"))
    def test_half_is_computed_in_single_precision(self, entry, dtype):
        """Results are those of float32, rounded: once, unless the call is made of several."""
        narrow = halves(entry.draw("float32"), dtype)
        results = as_tuple(entry.call(torch, *narrow))
        wanted = as_tuple(entry.call(torch, *[wider(x) for x in narrow]))
        for result, other in zip(results, wanted, strict=True):
            assert result.dtype is rounded(other, dtype).dtype
            found, expected = wider(result).numpy(), wider(rounded(other, dtype)).numpy()
            if entry.name in OF_SEVERAL:
                units = 8 * torch.finfo(result.dtype).eps
                np.testing.assert_allclose(found, expected, rtol=units, atol=units)
            else:
                np.testing.assert_array_equal(found, expected)

    @pytest.mark.parametrize("dtype", HALF)
    @over(ALL, lambda entry: typical(entry) and entry.admits("float16") and entry.differentiable)
    def test_gradients_of_half_are_of_half(self, entry, dtype):
        """Their values are those of float32 to a few roundings."""
        narrow = halves(entry.draw("float32"), dtype)
        found = gradients_of_ones(entry, narrow)
        wanted = gradients_of_ones(entry, [wider(x) for x in narrow])
        for gradient, other in zip(found, wanted, strict=True):
            assert (gradient is None) == (other is None)
            if gradient is None:
                continue
            assert gradient.dtype is getattr(torch, dtype)
            largest = 1 + other.abs().max().item() if other.numel() else 1
            units = 16 * torch.finfo(gradient.dtype).eps * largest
            expected = wider(rounded(other, dtype)).numpy()
            np.testing.assert_allclose(wider(gradient).numpy(), expected, atol=units)

    @over(ALL, of_dtype("int64"))
    def test_integers(self, entry):
        arrays = entry.draw("int64")
        assert_same(entry.call(torch, *tensors(arrays)), entry.reference(*arrays), rtol=2e-6)

    @over(ALL, lambda entry: entry.admits("uint8") and (typical(entry) or entry.name in INTEGRAL))
    def test_unsigned_integers(self, entry):
        arrays = entry.draw("uint8")
        assert_same(entry.call(torch, *tensors(arrays)), entry.reference(*arrays), rtol=2e-6)

    @over(ALL, of_dtype("bool"))
    def test_booleans(self, entry):
        arrays = entry.draw("bool")
        assert_same(entry.call(torch, *tensors(arrays)), entry.reference(*arrays), rtol=2e-6)

    @over(ALL)
    def test_dtype_of_the_result(self, entry):
        """Tests give bool, places int64; integers stay, or become the default float."""
        for dtype in ("float64", "float32", "int64", "bool"):
            if dtype == "float32" and not typical(entry):
                continue
            if not entry.admits(dtype):
                continue
            arrays = entry.draw(dtype)
            results = as_tuple(entry.call(torch, *tensors(arrays)))
            for result, wanted in zip(results, as_tuple(entry.reference(*arrays)), strict=True):
                assert result.dtype is expected_dtype(entry, dtype, np.asarray(wanted).dtype.kind)

    @over(POINTWISE_ENTRIES, lambda entry: entry.name in INDEPENDENT)
    def test_numpy_agrees(self, entry):
        """The formula says what NumPy's function of the same meaning computes."""
        dtype = "float64" if entry.admits("float64") else "int64"
        arrays = entry.draw(dtype)
        rtol = 1e-6 if entry.name == "digamma" else 1e-12
        expected = INDEPENDENT[entry.name](*arrays)
        assert_same(entry.call(torch, *tensors(arrays)), expected, rtol, atol=rtol)

    @over(ALL)
    def test_inputs_are_left_as_they_were(self, entry):
        dtype = "float64" if entry.admits("float64") else "int64"
        arrays = entry.draw(dtype)
        entry.call(torch, *tensors(arrays))
        for before, after in zip(entry.draw(dtype), arrays, strict=True):
            np.testing.assert_array_equal(before, after)


class TestAccuracy:
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    @pytest.mark.parametrize("name", ELEMENTARY)
    def test_elementary_functions_are_within_two_units(self, name, dtype):
        function, (low, high) = ELEMENTARY[name]
        generator = np.random.default_rng(1)
        x = generator.uniform(low, high, 5000)
        tiny = [s * 10.0**-k for k in range(1, 30) for s in (1, -1) if low <= s * 10.0**-k <= high]
        x = np.concatenate([x, tiny, [low, high]]).astype(dtype)
        x = x[(x >= low) & (x <= high)]
        with np.errstate(divide="ignore", over="ignore"):
            exact = function(x.astype(np.float64)) if dtype == "float32" else function(x)
        found = getattr(torch, name)(torch.from_numpy(x)).numpy()
        finite = np.isfinite(exact.astype(dtype))
        np.testing.assert_array_equal(found[~finite], exact[~finite].astype(dtype))
        # NumPy's own rounding of a float64 function counts for one more.
        bound = 2.0 if dtype == "float32" else 3.0
        errors = ulps(found[finite], exact[finite], dtype)
        worst = np.argmax(errors)
        assert errors[worst] <= bound, f"{name}({x[finite][worst]!r}): {errors[worst]} ulp"


def _takes_out(name):
    function = getattr(torch, name, None)
    return function is not None and "out" in inspect.signature(function).parameters


IN_PLACE = {
    x.name
    for x in POINTWISE_ENTRIES
    if x.definition.in_place and typical(x) and x.name not in CALLS
}
WITH_OUT = [x.name for x in POINTWISE_ENTRIES if not x.definition.scalars and _takes_out(x.name)]

# --- what all pointwise operators share -----------------------------------------------------------

SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, -1e-300]


class TestPointwise:
    @over(POINTWISE_ENTRIES, of_dtype("float64"))
    def test_nan_infinities_and_zeros(self, entry):
        """All combinations of special numbers give what the NumPy source gives."""
        free = [x for x in entry.inputs if not x.fixed and not x.single]
        rest = (x.ravel().copy() for x in np.meshgrid(*[SPECIAL] * len(free)))
        count = len(SPECIAL) ** len(free)
        arrays = [
            np.array(np.inf) if x.single else np.arange(count) % 3 == 0 if x.fixed else next(rest)
            for x in entry.inputs
        ]
        assert_same(entry.call(torch, *tensors(arrays)), entry.reference(*arrays), 1e-12, 1e-15)

    @over(POINTWISE_ENTRIES)
    def test_transposed(self, entry):
        """Results have the strides of their inputs."""
        dtype = "float64" if entry.admits("float64") else "int64"
        generator = np.random.default_rng(2)
        arrays = [x.draw(generator, dtype, (3, 4)).T for x in entry.inputs]
        result = entry.call(torch, *tensors(arrays))
        assert_same(result, entry.reference(*arrays), 1e-12, 1e-12)
        assert result.stride() == (1, 4)

    @over(POINTWISE_ENTRIES, lambda entry: typical(entry) or len(entry.inputs) > 2)
    def test_with_gaps(self, entry):
        dtype = "float64" if entry.admits("float64") else "int64"
        generator = np.random.default_rng(2)
        arrays = [x.draw(generator, dtype, (6, 4)) for x in entry.inputs]
        views = [x if x.ndim == 0 else x.T[k % 2 :: 2] for k, x in enumerate(arrays)]
        expected = entry.reference(*views)
        assert_same(entry.call(torch, *tensors(views)), expected, 1e-12, 1e-12)

    @over(POINTWISE_ENTRIES, several)
    def test_broadcasting(self, entry):
        self.broadcast(entry, [(3, 1), (4,), (1,)])

    @over(POINTWISE_ENTRIES, lambda entry: several(entry) and typical(entry))
    def test_broadcasting_the_other_way(self, entry):
        self.broadcast(entry, [(4,), (3, 1), ()])
        self.broadcast(entry, [(), (2, 1, 3), (3, 3)])

    @staticmethod
    def broadcast(entry, shapes):
        dtype = "float64" if entry.admits("float64") else "int64"
        generator = np.random.default_rng(3)
        arrays = [
            x.draw(generator, dtype, shape) for x, shape in zip(entry.inputs, shapes, strict=False)
        ]
        expected = entry.reference(*arrays)
        assert_same(entry.call(torch, *tensors(arrays)), expected, 1e-12, 1e-12)

    @over(POINTWISE_ENTRIES)
    @pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1, 1)], ids=str)
    def test_no_dimensions_and_no_elements(self, entry, shape):
        dtype = "float64" if entry.admits("float64") else "int64"
        generator = np.random.default_rng(4)
        arrays = [x.draw(generator, dtype, shape) for x in entry.inputs]
        result = entry.call(torch, *tensors(arrays))
        assert result.shape == shape
        assert_same(result, entry.reference(*arrays), 1e-12, 1e-12)

    @pytest.mark.parametrize("name", WITH_OUT)
    def test_out(self, name):
        """``out`` is written, and resized where its shape is another."""
        entry = next(x for x in POINTWISE_ENTRIES if x.name == name)
        dtype = "float64" if entry.admits("float64") else "int64"
        operands = tensors(entry.draw(dtype))
        function = getattr(torch, name)
        expected = function(*operands)
        for shape in ((5,), (2, 3)):
            out = torch.zeros(shape, dtype=expected.dtype)
            assert function(*operands, out=out) is out
            np.testing.assert_array_equal(out.numpy(), expected.numpy())

    @over(POINTWISE_ENTRIES, lambda entry: entry.name in IN_PLACE)
    def test_in_place(self, entry):
        """The method with an underscore writes what the function returns."""
        dtype = "float64" if entry.admits("float64") else "int64"
        arrays = entry.draw(dtype)
        operands = operands_of(entry.definition, tuple(tensors(arrays)), dtype == "int64")
        expected = entry.call(torch, *tensors(entry.draw(dtype))).numpy()
        first, *rest = operands
        result = getattr(first, f"{entry.name}_")(*rest)
        assert result is first
        np.testing.assert_array_equal(first.numpy(), expected.astype(dtype))


# --- gradients ------------------------------------------------------------------------------------


def differentiable_call(entry):
    """The call of an entry without the outputs that carry no gradient."""

    def call(*arguments):
        results = as_tuple(entry.call(torch, *arguments))
        return tuple([x for x in results if x.is_floating_point()])

    return call


class TestGradients:
    @over(ALL, differentiable)
    def test_first(self, entry):
        assert gradcheck(differentiable_call(entry), tensors(entry.draw("float64"), True))

    @over(ALL, differentiable)
    def test_second(self, entry):
        inputs = tensors(entry.draw("float64"), True)
        outputs = differentiable_call(entry)(*inputs)
        grads = torch.autograd.grad(
            outputs,
            [x for x in inputs if x.requires_grad],
            [torch.ones_like(x) for x in outputs],
            create_graph=True,
            allow_unused=True,
        )
        if any(x is not None and x.requires_grad for x in grads):
            assert gradgradcheck(differentiable_call(entry), inputs)

    @over(ALL, lambda entry: differentiable(entry) and several(entry))
    def test_one_input_at_a_time(self, entry):
        """Inputs that need no gradient get none, and the others get the same one."""
        arrays = entry.draw("float64")
        together = self.gradients(entry, tensors(arrays, True))
        for position, array in enumerate(arrays):
            if array.dtype.kind != "f":
                continue
            inputs = tensors(arrays)
            inputs[position].requires_grad_()
            if together[position] is None:
                assert not any(x.requires_grad for x in differentiable_call(entry)(*inputs))
                continue
            alone = self.gradients(entry, inputs)
            for other, gradient in enumerate(alone):
                if other != position:
                    assert gradient is None
                else:
                    np.testing.assert_allclose(gradient, together[position], rtol=1e-12, atol=1e-14)

    @staticmethod
    def gradients(entry, inputs):
        outputs = [x for x in differentiable_call(entry)(*inputs) if x.requires_grad]
        torch.autograd.backward(outputs, [torch.ones_like(x) for x in outputs])
        return [None if x.grad is None else x.grad.numpy() for x in inputs]

    @over(POINTWISE_ENTRIES, lambda entry: differentiable(entry) and several(entry))
    def test_broadcasting_sums_the_gradient_back(self, entry):
        """The gradient of an operand that was repeated is the sum over its repetitions."""
        generator = np.random.default_rng(5)
        shapes = [(3, 1), (4,), (1,)]
        arrays = [
            x.draw(generator, "float64", shape)
            for x, shape in zip(entry.inputs, shapes, strict=False)
        ]
        full = np.broadcast_shapes(*[x.shape for x in arrays])
        found = self.gradients(entry, tensors(arrays, True))
        copies = [np.array(np.broadcast_to(x, full)) for x in arrays]
        if not any(x.single for x in entry.inputs):
            expected = self.gradients(entry, tensors(copies, True))
            for array, gradient, whole in zip(arrays, found, expected, strict=True):
                if gradient is not None:
                    summed = summed_to(whole, array.shape)
                    assert gradient.shape == array.shape
                    np.testing.assert_allclose(gradient, summed, rtol=1e-12, atol=1e-12)

    @over(POINTWISE_ENTRIES, differentiable)
    def test_no_elements(self, entry):
        generator = np.random.default_rng(6)
        arrays = [x.draw(generator, "float64", (2, 0)) for x in entry.inputs]
        gradients = self.gradients(entry, tensors(arrays, True))
        for x, gradient in zip(entry.inputs, gradients, strict=True):
            if not x.fixed and not x.single:
                assert gradient.shape == (2, 0)

    @over(POINTWISE_ENTRIES, lambda entry: not entry.differentiable)
    def test_no_gradient_is_never_a_silent_zero(self, entry):
        """Results without a gradient do not require one, or raise in backward."""
        if not entry.admits("float64"):
            return
        result = entry.call(torch, *tensors(entry.draw("float64"), True))
        if result.requires_grad:
            with pytest.raises((RuntimeError, NotImplementedError), match=entry.name):
                result.sum().backward()
        else:
            assert result.grad_fn is None


def summed_to(array, shape):
    """Sum an array over the dimensions along which ``shape`` was repeated."""
    extra = array.ndim - len(shape)
    array = array.sum(axis=tuple(range(extra)))
    repeated = tuple(d for d, size in enumerate(shape) if size == 1 and array.shape[d] != 1)
    return array.sum(axis=repeated, keepdims=True)


# --- mixed dtypes and numbers ---------------------------------------------------------------------


class TestPromotion:
    @pytest.mark.parametrize(
        ("left", "right", "wanted"),
        [
            ("int32", "float32", "float32"),
            ("float32", "float64", "float64"),
            ("bool", "int8", "int8"),
            ("uint8", "int8", "int16"),
            ("int64", "float16", "float16"),
        ],
    )
    @pytest.mark.parametrize("name", ["add", "mul", "maximum", "where"])
    def test_two_tensors(self, name, left, right, wanted):
        x = torch.ones(3, dtype=getattr(torch, left))
        y = torch.ones(3, dtype=getattr(torch, right))
        condition = [torch.ones(3, dtype=torch.bool)] if name == "where" else []
        result = getattr(torch, name)(*condition, x, y)
        assert result.dtype is getattr(torch, wanted)

    @pytest.mark.parametrize(
        ("dtype", "number", "wanted"),
        [
            ("int32", 2, "int32"),
            ("int32", 2.5, "float32"),
            ("float16", 2.5, "float16"),
            ("float64", 2, "float64"),
            ("bool", 2, "int64"),
            ("bool", True, "bool"),
        ],
    )
    @pytest.mark.parametrize("zero_dim", [False, True])
    def test_a_number_or_a_tensor_without_dimensions(self, dtype, number, wanted, zero_dim):
        x = torch.ones(3, dtype=getattr(torch, dtype))
        other = torch.tensor(number) if zero_dim else number
        for result in (x * other, other * x, torch.add(x, other)):
            assert result.dtype is getattr(torch, wanted)

    def test_options_do_not_promote(self):
        x = torch.tensor([1, 2], dtype=torch.int32)
        assert torch.addcmul(x, x, x, value=2).dtype is torch.int32
        assert torch.add(x, x, alpha=3).dtype is torch.int32
        assert torch.masked_fill(x, x > 1, 5).dtype is torch.int32

    def test_gradients_come_back_in_the_dtype_of_their_input(self):
        x = torch.ones(3, dtype=torch.float32, requires_grad=True)
        y = torch.ones(3, dtype=torch.float64, requires_grad=True)
        (x * y).sum().backward()
        assert (x.grad.dtype, y.grad.dtype) == (torch.float32, torch.float64)


# --- errors ---------------------------------------------------------------------------------------

INTEGER = torch.tensor([1, 2, 0])
TRUTH = torch.tensor([True, False, True])
FRACTION = torch.tensor([1.0, 2.0, 0.5])


#: Entries, and the places of inputs, that lists may stand for.
TAKES_LISTS = {("getitem-mask", 1)}
#: What Python says of an index of a list, to which a Tensor may stand for a number.
OF_LISTS = "only integer tensors of a single element"


class TestErrors:
    @over(POINTWISE_ENTRIES, several)
    def test_shapes_that_do_not_broadcast(self, entry):
        dtype = "float64" if entry.admits("float64") else "int64"
        generator = np.random.default_rng(8)
        shapes = [(3,), (4,), (4,)]
        free = [x for x in entry.inputs if not x.single]
        arrays = [
            x.draw(generator, dtype, shape) for x, shape in zip(entry.inputs, shapes, strict=False)
        ]
        if len(free) > 1:
            with pytest.raises(RuntimeError, match=r"\(3\).*\(4\).*dimension 0"):
                entry.call(torch, *tensors(arrays))

    @over(POINTWISE_ENTRIES, lambda entry: entry.dtypes != "any" and not entry.definition.promoting)
    def test_dtypes_that_have_no_kernel(self, entry):
        dtype = {"float": "int64", "number": "bool"}.get(entry.dtypes, "float64")
        arrays = [np.ones(3, x.fixed or dtype) for x in entry.inputs]
        with pytest.raises(RuntimeError, match="not implemented for|Integer division|bool tensors"):
            pointwise(entry.name)(*operands_of(entry.definition, tuple(tensors(arrays))))

    @over(ALL, lambda entry: entry.inputs)
    def test_what_is_no_tensor(self, entry):
        """A list in the place of a tensor is named; or Python refuses it in the entry itself."""
        dtype = next(x for x in ("float64", "int64", "bool") if entry.admits(x))
        arrays = entry.draw(dtype)
        for position in range(len(arrays)):
            arguments = tensors(arrays)
            arguments[position] = np.atleast_1d(arrays[position]).tolist()
            if (entry.name, position) in TAKES_LISTS:
                entry.call(torch, *arguments)
                continue
            with pytest.raises((TypeError, AttributeError)) as raised:
                entry.call(torch, *arguments)
            if raised.traceback[-1].path.parent != pathlib.Path(__file__).parent:
                assert raised.type is TypeError
                assert re.search(rf"\w\(\):? .*(Tensor|list)|{OF_LISTS}", str(raised.value))

    @pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod", "div_floor"])
    def test_integers_divided_by_zero(self, name):
        entry = next(x for x in POINTWISE_ENTRIES if x.name == name)
        for divisor in (INTEGER, torch.tensor(0), torch.zeros(1, dtype=torch.uint8)):
            with pytest.raises(RuntimeError, match="ZeroDivisionError"):
                entry.call(torch, INTEGER, divisor)
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            pointwise(name)(INTEGER, 0)
        empty = torch.zeros(0, dtype=torch.int64)
        assert entry.call(torch, empty, empty).shape == (0,)
        assert not torch.isnan(entry.call(torch, FRACTION, 1 + INTEGER)).any()

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda: TRUTH - TRUTH, "with two bool tensors"),
            (lambda: FRACTION - TRUTH, "with a bool tensor"),
            (lambda: 1 - TRUTH, "with a bool tensor"),
            (lambda: torch.rsub(TRUTH, FRACTION), "with a bool tensor"),
            (lambda: torch.add(INTEGER, INTEGER, alpha=0.5), "alpha must not be a floating"),
            (lambda: INTEGER**-1, "Integers to negative integer powers"),
            (lambda: torch.addcdiv(INTEGER, INTEGER, INTEGER), "Integer division with addcdiv"),
            (lambda: torch.lerp(FRACTION, FRACTION.double(), 0.5), "expected dtype"),
            (lambda: torch.heaviside(FRACTION, INTEGER), "different dtypes"),
            (lambda: torch.nextafter(INTEGER, INTEGER), "not implemented for 'Long'"),
            (lambda: torch.clamp(FRACTION), "At least one of 'min' or 'max'"),
            (lambda: torch.div(FRACTION, 2, rounding_mode="up"), "rounding_mode"),
            (lambda: torch.where(INTEGER, FRACTION, FRACTION), "condition to be a boolean"),
            (lambda: torch.masked_fill(FRACTION, INTEGER, 0), "boolean mask"),
            (lambda: torch.masked_fill(FRACTION, TRUTH, FRACTION), "0-dimensional value"),
            (lambda: torch.exp(FRACTION, out=INTEGER.clone()), "can't be cast"),
            (lambda: INTEGER.clone().div_(2), "can't be cast"),
            (lambda: FRACTION.clone().add_(torch.ones(2, 3)), "doesn't match the broadcast shape"),
            (lambda: torch.mm(FRACTION, FRACTION), "mm"),
            (lambda: torch.mm(torch.ones(2, 3), torch.ones(2, 3)), "cannot be multiplied"),
            (lambda: torch.cat([FRACTION, torch.ones(2, 2)]), "same number of dimensions"),
            (lambda: FRACTION.view(2, 2), "shape '\\[2, 2\\]' is invalid"),
        ],
    )
    def test_what_torch_refuses(self, call, message):
        with pytest.raises(RuntimeError, match=message):
            call()

    def test_neighbors_of_all_kinds_of_numbers(self):
        for kind, pattern in ((np.float32, np.int32), (np.float64, np.int64)):
            limits = np.finfo(kind)
            values = [0.0, 1, 2, 0.5, np.inf, limits.smallest_subnormal, limits.tiny, limits.max]
            numbers = np.array([*values, *[-x for x in values], np.nan], kind)
            x, y = (made.copy() for made in np.meshgrid(numbers, numbers))
            with np.errstate(over="ignore", under="ignore"):
                expected = np.nextafter(x, y)
            made = torch.nextafter(torch.from_numpy(x), torch.from_numpy(y)).numpy()
            known = ~np.isnan(expected)
            assert np.array_equal(np.isnan(made), ~known)
            assert np.array_equal(made[known].view(pattern), expected[known].view(pattern))

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
    def test_neighbors_of_every_number_of_half_precision(self, dtype):
        patterns = np.arange(2**16, dtype=np.uint16)
        wide = patterns.astype(np.uint32) << 16  # a bfloat16 is the upper half of a float32
        read = wide.view(np.float32) if dtype is torch.bfloat16 else patterns.view(np.float16)
        known = np.flatnonzero(~np.isnan(read))
        every = np.unique(read[known].astype(np.float64))  # in order; zeros of both signs are one
        chosen = known if NATIVE else known[::61]  # kernels that run as Python take long
        finite = torch.from_numpy(patterns[chosen].view(np.int16)).view(dtype)
        values = read[chosen].astype(np.float64)
        place = np.searchsorted(every, values)
        last = len(every) - 1
        for towards, neighbor in (
            (np.inf, every[np.minimum(place + 1, last)]),
            (-np.inf, every[np.maximum(place - 1, 0)]),
            (0.0, every[place - np.sign(values).astype(int)]),
            (np.nan, np.full_like(values, np.nan)),
        ):
            aim = torch.full_like(finite, towards)
            made = torch.nextafter(finite, aim)
            assert made.dtype == dtype
            numbers = made.double().numpy()
            assert np.array_equal(numbers, neighbor, equal_nan=True), towards
            kept = (values != 0) & (numbers == 0)  # a zero has the sign of what came to it
            assert np.array_equal(np.signbit(numbers[kept]), np.signbit(values[kept]))
            assert made.equal(finite.clone().nextafter_(aim)) or np.isnan(towards)

    def test_neighbors_in_the_common_dtype(self):
        wide = torch.ones(2)
        half, brain = wide.half(), wide.bfloat16()
        assert torch.nextafter(half, 2 * wide).dtype == torch.float32
        assert torch.nextafter(half, 2 * brain)[0].item() == 1 + 2.0**-23
        assert torch.nextafter(half, 2 * wide[0])[0].item() == 1 + 2.0**-10
        assert torch.nextafter(brain, torch.tensor(1 + 2.0**-20))[0].item() == 1.0

    def test_the_gradient_of_a_neighbor_is_that_of_the_number(self):
        x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        y = torch.tensor([2.0, 2.0, 2.0], requires_grad=True)
        torch.nextafter(x, y).backward(torch.tensor([5.0, 6.0, 7.0]))
        assert x.grad.tolist() == [5, 0, 7] and y.grad.tolist() == [0, 0, 0]

    @over(POINTWISE_ENTRIES, differentiable)
    def test_out_does_not_record(self, entry):
        if entry.name not in WITH_OUT:
            return
        inputs = tensors(entry.draw("float64"), True)
        with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
            getattr(torch, entry.name)(*inputs, out=torch.zeros(5, dtype=torch.float64))


def test_the_median_of_no_integers_is_what_nan_becomes():
    """The least int64 on x86, as in torch."""
    for name in ("median", "nanmedian"):
        made = getattr(torch, name)(torch.zeros(0, dtype=torch.int64))
        with np.errstate(invalid="ignore"):
            assert made.item() == np.array(np.nan).astype(np.int64)


# --- the table itself -----------------------------------------------------------------------------


class TestTable:
    def test_every_public_operator_is_in_it(self):
        """A new operator is tested by being in the table, or said to be none."""
        covered = {name for entry in ALL for name in entry.covers}
        missing = []
        modules = list(pkgutil.walk_packages(torch.ops.__path__, "numbagrad.ops."))
        assert len(modules) > 90
        for module in modules:
            if module.name.rpartition(".")[2] in NO_OPERATORS:
                continue
            found = importlib.import_module(module.name)
            for name in getattr(found, "__all__", ()):
                in_place = name.endswith("_") and name[:-1] in covered
                is_public = inspect.isroutine(getattr(torch, name, None))
                if is_public and not in_place and name not in covered | NO_ENTRY.keys():
                    missing.append(f"{module.name}.{name}")
        assert not missing, "add a row for each to tests/operator_table.py"

    def test_every_definition_has_a_public_function(self):
        for name in POINTWISE:
            assert hasattr(torch, name) or name in CALLS or name in FUNCTIONAL

    def test_names_are_distinct(self):
        names = [entry.name for entry in ALL]
        assert len(names) == len(set(names))

    def test_nothing_covered_is_excused(self):
        assert not NO_ENTRY.keys() & {name for entry in ALL for name in entry.covers}


# --- other ways to run kernels --------------------------------------------------------------------


@pytest.mark.skipif(not NATIVE, reason="this is the process that the test starts")
def test_the_same_in_python():
    """Kernels that run as Python pass the same tests; compiled ones: test_without_launchers.py."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "-p", "no:cacheprovider"]
    finished = subprocess.run(
        [*command, __file__, "-k", "TestPromotion or TestErrors"],
        env={**os.environ, "NUMBAGRAD_DISABLE_JIT": "1"},
        cwd=os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 0, finished.stdout[-4000:]
