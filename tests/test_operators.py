"""Every operator of the table: values, dtypes, layouts, special numbers, gradients and errors.

The references are NumPy and the NumPy source of the formulas; `operator_table.py` says what is
called with what. A new operator is tested by being in the table, and missing there fails here.
"""

from __future__ import annotations

import inspect
import os
import subprocess
import sys

import numpy as np
import pytest
from operator_table import (
    CALLS,
    ELEMENTARY,
    ELSEWHERE,
    ENTRIES,
    FLOATS,
    FUNCTIONAL,
    INDEPENDENT,
    INTEGERS,
    POINTWISE_ENTRIES,
    operands_of,
    reference_of,
)

import numbagrad as torch
from numbagrad.autograd import gradcheck, gradgradcheck
from numbagrad.executor.pointwise import JIT_DISABLED
from numbagrad.ops.definition import POINTWISE
from numbagrad.ops.operator import pointwise

ALL = POINTWISE_ENTRIES + ENTRIES
TOLERANCES = {"float16": 2e-3, "float64": 1e-12}


def by_name(entry):
    return entry.name


def over(entries, condition=lambda entry: True):
    """Parametrise a test over the entries that fulfil a condition."""
    return pytest.mark.parametrize("entry", [x for x in entries if condition(x)], ids=by_name)


def of_dtype(dtype):
    return lambda entry: entry.admits(dtype)


def differentiable(entry):
    return entry.differentiable and entry.admits("float64")


def several(entry):
    return len(entry.inputs) > 1


def tensors(arrays, requires_grad=False):
    """Tensors of the arrays; those with floats require grad if asked."""
    return [
        torch.from_numpy(x).requires_grad_(requires_grad and x.dtype.kind == "f") for x in arrays
    ]


def as_tuple(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


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


def ulps(found, exact, dtype):
    """Distance in units in the last place of ``dtype``."""
    spacing = np.spacing(np.abs(exact).astype(dtype)).astype(np.float64)
    return np.abs(found.astype(np.float64) - exact) / spacing


# --- values ---------------------------------------------------------------------------------------


class TestValues:
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    @over(ALL, of_dtype("float32"))
    def test_floats(self, entry, dtype):
        arrays = entry.draw(dtype)
        rtol = TOLERANCES.get(dtype, entry.tolerance)
        expected = entry.reference(*wide(arrays))
        assert_same(entry.call(torch, *tensors(arrays)), expected, rtol, atol=rtol)

    @over(ALL, of_dtype("float16"))
    def test_half_is_computed_in_single_precision(self, entry):
        arrays = entry.draw("float16")
        results = as_tuple(entry.call(torch, *tensors(arrays)))
        expected = as_tuple(entry.reference(*wide(arrays)))
        for result, wanted in zip(results, expected, strict=True):
            assert result.dtype is (torch.bool if wanted.dtype.kind == "b" else torch.float16)
            np.testing.assert_allclose(result.numpy(), wanted, rtol=2e-3, atol=2e-3)

    @pytest.mark.parametrize("dtype", ["int64", "uint8"])
    @over(ALL, of_dtype("int64"))
    def test_integers(self, entry, dtype):
        arrays = entry.draw(dtype)
        assert_same(entry.call(torch, *tensors(arrays)), entry.reference(*arrays), rtol=2e-6)

    @over(ALL, of_dtype("bool"))
    def test_booleans(self, entry):
        arrays = entry.draw("bool")
        assert_same(entry.call(torch, *tensors(arrays)), entry.reference(*arrays), rtol=2e-6)

    @over(ALL)
    def test_dtype_of_the_result(self, entry):
        """Integers stay integers, or become the default float; comparisons give bool."""
        for dtype in ("float64", "float32", "int64", "bool"):
            if not entry.admits(dtype):
                continue
            results = as_tuple(entry.call(torch, *tensors(entry.draw(dtype))))
            kind = entry.definition.result if entry.definition is not None else "same"
            if kind == "bool":
                wanted = torch.bool
            elif "float" not in dtype and kind == "float":
                wanted = torch.float32
            elif entry.name == "pow_scalar" and dtype == "bool":
                wanted = torch.int64
            elif entry.name.startswith("sum") and "float" not in dtype:
                wanted = torch.int64
            else:
                wanted = getattr(torch, dtype)
            assert {result.dtype for result in results} == {wanted}

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
            np.array(np.inf)
            if x.single
            else np.arange(count) % 3 == 0
            if x.fixed
            else next(rest)
            for x in entry.inputs
        ]
        assert_same(entry.call(torch, *tensors(arrays)), entry.reference(*arrays), 1e-12, 1e-15)

    @over(POINTWISE_ENTRIES)
    def test_non_contiguous(self, entry):
        dtype = "float64" if entry.admits("float64") else "int64"
        generator = np.random.default_rng(2)
        arrays = [x.draw(generator, dtype, (6, 4)) for x in entry.inputs]
        views = [x if x.ndim == 0 else x.T[k % 2 :: 2] for k, x in enumerate(arrays)]
        expected = entry.reference(*views)
        assert_same(entry.call(torch, *tensors(views)), expected, 1e-12, 1e-12)

    @over(POINTWISE_ENTRIES, several)
    def test_broadcasting(self, entry):
        dtype = "float64" if entry.admits("float64") else "int64"
        for shapes in ([(3, 1), (4,), (1,)], [(4,), (3, 1), ()]):
            generator = np.random.default_rng(3)
            arrays = [
                x.draw(generator, dtype, shape)
                for x, shape in zip(entry.inputs, shapes, strict=False)
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

    @over(POINTWISE_ENTRIES, lambda entry: entry.definition.in_place and not entry.name in CALLS)
    def test_in_place(self, entry):
        """The method with an underscore writes what the function returns."""
        dtype = "float64" if entry.admits("float64") else "int64"
        arrays = entry.draw(dtype)
        operands = operands_of(entry.definition, tuple(tensors(arrays)), dtype == "int64")
        if entry.name in FUNCTIONAL:
            return
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
        for place, array in enumerate(arrays):
            if array.dtype.kind != "f":
                continue
            inputs = tensors(arrays)
            inputs[place].requires_grad_()
            if together[place] is None:
                assert not any(x.requires_grad for x in differentiable_call(entry)(*inputs))
                continue
            alone = self.gradients(entry, inputs)
            for other, gradient in enumerate(alone):
                if other != place:
                    assert gradient is None
                else:
                    np.testing.assert_allclose(gradient, together[place], rtol=1e-12, atol=1e-14)

    @staticmethod
    def gradients(entry, inputs):
        outputs = [x for x in differentiable_call(entry)(*inputs) if x.requires_grad]
        torch.autograd.backward(outputs, [torch.ones_like(x) for x in outputs])
        return [None if x.grad is None else x.grad.numpy() for x in inputs]

    @over(POINTWISE_ENTRIES, lambda entry: differentiable(entry) and several(entry))
    def test_broadcasting_sums_the_gradient_back(self, entry):
        """The gradient of an operand that was repeated is the sum over its repetitions."""
        generator = np.random.default_rng(5)
        shapes = [(3, 1), (2, 1, 4), ()]
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
        for x, gradient in zip(entry.inputs, self.gradients(entry, tensors(arrays, True)), strict=True):
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
