"""Derivatives of functions of tensors: products with vectors, ``jacobian`` and ``hessian``.

The names of ``torch.autograd.functional``. Everything is composed of ``autograd.grad``, forward
mode and ``vmap``: the products here, whole derivatives in ``jacobians.py``; what both
take and refuse is in ``arguments.py``. It is imported when a name of it is first asked
for.
"""

from __future__ import annotations

from typing import Any

from ...ops.creation.filled import zeros_like
from ...tensor import Tensor
from ..grad_mode import enable_grad, is_grad_enabled, set_grad_enabled
from .arguments import (
    GRADIENT_WITHOUT_GRAD,
    HESSIAN_WITHOUT_GRAD,
    JACOBIAN_WITHOUT_GRAD,
    OF_GRADIENT,
    OF_GRADIENT_SEEDS,
    OF_OUTPUT,
    OF_SEEDS,
    Function,
    Tensors,
    call,
    call_for_one_element,
    differentiate,
    filled,
    given_back,
    require_grad,
    variables_of,
    vector_for,
)
from .jacobians import hessian, jacobian
from .jacobians import standard_basis_for as _construct_standard_basis_for  # noqa: F401
from .pieces import (  # noqa: F401
    _as_tuple,
    _as_tuple_nocheck,
    _grad_postprocess,
    _grad_preprocess,
    _tuple_postprocess,
)

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def vjp(
    func: Function,
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The product of a vector and the Jacobian of ``func``.

    Args:
        func: takes tensors, returns a tensor or a tuple of tensors.
        inputs: a tensor or a tuple of tensors.
        v: a tensor of the shape of each output; may be left out for one output of one element.
        create_graph: make outputs and result differentiable.
        strict: raise if an output does not depend on an input, instead of returning zeros.

    Returns:
        The outputs of ``func``, and a tensor of the shape of each input.

    Raises:
        TypeError: if inputs or outputs are not tensors.
        RuntimeError: if ``v`` does not fit the outputs, or for what ``strict`` refuses.
    """
    with enable_grad():
        several_inputs, inputs = variables_of(inputs, "vjp", create_graph)
        several_outputs, outputs = call(func, inputs, "vjp", strict)
        where = "user-provided function returns"
        v = vector_for(v, outputs, several_outputs, "vjp", create_graph, where)
    results = _products(outputs, inputs, v, inputs, strict, create_graph, OF_OUTPUT)
    return (
        given_back(outputs, several_outputs, create_graph),
        given_back(results, several_inputs, create_graph),
    )


def jvp(
    func: Function,
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The product of the Jacobian of ``func`` and a vector, by two backward walks.

    The gradient of the inputs is linear in those of the outputs; its own gradient with respect to
    them is this product. ``func.jvp`` computes the same in one walk, in forward mode.

    Args:
        func, inputs, create_graph, strict: as in ``vjp``.
        v: a tensor of the shape of each input; may be left out for one input of one element.

    Returns:
        The outputs of ``func``, and a tensor of the shape of each output.
    """
    with enable_grad():
        several_inputs, inputs = variables_of(inputs, "jvp", create_graph)
        v = vector_for(v, inputs, several_inputs, "jvp", create_graph)
        several_outputs, outputs = call(func, inputs, "jvp", strict)
        seeds = tuple([zeros_like(output, requires_grad=True) for output in outputs])
        gradients = differentiate(outputs, inputs, seeds, True)
        if strict:
            require_grad(gradients, GRADIENT_WITHOUT_GRAD)
    results = _products(gradients, seeds, v, outputs, strict, create_graph, OF_SEEDS)
    return (
        given_back(outputs, several_outputs, create_graph),
        given_back(results, several_outputs, create_graph),
    )


def vhp(
    func: Function,
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The product of a vector and the Hessian of ``func``, which returns one element.

    Args:
        func: takes tensors, returns a tensor of one element.
        inputs, create_graph, strict: as in ``vjp``.
        v: a tensor of the shape of each input; may be left out for one input of one element.

    Returns:
        The output of ``func``, and a tensor of the shape of each input.
    """
    with enable_grad():
        several_inputs, inputs = variables_of(inputs, "vhp", create_graph)
        v = vector_for(v, inputs, several_inputs, "vhp", create_graph)
        output, gradients = _gradient(func, inputs, "vhp", strict)
    results = _products(gradients, inputs, v, inputs, strict, create_graph, OF_GRADIENT)
    return (
        given_back((output,), False, create_graph),
        given_back(results, several_inputs, create_graph),
    )


def hvp(
    func: Function,
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The product of the Hessian of ``func`` and a vector, by two walks more than the gradient.

    A Hessian is symmetric where it is continuous, so ``vhp``, which is faster, gives the same.

    Args and returns: as in ``vhp``.
    """
    with enable_grad():
        several_inputs, inputs = variables_of(inputs, "hvp", create_graph)
        v = vector_for(v, inputs, several_inputs, "hvp", create_graph)
        output, gradients = _gradient(func, inputs, "hvp", strict)
        seeds = tuple([zeros_like(x, requires_grad=True) for x in inputs])
        products = differentiate(gradients, inputs, seeds, True)
        if strict:
            require_grad(gradients, HESSIAN_WITHOUT_GRAD)
    results = _products(products, seeds, v, inputs, strict, create_graph, OF_GRADIENT_SEEDS)
    return (
        given_back((output,), False, create_graph),
        given_back(results, several_inputs, create_graph),
    )


def _products(
    outputs: Any, inputs: Any, v: Any, like: Any, strict: bool, create_graph: bool, words: Any
) -> Any:
    """The last walk: the derivatives of ``outputs`` times ``v``, each in the form of ``like``."""
    with set_grad_enabled(create_graph or is_grad_enabled()):
        results = differentiate(outputs, inputs, v, create_graph)
        return filled(results, like, strict, create_graph, words)


def _gradient(func: Function, inputs: Tensors, api: str, strict: bool) -> tuple[Tensor, Any]:
    """The output of a function of one element, and its recorded gradient."""
    output = call_for_one_element(func, inputs, api, strict)
    gradients = differentiate((output,), inputs, (None,), True)
    if strict:
        require_grad(gradients, JACOBIAN_WITHOUT_GRAD)
    return output, gradients
