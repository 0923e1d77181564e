"""Derivatives of functions: grad, vjp, jvp, Jacobians and Hessians, all of which nest.

A reverse derivative follows copies of its arguments, so that it cannot be confused with one around
it; a forward derivative opens a level (``transforms/levels.py``). Jacobians are products with every
vector of a basis at once, by ``vmap``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..autograd import engine_interface
from ..autograd.forward_ad import dual_view, parts
from ..autograd.grad_mode import enable_grad, no_grad
from ..autograd.grad_mode import state as grad_mode
from ..autograd.node import Node
from ..autograd.tensor_interface import alias
from ..ops.creation import zeros_like
from ..structure import flatten, rebuild
from ..tensor import Tensor
from ..transforms import levels
from ..transforms.levels import DUAL, GRAD, Level, settled, state_of
from ..transforms.tracking import follow, has_history
from .basis import jacobian_of_products

__all__ = [
    "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp",
]  # fmt: skip

Function = Callable[..., Any]

# --- what is followed -----------------------------------------------------------------------------


class Followed:
    """The Tensors among some arguments as copies of their own, and whether others follow them too.

    Copies share memory and are differentiated with respect to; ``needed_outside`` says whether what
    is computed here may be differentiated again by something around it, so that a backward pass has
    to be recorded. Recording it always would be right, and cost twice the time and memory.
    """

    def __init__(self, level: Level, value: Any, what: str) -> None:
        leaves, self.structure = flatten(value)
        for leaf in leaves:
            if not isinstance(leaf, Tensor):
                raise ValueError(f"Thing passed to transform API must be Tensor, got {type(leaf)}")
        if not leaves:
            raise RuntimeError(f"{what}: there is no Tensor to differentiate with respect to")
        self.originals: list[Tensor] = [settled(leaf) for leaf in leaves]
        self.copies = [follow(level, original) for original in self.originals]
        self._level = level

    @property
    def value(self) -> Any:
        """The arguments with the copies in place."""
        return rebuild(self.structure, iter(self.copies))

    def rebuild(self, tensors: Sequence[Any]) -> Any:
        """Something for each Tensor, in the structure of the arguments."""
        return rebuild(self.structure, iter(tensors))

    def needed_outside(self, outputs: Sequence[Tensor]) -> bool:
        """Whether derivatives of ``outputs`` may themselves be differentiated from outside."""
        if any([has_history(original) for original in self.originals]):
            return True
        if any([_is_of(self._level, copy) for copy in self.copies]):
            return self._level.has_history
        if any([level.kind is GRAD for level in levels.stack.levels]):
            return True
        own = {id(copy) for copy in self.copies}
        return any([id(leaf) not in own for leaf in _leaves_of(outputs)])


def _is_of(level: Level, tensor: Tensor) -> bool:
    state = state_of(tensor)
    return state is not None and state.level is level


def _leaves_of(outputs: Sequence[Tensor]) -> Iterator[Tensor]:
    """The leaves of a graph."""
    seen: set[int] = set()
    waiting: list[Any] = [x._grad_fn for x in outputs if x._grad_fn is not None]
    yield from [x for x in outputs if x._requires_grad and x._grad_fn is None]
    while waiting:
        node = waiting.pop()
        for edge in node.next_edges:
            if edge is None or id(edge[0]) in seen:
                continue
            seen.add(id(edge[0]))
            if isinstance(edge[0], Node):
                waiting.append(edge[0])
            else:
                yield edge[0]


def _result(value: Any, needed: bool) -> Any:
    """What is handed out of a level: without a history, unless something outside may follow it."""
    leaves, structure = flatten(value)
    made = [settled(x) if isinstance(x, Tensor) else x for x in leaves]
    if not needed:
        made = [alias(x) if isinstance(x, Tensor) else x for x in made]
    return rebuild(structure, iter(made))


# --- arguments ------------------------------------------------------------------------------------


def _checked_argnum(argnum: Any, count: int) -> int:
    if not isinstance(argnum, int):
        raise RuntimeError(f"argnum must be int, got: {type(argnum)}")
    if -count <= argnum < count:
        return argnum % count
    raise RuntimeError(f"Got argnum={argnum}, but only {count} positional inputs")


def _checked_argnums(argnums: Any, count: int) -> Any:
    """``argnums`` counted from the front.

    Raises:
        RuntimeError: if they are none, not integers, not among the arguments, or repeated.
    """
    if isinstance(argnums, int):
        return _checked_argnum(argnums, count)
    if not isinstance(argnums, tuple):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    checked = tuple([_checked_argnum(argnum, count) for argnum in argnums])
    if not checked:
        raise RuntimeError("argnums must be non-empty")
    if len(set(checked)) != len(checked):
        raise RuntimeError(f"argnums elements must be unique, got {checked}")
    return checked


def _chosen(args: tuple[Any, ...], argnums: Any) -> Any:
    return args[argnums] if isinstance(argnums, int) else tuple([args[i] for i in argnums])


def _replaced(args: tuple[Any, ...], chosen: Any, argnums: Any) -> tuple[Any, ...]:
    new = list(args)
    if isinstance(argnums, int):
        new[argnums] = chosen
    else:
        for place, value in zip(argnums, chosen, strict=True):
            new[place] = value
    return tuple(new)


def _of_arguments(func: Function, args: tuple[Any, ...], argnums: Any, kwargs: Any) -> Function:
    """``func`` as a function of the chosen arguments alone."""
    return lambda *chosen: func(
        *_replaced(args, chosen[0] if isinstance(argnums, int) else chosen, argnums), **kwargs
    )


def _apart(made: Any, has_aux: bool, what: str) -> tuple[Any, Any]:
    if not has_aux:
        return made, None
    if not (isinstance(made, tuple) and len(made) == 2):
        raise RuntimeError(
            f"{what}: output of function f should be a tuple: (output, aux) if has_aux is True"
        )
    return made


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
        chosen = _checked_argnums(argnums, len(args))
        recorded_outside = grad_mode.enabled
        with Level(GRAD) as level, enable_grad():
            followed = Followed(level, _chosen(args, chosen), what)
            made = func(*_replaced(args, followed.value, chosen), **kwargs)
            output, aux = _apart(made, has_aux, what)
            if not isinstance(output, Tensor):
                raise RuntimeError(
                    f"{what}: Expected f(*args) to return a Tensor, got {type(output)}"
                )
            if output._array.ndim != 0:
                raise RuntimeError(
                    f"{what}: Expected f(*args) to return a scalar Tensor, got tensor with "
                    f"{output._array.ndim} dims. Maybe you wanted to use the vjp or jacrev APIs "
                    "instead?"
                )
        needed = recorded_outside and followed.needed_outside([output])
        gradients = _gradients(level, [output], followed, None, needed)
        value = (output, aux) if has_aux else output
        return followed.rebuild(gradients), _result(value, needed)

    return wrapper


def _gradients(
    level: Level, outputs: Sequence[Tensor], followed: Followed, seeds: Any, recorded: bool
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
    with Level(GRAD) as level, enable_grad():
        followed = Followed(level, primals, what)
        made, aux = _apart(func(*followed.value), has_aux, what)
    outputs, structure = flatten(made)
    _check_outputs(outputs, what)
    for output in outputs:
        if output._array.dtype.kind != "f":
            raise RuntimeError(
                "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got "
                f"Tensor with dtype {output.dtype}"
            )
    needed = recorded_outside and followed.needed_outside(outputs)

    def vjp_fn(
        cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None
    ) -> Any:
        seeds, found = flatten(cotangents)
        if found != structure:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of "
                f"outputs to the function. cotangents: {found}, primal output: {structure}"
            )
        recorded = grad_mode.enabled and (needed or any([has_history(x) for x in seeds]))
        if create_graph is not None:
            recorded = create_graph
        return followed.rebuild(_gradients(level, outputs, followed, seeds, recorded))

    result = _result(made, needed)
    if not has_aux:
        return result, vjp_fn
    return result, vjp_fn, _result(aux, needed)


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
    """
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
    with Level(DUAL) as level:
        duals = [dual_view(level, *pair) for pair in zip(values, directions, strict=True)]
        made, aux = _apart(func(*rebuild(structure, iter(duals))), has_aux, _JVP)
        outputs, made_structure = flatten(made)
        _check_outputs(outputs, _JVP)
        unpacked = [_unpacked(level, output, strict) for output in outputs]
        if has_aux:
            leaves, aux_structure = flatten(aux)
            leaves = [parts(level, x)[0] if isinstance(x, Tensor) else x for x in leaves]
            aux = rebuild(aux_structure, iter(leaves))
    value = rebuild(made_structure, iter([primal for primal, _ in unpacked]))
    product = rebuild(made_structure, iter([tangent for _, tangent in unpacked]))
    return (value, product, aux) if has_aux else (value, product)


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
    with no_grad():
        values, structure = flatten(primals)
        _check_tensors(values, "primals")
    output, vjp_fn = vjp(func, *primals)
    outputs, made = flatten(output)
    with Level(GRAD) as level, enable_grad():
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


# --- Jacobians ------------------------------------------------------------------------------------


def jacrev(
    func: Function,
    argnums: int | tuple[int, ...] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Function:
    """A function that returns the Jacobian of ``func``, a row at a time in reverse mode.

    Args:
        func: returns nested containers of Tensors.
        argnums: the arguments to differentiate with respect to.
        has_aux: whether ``func`` returns ``(output, aux)``.
        chunk_size: rows at once; all of them if None.

    Returns:
        A function whose result has the structure of the output, in it that of the arguments, and
        in that Tensors of the shape ``(*output.shape, *input.shape)``.

    Raises:
        ValueError: if ``chunk_size`` is not positive.
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        chosen = _checked_argnums(argnums, len(args))
        single = isinstance(chosen, int)
        inputs = (args[chosen],) if single else _chosen(args, chosen)
        of_inputs = _of_arguments(func, args, chosen, kwargs)
        output, vjp_fn, *aux = vjp(of_inputs, *inputs, has_aux=has_aux)
        outputs, structure = flatten(output)
        pulled = vjp_fn

        def product(*basis: Tensor) -> list[Tensor]:
            return flatten(pulled(rebuild(structure, iter(basis))))[0]

        rows = jacobian_of_products(product, outputs, chunk_size)
        shape_in = flatten(inputs)
        blocks = []
        for number, output_leaf in enumerate(outputs):
            leaves = [
                row[number].reshape((*output_leaf._array.shape, *row[number]._array.shape[1:]))
                for row in rows
            ]
            block = rebuild(shape_in[1], iter(leaves))
            blocks.append(block[0] if single else block)
        result = rebuild(structure, iter(blocks))
        return (result, aux[0]) if has_aux else result

    return wrapper


def jacfwd(
    func: Function,
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Function:
    """A function that returns the Jacobian of ``func``, a column at a time in forward mode.

    Args and result are those of :func:`jacrev`; ``randomness`` is that of ``vmap``.
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        chosen = _checked_argnums(argnums, len(args))
        single = isinstance(chosen, int)
        inputs = (args[chosen],) if single else _chosen(args, chosen)
        of_inputs = _of_arguments(func, args, chosen, kwargs)
        leaves, structure = flatten(inputs)
        kept: list[Any] = []

        def product(*basis: Tensor) -> list[Tensor]:
            made = jvp(of_inputs, inputs, rebuild(structure, iter(basis)), has_aux=has_aux)
            products, made_structure = flatten(made[1])
            kept[:] = [made_structure, made[2:]]
            return products

        columns = jacobian_of_products(product, leaves, None, randomness)
        blocks = []
        for by_input in columns:
            own = [
                _columns_last(block, leaf) for block, leaf in zip(by_input, leaves, strict=True)
            ]
            block = rebuild(structure, iter(own))
            blocks.append(block[0] if single else block)
        result = rebuild(kept[0], iter(blocks))
        return (result, kept[1][0]) if has_aux else result

    return wrapper


def _columns_last(block: Tensor, leaf: Tensor) -> Tensor:
    """A block with its first dimension, the elements of an input, as the shape of it at the end."""
    moved = block.movedim(0, -1)
    return moved.reshape((*moved._array.shape[:-1], *leaf._array.shape))


def hessian(func: Function, argnums: int | tuple[int, ...] = 0) -> Function:
    """A function that returns the second derivatives of ``func``: forward over reverse mode."""
    return jacfwd(jacrev(func, argnums), argnums)
