"""Jacobians and Hessians: products with every vector of a basis at once, by ``vmap``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..structure import flatten_registered as flatten
from ..structure import rebuild
from ..tensor import Tensor
from .arguments import checked_argnums, chosen_arguments, of_arguments
from .basis import jacobian_of_products
from .derivatives import jvp, vjp

__all__ = ["hessian", "jacfwd", "jacrev"]

Function = Callable[..., Any]


def jacrev(
    func: Function,
    argnums: int | tuple[int, ...] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Function:
    """A function that returns the Jacobian of ``func``, a row at a time in reverse mode.

    Args:
        func: returns nested containers of Tensors.
        argnums: the arguments to differentiate with respect to.
        has_aux: whether ``func`` returns ``(output, aux)``.
        chunk_size: rows at once; all of them if None.
        _preallocate_and_copy: how torch puts the chunks together; without effect here.

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
        chosen = checked_argnums(argnums, len(args))
        single = isinstance(chosen, int)
        inputs = (args[chosen],) if single else chosen_arguments(args, chosen)
        _check_real("jacrev", "input", flatten(inputs)[0])
        of_inputs = of_arguments(func, args, chosen, kwargs)
        output, vjp_fn, *aux = vjp(of_inputs, *inputs, has_aux=has_aux)
        outputs, structure = flatten(output)
        _check_real("jacrev", "output", outputs)
        pulled = vjp_fn

        def product(*basis: Tensor) -> list[Tensor]:
            return flatten(pulled(rebuild(structure, iter(basis))))[0]

        rows = jacobian_of_products(func, product, outputs, chunk_size)
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
        chosen = checked_argnums(argnums, len(args))
        single = isinstance(chosen, int)
        inputs = (args[chosen],) if single else chosen_arguments(args, chosen)
        of_inputs = of_arguments(func, args, chosen, kwargs)
        leaves, structure = flatten(inputs)
        _check_real("jacfwd", "input", leaves)
        kept: list[Any] = []

        def product(*basis: Tensor) -> list[Tensor]:
            made = jvp(of_inputs, inputs, rebuild(structure, iter(basis)), has_aux=has_aux)
            products, made_structure = flatten(made[1])
            _check_real("jacfwd", "output", products)
            kept[:] = [made_structure, made[2:]]
            return products

        columns = jacobian_of_products(func, product, leaves, None, randomness)
        blocks = []
        for by_input in columns:
            own = [_columns_last(block, leaf) for block, leaf in zip(by_input, leaves, strict=True)]
            block = rebuild(structure, iter(own))
            blocks.append(block[0] if single else block)
        result = rebuild(kept[0], iter(blocks))
        return (result, kept[1][0]) if has_aux else result

    return wrapper


def _check_real(api: str, what: str, leaves: list[Any]) -> None:
    """Raise torch's error for complex tensors: what a Jacobian of these is, is not agreed on."""
    for position, leaf in enumerate(leaves):
        if isinstance(leaf, Tensor) and leaf.is_complex():
            raise RuntimeError(
                f"{api}: Expected all {what}s to be real but received complex tensor at flattened "
                f"{what} idx: {position}"
            )


def _columns_last(block: Tensor, leaf: Tensor) -> Tensor:
    """A block with its first dimension, the elements of an input, as the shape of it at the end."""
    moved = block.movedim(0, -1)
    return moved.reshape((*moved._array.shape[:-1], *leaf._array.shape))


def hessian(func: Function, argnums: int | tuple[int, ...] = 0) -> Function:
    """A function that returns the second derivatives of ``func``: forward over reverse mode.

    >>> torch.func.hessian(lambda x: x[0] * x[1] ** 2)(torch.tensor([1.0, 2.0]))
    tensor([[0., 4.],
            [4., 2.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
