"""Sums of products over chosen dimensions: tensordot, inner, einsum, kron, chains of products.

Built of permutations, products of matrices and sums, so that their gradients are those of these.
"""

from __future__ import annotations

import functools
import math
import string
from collections.abc import Sequence
from typing import Any

from ...tensor import Tensor
from ...type_names import type_name
from ..arguments.requirements import tensors_of
from ..arguments.shapes import common_shape, dimension, dimensions
from ..methods.registry import method
from ..views.view import reshape, t, unsafe_view
from .matmul import bmm, mm

__all__ = ["chain_matmul", "einsum", "inner", "kron", "tensordot"]


def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Sum of products over the given dimensions of both, or over the last/first ``dims``.

    Raises:
        RuntimeError: if the contracted sizes differ.
    """
    first, second = _contracted(dims, a._array.shape, b._array.shape)
    a, b = _summed_over_ones(a, b, first, second), _summed_over_ones(b, a, second, first)
    sizes_a = [a._array.shape[d] for d in first]
    sizes_b = [b._array.shape[d] for d in second]
    if sizes_a != sizes_b:
        raise RuntimeError(
            f"tensordot: contracted dimensions need to match, but got {sizes_a} and {sizes_b}"
        )
    kept_a = [d for d in range(a._array.ndim) if d not in first]
    kept_b = [d for d in range(b._array.ndim) if d not in second]
    rows = [a._array.shape[d] for d in kept_a]
    columns = [b._array.shape[d] for d in kept_b]
    depth = math.prod(sizes_a)
    left = a.permute((*kept_a, *first)).reshape(math.prod(rows), depth)
    right = b.permute((*second, *kept_b)).reshape(depth, math.prod(columns))
    return mm(left, right).reshape((*rows, *columns))


def _contracted(
    dims: Any, shape_a: tuple[int, ...], shape_b: tuple[int, ...]
) -> tuple[list[int], list[int]]:
    """The dimensions of both tensors that ``dims`` of ``tensordot`` names, counted from 0."""
    rank_a, rank_b = len(shape_a), len(shape_b)
    if isinstance(dims, Tensor):
        dims = dims.tolist()
        if not isinstance(dims, list):
            dims = int(dims)
        elif len(dims) == 1:
            dims = int(dims[0])
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(rank_a, rank_b):
            raise RuntimeError(
                f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims} for tensors of "
                f"{rank_a} and {rank_b} dimensions"
            )
        return list(range(rank_a - dims, rank_a)), list(range(dims))
    if not isinstance(dims, (tuple, list)):
        raise RuntimeError(
            "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] "
            f"containing two lists, but got dims={type_name(dims)}"
        )
    if len(dims) != 2:
        raise ValueError(
            "tensordot expects two lists of dims, those of the first and of the second tensor, but "
            f"got {len(dims)}"
        )
    for name, several in zip(("dims_self", "dims_other"), dims, strict=True):
        if not isinstance(several, (tuple, list)):
            raise TypeError(
                f"tensordot(): argument '{name}' must be tuple of ints, not {type_name(several)}"
            )
    if len(dims[0]) != len(dims[1]):
        raise RuntimeError(
            f"both dimension lists should have same length, got {list(dims[0])} and {list(dims[1])}"
        )
    for one, other in zip(*dims, strict=True):
        first, second = shape_a[dimension(rank_a, one)], shape_b[dimension(rank_b, other)]
        if first != second and 1 not in (first, second):
            raise RuntimeError(
                f"tensordot: contracted dimensions need to match, but first has size {first} in "
                f"dim {one} and second has size {second} in dim {other}"
            )
    return dimensions(rank_a, dims[0]), dimensions(rank_b, dims[1])


def _summed_over_ones(x: Tensor, other: Tensor, dims: list[int], of_other: list[int]) -> Tensor:
    """``x`` summed over those dimensions that meet a size of 1, which stands for any size."""
    own, met = x._array.shape, other._array.shape
    meeting = [d for d, e in zip(dims, of_other, strict=False) if own[d] != 1 == met[e]]
    return x.sum(meeting, keepdim=True) if meeting else x


@method()
def inner(input: Tensor, other: Tensor) -> Tensor:
    """Sums of products along the last dimension of both operands."""
    if input._array.ndim == 0 or other._array.ndim == 0:
        return input * other
    if input._array.shape[-1] != other._array.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(input._array.shape)} and {list(other._array.shape)}"
        )
    rows, columns, depth = input._array.shape[:-1], other._array.shape[:-1], input._array.shape[-1]
    left = input if len(rows) == 1 else reshape(input, math.prod(rows), depth)
    right = other if len(columns) == 1 else reshape(other, math.prod(columns), depth)
    return reshape(mm(left, t(right)), (*rows, *columns))


@method()
def kron(input: Tensor, other: Tensor) -> Tensor:
    """Every element of ``input`` times the whole of ``other``, as blocks of one tensor."""
    rank = max(input._array.ndim, other._array.ndim)
    own, given = ((1,) * (rank - x._array.ndim) + x._array.shape for x in (input, other))
    left = input.reshape([size for pair in zip(own, (1,) * rank, strict=True) for size in pair])
    right = other.reshape([size for pair in zip((1,) * rank, given, strict=True) for size in pair])
    shape = [m * n for m, n in zip(own, given, strict=True)]
    return unsafe_view(left * right, tuple(shape))


# --- chains ---------------------------------------------------------------------------------------


def _splits(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """Where to cut the chain i..j of matrices (sizes[i], sizes[i + 1]) for the fewest products."""
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    cuts = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            cost[i, j], cuts[i, j] = min(
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            )
    return cuts


def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """Product of two or more matrices in the order that costs least.

    The first and the last may be vectors: a row and a column, whose dimension the result lacks.

    Raises:
        RuntimeError: for fewer than two factors, or sizes that do not follow on each other.
    """
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    first, *middle, last = tensors
    matrices = [
        first.unsqueeze(0) if first._array.ndim == 1 else first,
        *middle,
        last.unsqueeze(1) if last._array.ndim == 1 else last,
    ]
    for position, matrix in enumerate(matrices):
        if matrix._array.ndim != 2:
            raise RuntimeError(
                f"multi_dot(): tensor {position} must be 2D but got "
                f"{tensors[position]._array.ndim}D"
            )
    cuts = _splits([matrices[0]._array.shape[0], *[x._array.shape[1] for x in matrices]])
    made = _product_between(matrices, cuts, 0, len(matrices) - 1)
    shape = first._array.shape[:-1] + last._array.shape[1:]
    return made.view(shape)


def _product_between(
    matrices: list[Tensor], cuts: dict[tuple[int, int], int], i: int, j: int
) -> Tensor:
    """The product of the matrices from ``i`` to ``j``; products are cut where ``cuts`` says."""
    if i == j:
        return matrices[i]
    cut = cuts[i, j]
    return mm(
        _product_between(matrices, cuts, i, cut), _product_between(matrices, cuts, cut + 1, j)
    )


def chain_matmul(*matrices: Tensor) -> Tensor:
    """Product of one or more matrices in the order that costs least."""
    for matrix in matrices:
        if matrix._array.ndim != 2:
            raise RuntimeError(
                f"chain_matmul(): Tensor dimension is {matrix._array.ndim}, expected 2 instead."
            )
    if len(matrices) == 1:
        return matrices[0].clone()
    return multi_dot(matrices)


# --- einsum ---------------------------------------------------------------------------------------
#
# A dimension is named by its letter, or by a number below zero if it stands under an ellipsis.

Labels = list[Any]


def einsum(equation: Any, *operands: Any) -> Tensor:
    """Sum of products in Einstein's notation: ``einsum("ij,jk->ik", a, b)``.

    Operands are multiplied from the left, each pair by one product of matrices. An ellipsis stands
    for dimensions that broadcast. Without an arrow the letters that occur once are kept, in
    alphabetical order. Operands and lists of ints may take turns instead, the last list standing
    for what is kept.

    Raises:
        RuntimeError: for an equation that does not fit the operands.

    >>> a, b = torch.ones(5, 2, 3), torch.ones(5, 3, 4)
    >>> torch.einsum("bij,bjk->bik", a, b).shape
    torch.Size([5, 2, 4])
    """
    if operands and not isinstance(equation, str):
        equation, operands = _as_letters((equation, *operands))
    operands = tuple(tensors_of("einsum", operands, 2))
    if not operands:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one "
            "operand and its subscripts list"
        )
    terms, output = _parsed(equation, tuple([x._array.ndim for x in operands]))
    _check_sizes(terms, operands)
    plain = _plain_product(equation, operands)
    if plain is not None:
        return plain
    made, labels = _diagonals(operands[0], terms[0])
    for position, operand in enumerate(operands[1:], 1):
        kept = dict.fromkeys([*output, *[x for term in terms[position + 1 :] for x in term]])
        made, labels = _multiplied(made, labels, *_diagonals(operand, terms[position]), list(kept))
    made, labels = _summed(made, labels, set(output))
    if labels == output and made is not operands[0]:
        return made
    return made.permute([labels.index(label) for label in output])


@functools.lru_cache(maxsize=512)
def _letters_of_product(equation: str) -> str:
    """Which operands of an equation of two matrices are transposed, as "nn", "nt", "tn" or "tt".

    Empty for all equations that are no product of two matrices.
    """
    terms = [term.strip() for term in equation.replace("->", ",").split(",")]
    if len(terms) != 3 or "->" not in equation:
        return ""
    first, second, result = terms
    if not all([len(term) == 2 and term[0] != term[1] and term.isalpha() for term in terms]):
        return ""
    shared = set(first) & set(second)
    if len(shared) != 1 or shared & set(result):
        return ""
    (depth,) = shared
    row, column = first.replace(depth, ""), second.replace(depth, "")
    if result != row + column:
        return ""
    return ("t" if first[0] == depth else "n") + ("n" if second[0] == depth else "t")


def _plain_product(equation: str, operands: Sequence[Tensor]) -> Tensor | None:
    """The result of an equation that is a product of two matrices; None for any other.

    Sizes of 1 may be broadcast, which is left to the general way.
    """
    turned = _letters_of_product(equation)
    if not turned:
        return None
    a, b = operands
    if turned[0] == "t":
        a = a.t()
    if turned[1] == "t":
        b = b.t()
    if a._array.shape[1] != b._array.shape[0]:
        return None
    made = mm(a, b)
    return reshape(made, made._array.shape)  # a view as the general way makes it


def _as_letters(arguments: Sequence[Any]) -> tuple[str, tuple[Tensor, ...]]:
    """The equation and operands of ``einsum(a, [0, 1], b, [1, 2], [0, 2])``."""

    def term(numbers: Sequence[Any]) -> str:
        return "".join(["..." if n is Ellipsis else _LETTERS[n] for n in numbers])

    pairs = len(arguments) // 2
    equation = ",".join([term(numbers) for numbers in arguments[1 : 2 * pairs : 2]])
    if len(arguments) % 2:
        equation += "->" + term(arguments[-1])
    return equation, tuple(arguments[: 2 * pairs : 2])


_LETTERS = string.ascii_uppercase + string.ascii_lowercase


@functools.lru_cache(maxsize=512)
def _parsed(equation: str, ranks: tuple[int, ...]) -> tuple[list[Labels], Labels]:
    """The labels of every operand, and those of the result, for operands of these ranks."""
    inputs, arrow, kept = equation.replace(" ", "").partition("->")
    texts = inputs.split(",")
    if len(texts) != len(ranks):
        raise RuntimeError(
            f"einsum(): the equation {equation!r} has {len(texts)} terms, but {len(ranks)} "
            "operands were given"
        )
    terms = [
        _labels(text, rank - len(text.replace("...", "")))
        for text, rank in zip(texts, ranks, strict=True)
    ]
    for position, (labels, rank) in enumerate(zip(terms, ranks, strict=True)):
        if len(labels) != rank:
            raise RuntimeError(
                f"einsum(): the number of subscripts in {texts[position]!r} does not match the "
                f"number of dimensions ({rank}) of operand {position}"
            )
    every = [label for labels in terms for label in labels]
    hidden = max([-label for label in every if isinstance(label, int)], default=0)
    if arrow:
        output = _labels(kept, hidden)
    else:
        once = sorted([x for x in every if isinstance(x, str) and every.count(x) == 1])
        output = [*range(-hidden, 0), *once]
    unknown = [label for label in output if label not in every or output.count(label) > 1]
    if unknown:
        raise RuntimeError(
            f"einsum(): the output subscript {unknown[0]!r} of {equation!r} must occur in an "
            "input, and in the output once"
        )
    return terms, output


def _labels(text: str, hidden: int) -> Labels:
    """The labels of a term, of which an ellipsis stands for ``hidden``."""
    before, dots, after = text.partition("...")
    for letter in before + after:
        if letter not in _LETTERS:
            raise RuntimeError(
                f"einsum(): invalid subscript {letter!r}, subscripts must be in [a-zA-Z]"
            )
    return [*before, *(range(-hidden, 0) if dots else ()), *after]


def _check_sizes(terms: list[Labels], operands: Sequence[Tensor]) -> None:
    sizes: dict[Any, int] = {}
    for position, (labels, operand) in enumerate(zip(terms, operands, strict=True)):
        own: dict[Any, int] = {}
        for label, size in zip(labels, operand._array.shape, strict=True):
            if own.setdefault(label, size) != size:
                raise RuntimeError(
                    f"einsum(): subscript {label} is repeated for operand {position} but the sizes "
                    f"don't match, {size} != {own[label]}"
                )
            if sizes.setdefault(label, size) == 1:
                sizes[label] = size
            if size not in (1, sizes[label]):
                raise RuntimeError(
                    f"einsum(): subscript {label} has size {size} for operand {position} which "
                    f"does not broadcast with previously seen size {sizes[label]}"
                )


def _diagonals(tensor: Tensor, labels: Labels) -> tuple[Tensor, Labels]:
    """One dimension for every label: where it is named twice, the diagonal."""
    labels = list(labels)
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            tensor = tensor.diagonal(0, first, second)
            labels = [x for k, x in enumerate(labels) if k not in (first, second)] + [label]
    return tensor, labels


def _summed(tensor: Tensor, labels: Labels, kept: set[Any]) -> tuple[Tensor, Labels]:
    dims = [dim for dim, label in enumerate(labels) if label not in kept]
    if not dims:
        return tensor, labels
    return tensor.sum(dims), [label for label in labels if label in kept]


def _has_one(tensor: Tensor, labels: Labels, label: Any) -> bool:
    return tensor._array.shape[labels.index(label)] == 1


def _dropped(tensor: Tensor, labels: Labels, thin: Labels) -> tuple[Tensor, Labels]:
    """The sum over these labels; where they have one element nothing is added, or converted."""
    ones = [dim for dim, label in enumerate(labels) if label in thin and tensor.shape[dim] == 1]
    if ones:
        tensor = tensor.squeeze(ones)
        labels = [label for dim, label in enumerate(labels) if dim not in ones]
    return _summed(tensor, labels, {label for label in labels if label not in thin})


def _aligned(tensor: Tensor, labels: Labels, order: Labels) -> Tensor:
    """The dimensions in this order, of size 1 where a label is not the tensor's."""
    own = [label for label in order if label in labels]
    moved = tensor
    if own != labels:
        moved = tensor.permute([labels.index(label) for label in own])
    if own == order:
        return moved
    sizes = dict(zip(own, moved._array.shape, strict=True))
    return moved.reshape([sizes.get(label, 1) for label in order])


def _multiplied(
    a: Tensor, a_labels: Labels, b: Tensor, b_labels: Labels, kept: Labels
) -> tuple[Tensor, Labels]:
    """The product of two operands, summed over the labels that are not needed any more."""
    a, a_labels = _summed(a, a_labels, {*kept, *b_labels})
    b, b_labels = _summed(b, b_labels, {*kept, *a_labels})
    shared = [label for label in a_labels if label in b_labels]
    batch = [label for label in shared if label in kept]
    summed = [label for label in shared if label not in kept]
    thin = [x for x in summed if _has_one(a, a_labels, x) or _has_one(b, b_labels, x)]
    if thin:  # nothing is contracted over them: no product of matrices, which takes one dtype
        a, a_labels = _dropped(a, a_labels, thin)
        b, b_labels = _dropped(b, b_labels, thin)
        shared, summed = [[x for x in labels if x not in thin] for labels in (shared, summed)]
    if not summed:
        order = [label for label in kept if label in a_labels or label in b_labels]
        return _aligned(a, a_labels, order) * _aligned(b, b_labels, order), order
    rows = [label for label in a_labels if label not in shared]
    columns = [label for label in b_labels if label not in shared]
    a = _aligned(a, a_labels, batch + rows + summed)
    b = _aligned(b, b_labels, batch + summed + columns)
    shape_a, shape_b = a._array.shape, b._array.shape
    first = len(batch)
    row_sizes, column_sizes = shape_a[first : first + len(rows)], shape_b[len(shared) :]
    batch_sizes = common_shape([shape_a[:first], shape_b[:first]])
    depths = common_shape([shape_a[first + len(rows) :], shape_b[first : len(shared)]])
    left = _expanded(a, (*batch_sizes, *row_sizes, *depths))
    right = _expanded(b, (*batch_sizes, *depths, *column_sizes))
    sizes = (batch_sizes, row_sizes, depths, column_sizes)
    count, height, depth, width = map(math.prod, sizes)
    if batch:
        product = bmm(
            _reshaped(left, (count, height, depth)), _reshaped(right, (count, depth, width))
        )
    else:
        product = mm(_reshaped(left, (height, depth)), _reshaped(right, (depth, width)))
    return product.reshape((*batch_sizes, *row_sizes, *column_sizes)), batch + rows + columns


def _expanded(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    return tensor if tensor._array.shape == shape else tensor.expand(shape)


def _reshaped(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    return tensor if tensor._array.shape == shape else tensor.reshape(shape)
