"""The functions by which ``gradcheck`` was once told apart, which torch still has under its names.

Programs import them from ``autograd.gradcheck``, where they are public.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .jacobians import numerical_jacobians, walk_back, within
from .problem import Problem, as_tuple, differentiable, wrap

__all__ = [
    "get_analytical_jacobian",
    "get_numerical_jacobian",
    "get_numerical_jacobian_wrt_specific_input",
]

_DEPRECATED = (
    "`{0}` was part of PyTorch's private API and not meant to be exposed. We are deprecating it "
    "and it will be removed in a future version of PyTorch. If you have a specific use for this "
    "or feature request for this to be a stable API, please file us an issue at "
    "https://github.com/pytorch/pytorch/issues/new"
)
_GRAD_OUT = (
    "Expected grad_out to be 1.0. {0} no longer supports values of grad_out != 1.0."
)  # fmt: skip


def get_numerical_jacobian(
    fn: Callable[[Any], Any],
    inputs: Any,
    target: Any = None,
    eps: float = 1e-3,
    grad_out: float = 1.0,
) -> tuple[Any, ...]:
    """Deprecated: the Jacobians of the first output with respect to ``target``, by differences.

    Args:
        fn: takes the inputs as one tuple.
        inputs: a tuple of tensors.
        target: the tensor, or tuple of tensors, to differentiate by; all inputs if None.
        eps: the step of the differences.
        grad_out: must be 1.

    Returns:
        For each tensor that requires grad a matrix of shape (its elements, elements of the output).
    """
    _warn_of_deprecation("get_numerical_jacobian", grad_out)
    inputs = as_tuple(inputs)
    problem = _problem(lambda *values: fn(values), inputs, eps)
    targets = inputs if target is None else as_tuple(target)
    return tuple(
        [wrap(numerical_jacobians(problem, x, [0])[0]) for x in differentiable(targets)]
    )  # fmt: skip


def get_analytical_jacobian(
    inputs: Any, output: Any, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple[tuple[Any, ...], bool, bool, bool]:
    """Deprecated: the Jacobians of ``output`` with respect to the inputs, by backward.

    Returns:
        A matrix for each input that requires grad; whether a second walk gave the same, whether
        the gradients have the sizes, and whether they have the dtypes, of their inputs.
    """
    _warn_of_deprecation("get_analytical_jacobian", grad_out)
    variables = differentiable(as_tuple(inputs))
    array = output._array
    directions = list(np.eye(array.size, dtype=array.dtype).reshape(-1, *array.shape))
    matrices, same_sizes, same_dtypes = walk_back(variables, output, directions)
    again, _, _ = walk_back(variables, output, directions)
    reentrant = within(matrices, again, nondet_tol)
    return tuple([wrap(matrix) for matrix in matrices]), reentrant, same_sizes, same_dtypes


def get_numerical_jacobian_wrt_specific_input(
    fn: Callable[..., Any],
    input_idx: int,
    inputs: Any,
    outputs: Any,
    eps: float,
    input: Any = None,
    is_forward_ad: bool = False,
) -> tuple[Any, ...]:
    """The Jacobians of all outputs with respect to one input, by differences.

    Args:
        fn: takes the inputs.
        input_idx: which of ``inputs`` to differentiate by, unless ``input`` is given.
        outputs: what ``fn`` returns at ``inputs``.
        eps: the step of the differences.
        is_forward_ad: accepted; it concerns complex outputs only.
    """
    variable = inputs[input_idx] if input is None else input
    if not variable._requires_grad:
        raise AssertionError("Expected input to have requires_grad=True")
    problem = _problem(fn, as_tuple(inputs), eps, as_tuple(outputs))
    every = range(len(problem.results))
    return tuple([wrap(jacobian) for jacobian in numerical_jacobians(problem, variable, every)])


def _warn_of_deprecation(name: str, grad_out: float) -> None:
    warnings.warn(_DEPRECATED.format(name), FutureWarning, stacklevel=3)
    if grad_out != 1.0:
        raise ValueError(_GRAD_OUT.format(name))


def _problem(
    func: Callable[..., Any], inputs: tuple[Any, ...], eps: float, results: Any = None
) -> Problem:
    """A problem of which only differences are wanted."""
    results = as_tuple(func(*inputs)) if results is None else results
    return Problem(func, inputs, results, eps, 0.0, 0.0, 0.0, False, False)
