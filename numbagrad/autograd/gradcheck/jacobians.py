"""Jacobians, and their products with vectors, in three ways: by differences, backward and forward.

A Jacobian here has one row for each element of the input and one column for each element of the
output. ``comparison.py`` calls these and compares; they call the function of the user,
``autograd.grad`` and forward mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import tensor_interface as interface
from ..engine.interface import grad
from .problem import GradcheckError, Problem, wrap

__all__ = [
    "backward_jacobians",
    "backward_products",
    "forward_jacobians",
    "forward_products",
    "numerical_jacobians",
    "numerical_products",
]

Array = np.ndarray[Any, Any]

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


# Central differences


def numerical_jacobians(problem: Problem, variable: Any, chosen: Sequence[int]) -> list[Array]:
    """A Jacobian with respect to one input for each of the chosen results.

    Raises:
        AssertionError: if shape or dtype of a result depends on the values of the input.
    """
    rows = [
        [
            column.reshape(-1)
            for column in _derivatives(
                problem, variable, position, problem.eps, problem.eps, chosen
            )
        ]
        for position in np.ndindex(*variable._array.shape)
    ]
    if rows:
        return [np.stack(columns) for columns in zip(*rows, strict=True)]
    arrays = [problem.results[i]._array for i in chosen]
    own = variable._array.dtype
    return [np.zeros((0, array.size), np.result_type(array, own)) for array in arrays]


def numerical_products(
    problem: Problem, variable: Any, direction: tuple[Array, Array], chosen: Sequence[int]
) -> list[Array]:
    """The derivative of each chosen result along a direction of one input, flat.

    The second direction is that of the imaginary part.
    """
    shape = variable._array.shape
    step, turned = [problem.eps * along.reshape(shape) for along in direction]
    return [d.reshape(-1) for d in _derivatives(problem, variable, ..., step, turned, chosen)]


def _derivatives(
    problem: Problem, variable: Any, position: Any, step: Any, turned: Any, chosen: Sequence[int]
) -> list[Array]:
    """Differences along a step; of a complex input plus ``1j`` times those along ``1j * turned``.

    With real results that is torch's gradient: twice the derivative by the conjugate.
    """
    along = _differences(problem, variable, position, step, chosen)
    if variable._array.dtype.kind != "c":
        return along
    across = _differences(problem, variable, position, 1j * turned, chosen)
    return [a + 1j * b for a, b in zip(along, across, strict=True)]


def _differences(
    problem: Problem, variable: Any, position: Any, step: Any, chosen: Sequence[int]
) -> list[Array]:
    """Change an input by a step to either side, and divide what that changes by the two steps."""
    array = variable._array
    original = np.array(array[position])
    try:
        array[position] = original - step
        below = _evaluate(problem)
        array[position] = original + step
        above = _evaluate(problem)
    finally:
        array[position] = original
    where = "" if position is ... else f"on index {position} "
    results = []
    for i in chosen:
        _check_alike(below[i], above[i], where, problem.eps)
        results.append((above[i] - below[i]) / (2 * problem.eps))
    return results


def _evaluate(problem: Problem) -> list[Any]:
    """The results as ndarrays, which later writes to the inputs leave alone."""
    results = problem.call(problem.inputs)
    return [
        np.array(interface.array_of(value)) if isinstance(value, interface.Tensor) else None
        for value in results
    ]  # fmt: skip


def _check_alike(below: Array, above: Array, where: str, eps: float) -> None:
    """A result must keep its shape and its dtype while an input changes a little."""
    expected = "Expected `func` to return outputs with the same {} when inputs are perturbed "
    if below.shape != above.shape:
        shapes = f"torch.Size({list(below.shape)}) and torch.Size({list(above.shape)})"
        raise AssertionError(
            f"{expected.format('shape')}{where}by {eps}, but got: shapes {shapes}."
        )  # fmt: skip
    if below.dtype != above.dtype:
        dtypes = f"torch.{below.dtype} and torch.{above.dtype}"
        raise AssertionError(
            f"{expected.format('dtype')}{where}by {eps}, but got: dtypes {dtypes}."
        )  # fmt: skip


# Backward


def backward_jacobians(problem: Problem, output: Any) -> list[Array]:
    """A Jacobian of one output with respect to each input.

    Raises:
        GradcheckError: if a gradient has another shape (or, if that is to be checked, dtype) than
            its input, or if a second walk gives other values.
    """
    shape, dtype = output._array.shape, output._array.dtype
    directions = []
    for position in np.ndindex(*shape):
        direction = np.zeros(shape, dtype)
        direction[position] = 1
        directions.append(direction)
    return _checked_walks(problem, output, directions)


def backward_products(problem: Problem, output: Any, direction: Array) -> list[Array]:
    """The product of a vector and the Jacobian of one output, flat, for each input."""
    direction = direction.reshape(output._array.shape)
    return [matrix[:, 0] for matrix in _checked_walks(problem, output, [direction])]


def _checked_walks(problem: Problem, output: Any, directions: list[Array]) -> list[Array]:
    """Walk back from each direction, twice, and check what comes out."""
    matrices, same_sizes, same_dtypes = walk_back(problem.variables, output, directions)
    again, _, _ = walk_back(problem.variables, output, directions)
    if problem.check_grad_dtypes and not same_dtypes:
        raise GradcheckError("Gradient has dtype mismatch")
    if not same_sizes:
        raise GradcheckError("Analytical gradient has incorrect size")
    if not within(matrices, again, problem.nondet_tol):
        raise GradcheckError(_NOT_REENTRANT.format(problem.nondet_tol))
    return matrices


def walk_back(
    variables: Sequence[Any], output: Any, directions: Sequence[Array]
) -> tuple[list[Array], bool, bool]:
    """A column for each direction, in a matrix for each input; and whether sizes and dtypes fit."""
    matrices = [np.zeros((x._array.size, len(directions)), x._array.dtype) for x in variables]
    same_sizes = same_dtypes = True
    for column, direction in enumerate(directions):
        gradients = grad(
            (output,), tuple(variables), (wrap(direction),), retain_graph=True, allow_unused=True
        )
        for matrix, x, gradient in zip(matrices, variables, gradients, strict=True):
            if gradient is None:
                continue
            if gradient._array.shape != x._array.shape:
                same_sizes = False
                continue
            same_dtypes = same_dtypes and gradient._array.dtype == x._array.dtype
            matrix[:, column] = interface.array_of(gradient).reshape(-1)
    return matrices, same_sizes, same_dtypes


def within(these: Sequence[Array], those: Sequence[Array], tolerance: float) -> bool:
    """Return True if no element of these is further than ``tolerance`` from that of those."""
    pairs = zip(these, those, strict=True)
    return not any([a.size and bool(np.abs(a - b).max() > tolerance) for a, b in pairs])


# Forward


def forward_jacobians(problem: Problem, chosen: Sequence[int]) -> list[list[Array]]:
    """By input, then by chosen result: the Jacobian, by a call for each element of the input."""
    found = []
    for index in problem.wanted:
        array = problem.inputs[index]._array
        rows = []
        for position in np.ndindex(*array.shape):
            direction = np.zeros(array.shape, array.dtype)
            direction[position] = 1
            rows.append(_push_forward(problem, index, direction, chosen))
        if rows:
            found.append([np.stack(columns) for columns in zip(*rows, strict=True)])
        else:
            results = [problem.results[i]._array for i in chosen]
            found.append([np.zeros((0, result.size), result.dtype) for result in results])
    return found


def forward_products(
    problem: Problem, directions: Sequence[Array], chosen: Sequence[int]
) -> list[list[Array]]:
    """By input, then by chosen result: the derivative along a direction of that input, flat."""
    return [
        _push_forward(problem, index, direction.reshape(problem.inputs[index]._array.shape), chosen)
        for index, direction in zip(problem.wanted, directions, strict=True)
    ]


def _push_forward(
    problem: Problem, index: int, direction: Array, chosen: Sequence[int]
) -> list[Array]:
    """Call the function once on dual tensors: a tangent for one input, zeros for the others."""
    from .. import forward_ad

    with forward_ad.dual_level():
        inputs = list(problem.inputs)
        for i in problem.wanted:
            array = inputs[i]._array
            chosen_direction = direction if i == index else np.zeros(array.shape, array.dtype)
            inputs[i] = forward_ad.make_dual(inputs[i].detach(), wrap(chosen_direction))
        results = problem.call(inputs)
        found = []
        for i in chosen:
            primal, tangent = forward_ad.unpack_dual(results[i])
            if tangent is None:
                found.append(np.zeros(primal._array.size, primal._array.dtype))
            else:
                found.append(np.array(interface.array_of(tangent)).reshape(-1))
    return found
