"""Checks of gradients against finite differences, for tests of operators and of custom Functions.

``gradcheck`` compares what backward or forward mode gives with central differences of the function
itself; ``gradgradcheck`` does the same for the gradient. This file takes the options and checks
arguments; the checks themselves are in ``gradcheck_comparison.py`` and ``gradcheck_properties.py``.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from . import tensor_interface as interface
from .engine_interface import grad
from .function import Function
from .gradcheck_comparison import compare_all_elements, compare_projections
from .gradcheck_jacobians import numerical_jacobians, walk_back, within
from .gradcheck_problem import (
    GradcheckError,
    Problem,
    as_tuple,
    is_differentiable,
    parts_of_inputs,
    parts_of_results,
    wrap,
)
from .gradcheck_properties import (
    check_batched_backward,
    check_batched_forward,
    check_undefined_gradients,
    check_undefined_tangents,
    check_zero_gradients,
)

__all__ = [
    "GradcheckError",
    "get_analytical_jacobian",
    "get_numerical_jacobian",
    "get_numerical_jacobian_wrt_specific_input",
    "gradcheck",
    "gradgradcheck",
]


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Check the gradients of ``func`` at ``inputs`` against central differences.

    Complex results are checked part by part, and so are complex inputs in forward mode.

    Args:
        func: takes the inputs, returns a tensor or a tuple of tensors.
        inputs: a tensor, or a tuple of arguments; those that require grad are checked and should be
            float64 or complex128.
        eps: the step of the differences.
        atol, rtol: tolerances, as in ``allclose``.
        raise_exception: raise if a check fails, instead of returning False.
        nondet_tol: how far two runs of backward may be apart.
        check_undefined_grad: also check that undefined and zero gradients of the outputs give
            undefined or zero gradients of the inputs, and the same of tangents in forward mode.
        check_grad_dtypes: refuse gradients of another dtype than their input.
        check_batched_grad: also compare a batched walk with walks one by one.
        check_batched_forward_grad: the same in forward mode.
        check_forward_ad: check forward mode.
        check_backward_ad: check backward.
        fast_mode: compare products of the Jacobians with random vectors instead of all elements:
            two calls an input and two walks an output, whatever their sizes.
        masked: accept gradients close to zero where zeros are due.

    Returns:
        True if all checks hold.

    Raises:
        GradcheckError: if one does not.
        ValueError: if no input requires grad.
        RuntimeError: if an input has elements that share memory.
        AssertionError: if nothing is to be checked, for options that need one another, and if shape
            or dtype of an output depends on the values of the inputs.
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    if check_batched_grad and not check_backward_ad:
        raise AssertionError(
            "Setting check_batched_grad=True requires check_backward_ad to be True"
        )
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError(
            "Setting check_batched_forward_grad=True requires check_forward_ad to be True"
        )
    func = _callable_often(func)
    inputs = as_tuple(inputs)
    _check_inputs(inputs)
    results = as_tuple(func(*inputs))
    problem = Problem(
        func, inputs, results, eps, atol, rtol, nondet_tol, check_grad_dtypes, bool(masked)
    )
    compare = compare_projections if fast_mode else compare_all_elements
    try:
        if check_backward_ad:
            for part in parts_of_results(problem):
                compare(part, False)
        if check_forward_ad:
            parts = parts_of_inputs(problem)
            for part in parts:
                compare(part, True)
            for part in parts if check_undefined_grad else ():
                check_undefined_tangents(part)
        if check_batched_forward_grad:
            check_batched_forward(problem)
        if check_backward_ad:
            if check_batched_grad:
                check_batched_backward(problem)
            check_zero_gradients(problem)
            if check_undefined_grad:
                check_undefined_gradients(problem)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Check the gradients of the gradients of ``func`` against central differences.

    Args:
        func, inputs: as in ``gradcheck``.
        grad_outputs: the gradients of the outputs at which to check; drawn from the default
            generator if not given.
        gen_non_contig_grad_outputs: make the drawn gradients non-contiguous.
        check_fwd_over_rev: check forward mode over the gradient.
        check_rev_over_rev: check backward over the gradient.

    The other arguments, what is returned and what is raised are those of ``gradcheck``.
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError(
            "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"
        )
    for name, chosen in (
        ("check_undefined_grad", check_undefined_grad),
        ("check_batched_grad", check_batched_grad),
    ):
        if chosen and not check_rev_over_rev:
            raise AssertionError(f"Setting {name}=True requires check_rev_over_rev to be True")
    func = _callable_often(func)
    inputs = as_tuple(inputs)
    if grad_outputs is None:
        outputs = _differentiable(as_tuple(func(*inputs)))
        grad_outputs = _random_gradients(outputs, gen_non_contig_grad_outputs)
    else:
        grad_outputs = as_tuple(grad_outputs)
    count = len(inputs)
    differentiated = [is_differentiable(value) for value in (*inputs, *grad_outputs)]

    def gradients(*arguments: Any) -> tuple[Any, ...]:
        # Forward mode hands over tensors that do not require grad.
        arguments = tuple(
            [
                value.requires_grad_() if wanted else value
                for value, wanted in zip(arguments, differentiated, strict=True)
            ]
        )
        outputs = _differentiable(as_tuple(func(*arguments[:count])))
        variables = [
            v for v, wanted in zip(arguments[:count], differentiated, strict=False) if wanted
        ]
        results = grad(
            outputs, variables, arguments[count:], create_graph=True, allow_unused=True
        )  # fmt: skip
        return tuple([result for result in results if result is not None])

    return gradcheck(
        gradients,
        inputs + grad_outputs,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


# Arguments and outputs


def _callable_often(func: Callable[..., Any]) -> Callable[..., Any]:
    """``func`` itself, or for an instance of a Function of 2017 a call of a copy of it."""
    if not isinstance(func, Function):
        return func
    instance = func
    return lambda *inputs: copy.copy(instance)(*inputs)


def _differentiable(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple([value for value in values if is_differentiable(value)])


def _check_inputs(inputs: tuple[Any, ...]) -> None:
    """Raise for inputs that cannot be checked, and warn of those that will hardly pass."""
    if not _differentiable(inputs):
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them "
            "have requires_grad=True."
        )
    for index, value in enumerate(inputs):
        if not is_differentiable(value):
            continue
        array = value._array
        if array.dtype not in (np.float64, np.complex128):
            warnings.warn(
                f"Input #{index} requires gradient and is not a double precision floating point or "
                "complex. This check will likely fail if all the inputs are not of double "
                "precision floating point or complex. ",
                UserWarning,
                stacklevel=3,
            )
        strides = zip(array.shape, array.strides, strict=True)
        if any([size > 1 and stride == 0 for size, stride in strides]):
            raise RuntimeError(
                f"The {index}th input has a dimension with stride 0. gradcheck only supports "
                "inputs that are non-overlapping to be able to compute the numerical gradients "
                "correctly. "
                "You should call .contiguous on the input before passing it to gradcheck."
            )


def _random_gradients(outputs: tuple[Any, ...], non_contiguous: bool) -> tuple[Any, ...]:
    """Draw a gradient for each output from the default generator, the same as torch's."""
    gradients = []
    for output in outputs:
        shape, dtype = output._array.shape, output._array.dtype
        if non_contiguous and output._array.size > 1:
            shape = (*shape[:-1], 2 * shape[-1])
        values = interface.uniform(shape, dtype, -1, 1)
        if shape != output._array.shape:
            values = values[..., 1::2]
        gradients.append(interface.new_tensor(values, True, None, 0))
    return tuple(gradients)


# What torch once made public

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
        [wrap(numerical_jacobians(problem, x, [0])[0]) for x in _differentiable(targets)]
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
    variables = _differentiable(as_tuple(inputs))
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
