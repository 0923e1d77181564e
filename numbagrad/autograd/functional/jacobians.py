"""Whole derivatives of functions of tensors: ``jacobian`` and ``hessian``.

Rows come from walks, one by one or batched, columns from forward mode; ``functional.py`` has the
names in public. What is batched goes through ``vmap``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...func.vmap import vmap
from ...ops.creation.filled import zeros_like
from ...ops.views.join import stack
from ...tensor import Tensor
from .. import forward_ad
from ..grad_mode import enable_grad
from .arguments import (
    INDEPENDENT_JACOBIAN,
    JACOBIAN_WITHOUT_GRAD,
    NOT_STRICT,
    OUTPUTS,
    Function,
    Tensors,
    as_tensors,
    call,
    call_for_one_element,
    differentiate,
    given_back,
    require_grad,
    variables_of,
)

__all__ = ["hessian", "jacobian"]

_STRATEGIES = ("forward-mode", "reverse-mode")


def jacobian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of ``func``.

    Args:
        func: takes tensors, returns a tensor or a tuple of tensors.
        inputs: a tensor or a tuple of tensors.
        create_graph: make the result differentiable; only in reverse mode.
        strict: raise if an output does not depend on an input; only without ``vectorize``.
        vectorize: compute all rows in one batched walk, instead of a walk for each.
        strategy: "reverse-mode", or "forward-mode" for all columns in one batched call of ``func``,
            which needs ``vectorize``.

    Returns:
        A tensor of shape ``output.shape + input.shape``; a tuple of them if ``func`` returns a
        tuple or ``inputs`` is one; a tuple (outputs) of tuples (inputs) if both are.

    Raises:
        AssertionError: if there is no such strategy.
        NotImplementedError, RuntimeError: for options that exclude each other.
        RuntimeError: for what ``strict`` refuses.
    """
    if strategy not in _STRATEGIES:
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your '
            'function has more outputs than inputs, "forward-mode" tends to be more performant. '
            'Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        _check_forward_mode(create_graph, strict, vectorize)
        return _forward_jacobian(func, inputs)
    with enable_grad():
        several_inputs, inputs = variables_of(inputs, "jacobian", create_graph)
        several_outputs, outputs = call(func, inputs, "jacobian", strict)
        _check_reverse_mode(outputs, strict, vectorize)
        if vectorize:
            rows = _batched_rows(outputs, inputs, create_graph)
        else:
            rows = [
                _looped_rows(number, output, inputs, create_graph, strict)
                for number, output in enumerate(outputs)
            ]
        results = [given_back(row, several_inputs, create_graph) for row in rows]
    return tuple(results) if several_outputs else results[0]


def hessian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of ``func``: the Jacobian of its gradient.

    Args:
        func: takes tensors, returns a tensor of one element.
        inputs: a tensor or a tuple of tensors.
        create_graph, strict, vectorize: as in ``jacobian``.
        outer_jacobian_strategy: the strategy of the outer derivative; "forward-mode" needs
            ``vectorize``.

    Returns:
        A tensor of shape ``input.shape + input.shape``, or a tuple of tuples of tensors of shape
        ``inputs[i].shape + inputs[j].shape`` if ``inputs`` is a tuple.

    Raises:
        RuntimeError: if ``func`` returns anything but one element, and as in ``jacobian``.
    """
    several, inputs = as_tensors(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in _STRATEGIES:
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode".'
        )  # fmt: skip
    forward = outer_jacobian_strategy == "forward-mode"

    def scalar(*arguments: Tensor) -> Tensor:
        return call_for_one_element(func, arguments, "hessian", strict).squeeze()

    def gradient(*arguments: Tensor) -> Tensors:
        if forward:
            # Forward mode hands over tensors that are constants to the backward walk inside.
            arguments = tuple([argument.requires_grad_(True) for argument in arguments])
        gradients = jacobian(scalar, arguments, create_graph=True)
        if strict:
            require_grad(gradients, JACOBIAN_WITHOUT_GRAD)
        return gradients

    results = jacobian(
        gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy
    )  # fmt: skip
    return results if several else results[0][0]


def _looped_rows(
    number: int, output: Tensor, inputs: Tensors, create_graph: bool, strict: bool
) -> Tensors:
    """The Jacobians of one output, by a walk for each of its elements."""
    rows: list[list[Tensor]] = [[] for _ in inputs]
    for direction in standard_basis_for((output,), (output.numel(),))[0]:
        seed = direction.reshape(output.shape)
        results = differentiate((output,), inputs, (seed,), create_graph, retain_graph=True)
        for index, result in enumerate(results):
            if result is None:
                if strict:
                    raise RuntimeError(
                        f"Output {number} of the user-provided function is independent of input "
                        f"{index}. {NOT_STRICT}."
                    )
                result = zeros_like(inputs[index])
            elif strict and create_graph and not result.requires_grad:
                raise RuntimeError(INDEPENDENT_JACOBIAN.format(number))
            rows[index].append(result)
    return tuple(
        [
            _stacked(row, output, x).reshape((*output.shape, *x.shape))
            for row, x in zip(rows, inputs, strict=True)
        ]
    )


def _stacked(rows: list[Tensor], output: Tensor, x: Tensor) -> Tensor:
    """Rows of a Jacobian as one tensor; an output may have no elements, and then no rows."""
    return stack(rows) if rows else x.new_zeros((output.numel(), *x.shape))


def _batched_rows(outputs: Tensors, inputs: Tensors, create_graph: bool) -> list[Tensors]:
    """The Jacobians of all outputs, by one batched walk."""
    sizes = [output.numel() for output in outputs]
    directions = standard_basis_for(outputs, tuple(sizes))
    flat = tuple([output.reshape(-1) for output in outputs])

    def walk(*seeds: Tensor) -> Tensors:
        found = differentiate(flat, inputs, seeds, create_graph, retain_graph=True)
        return tuple(
            [zeros_like(x) if y is None else y for x, y in zip(inputs, found, strict=True)]
        )

    if sum(sizes):
        results = vmap(walk)(*directions)
    else:
        results = tuple([x.new_zeros((0, *x.shape)) for x in inputs])
    by_input = []
    for result, x in zip(results, inputs, strict=True):
        parts = result.split(sizes, dim=0)
        by_input.append(
            [part.reshape((*y.shape, *x.shape)) for part, y in zip(parts, outputs, strict=True)]
        )
    return [tuple(row) for row in zip(*by_input, strict=True)]


def _check_reverse_mode(outputs: Tensors, strict: bool, vectorize: bool) -> None:
    """Raise for outputs and options that walks do not have."""
    for output in outputs:
        if output._array.dtype.kind == "c" and output.requires_grad:
            raise RuntimeError(
                "grad can be implicitly created only for real scalar outputs but got "
                f"torch.{output._array.dtype}"
            )
    if vectorize and strict:
        raise RuntimeError(
            "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not "
            "supported together. Please either set `strict=False` or `vectorize=False`."
        )


def _check_forward_mode(create_graph: bool, strict: bool, vectorize: bool) -> None:
    """Raise for options that forward mode does not have."""
    if create_graph:
        raise NotImplementedError(
            'torch.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"` '
            "are not supported together (yet). Please either set `create_graph=False` or "
            '`strategy="reverse-mode"`.'
        )
    if strict:
        raise RuntimeError(
            'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are '
            "not supported together (yet). Please either set `strict=False` or "
            '`strategy="reverse-mode"`.'
        )
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian is"
            "only implemented for `vectorize=True`."
        )


def _forward_jacobian(func: Function, inputs: Any) -> Any:
    """The Jacobian, by one call of ``func`` on dual tensors whose tangents are batched."""
    several_inputs, inputs = as_tensors(inputs, "inputs", "jacobian")
    sizes = [x.numel() for x in inputs]
    several_outputs = False
    shapes: list[Any] = []

    def directional(tangents: Tensors) -> Tensors:
        nonlocal several_outputs
        with forward_ad.dual_level():
            duals = [
                forward_ad.make_dual(x, tangent.view_as(x))
                for x, tangent in zip(inputs, tangents, strict=True)
            ]
            several_outputs, outputs = as_tensors(func(*duals), OUTPUTS, "jacobian")
            results = []
            for output in outputs:
                primal, tangent = forward_ad.unpack_dual(output)
                results.append(zeros_like(primal) if tangent is None else tangent)
                shapes.append(primal.shape)
        return tuple(results)

    columns = vmap(directional)(standard_basis_for(inputs, tuple(sizes)))
    results = []
    for column, shape in zip(columns, shapes, strict=True):
        parts = column.movedim(0, -1).split(sizes, dim=-1)
        row = [part.reshape((*shape, *x.shape)) for part, x in zip(parts, inputs, strict=True)]
        results.append(tuple(row) if several_inputs else row[0])
    return tuple(results) if several_outputs else results[0]


def standard_basis_for(tensors: Tensors, numels: Sequence[int]) -> Tensors:
    """The rows of a unit matrix, its columns shared out to tensors of so many elements.

    Returns:
        For each tensor a matrix of its dtype, with ``sum(numels)`` rows.
    """
    total = sum(numels)
    parts = []
    first = 0
    for tensor, count in zip(tensors, numels, strict=True):
        part = tensor.new_zeros((total, count))
        part.diagonal(-first).fill_(1)
        first += count
        parts.append(part)
    return tuple(parts)
