"""Derivatives of functions of tensors: ``jacobian``, ``hessian`` and products with vectors.

The names of ``torch.autograd.functional``. Everything is composed of ``autograd.grad``, forward
mode and ``vmap``; this file says which inputs are differentiated, what ``strict`` refuses, and how
results are laid out. It is imported when a name of it is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..func import vmap
from ..ops.creation import zeros_like
from ..ops.join import stack
from ..tensor import Tensor
from . import forward_ad
from .engine_interface import grad
from .grad_mode import enable_grad, is_grad_enabled, set_grad_enabled

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Function = Callable[..., Any]
Tensors = tuple[Tensor, ...]

_OUTPUTS = "outputs of the user-provided function"
_NOT_STRICT = "This is not allowed in strict mode"


# Products of a vector and a derivative


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
        several_inputs, inputs = _as_tensors(inputs, "inputs", "vjp")
        inputs = _connected(inputs, create_graph, True)
        several_outputs, outputs = _call(func, inputs, "vjp", strict)
        where = "user-provided function returns"
        v = _vector(v, outputs, several_outputs, "vjp", create_graph, where)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        results = _differentiate(outputs, inputs, v, create_graph)
        results = _filled(results, inputs, strict, create_graph, _OF_OUTPUT)
    return (
        _packed(_finished(outputs, create_graph), several_outputs),
        _packed(_finished(results, create_graph), several_inputs),
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
        several_inputs, inputs = _as_tensors(inputs, "inputs", "jvp")
        inputs = _connected(inputs, create_graph, True)
        v = _vector(v, inputs, several_inputs, "jvp", create_graph)
        several_outputs, outputs = _call(func, inputs, "jvp", strict)
        seeds = tuple([zeros_like(output, requires_grad=True) for output in outputs])
        gradients = _differentiate(outputs, inputs, seeds, True)
        if strict:
            _require_grad(gradients, _GRADIENT_WITHOUT_GRAD)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        results = _differentiate(gradients, seeds, v, create_graph)
        results = _filled(results, outputs, strict, create_graph, _OF_SEEDS)
    return (
        _packed(_finished(outputs, create_graph), several_outputs),
        _packed(_finished(results, create_graph), several_outputs),
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
        several_inputs, inputs = _as_tensors(inputs, "inputs", "vhp")
        inputs = _connected(inputs, create_graph, True)
        v = _vector(v, inputs, several_inputs, "vhp", create_graph)
        outputs, gradients = _gradient(func, inputs, "vhp", strict)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        results = _differentiate(gradients, inputs, v, create_graph)
        results = _filled(results, inputs, strict, create_graph, _OF_GRADIENT)
    return (
        _finished(outputs, create_graph)[0],
        _packed(_finished(results, create_graph), several_inputs),
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
        several_inputs, inputs = _as_tensors(inputs, "inputs", "hvp")
        inputs = _connected(inputs, create_graph, True)
        v = _vector(v, inputs, several_inputs, "hvp", create_graph)
        outputs, gradients = _gradient(func, inputs, "hvp", strict)
        seeds = tuple([zeros_like(x, requires_grad=True) for x in inputs])
        products = _differentiate(gradients, inputs, seeds, True)
        if strict:
            _require_grad(gradients, _HESSIAN_WITHOUT_GRAD)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        results = _differentiate(products, seeds, v, create_graph)
        results = _filled(results, inputs, strict, create_graph, _OF_GRADIENT_SEEDS)
    return (
        _finished(outputs, create_graph)[0],
        _packed(_finished(results, create_graph), several_inputs),
    )


def _gradient(func: Function, inputs: Tensors, api: str, strict: bool) -> tuple[Tensors, Any]:
    """The output of a function of one element, and its recorded gradient."""
    several, outputs = _call(func, inputs, api, strict)
    if several:
        raise RuntimeError(f"The function given to {api} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {api} should contain a single element"
        )
    gradients = _differentiate(outputs, inputs, (None,), True)
    if strict:
        _require_grad(gradients, _JACOBIAN_WITHOUT_GRAD)
    return outputs, gradients


# Whole derivatives


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
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your '
            'function has more outputs than inputs, "forward-mode" tends to be more performant. '
            'Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        _check_forward_mode(create_graph, strict, vectorize)
        return _forward_jacobian(func, inputs)
    with enable_grad():
        several_inputs, inputs = _as_tensors(inputs, "inputs", "jacobian")
        inputs = _connected(inputs, create_graph, True)
        several_outputs, outputs = _call(func, inputs, "jacobian", strict)
        for output in outputs:
            if output._array.dtype.kind == "c":
                raise RuntimeError(
                    "grad can be implicitly created only for real scalar outputs but got "
                    f"torch.{output._array.dtype}"
                )
        if vectorize and strict:
            raise RuntimeError(
                "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not "
                "supported together. Please either set `strict=False` or `vectorize=False`."
            )
        if vectorize:
            rows = _batched_rows(outputs, inputs, create_graph)
        else:
            rows = [
                _looped_rows(number, output, inputs, create_graph, strict)
                for number, output in enumerate(outputs)
            ]
        results = [
            _packed(_finished(row, create_graph), several_inputs) for row in rows
        ]  # fmt: skip
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
    several, inputs = _as_tensors(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode".'
        )  # fmt: skip
    forward = outer_jacobian_strategy == "forward-mode"

    def scalar(*arguments: Tensor) -> Tensor:
        many, outputs = _call(func, arguments, "hessian", strict)
        if many:
            raise RuntimeError("The function given to hessian should return a single Tensor")
        if outputs[0].numel() != 1:
            raise RuntimeError(
                "The Tensor returned by the function given to hessian should contain a single "
                "element"
            )
        return outputs[0].squeeze()

    def gradient(*arguments: Tensor) -> Tensors:
        if forward:
            # Forward mode hands over tensors that are constants to the backward walk inside.
            arguments = tuple([argument.requires_grad_(True) for argument in arguments])
        gradients = jacobian(scalar, arguments, create_graph=True)
        if strict:
            _require_grad(gradients, _JACOBIAN_WITHOUT_GRAD)
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
    for direction in _construct_standard_basis_for((output,), (output.numel(),))[0]:
        seed = direction.reshape(output.shape)
        results = _differentiate((output,), inputs, (seed,), create_graph, retain_graph=True)
        for index, result in enumerate(results):
            if result is None:
                if strict:
                    raise RuntimeError(
                        f"Output {number} of the user-provided function is independent of input "
                        f"{index}. {_NOT_STRICT}."
                    )
                result = zeros_like(inputs[index])
            elif strict and create_graph and not result.requires_grad:
                raise RuntimeError(_INDEPENDENT_JACOBIAN.format(number))
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
    directions = _construct_standard_basis_for(outputs, tuple(sizes))
    flat = tuple([output.reshape(-1) for output in outputs])

    def walk(*seeds: Tensor) -> Tensors:
        found = _differentiate(flat, inputs, seeds, create_graph, retain_graph=True)
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
    several_inputs, inputs = _as_tensors(inputs, "inputs", "jacobian")
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
            several_outputs, outputs = _as_tensors(func(*duals), _OUTPUTS, "jacobian")
            results = []
            for output in outputs:
                primal, tangent = forward_ad.unpack_dual(output)
                results.append(zeros_like(primal) if tangent is None else tangent)
                shapes.append(primal.shape)
        return tuple(results)

    columns = vmap(directional)(_construct_standard_basis_for(inputs, tuple(sizes)))
    results = []
    for column, shape in zip(columns, shapes, strict=True):
        parts = column.movedim(0, -1).split(sizes, dim=-1)
        row = [part.reshape((*shape, *x.shape)) for part, x in zip(parts, inputs, strict=True)]
        results.append(_packed(tuple(row), several_inputs))
    return tuple(results) if several_outputs else results[0]


def _construct_standard_basis_for(tensors: Tensors, numels: Sequence[int]) -> Tensors:
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


# Arguments and results


def _as_tensors(values: Any, what: str, api: str) -> tuple[bool, Tensors]:
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


def _call(func: Function, inputs: Tensors, api: str, strict: bool) -> tuple[bool, Tensors]:
    """Call the function of the user and check what it returns."""
    several, outputs = _as_tensors(func(*inputs), _OUTPUTS, api)
    if strict:
        _require_grad(outputs, _OUTPUT_WITHOUT_GRAD)
    return several, outputs


def _connected(tensors: Tensors, create_graph: bool, requires_grad: bool) -> Tensors:
    """Return tensors to differentiate by: new leaves, or views if the history is to go on."""
    return tuple(
        [
            x.view_as(x)
            if create_graph and x.requires_grad
            else x.detach().requires_grad_(requires_grad)
            for x in tensors
        ]
    )


def _vector(
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
    _, v = _as_tensors(v, "v", api)
    v = _connected(v, create_graph, False)
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


def _differentiate(
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


def _finished(tensors: Tensors, create_graph: bool) -> Tensors:
    """Cut the results from the graph, unless the user wants to differentiate them."""
    return tensors if create_graph else tuple([tensor.detach() for tensor in tensors])


def _packed(tensors: Tensors, several: bool) -> Any:
    """A tuple where the user gave a tuple, a tensor where the user gave a tensor."""
    return tensors if several else tensors[0]


# What strict mode refuses

_INDEPENDENT_OUTPUT = (
    f"The output of the user-provided function is independent of input {{}}. {_NOT_STRICT}."
)
_INDEPENDENT_JACOBIAN = (
    "The jacobian of the user-provided function is independent of input {}. "
    f"{_NOT_STRICT} when create_graph=True."
)
_INDEPENDENT_HESSIAN = (
    "The hessian of the user-provided function is independent of input {}. "
    f"{_NOT_STRICT} when create_graph=True."
)
#: By what is differentiated: the error for a gradient that is undefined, and the error for one that
#: cannot be differentiated further.
_OF_OUTPUT = (_INDEPENDENT_OUTPUT, _INDEPENDENT_JACOBIAN)
_OF_SEEDS = (
    "The gradient with respect to the input is independent of entry {} in the grad_outputs when "
    f"using the double backward trick to compute forward mode gradients. {_NOT_STRICT}.",
    _INDEPENDENT_JACOBIAN,
)
_OF_GRADIENT = (
    f"The jacobian of the user-provided function is independent of input {{}}. {_NOT_STRICT}.",
    _INDEPENDENT_HESSIAN,
)
_OF_GRADIENT_SEEDS = (
    "The hessian of the user-provided function is independent of entry {} in the grad_jacobian. "
    f"{_NOT_STRICT} as it prevents from using the double backward trick to replace forward mode "
    "AD.",
    _INDEPENDENT_HESSIAN,
)
_OUTPUT_WITHOUT_GRAD = (
    "Output {} of the user-provided function does not require gradients. The outputs must be "
    "computed in a differentiable manner from the input when running in strict mode."
)
_GRADIENT_WITHOUT_GRAD = (
    "The gradient with respect to input {} is independent of the inputs of the user-provided "
    f"function. {_NOT_STRICT}."
)
_JACOBIAN_WITHOUT_GRAD = (
    "While computing the hessian, found that the jacobian of the user-provided function with "
    f"respect to input {{}} is independent of the input. {_NOT_STRICT}. You should ensure that "
    "your function is twice differentiable and that the jacobian depends on the inputs (this would "
    "be violated by a linear function for example)."
)
_HESSIAN_WITHOUT_GRAD = (
    "The hessian of the user-provided function with respect to input {} is independent of the "
    f"input. {_NOT_STRICT}. You should ensure that your function is thrice differentiable and that "
    "the hessian depends on the inputs."
)


def _filled(
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


def _require_grad(tensors: Sequence[Tensor | None], error: str) -> None:
    """Raise unless all of these depend on the inputs in a way that can be differentiated."""
    for index, tensor in enumerate(tensors):
        if tensor is None:
            raise RuntimeError(_INDEPENDENT_OUTPUT.format(index))
        if not tensor.requires_grad:
            raise RuntimeError(error.format(index))
