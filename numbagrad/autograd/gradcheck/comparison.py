"""The comparison that ``gradcheck`` is made for: gradients against central differences.

In full, element by element; or in fast mode, where both Jacobians are multiplied with random
vectors from both sides, which takes two calls of the function an input and two walks an output.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from .jacobians import (
    Array,
    backward_jacobians,
    backward_products,
    forward_jacobians,
    forward_products,
    numerical_jacobians,
    numerical_products,
    within,
)
from .problem import GradcheckError, Problem, show

__all__ = ["compare_all_elements", "compare_projections"]

_EXPECTED_ZERO = "Numerical gradient for function expected to be zero"
_SLOW_MODE = """
The above quantities relating the numerical and analytical jacobians are computed 
in fast mode. See: https://github.com/pytorch/pytorch/issues/53876 for more background 
about fast mode. Below, we recompute numerical and analytical jacobians in slow mode:

Numerical:
 {}
Analytical:
{}

The max per-element difference (slow mode) is: {}.
"""
_SLOW_MODE_WOULD_PASS = """\
Fast gradcheck failed but element-wise differences are small. This means that the
test might've passed in slow_mode!

If you are adding a new operator, please file an issue and then use one of the
workarounds. The workaround depends on how your test invokes gradcheck/gradgradcheck:

If the test
- manually invokes gradcheck/gradgradcheck, then call gradcheck/gradgradcheck
  with `fast_mode=False` as a keyword argument.
- is OpInfo-based (e.g., in test_ops_gradients.py), then modify the OpInfo for the test
  to have `gradcheck_fast_mode=False`
- is a Module test (e.g., in common_nn.py), then modify the corresponding
  module_test entry to have `gradcheck_fast_mode=False`"""


def compare_all_elements(problem: Problem, forward: bool) -> None:
    """Compare the Jacobians of every output with respect to every input.

    Raises:
        GradcheckError: for the first pair that differs.
    """
    chosen = problem.differentiable
    if not chosen:
        return _expect_zero(problem)
    numerical = [numerical_jacobians(problem, x, chosen) for x in problem.variables]
    if forward:
        analytical = forward_jacobians(problem, chosen)
        for i in range(len(chosen)):
            for j in range(len(numerical)):
                _compare(problem, i, j, numerical[j][i], analytical[j][i], problem.atol, True)
        return None
    for i, output in enumerate(problem.outputs):
        for j, analytic in enumerate(backward_jacobians(problem, output)):
            _compare(problem, i, j, numerical[j][i], analytic, problem.atol, False)
    return None


def _expect_zero(problem: Problem) -> None:
    """A function none of whose outputs has a gradient must be constant."""
    chosen = _floating(problem)
    for x in problem.variables:
        if any([np.any(jacobian != 0) for jacobian in numerical_jacobians(problem, x, chosen)]):
            raise GradcheckError(_EXPECTED_ZERO)


def _floating(problem: Problem) -> list[int]:
    """Which results are tensors of real or complex numbers."""
    arrays = [getattr(value, "_array", None) for value in problem.results]
    return [i for i, array in enumerate(arrays) if array is not None and array.dtype.kind in "fcV"]


# Fast mode


def compare_projections(problem: Problem, forward: bool) -> None:
    """Compare the Jacobians after multiplication with random vectors.

    In forward mode the Jacobian is multiplied from the side of the input only.

    Raises:
        GradcheckError: for the first pair that differs. The error shows both Jacobians in full.
    """
    chosen = problem.differentiable
    draw = _unit_vectors()
    us = [_directions(draw, x._array) for x in problem.variables]
    if not chosen:
        return _expect_zero_along(problem, us)
    numerical = [
        numerical_products(problem, x, u, chosen)
        for x, u in zip(problem.variables, us, strict=True)
    ]  # fmt: skip
    if forward:
        analytical = forward_products(problem, [u for u, _ in us], chosen)
        for j, (u, _) in enumerate(us):
            for i in range(len(chosen)):
                atol = problem.atol * float(u.sum())
                _compare_fast(problem, i, j, numerical[j][i], analytical[j][i], atol, True)
        return None
    vs = [draw(output._array) for output in problem.outputs]
    products = [
        backward_products(problem, output, v)
        for output, v in zip(problem.outputs, vs, strict=True)
    ]  # fmt: skip
    for j, (u, turned) in enumerate(us):
        for i, v in enumerate(vs):
            total = float(u.sum()) + (float(turned.sum()) if turned is not u else 0.0)
            atol = problem.atol * total * float(v.sum())
            numeric = np.asarray((v * numerical[j][i]).sum())
            product = products[i][j]
            if product.dtype.kind == "c":
                analytic = np.asarray(product.real.dot(u) + 1j * product.imag.dot(turned))
            else:
                analytic = np.asarray(product.dot(u))
            _compare_fast(problem, i, j, numeric, analytic, atol, False)
    return None


def _directions(draw: Any, array: Array) -> tuple[Array, Array]:
    """A random direction of an input, and one of its imaginary part: the same if it has none."""
    along = draw(array.real)
    return along, (draw(array.imag) if array.dtype.kind == "c" else along)


def _unit_vectors() -> Any:
    """A function that draws a vector of length 1 for an array, the same ones at each check."""
    from ...random import Generator
    from ...random_filling import fill_uniform

    generator = Generator()

    def draw(like: Array) -> Array:
        vector = np.empty(like.size, np.float32)
        fill_uniform(generator, vector)
        vector = vector.astype(like.dtype)
        return vector / np.linalg.norm(vector) if vector.size else vector

    return draw


def _expect_zero_along(problem: Problem, us: Sequence[tuple[Array, Array]]) -> None:
    chosen = _floating(problem)
    for x, u in zip(problem.variables, us, strict=True):
        products = numerical_products(problem, x, u, chosen)
        if not within(products, [np.zeros_like(p) for p in products], problem.nondet_tol):
            raise GradcheckError(_EXPECTED_ZERO)


def _compare_fast(
    problem: Problem, i: int, j: int, numeric: Array, analytic: Array, atol: float, forward: bool
) -> None:
    try:
        _compare(problem, i, j, numeric, analytic, atol, forward)
    except GradcheckError as error:
        raise GradcheckError(str(error) + _in_full(problem, i, j, forward)) from None


def _in_full(problem: Problem, i: int, j: int, forward: bool) -> str:
    """Both Jacobians of one output with respect to one input, as text."""
    output = problem.differentiable[i]
    numeric = numerical_jacobians(problem, problem.variables[j], [output])[0]
    if forward:
        analytic = forward_jacobians(problem, [output])[j][0]
    else:
        lenient = dataclasses.replace(problem, nondet_tol=np.inf, check_grad_dtypes=False)
        analytic = backward_jacobians(lenient, problem.results[output])[j]
    difference = np.abs(numeric - analytic).max() if numeric.size else numeric.dtype.type(0)
    text = _SLOW_MODE.format(show(numeric), show(analytic), _number(difference))
    if np.allclose(analytic, numeric, problem.rtol, problem.atol):
        text += _SLOW_MODE_WOULD_PASS
    return text


def _number(value: Any) -> str:
    """A tensor without dimensions as f-strings show it: the number."""
    return str(np.asarray(value).item())


def _compare(
    problem: Problem, i: int, j: int, numeric: Array, analytic: Array, atol: float, forward: bool
) -> None:
    """Raise unless two Jacobians, or products of them, are close."""
    if np.allclose(analytic, numeric, rtol=problem.rtol, atol=atol):
        return
    mode = "computed with forward mode " if forward else ""
    where = ""
    if (j if forward else i) in problem.parted:
        what = "inputs" if forward else "outputs"
        where = f"While considering the {problem.part} part of complex {what} only, "
    shown = (_number(numeric), _number(analytic)) if numeric.ndim == 0 else None
    before, after = shown or (show(numeric), show(analytic))
    raise GradcheckError(
        f"{where}Jacobian {mode}mismatch for output {i} with respect to input {j},\n"
        f"numerical:{before}\nanalytical:{after}\n"
    )
