"""Arguments and results of the functions of ``functional.py``, and the checks of strict mode.

Tensors or tuples of them come in, derivatives are computed of tuples, and go out in the form that
came in. The texts of errors are torch's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...ops.creation.filled import zeros_like
from ...tensor import Tensor
from ..engine.interface import grad

Function = Callable[..., Any]
Tensors = tuple[Tensor, ...]

OUTPUTS = "outputs of the user-provided function"
NOT_STRICT = "This is not allowed in strict mode"


def as_tensors(values: Any, what: str, api: str) -> tuple[bool, Tensors]:
    """Return whether the caller gave a tuple, and the tensors as a tuple."""
    several = isinstance(values, tuple)
    tensors = values if several else (values,)
    for index, value in enumerate(tensors):
        if not isinstance(value, Tensor):
            given = f"value at index {index}" if several else f"given {what}"
            raise TypeError(
                f"The {what} given to {api} must be either a Tensor or a tuple of Tensors but the "
                f"{given} has type {type(value)}."
            )
    return several, tensors


def variables_of(values: Any, api: str, create_graph: bool) -> tuple[bool, Tensors]:
    """``as_tensors`` of the inputs, ready to be differentiated by."""
    several, inputs = as_tensors(values, "inputs", api)
    return several, connected(inputs, create_graph, True)


def call(func: Function, inputs: Tensors, api: str, strict: bool) -> tuple[bool, Tensors]:
    """Call the function of the user and check what it returns."""
    several, outputs = as_tensors(func(*inputs), OUTPUTS, api)
    if strict:
        require_grad(outputs, _OUTPUT_WITHOUT_GRAD)
    return several, outputs


def call_for_one_element(func: Function, inputs: Tensors, api: str, strict: bool) -> Tensor:
    """Call the function of the user, which has to return one element."""
    several, outputs = call(func, inputs, api, strict)
    if several:
        raise RuntimeError(f"The function given to {api} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {api} should contain a single element"
        )
    return outputs[0]


def connected(tensors: Tensors, create_graph: bool, requires_grad: bool) -> Tensors:
    """Return tensors to differentiate by: new leaves, or views if the history is to go on."""
    return tuple(
        [
            x.view_as(x)
            if create_graph and x.requires_grad
            else x.detach().requires_grad_(requires_grad)
            for x in tensors
        ]
    )


def vector_for(
    v: Any,
    like: Tensors,
    several: bool,
    api: str,
    create_graph: bool,
    where: str = "input to the user-provided function is",
) -> Any:
    """Return the vectors of a product, checked against the tensors whose shapes they must have."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(
                f"The vector v can only be None if the {where} a single Tensor with a single "
                "element."
            )
        return (None,)
    _, v = as_tensors(v, "v", api)
    v = connected(v, create_graph, False)
    if len(v) != len(like):
        if not several:
            raise RuntimeError("The given v should contain a single Tensor.")
        raise RuntimeError(
            f"v is a tuple of invalid length: should be {len(like)} but got {len(v)}."
        )
    for index, (given, tensor) in enumerate(zip(v, like, strict=True)):
        if given.shape != tensor.shape:
            entry = f"Entry {index} in " if several else ""
            raise RuntimeError(
                f"{entry}v has invalid size: should be {tensor.shape} but got {given.shape}."
            )
    return v


def differentiate(
    outputs: Sequence[Tensor | None],
    inputs: Tensors,
    vectors: Sequence[Tensor | None],
    create_graph: bool,
    **options: Any,
) -> tuple[Tensor | None, ...]:
    """``autograd.grad`` of the outputs that have a gradient; None where there is none."""
    pairs = [
        (output, vector)
        for output, vector in zip(outputs, vectors, strict=True)
        if output is not None and output.requires_grad
    ]
    if not pairs:
        return (None,) * len(inputs)
    roots, seeds = zip(*pairs, strict=True)
    return grad(roots, inputs, seeds, create_graph=create_graph, allow_unused=True, **options)


def given_back(tensors: Tensors, several: bool, create_graph: bool) -> Any:
    """Results as the user gets them: a tuple where a tuple was given, else a tensor.

    They are cut from the graph, unless the user wants to differentiate them.
    """
    if not create_graph:
        tensors = tuple([tensor.detach() for tensor in tensors])
    return tensors if several else tensors[0]


# What strict mode refuses

_INDEPENDENT_OUTPUT = (
    f"The output of the user-provided function is independent of input {{}}. {NOT_STRICT}."
)
INDEPENDENT_JACOBIAN = (
    "The jacobian of the user-provided function is independent of input {}. "
    f"{NOT_STRICT} when create_graph=True."
)
_INDEPENDENT_HESSIAN = (
    "The hessian of the user-provided function is independent of input {}. "
    f"{NOT_STRICT} when create_graph=True."
)
#: By what is differentiated: the error for a gradient that is undefined, and the error for one that
#: cannot be differentiated further.
OF_OUTPUT = (_INDEPENDENT_OUTPUT, INDEPENDENT_JACOBIAN)
OF_SEEDS = (
    "The gradient with respect to the input is independent of entry {} in the grad_outputs when "
    f"using the double backward trick to compute forward mode gradients. {NOT_STRICT}.",
    INDEPENDENT_JACOBIAN,
)
OF_GRADIENT = (
    f"The jacobian of the user-provided function is independent of input {{}}. {NOT_STRICT}.",
    _INDEPENDENT_HESSIAN,
)
OF_GRADIENT_SEEDS = (
    "The hessian of the user-provided function is independent of entry {} in the grad_jacobian. "
    f"{NOT_STRICT} as it prevents from using the double backward trick to replace forward mode "
    "AD.",
    _INDEPENDENT_HESSIAN,
)
_OUTPUT_WITHOUT_GRAD = (
    "Output {} of the user-provided function does not require gradients. The outputs must be "
    "computed in a differentiable manner from the input when running in strict mode."
)
GRADIENT_WITHOUT_GRAD = (
    "The gradient with respect to input {} is independent of the inputs of the user-provided "
    f"function. {NOT_STRICT}."
)
JACOBIAN_WITHOUT_GRAD = (
    "While computing the hessian, found that the jacobian of the user-provided function with "
    f"respect to input {{}} is independent of the input. {NOT_STRICT}. You should ensure that "
    "your function is twice differentiable and that the jacobian depends on the inputs (this would "
    "be violated by a linear function for example)."
)
HESSIAN_WITHOUT_GRAD = (
    "The hessian of the user-provided function with respect to input {} is independent of the "
    f"input. {NOT_STRICT}. You should ensure that your function is thrice differentiable and that "
    "the hessian depends on the inputs."
)


def filled(
    results: Sequence[Tensor | None],
    like: Tensors,
    strict: bool,
    create_graph: bool,
    errors: tuple[str, str],
) -> Tensors:
    """Put zeros where a gradient is undefined; under ``strict`` raise instead."""
    filled = []
    for index, result in enumerate(results):
        if result is None:
            if strict:
                raise RuntimeError(errors[0].format(index))
            result = zeros_like(like[index])
        elif strict and create_graph and not result.requires_grad:
            raise RuntimeError(errors[1].format(index))
        filled.append(result)
    return tuple(filled)


def require_grad(tensors: Sequence[Tensor | None], error: str) -> None:
    """Raise unless all of these depend on the inputs in a way that can be differentiated."""
    for index, tensor in enumerate(tensors):
        if tensor is None:
            raise RuntimeError(_INDEPENDENT_OUTPUT.format(index))
        if not tensor.requires_grad:
            raise RuntimeError(error.format(index))
