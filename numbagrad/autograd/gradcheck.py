"""Checks of gradients against finite differences, for tests of operators and of custom Functions.

``gradcheck`` compares what backward gives with central differences of the function itself;
``gradgradcheck`` does the same for the gradient. They call the function and ``autograd.grad``.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from itertools import repeat
from typing import Any

import numpy as np

from . import tensor_interface as interface
from .engine import grad
from .function import Function
from .node import Node, edge_of

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


_NOT_REENTRANT = """\
Backward is not reentrant, i.e., running backward with same input and grad_output multiple times \
gives different values, although analytical gradient matches numerical gradient.\
The tolerance for nondeterminism was {}.

NOTE: If your op relies on non-deterministic operations i.e., it is listed here:
https://pytorch.org/docs/stable/generated/torch.use_deterministic_algorithms.html
this failure might be expected.

If you are adding a new operator, please file an issue and then use one of the
workarounds. The workaround depends on how your test invokes gradcheck/gradgradcheck.
If the test
- manually invokes gradcheck/gradgradcheck, then call gradcheck/gradgradcheck
  with `nondet_tol=<tol>` as a keyword argument.
- is OpInfo-based (e.g., in test_ops_gradients.py), then modify the OpInfo for the test
  to have `gradcheck_nondet_tol=<tol>`.
- is a Module test (e.g., in common_nn.py), then modify the corresponding
  module_test entry to have `gradcheck_nondet_tol=<tol>`
"""
_NOTES = (
    'Please look at "Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'
)


class GradcheckError(RuntimeError):
    """Raised by ``gradcheck`` and ``gradgradcheck`` if a check fails."""


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

    Args:
        func: takes the inputs, returns a tensor or a tuple of tensors.
        inputs: a tensor, or a tuple of arguments; those that require grad are checked and should be
            float64.
        eps: the step of the differences.
        atol, rtol: tolerances, as in ``allclose``.
        raise_exception: raise if a check fails, instead of returning False.
        nondet_tol: how far two runs of backward may be apart.
        check_undefined_grad: also check that undefined and zero gradients of the outputs give
            undefined or zero gradients of the inputs.
        check_grad_dtypes: accepted; gradients always have the dtype of their input.
        check_batched_grad, check_batched_forward_grad, check_forward_ad: not supported.
        check_backward_ad: must be True, as there is no forward mode to check instead.
        fast_mode: accepted; every element is checked all the same.
        masked: accepted; it concerns sparse tensors only.

    Returns:
        True if all checks hold.

    Raises:
        GradcheckError: if one does not.
        ValueError: if no input requires grad.
        AssertionError: if nothing is to be checked.
    """
    if check_batched_grad or check_batched_forward_grad or check_forward_ad:
        raise NotImplementedError(
            "gradcheck: batched gradients and forward mode are not supported; leave "
            "check_batched_grad, check_batched_forward_grad and check_forward_ad at False"
        )
    if not check_backward_ad:
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    func = _callable_often(func)
    inputs = _as_tuple(inputs)
    _check_inputs(inputs)
    try:
        _check_gradients(func, inputs, eps, atol, rtol, nondet_tol)
        if check_undefined_grad:
            _check_zero_gradients(func, inputs)
            _check_undefined_gradients(func, inputs)
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
        check_fwd_over_rev: not supported.
        check_rev_over_rev: must be True, as there is no forward mode to check instead.

    The other arguments, what is returned and what is raised are those of ``gradcheck``.
    """
    if check_fwd_over_rev:
        raise NotImplementedError(
            "gradgradcheck: forward mode is not supported; leave check_fwd_over_rev at False"
        )
    if not check_rev_over_rev:
        raise AssertionError(
            "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"
        )
    func = _callable_often(func)
    inputs = _as_tuple(inputs)
    if grad_outputs is None:
        outputs = _differentiable_outputs(func(*inputs))
        grad_outputs = _random_gradients(outputs, gen_non_contig_grad_outputs)
    else:
        grad_outputs = _as_tuple(grad_outputs)
    count = len(inputs)

    def gradients(*arguments: Any) -> tuple[Any, ...]:
        outputs = _differentiable_outputs(func(*arguments[:count]))
        results = grad(
            outputs,
            _differentiable(arguments[:count]),
            arguments[count:],
            create_graph=True,
            allow_unused=True,
        )
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


def _as_tuple(values: Any) -> tuple[Any, ...]:
    return tuple(values) if isinstance(values, (tuple, list)) else (values,)


def _differentiable(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the tensors that require grad."""
    return tuple([v for v in values if isinstance(v, interface.Tensor) and v._requires_grad])


def _differentiable_outputs(output: Any) -> tuple[Any, ...]:
    return _differentiable(_as_tuple(output))


def _check_inputs(inputs: tuple[Any, ...]) -> None:
    """Raise for inputs that cannot be checked, and warn of those that will hardly pass."""
    if not _differentiable(inputs):
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them "
            "have requires_grad=True."
        )
    for index, value in enumerate(inputs):
        if not isinstance(value, interface.Tensor) or not value._requires_grad:
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


# Jacobians: one row for each element of the input, one column for each element of the output


def _numerical_jacobians(
    func: Callable[..., Any], inputs: tuple[Any, ...], tensor: Any, eps: float, any_output: bool
) -> list[np.ndarray]:
    """Return a Jacobian for each output with respect to one input, by central differences."""

    def evaluate() -> list[np.ndarray]:
        output = func(*inputs)
        if any_output:
            outputs = [o for o in _as_tuple(output) if isinstance(o, interface.Tensor)]
        else:
            outputs = list(_differentiable_outputs(output))
        return [np.array(o._array, copy=True).reshape(-1) for o in outputs]

    array = tensor._array
    rows: list[list[np.ndarray]] = []
    for index in np.ndindex(*array.shape):
        original = array[index]
        try:
            array[index] = original + eps
            above = evaluate()
            array[index] = original - eps
            below = evaluate()
        finally:
            array[index] = original
        rows.append([(a - b) / (2 * eps) for a, b in zip(above, below, strict=True)])
    if not rows:
        return [np.zeros((0, output.size), array.dtype) for output in evaluate()]
    return [np.stack(columns).astype(array.dtype) for columns in zip(*rows, strict=True)]


def _analytical_jacobians(output: Any, wanted: tuple[Any, ...]) -> list[np.ndarray]:
    """Return a Jacobian of one output with respect to each input, by backward."""
    array = output._array
    jacobians = [np.zeros((t._array.size, array.size), t._array.dtype) for t in wanted]
    for column, index in enumerate(np.ndindex(*array.shape)):
        direction = np.zeros(array.shape, array.dtype)
        direction[index] = 1
        results = grad(
            (output,),
            wanted,
            (interface.new_tensor(direction, False, None, 0),),
            retain_graph=True,
            allow_unused=True,
        )
        for jacobian, result in zip(jacobians, results, strict=True):
            if result is not None:
                jacobian[:, column] = result._array.reshape(-1)
    return jacobians


def _check_gradients(
    func: Callable[..., Any],
    inputs: tuple[Any, ...],
    eps: float,
    atol: float,
    rtol: float,
    nondet_tol: float,
) -> None:
    """Compare the two Jacobians of every output with respect to every input."""
    wanted = _differentiable(inputs)
    outputs = _differentiable_outputs(func(*inputs))
    numerical = [_numerical_jacobians(func, inputs, t, eps, not outputs) for t in wanted]
    if not outputs:
        for jacobians in numerical:
            if any([not np.allclose(jacobian, 0, rtol=0, atol=1e-8) for jacobian in jacobians]):
                raise GradcheckError("Numerical gradient for function expected to be zero")
        return
    for i, output in enumerate(outputs):
        analytical = _analytical_jacobians(output, wanted)
        again = _analytical_jacobians(output, wanted)
        if not all(map(_close, analytical, again, repeat(0.0), repeat(nondet_tol))):
            raise GradcheckError(_NOT_REENTRANT.format(nondet_tol))
        for j, jacobian in enumerate(analytical):
            if not _close(jacobian, numerical[j][i], rtol, atol):
                raise GradcheckError(_mismatch(i, j, numerical[j][i], jacobian))


def _close(actual: np.ndarray, expected: np.ndarray, rtol: float, atol: float) -> bool:
    return bool(np.allclose(actual, expected, rtol=rtol, atol=atol))


def _mismatch(i: int, j: int, numerical: np.ndarray, analytical: np.ndarray) -> str:
    def text(array: np.ndarray) -> str:
        return str(interface.new_tensor(array, False, None, 0))

    return (
        f"Jacobian mismatch for output {i} with respect to input {j},\n"
        f"numerical:{text(numerical)}\nanalytical:{text(analytical)}\n"
    )


# Zero and undefined gradients


def _check_zero_gradients(func: Callable[..., Any], inputs: tuple[Any, ...]) -> None:
    """The gradient of an input is linear in those of the outputs: zeros must give zeros."""
    outputs = _differentiable_outputs(func(*inputs))
    if not outputs:
        return
    zeros = [interface.zeros(o._array.shape, o._array.dtype) for o in outputs]
    for result in grad(outputs, _differentiable(inputs), zeros, allow_unused=True):
        if result is not None and np.any(result._array != 0):
            raise GradcheckError("backward not multiplied by grad_output")


class _UndefinedGrad(Node):
    """An identity whose gradient is undefined."""

    __slots__ = ()

    def backward(self, *grads: Any) -> tuple[Any, ...]:
        return (None,)


def _check_undefined_gradients(func: Callable[..., Any], inputs: tuple[Any, ...]) -> None:
    """Undefined gradients, of all outputs and of each alone, must count as zeros."""
    wanted = _differentiable(inputs)
    count = len(_differentiable_outputs(func(*inputs)))
    choices = [set(range(count))]
    if count > 1:
        choices.extend([{index} for index in range(count)])
    for undefined in choices if count else ():
        roots, zeros = [], []
        for index, output in enumerate(_differentiable_outputs(func(*inputs))):
            array = output._array
            zeros.append(interface.zeros(array.shape, array.dtype))
            if index in undefined:
                output = interface.new_tensor(array, True, _UndefinedGrad((edge_of(output),)), 0)
            roots.append(output)
        try:
            results = grad(roots, wanted, zeros, allow_unused=True)
        except RuntimeError as error:
            raise GradcheckError(
                f"Expected backward function to handle undefined output grads. {_NOTES}"
            ) from error
        if any([result is not None and np.any(result._array != 0) for result in results]):
            raise GradcheckError(
                "Expected all input grads to be undefined or zero when all output grads are "
                f"undefined or zero. {_NOTES}"
            )
