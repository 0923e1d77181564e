"""``vmap``: a function of one sample as a function of all samples at once.

The function runs once, on Tensors that show one sample and hold all of them; how operators work on
those is in ``transforms/``. This file opens and closes the level, and takes arguments and results
apart.
"""

from __future__ import annotations

import dataclasses
import functools
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from .. import random
from ..size import Size
from ..structure import LEAF, REGISTERED, Registered, flatten_registered, rebuild
from ..tensor import Tensor
from ..transforms.levels import BATCH, Level, batched, settled, state_of

__all__ = ["vmap"]

RANDOMNESS = ("error", "different", "same")


def _is_node(kind: type) -> bool:
    """Whether instances of a registered class are taken apart; others add the dimension alone."""
    return kind in REGISTERED and not hasattr(kind, "_add_batch_dim")


def flatten(value: Any) -> tuple[list[Any], Any]:
    """The leaves and the structure of arguments or results."""
    return flatten_registered(value, _is_node)


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function that applies ``func`` to every sample of its arguments, all at once.

    Args:
        func: takes Tensors and nested tuples, lists and dicts of them; returns the like.
        in_dims: the dimension of each positional argument that runs over the samples, None for what
            all samples share. An int for all arguments, or nested as these are; what stands for a
            nested argument holds for all in it. Keyword arguments are shared.
        out_dims: where the dimension of the samples is in the results; an int, or nested as they
            are. None for a result that is not a Tensor, or that is the same for all samples.
        randomness: what random operators in ``func`` do: raise an ``error``, or give all samples
            the ``same`` or each a ``different`` draw.
        chunk_size: how many samples are computed at a time; None for all.

    Returns:
        A function of arguments with the dimension of the samples. A result that does not depend on
        the sample is repeated.

    Raises:
        ValueError: for dims that do not fit the arguments or results, sizes that differ, no samples
            to map over, or results that are no Tensors.
        RuntimeError: for an unknown ``randomness``; when called, for what one sample cannot do, as
            ``item()`` or a branch on its value.

    >>> torch.vmap(torch.dot)(torch.ones(3, 4), torch.ones(3, 4))
    tensor([4., 4., 4.])
    """
    if randomness not in RANDOMNESS:
        raise RuntimeError(
            "Only allowed values for randomness are 'error', 'different', or 'same'. Got "
            f"{randomness}"
        )
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        _check_out_dims(func, out_dims)
        leaves, structure = flatten(args)
        dims = _dims_of_arguments(func, in_dims, args, leaves, structure)
        size = _number_of_samples(leaves, dims)
        run = functools.partial(_run, func, structure, dims, out_dims, randomness, kwargs)
        if chunk_size is None:
            return run(size, leaves)
        return _run_in_chunks(run, leaves, dims, out_dims, size, chunk_size, randomness)

    return mapped


def _run(
    func: Callable[..., Any],
    structure: Any,
    dims: list[int | None],
    out_dims: Any,
    randomness: str,
    kwargs: dict[str, Any],
    size: int,
    leaves: list[Any],
) -> Any:
    with Level(BATCH, size, randomness) as level:
        samples = [
            leaf if dim is None else batched_along(level, leaf, dim)
            for leaf, dim in zip(leaves, dims, strict=True)
        ]
        results = func(*rebuild(structure, iter(samples)), **kwargs)
        made, result_structure = flatten(results)
        positions = _dims_of_results(func, out_dims, results, result_structure)
        name = function_name(func)
        values = [
            without_level(name, level, result, position)
            for result, position in zip(made, positions, strict=True)
        ]
    return rebuild(result_structure, iter(values))


def batched_along(level: Level, value: Any, dim: int) -> Any:
    """The stand-in for one sample of a Tensor, or of a container of Tensors, along a dimension.

    Containers that are no leaves of a tree (``TensorDict``) have methods for it, which torch's
    ``vmap`` is made to call.
    """
    if not isinstance(value, Tensor):
        return value._add_batch_dim(in_dim=dim, vmap_level=level)
    return batched(level, value.movedim(dim, 0) if dim else value)


def without_level(name: str, level: Level, result: Any, dim: Any) -> Any:
    """A result with the dimension of the samples at ``dim``."""
    if not isinstance(result, Tensor):
        if dim is None:
            return result
        if hasattr(type(result), "_maybe_remove_batch_dim"):
            return result._maybe_remove_batch_dim(
                name, vmap_level=level, batch_size=level.size, out_dim=dim
            )
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(result)}. Did "
            "you mean to set out_dims= to None for output?"
        )
    result = settled(result)
    state = state_of(result)
    is_mapped = state is not None and state.level is level
    if dim is None:
        if is_mapped:
            raise ValueError(
                f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None"
            )
        return result
    value = state.value if is_mapped else result.expand((level.size, *result._array.shape))
    return value.movedim(0, dim) if dim else value


def _run_in_chunks(
    run: Callable[..., Any],
    leaves: list[Any],
    dims: list[int | None],
    out_dims: Any,
    size: int,
    chunk_size: int,
    randomness: str,
) -> Any:
    """The results of ``chunk_size`` samples at a time, put together."""
    from ..ops.views.join import cat

    start_of_random = random.get_rng_state() if randomness == "same" else None
    chunks = []
    for start in range(0, max(size, 1), chunk_size):
        length = min(chunk_size, size - start)
        if start_of_random is not None:
            random.set_rng_state(start_of_random)
        results = run(
            length,
            [
                leaf if dim is None else leaf.narrow(dim, start, length)
                for leaf, dim in zip(leaves, dims, strict=True)
            ],
        )
        chunks.append(flatten(results))
    structure = chunks[0][1]
    positions = [out_dims] if structure == LEAF else spread(out_dims, structure)
    together = [
        column[0] if position is None else cat(column, _as_int(position))
        for column, position in zip(zip(*[made for made, _ in chunks], strict=True),
                                 positions or (), strict=True)
    ]  # fmt: skip
    return rebuild(structure, iter(together))


def _as_int(dim: Any) -> int:
    return dim[0] if isinstance(dim, tuple) else dim


# --- dims -----------------------------------------------------------------------------------------


def _dims_of_arguments(
    func: Callable[..., Any],
    in_dims: Any,
    args: tuple[Any, ...],
    leaves: Sequence[Any],
    structure: Any,
) -> list[int | None]:
    """The dimension of each leaf that runs over the samples, counted from 0."""
    call = f"vmap({function_name(func)}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{call}expected `in_dims` to be int or a (potentially nested) tuple matching the "
            f"structure of inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({function_name(func)})(<inputs>): got no inputs. Maybe you forgot to add "
            "inputs, or you are trying to vmap over a function with no inputs. The latter is "
            "unsupported."
        )
    dims = spread(in_dims, structure)
    if dims is None:
        raise ValueError(
            f"{call}in_dims is not compatible with the structure of `inputs`. in_dims has "
            f"structure {describe(in_dims)} but inputs has structure {_text(structure)}."
        )
    return [_checked(call, dim, leaf) for dim, leaf in zip(dims, leaves, strict=True)]


def _checked(call: str, dim: Any, leaf: Any) -> int | None:
    """A dimension of an argument, counted from 0."""
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise ValueError(
            f"{call}Got in_dim={dim} for an input but in_dim must be either an integer dimension "
            "or None."
        )
    if not isinstance(leaf, Tensor) and not hasattr(type(leaf), "_add_batch_dim"):
        raise ValueError(
            f"{call}Got in_dim={dim} for an input but the input is of type {type(leaf)}. We cannot "
            "vmap over non-Tensor arguments, please use None as the respective in_dim"
        )
    rank = leaf.dim()
    if not -rank <= dim < rank:
        raise ValueError(
            f"{call}Got in_dim={dim} for some input, but that input is a Tensor of dimensionality "
            f"{rank} so expected in_dim to satisfy -{rank} <= in_dim < {rank}."
        )
    return dim % rank


def _number_of_samples(leaves: Sequence[Any], dims: Sequence[int | None]) -> int:
    sizes = [leaf.size(dim) for leaf, dim in zip(leaves, dims, strict=True) if dim is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if len(set(sizes)) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    return sizes[0]


def _check_out_dims(func: Callable[..., Any], out_dims: Any) -> None:
    for dim in flatten(out_dims)[0]:
        if dim is not None and not isinstance(dim, int):
            raise ValueError(
                f"vmap({function_name(func)}, ..., out_dims={out_dims}): `out_dims` must be an "
                "int, None or a python collection of ints representing where in the outputs the "
                "vmapped dimension should appear."
            )


def _dims_of_results(
    func: Callable[..., Any], out_dims: Any, results: Any, structure: Any
) -> list[int | None]:
    """Where the samples go in each leaf of the results."""
    dims: list[Any] | None
    if structure == LEAF:
        # A tuple of one int may stand for it.
        one = out_dims[0] if isinstance(out_dims, tuple) and len(out_dims) == 1 else out_dims
        dims = [one] if one is None or isinstance(one, int) else None
    else:
        dims = spread(out_dims, structure)
    if dims is None:
        raise ValueError(
            f"vmap({function_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not "
            f"compatible with the structure of `outputs`. out_dims has structure "
            f"{describe(out_dims)} but outputs has structure {_text(structure)}."
        )
    return dims


def describe(value: Any) -> str:
    """The structure of a nested value as torch writes it."""
    return _text(flatten(value)[1])


def spread(dims: Any, structure: Any) -> list[Any] | None:
    """Nested dims as one for each leaf of a structure; None if they are nested otherwise."""
    leaves, own = flatten(dims)
    found: list[Any] = []
    return found if _match(own, iter(leaves), structure, found) else None


def _match(own: Any, leaves: Any, structure: Any, found: list[Any]) -> bool:
    if own == LEAF:
        found.extend([next(leaves)] * _count(structure))
        return True
    if structure == LEAF:
        return False
    head, children = _parts(own)
    other_head, others = _parts(structure)
    return (
        head == other_head
        and len(children) == len(others)
        and all([_match(a, leaves, b, found) for a, b in zip(children, others, strict=True)])
    )


def _parts(structure: Any) -> tuple[tuple[Any, Any], Sequence[Any]]:
    """The class of a structure that is no leaf with its names (of entries), and its children."""
    kind = structure[0]
    if isinstance(kind, Registered):
        return (kind.kind, kind.context), structure[1:]
    if kind is Size:
        return (kind, structure[1:]), ()
    if kind is dict or kind is OrderedDict or dataclasses.is_dataclass(kind):
        return (kind, list(structure[1])), structure[2:]
    return (kind, None), structure[1:]


def _count(structure: Any) -> int:
    """Number of leaves of a structure."""
    if structure == LEAF:
        return 1
    count = 0
    for child in _parts(structure)[1]:
        count += 1 if child == LEAF else _count(child)
    return count


def _text(structure: Any, indent: int = 0) -> str:
    """A structure as torch writes it."""
    if structure == LEAF:
        return "*"
    (kind, names), children = _parts(structure)
    indent += 2
    texts = f",\n{' ' * indent}".join([_text(child, indent) for child in children])
    return f"TreeSpec({kind.__name__}, {names}, [{texts}])"


def function_name(func: Callable[..., Any]) -> str:
    """The name of a function in messages."""
    if hasattr(func, "__name__"):
        return func.__name__
    if isinstance(func, functools.partial):
        return f"functools.partial({function_name(func.func)}, ...)"
    return repr(func)
