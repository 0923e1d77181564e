"""Properties of gradients beside their values: linearity, undefined gradients, batches.

``gradcheck`` calls these after the comparison with central differences.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import tensor_interface as interface
from ..engine.interface import grad
from ..node import Node, edge_of
from .problem import GradcheckError, Problem, is_differentiable, show, wrap

__all__ = [
    "check_batched_backward",
    "check_batched_forward",
    "check_undefined_gradients",
    "check_undefined_tangents",
    "check_zero_gradients",
]

_NOTES = (
    'Please look at "Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'
)


def check_zero_gradients(problem: Problem) -> None:
    """The gradient of an input is linear in those of the outputs: zeros must give zeros."""
    outputs = problem.outputs
    if not outputs:
        return
    variables = problem.variables
    results = grad(outputs, variables, _zeros(outputs), allow_unused=True)
    for result, x in zip(results, variables, strict=True):
        if result is None:
            continue
        array = result._array
        if not (np.allclose(array, 0) if problem.masked else np.all(array == 0)):
            raise GradcheckError("backward not multiplied by grad_output")
        if array.dtype != x._array.dtype:
            raise GradcheckError("grad is incorrect type")
        if array.shape != x._array.shape:
            raise GradcheckError("grad is incorrect size")


def _zeros(tensors: Sequence[Any]) -> list[Any]:
    return [interface.zeros(t._array.shape, t._array.dtype) for t in tensors]


# Undefined gradients and tangents


class UndefinedGrad(Node):
    """An identity whose gradient is undefined."""

    __slots__ = ()

    def backward(self, *grads: Any) -> tuple[Any, ...]:
        return (None,)


def check_undefined_gradients(problem: Problem) -> None:
    """Undefined gradients, of all outputs and of each alone, must count as zeros."""
    count = len(problem.outputs)
    choices = [set(range(count))]
    if count > 1:
        choices.extend([{index} for index in range(count)])
    for undefined in choices if count else ():
        outputs = [o for o in problem.call(problem.inputs) if is_differentiable(o)]
        roots = [without_gradient(o) if i in undefined else o for i, o in enumerate(outputs)]
        try:
            results = grad(roots, problem.variables, _zeros(roots), allow_unused=True)
        except RuntimeError as error:
            _warn_of_the_check()
            raise GradcheckError(
                f"Expected backward function to handle undefined output grads. {_NOTES}"
            ) from error
        if any(
            [result is not None and np.any(interface.array_of(result) != 0) for result in results]
        ):
            _warn_of_the_check()
            raise GradcheckError(
                "Expected all input grads to be undefined or zero when all output grads are "
                f"undefined or zero. {_NOTES}"
            )


def without_gradient(output: Any) -> Any:
    """The tensor, with a history that hands on no gradient."""
    return interface.new_tensor(output._array, True, UndefinedGrad((edge_of(output),)), 0)


def _warn_of_the_check() -> None:
    warnings.warn(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by "
        "default, but it may break existing callers of this function. If this is true for you, you "
        'can call this function with "check_undefined_grad=False" to disable the feature',
        UserWarning,
        stacklevel=2,
    )


def check_undefined_tangents(problem: Problem) -> None:
    """An input without a tangent must give the same as one whose tangent is zero."""
    for index in problem.wanted:
        with_zeros = _tangents(problem, index, True)
        without = _tangents(problem, index, False)
        for position, (expected, found) in enumerate(zip(with_zeros, without, strict=True)):
            if expected is None or found is None or np.allclose(expected, found):
                continue
            raise GradcheckError(
                f"Mismatch in tangent values for output with index: {position} when input: "
                f"{problem.inputs[index]} has an undefined tangent value.  Got: {show(found)} but "
                f"expected: {show(expected)}"
            )


def _tangents(problem: Problem, index: int, zeros: bool) -> list[Any]:
    """The tangents of the results: of ones for every input but one, which has zeros or none."""
    from .. import forward_ad

    with forward_ad.dual_level():
        inputs = list(problem.inputs)
        for i in problem.wanted:
            value, array = inputs[i].detach(), inputs[i]._array
            if i != index:
                inputs[i] = forward_ad.make_dual(value, wrap(_direction(array)))
            elif zeros:
                inputs[i] = forward_ad.make_dual(value, wrap(np.zeros_like(array)))
            else:
                inputs[i] = value
        return [_tangent(result) for result in problem.call(inputs)]


def _direction(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Some vector of length 1."""
    return np.full(array.shape, 1 / np.sqrt(max(array.size, 1)), array.dtype)


def _tangent(result: Any) -> Any:
    """The tangent of one result as an ndarray, None if it has none."""
    from .. import forward_ad

    if not isinstance(result, interface.Tensor):
        return None
    tangent = forward_ad.unpack_dual(result).tangent
    return None if tangent is None else np.array(interface.array_of(tangent))


# Batches

_BATCHED_BACKWARD = """\
gradcheck or gradgradcheck failed while testing batched gradient computation.
This could have been invoked in a number of ways (via a test that calls
gradcheck/gradgradcheck directly or via an autogenerated test).

If you are adding a new operator, please file an issue and then use one of the
workarounds. The workaround depends on how your test invokes gradcheck/gradgradcheck.
If the test
- manually invokes gradcheck/gradgradcheck, then call gradcheck/gradgradcheck
  with `check_batched_grad=False` as a keyword argument.
- is OpInfo-based (e.g., in test_ops_gradients.py), then modify the OpInfo for the test
  to have `check_batched_grad=False` and/or `check_batched_gradgrad=False`.

If you're modifying an existing operator that supports batched grad computation,
or wish to make a new operator work with batched grad computation, please read
the following.

To compute batched grads (e.g., jacobians, hessians), we vmap over the backward
computation. The most common failure case is if there is a 'vmap-incompatible
operation' in the backward pass. Please see
NOTE: [How to write vmap-compatible backward formulas]
in the codebase for an explanation of how to fix this."""
_BATCHED_FORWARD = """
gradcheck failed while testing batched gradient computation with forward-mode AD.
This test is enabled automatically when both `check_batched_grad=True`
and `check_forward_ad=True`, but can be disabled in the following ways
dependong on how the test was invoked (via a test that calls gradcheck
directly or via an autogenerated test).

If you are adding a new operator, please file an issue and then use one of the
workarounds. The workaround depends on how your test invokes gradcheck/gradgradcheck.
If the test
- manually invokes gradcheck/gradgradcheck, then call gradcheck/gradgradcheck
  with `check_batched_forward_grad=False` as a keyword argument.
- is OpInfo-based (e.g., in test_ops_gradients.py), then modify the OpInfo for the test
  to have `check_batched_forward_grad=False`
"""


def check_batched_backward(problem: Problem) -> None:
    """A batched walk must give what a walk for each gradient gives."""
    variables = problem.variables
    for number, output in enumerate(problem.outputs):

        def walk(gradient: Any, output: Any = output) -> tuple[Any, ...]:
            results = grad(output, variables, gradient, retain_graph=True, allow_unused=True)
            return _filled(results, variables)

        _compare_batched(walk, output._array, _BATCHED_BACKWARD, number)


def check_batched_forward(problem: Problem) -> None:
    """A call on batched tangents must give what a call for each tangent gives."""
    from .. import forward_ad

    for index in problem.wanted:

        def push(tangent: Any, index: int = index) -> tuple[Any, ...]:
            with forward_ad.dual_level():
                inputs = [x.detach() if is_differentiable(x) else x for x in problem.inputs]
                inputs[index] = forward_ad.make_dual(inputs[index], tangent)
                pairs = [
                    forward_ad.unpack_dual(result)
                    for result in problem.call(inputs)
                    if result is not None
                ]
                return _filled([tangent for _, tangent in pairs], [primal for primal, _ in pairs])

        _compare_batched(push, problem.inputs[index]._array, _BATCHED_FORWARD, None)


def _filled(results: Sequence[Any], like: Sequence[Any]) -> tuple[Any, ...]:
    """Put zeros where there is no derivative."""
    return tuple(
        [
            interface.zeros(tuple(x.shape), x._array.dtype) if result is None else result
            for result, x in zip(results, like, strict=True)
        ]
    )


def _compare_batched(
    function: Callable[[Any], tuple[Any, ...]],
    like: np.ndarray[Any, Any],
    advice: str,
    output: int | None,
) -> None:
    """Compare a function of one tensor with its ``vmap`` over two of them."""
    pair = [interface.uniform(like.shape, like.dtype, -1, 1) for _ in range(2)]
    single = [function(wrap(values)) for values in pair]
    with _as_gradcheck_error(advice):
        batched = _vmap(function)(wrap(np.stack(pair)))
    for position, (both, found) in enumerate(zip(zip(*single, strict=True), batched, strict=True)):
        expected = np.stack([interface.array_of(result) for result in both])
        made = interface.array_of(found)
        if np.allclose(made, expected):
            continue
        where = position if output is None else output
        raise GradcheckError(
            f"For output {where} and input {position}:\n\n{advice}\n\nGot:\n{show(made)}\n\n"
            f"Expected:\n{show(expected)}"
        )


def _vmap(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    from ...func import vmap

    return vmap(function)


@contextlib.contextmanager
def _as_gradcheck_error(advice: str) -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        # torch checks with an older vmap, which has no flag for randomness to advise.
        text = _NO_RANDOM if "randomness error mode" in str(error) else str(error)
        raise GradcheckError(
            f"While computing batched gradients, got: {text}\n\n{advice}"
        ) from error  # fmt: skip


_NO_RANDOM = (
    "vmap: We do not yet support calling random operations inside of vmap. Please perform random "
    "operations outside of vmap as a workaround"
)
