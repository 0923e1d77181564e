"""Checks of gradients against finite differences, for tests of operators and of custom Functions.

``gradcheck`` compares what backward or forward mode gives with central differences of the function
itself; ``gradgradcheck`` does the same for the gradient. This file takes the options and checks
arguments; the checks themselves are in ``comparison.py`` and ``properties.py``.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ...backend import foreign
from .. import tensor_interface as interface
from ..engine.interface import grad
from ..function import Function
from .comparison import compare_all_elements, compare_projections
from .parts import (
    get_analytical_jacobian,
    get_numerical_jacobian,
    get_numerical_jacobian_wrt_specific_input,
)
from .problem import (
    GradcheckError,
    Problem,
    as_tuple,
    differentiable,
    is_differentiable,
    parts_of_inputs,
    parts_of_results,
)
from .properties import (
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
    _require_either(check_forward_ad=check_forward_ad, check_backward_ad=check_backward_ad)
    if check_batched_grad:
        _require_with("check_batched_grad", check_backward_ad=check_backward_ad)
    if check_batched_forward_grad:
        _require_with("check_batched_forward_grad", check_forward_ad=check_forward_ad)
    func, inputs = _on_host(_callable_often(func), as_tuple(inputs))
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
    _require_either(check_fwd_over_rev=check_fwd_over_rev, check_rev_over_rev=check_rev_over_rev)
    if check_undefined_grad:
        _require_with("check_undefined_grad", check_rev_over_rev=check_rev_over_rev)
    if check_batched_grad:
        _require_with("check_batched_grad", check_rev_over_rev=check_rev_over_rev)
    func, inputs = _on_host(_callable_often(func), as_tuple(inputs))
    if grad_outputs is None:
        outputs = differentiable(as_tuple(func(*inputs)))
        grad_outputs = _random_gradients(outputs, gen_non_contig_grad_outputs)
    else:
        grad_outputs = tuple([_copy_on_host(x) for x in as_tuple(grad_outputs)])
    return gradcheck(
        _gradient_of(func, inputs, grad_outputs),
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


def _gradient_of(
    func: Callable[..., Any], inputs: tuple[Any, ...], grad_outputs: tuple[Any, ...]
) -> Callable[..., tuple[Any, ...]]:
    """The gradient of ``func`` as a function of its inputs and of the gradients of its outputs."""
    count = len(inputs)
    differentiated = [is_differentiable(value) for value in (*inputs, *grad_outputs)]

    def gradient(*arguments: Any) -> tuple[Any, ...]:
        # Forward mode hands over tensors that do not require grad.
        arguments = tuple(
            [
                value.requires_grad_() if wanted else value
                for value, wanted in zip(arguments, differentiated, strict=True)
            ]
        )
        outputs = differentiable(as_tuple(func(*arguments[:count])))
        variables = [
            v for v, wanted in zip(arguments[:count], differentiated, strict=False) if wanted
        ]
        results = grad(
            outputs, variables, arguments[count:], create_graph=True, allow_unused=True
        )  # fmt: skip
        return tuple([result for result in results if result is not None])

    return gradient


# Arguments and outputs


def _require_either(**options: bool) -> None:
    """Raise unless one of these options is set."""
    if not any(options.values()):
        raise AssertionError(f"Expected at least one of {' or '.join(options)} to be True")


def _require_with(name: str, **needed: bool) -> None:
    """Raise unless what the option ``name`` needs is set as well."""
    for other, chosen in needed.items():
        if not chosen:
            raise AssertionError(f"Setting {name}=True requires {other} to be True")


def _callable_often(func: Callable[..., Any]) -> Callable[..., Any]:
    """``func`` itself, or for an instance of a Function of 2017 a call of a copy of it."""
    if not isinstance(func, Function):
        return func
    instance = func
    return lambda *inputs: copy.copy(instance)(*inputs)


def _on_host(
    func: Callable[..., Any], inputs: tuple[Any, ...]
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A function of copies on the CPU, whose elements the checks move, where inputs lie elsewhere.

    It computes where the inputs lie; what brings tensors there and back has a gradient itself.
    """
    positions = [x.device if _is_elsewhere(x) else None for x in inputs]
    if not any([position is not None for position in positions]):
        return func, inputs

    def function(*given: Any) -> tuple[Any, ...]:
        moved = [
            x if position is None else x.to(position)
            for x, position in zip(given, positions, strict=True)
        ]
        results = as_tuple(func(*moved))
        return tuple([x.cpu() if isinstance(x, interface.Tensor) else x for x in results])

    return function, tuple([_copy_on_host(x) for x in inputs])


def _is_elsewhere(value: Any) -> bool:
    return isinstance(value, interface.Tensor) and foreign(value._array) is not None


def _copy_on_host(value: Any) -> Any:
    """A leaf on the CPU in the place of a tensor of another device; anything else as it is."""
    if not _is_elsewhere(value):
        return value
    return value.detach().cpu().requires_grad_(value._requires_grad)


def _check_inputs(inputs: tuple[Any, ...]) -> None:
    """Raise for inputs that cannot be checked, and warn of those that will hardly pass."""
    if not differentiable(inputs):
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
