"""Derivatives of functions: grad, vjp, jvp and linearize, all of which nest.

A reverse derivative follows copies of its arguments (``derivative_inputs.py``), so that it cannot
be confused with one around it; a forward derivative opens a level (``transforms/levels.py``).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..autograd.engine import interface as engine_interface
from ..autograd.forward_ad import dual_view, parts
from ..autograd.grad_mode import follow_in_any_mode
from ..autograd.grad_mode import state as grad_mode
from ..ops.creation.filled import zeros_like
from ..structure import flatten_registered as flatten
from ..structure import rebuild
from ..tensor import Tensor
from ..transforms.levels import (
    DUAL,
    GRAD,
    Level,
    enable_tangents,
    settled,
    tangents_are_enabled,
)
from ..transforms.tracking import follow, has_history
from .arguments import checked_argnums, chosen_arguments, replaced_arguments, value_and_aux
from .derivative_inputs import Followed, handed_out

__all__ = ["grad", "grad_and_value", "jvp", "linearize", "vjp"]

Function = Callable[..., Any]

# --- reverse mode ---------------------------------------------------------------------------------


def grad_and_value(
    func: Function, argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Function:
    """A function that returns the gradients of ``func`` and its value.

    Args:
        func: returns a Tensor of one element without dimensions, and something else with
            ``has_aux``.
        argnums: the arguments (nested containers of Tensors) to differentiate with respect to.
        has_aux: whether ``func`` returns ``(value, aux)``; aux is handed through.

    Returns:
        A function of the same arguments that returns ``(gradients, value)``, or
        ``(gradients, (value, aux))``.

    Raises:
        RuntimeError: if ``argnums`` are not among the arguments, or for another result of ``func``.
    """
    what = "grad_and_value(f)(*args)"

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        chosen = checked_argnums(argnums, len(args))
        recorded_outside = grad_mode.enabled
        with Level(GRAD) as level, follow_in_any_mode():
            followed = Followed(level, chosen_arguments(args, chosen), what)
            made = func(*replaced_arguments(args, followed.value, chosen), **kwargs)
            output, aux = value_and_aux(made, has_aux, what)
            _check_scalar(output, what)
        return gradients_and_value(followed, output, aux, recorded_outside)

    def gradients_and_value(
        followed: Followed, output: Tensor, aux: Any, recorded_outside: bool
    ) -> tuple[Any, Any]:
        needed = recorded_outside and followed.needed_outside([output])
        gradients = _gradients([output], followed, None, needed)
        value = (output, aux) if has_aux else output
        return followed.rebuild(gradients), handed_out(value, needed)

    return wrapper


def _check_scalar(output: Any, what: str) -> None:
    if not isinstance(output, Tensor):
        raise RuntimeError(f"{what}: Expected f(*args) to return a Tensor, got {type(output)}")
    if output._array.ndim != 0:
        raise RuntimeError(
            f"{what}: Expected f(*args) to return a scalar Tensor, got tensor with "
            f"{output._array.ndim} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
        )


def _gradients(
    outputs: Sequence[Tensor], followed: Followed, seeds: Any, recorded: bool
) -> list[Tensor]:
    """The gradients with respect to all that is followed; zeros where an output does not depend."""
    outputs, seeds = _differentiable(outputs, seeds)
    inputs = [copy for copy in followed.copies if copy._requires_grad]
    found: Iterator[Any] = iter([None] * len(inputs))
    if outputs and inputs:
        found = iter(
            engine_interface.grad(
                outputs, inputs, seeds, retain_graph=True, create_graph=recorded, allow_unused=True
            )
        )
    gradients = [next(found) if copy._requires_grad else None for copy in followed.copies]
    return [
        zeros_like(original) if gradient is None else settled(gradient)
        for gradient, original in zip(gradients, followed.originals, strict=True)
    ]


def _differentiable(outputs: Sequence[Tensor], seeds: Any) -> tuple[list[Tensor], Any]:
    """The outputs that depend on something, and the gradients they are given."""
    kept = [number for number, output in enumerate(outputs) if output._requires_grad]
    return [outputs[n] for n in kept], None if seeds is None else [seeds[n] for n in kept]


def grad(func: Function, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Function:
    """A function that returns the gradients of ``func``; arguments are those of ``grad_and_value``.

    Returns:
        A function that returns the gradients, or ``(gradients, aux)``.

    >>> torch.func.grad(lambda x: x**3)(torch.tensor(2.0))
    tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradients, value = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return wrapper


def vjp(func: Function, *primals: Any, has_aux: bool = False) -> Any:
    """The value of ``func``, and the function of its products of a vector and the Jacobian.

    Args:
        func: takes ``primals`` and returns nested containers of Tensors.
        primals: nested containers of Tensors.
        has_aux: whether ``func`` returns ``(output, aux)``.

    Returns:
        ``(output, vjp_fn)``, or ``(output, vjp_fn, aux)``; ``vjp_fn(cotangents)`` returns a tuple
        with the structure of ``primals``.

    Raises:
        RuntimeError: if an output is not a Tensor of floats, or cotangents have another structure.
    """
    what = "vjp(f, *primals)"
    recorded_outside = grad_mode.enabled
    followed, made, aux = _followed_call(func, primals, has_aux, what)
    outputs, structure = flatten(made)
    _check_outputs(outputs, what)
    for output in outputs:
        if output._array.dtype.kind not in "fcV":
            raise RuntimeError(
                "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got "
                f"Tensor with dtype {output.dtype}"
            )
    needed = followed.needed_outside(outputs)

    def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        seeds, found = flatten(cotangents)
        if found != structure:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of "
                f"outputs to the function. cotangents: {found}, primal output: {structure}"
            )
        recorded = grad_mode.enabled and (needed or any([has_history(x) for x in seeds]))
        if create_graph is not None:
            recorded = create_graph
        return followed.rebuild(_gradients(outputs, followed, seeds, recorded))

    kept = recorded_outside and needed
    result = handed_out(made, kept)
    if not has_aux:
        return result, vjp_fn
    return result, vjp_fn, handed_out(aux, kept)


def _followed_call(
    func: Function, primals: tuple[Any, ...], has_aux: bool, what: str
) -> tuple[Followed, Any, Any]:
    """The primals as they are followed, and what the function returns for them."""
    with Level(GRAD) as level, follow_in_any_mode():
        followed = Followed(level, primals, what)
        return followed, *value_and_aux(func(*followed.value), has_aux, what)


def _check_outputs(outputs: Sequence[Any], api: str) -> None:
    if not outputs or (len(outputs) == 1 and outputs[0] is None):
        raise RuntimeError(
            f"{api}: Expected f to be a function that has non-empty output (got output = "
            f"{list(outputs)})"
        )
    for output in outputs:
        if not isinstance(output, Tensor):
            raise RuntimeError(
                f"{api}: expected f(*primals) to return only tensors, got unsupported type "
                f"{type(output)}"
            )


# --- forward mode ---------------------------------------------------------------------------------

_JVP = "jvp(f, primals, tangents)"


def jvp(
    func: Function, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False
) -> Any:
    """The value of ``func`` and the product of its Jacobian and a vector, in one pass forward.

    Args:
        func: takes ``primals`` and returns nested containers of Tensors.
        primals: a tuple of nested containers of Tensors.
        tangents: of the same structure, shapes and dtypes.
        strict: raise for an output that does not depend on the inputs, instead of zeros.
        has_aux: whether ``func`` returns ``(output, aux)``.

    Returns:
        ``(output, jvp_out)``, or ``(output, jvp_out, aux)``.

    Raises:
        RuntimeError: if structures, shapes or dtypes differ, or for what ``strict`` refuses.

    >>> torch.func.jvp(torch.sin, (torch.tensor(0.0),), (torch.tensor(2.0),))
    (tensor(0.), tensor(2.))
    """
    if not tangents_are_enabled():
        return _jvp_with_tangents(func, primals, tangents, strict, has_aux)
    if not isinstance(primals, tuple):
        raise RuntimeError(
            f"{_JVP}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    values, structure = flatten(primals)
    directions, found = flatten(tangents)
    if found != structure:
        raise RuntimeError(
            f"{_JVP}: Expected primals and tangents to have the same python structure. For "
            "example, if primals is a tuple of 3 tensors, tangents also must be. Got primals with "
            f"structure {structure} and tangents with structure {found}"
        )
    _check_tensors(values, "primals")
    _check_tensors(directions, "tangents")
    return _of_duals(func, structure, values, directions, strict, has_aux)


def _jvp_with_tangents(
    func: Function, primals: Any, tangents: Any, strict: bool, has_aux: bool
) -> Any:
    enable_tangents(True)  # a program may leave them out of account, but not here
    try:
        return jvp(func, primals, tangents, strict=strict, has_aux=has_aux)
    finally:
        enable_tangents(False)


def _of_duals(
    func: Function, structure: Any, values: Any, directions: Any, strict: bool, has_aux: bool
) -> Any:
    """The result of ``jvp`` for the leaves of primals and of tangents."""
    with Level(DUAL) as level:
        duals = [dual_view(level, *pair) for pair in zip(values, directions, strict=True)]
        made = func(*rebuild(structure, iter(duals)))
        return _unpack(level, made, strict, has_aux)


def _unpack(level: Level, made: Any, strict: bool, has_aux: bool) -> tuple[Any, ...]:
    """The result of ``jvp`` for the outputs of the function; the level is still open."""
    made, aux = value_and_aux(made, has_aux, _JVP)
    outputs, structure = flatten(made)
    _check_outputs(outputs, _JVP)
    unpacked = [_unpacked(level, output, strict) for output in outputs]
    value = rebuild(structure, iter([primal for primal, _ in unpacked]))
    product = rebuild(structure, iter([tangent for _, tangent in unpacked]))
    if not has_aux:
        return value, product
    leaves, structure = flatten(aux)
    leaves = [parts(level, x)[0] if isinstance(x, Tensor) else x for x in leaves]
    return value, product, rebuild(structure, iter(leaves))


def _check_tensors(leaves: Sequence[Any], name: str) -> None:
    if not leaves:
        raise RuntimeError(f"{_JVP}: Expected {name} to contain at least one Tensor.")
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"{_JVP}: Expected {name} to only contain Tensors, got {type(leaf)}")


def _unpacked(level: Level, output: Tensor, strict: bool) -> tuple[Tensor, Tensor]:
    primal, tangent = parts(level, output)
    if tangent is None:
        if strict:
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the "
                "inputs. This is not allowed with strict=True."
            )
        tangent = zeros_like(primal)
    return primal, tangent


def linearize(func: Function, *primals: Any) -> tuple[Any, Function]:
    """The value of ``func`` at ``primals``, and the function of its Jacobian's products there.

    The returned function takes tangents and may be called often. It transposes the backward pass,
    so what does not depend on the tangents is computed once, here.
    """
    values, structure = flatten(primals)
    _check_tensors(values, "primals")
    output, vjp_fn = vjp(func, *primals)
    outputs, made = flatten(output)
    with Level(GRAD) as level, follow_in_any_mode():
        seeds = [follow(level, zeros_like(x)) for x in outputs]
        pulled, _ = flatten(vjp_fn(rebuild(made, iter(seeds)), create_graph=True))

    def jvp_fn(*tangents: Any) -> Any:
        directions, found = flatten(tangents)
        if found != structure:
            raise RuntimeError(
                f"Expected the tangents {found} to have the same argspec as the primals {structure}"
            )
        for number, (tangent, value) in enumerate(zip(directions, values, strict=True)):
            if tangent._array.shape != value._array.shape:
                raise RuntimeError(
                    f"tangent:{number} with shape {tangent.shape} in flattened pytree doesn't "
                    f"match the shape {value.shape} of the corresponding primal."
                )
            if tangent._array.dtype != value._array.dtype:
                raise RuntimeError(
                    f"tangent:{number} with dtype {tangent.dtype} in flattened pytree doesn't "
                    f"match the dtype {value.dtype} of the corresponding primal."
                )
        pairs = [(p, t) for p, t in zip(pulled, directions, strict=True) if p._requires_grad]
        products: Sequence[Any] = [None] * len(seeds)
        if pairs:
            products = engine_interface.grad(
                [p for p, _ in pairs], seeds, [t for _, t in pairs], retain_graph=True,
                allow_unused=True,
            )  # fmt: skip
        return rebuild(
            made,
            iter(
                [
                    zeros_like(x) if product is None else settled(product)
                    for x, product in zip(outputs, products, strict=True)
                ]
            ),
        )

    return output, jvp_fn
