"""Indexing against live torch: values, names of nodes, gradients, assignment and error texts."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import numbagrad

Build = Callable[[Any, Any], Any]  # from a tensor and the namespace it belongs to

SHAPE = (3, 4, 5)
RANDOM = np.random.default_rng(0)
MASK = RANDOM.random((3, 4)) > 0.5
FULL_MASK = RANDOM.random(SHAPE) > 0.5


def ints(*values: int) -> np.ndarray[Any, Any]:
    return np.array(values)


ALL = slice(None)
KEYS: list[Any] = [
    0, -1, slice(1, 3), slice(None, None, 2), slice(0, 0), None, ..., (0, 1), (0, ...), (..., 0),
    (ALL, 1), (None, 0), (0, 1, 2), (0, 1, 2, None), ints(0, 2, 0), (ints(0, 1), ints(1, 3)),
    (ALL, ints(0, 1, 1)), (0, ALL, ints(0, 1)), (ints(0, 1), ALL, ints(0, 1)), (ints(0, 1), 0),
    (ALL, 0, ints(1, 1)), MASK, (ALL, ALL, FULL_MASK[0, 0]), (MASK, ints(0)), FULL_MASK, True,
    False, (0, True), [0, 1], [-1], (ALL, [0, 1], [[0], [1]]), np.array(1),
    (np.array(-1), slice(1, 2)), (None, ints(0, 1)), (ints(0, 1), None, ints(0, 1)),
    (0, None, ints(1, 1)), [True, False, True], np.array(True), [], (1, []), np.int64(1),
    (ints(0, 1).reshape(2, 1), ints(0, 1, 2)), (..., ints(0, 1), ints(2, 3), slice(0, 3)),
    (slice(5, 9), ints(0, 1)), ([0, 1], ..., [1, 0]), (ints(-1, -3), ints(-4, 3)),
]  # fmt: skip

WRONG_KEYS: list[Any] = [
    5, (0, 0, 0, 0), slice(None, None, -1), ints(5), np.array([True]), np.array([0.5]), "a", 1.5,
    ([0, 1], [0, 1, 2]), (0, ints(9)), (ALL, [9]), ints(-4), np.array([1], dtype=np.int16),
    (0, 9), (ALL, -7), (0, MASK),
]  # fmt: skip


def for_library(key: Any, library: Any) -> Any:
    """A key whose arrays are tensors of ``library``."""
    if isinstance(key, tuple):
        return tuple([for_library(entry, library) for entry in key])
    return library.from_numpy(key) if isinstance(key, np.ndarray) else key


def both(shape: tuple[int, ...] = SHAPE, seed: int = 0) -> tuple[Any, Any]:
    values = np.random.default_rng(seed).standard_normal(shape)
    ours = numbagrad.from_numpy(values.copy()).requires_grad_()
    return ours, torch.from_numpy(values.copy()).requires_grad_()


def check_gradients(made: Any, expected: Any, *pairs: tuple[Any, Any]) -> None:
    """Gradients of a weighted sum of squares, for pairs of our leaf and torch's."""
    weights = np.random.default_rng(1).standard_normal(tuple(expected.shape))
    (made * made * numbagrad.from_numpy(weights)).sum().backward()
    (expected * expected * torch.from_numpy(weights)).sum().backward()
    for ours, reference in pairs:
        theirs = torch.zeros_like(reference) if reference.grad is None else reference.grad
        own = numbagrad.zeros_like(ours) if ours.grad is None else ours.grad
        np.testing.assert_allclose(own.numpy(), theirs.numpy(), rtol=1e-12, atol=1e-14)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_reading(key: Any) -> None:
    x, reference = both()
    made, expected = x[for_library(key, numbagrad)], reference[for_library(key, torch)]
    assert tuple(made.shape) == tuple(expected.shape)
    assert np.array_equal(made.detach().numpy(), expected.detach().numpy())
    assert made.grad_fn.name() == expected.grad_fn.name()
    assert made._is_view() == expected._is_view()
    check_gradients(made, expected, (x, reference))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("value", ["number", "full", "row"])
@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_assignment(key: Any, value: str) -> None:
    x, reference = both()
    shape = tuple(reference[for_library(key, torch)].shape)
    y, given = both({"number": (), "full": shape, "row": shape[-1:]}[value], seed=2)
    if value == "number":
        y = given = 2.5
    written, expected = x * 1, reference * 1
    written[for_library(key, numbagrad)] = y
    expected[for_library(key, torch)] = given
    assert np.array_equal(written.detach().numpy(), expected.detach().numpy())
    leaves = [(x, reference)] if value == "number" else [(x, reference), (y, given)]
    check_gradients(written, expected, *leaves)
    with numbagrad.no_grad(), torch.no_grad():
        plain, twin = x.detach().clone(), reference.detach().clone()
        plain[for_library(key, numbagrad)] = y
        twin[for_library(key, torch)] = given
    assert np.array_equal(plain.numpy(), twin.numpy())


@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize("key", WRONG_KEYS, ids=repr)
def test_keys_that_do_not_fit(key: Any, write: bool) -> None:
    def use(tensor: Any, library: Any) -> None:
        if write:
            tensor[for_library(key, library)] = 1.0
        else:
            tensor[for_library(key, library)]

    x, reference = both()
    with pytest.raises(Exception) as expected:  # noqa: PT011 - torch says which
        use(reference * 1, torch)
    with pytest.raises(expected.type) as raised:
        use(x * 1, numbagrad)
    assert str(raised.value) == str(expected.value)


def index(t: Any, *values: Any) -> Any:
    return t.tensor(list(values))


OPERATORS: dict[str, Build] = {
    "gather": lambda x, t: x.gather(1, index(t, [[0, 3], [1, 1]], [[2, 2], [0, 0]])),
    "gather last": lambda x, t: t.gather(x, -1, index(t, [[0, 3, 3], [1, 1, 1]])),
    "scatter": lambda x, t: x.scatter(0, index(t, [[0, 2], [1, 1]]), x[:1, :2, :2] * 3),
    "scatter number": lambda x, t: x.scatter(1, index(t, [[0], [3]]), 2.5),
    "scatter_reduce rows": lambda x, t: x.scatter_reduce(
        0, index(t, [[0], [0]]), x[:1, :2, :1] * 3, "sum"
    ),
    "scatter_add": lambda x, t: x.scatter_add(2, index(t, [[0, 4, 4, 0]]), x[:1, :1, :4] * 3),
    "scatter_reduce sum": lambda x, t: x.scatter_reduce(
        0, index(t, [[0, 2, 2]]), x[:1, :1, :3] * 3, "sum"
    ),
    "scatter_reduce mean": lambda x, t: x.scatter_reduce(
        0, index(t, [[0, 2, 2]]), x[:1, :1, :3] * 3, "mean"
    ),
    "scatter_reduce prod": lambda x, t: x.scatter_reduce(
        2, index(t, [[0, 2, 2]]), x[:1, :1, :3] * 3, "prod"
    ),
    "scatter_reduce amax": lambda x, t: x.scatter_reduce(
        2, index(t, [[0, 2, 2]]), x[:1, :1, :3] * 3, "amax"
    ),
    "scatter_reduce amin": lambda x, t: x.scatter_reduce(
        2, index(t, [[0, 2, 2]]), x[:1, :1, :3] * 3, "amin"
    ),
    "scatter_reduce without self": lambda x, t: x.scatter_reduce(
        2, index(t, [[0, 2, 2]]), x[:1, :1, :3] * 3, "sum", include_self=False
    ),
    "index_select": lambda x, t: x.index_select(1, index(t, 0, 2, 2)),
    "index_add": lambda x, t: x.index_add(1, index(t, 0, 2, 2), x[:, :3] * 2, alpha=3),
    "index_copy": lambda x, t: x.index_copy(2, index(t, 4, 0), x[..., 1:3] * 2),
    "index_fill": lambda x, t: x.index_fill(0, index(t, 1, -1), 4.0),
    "index_fill tensor": lambda x, t: x.index_fill(0, index(t, 1), x[0, 0, 0]),
    "index_put": lambda x, t: x.index_put((index(t, 0, 1), index(t, 1, 1)), x[0, :2] * 2),
    "index_put add": lambda x, t: x.index_put(
        (index(t, 0, 0), index(t, 1, 1)), x[1, :2] * 2, accumulate=True
    ),
    "take": lambda x, t: x.take(index(t, [0, 59], [-1, 3])),
    "take_along_dim": lambda x, t: t.take_along_dim(x, index(t, [[0, 3]]), 2),
    "take_along_dim flat": lambda x, t: t.take_along_dim(x, index(t, 5, 6)),
    "masked_select": lambda x, t: x.masked_select(x > 0),
    "masked_select broadcast": lambda x, t: x.masked_select(x[0, 0] > 0),
    "masked_scatter": lambda x, t: x.masked_scatter(x > 0, x.flatten() * 2),
    "masked_fill": lambda x, t: x.masked_fill(x > 0, 3.0),
    "sort": lambda x, t: x.sort(1)[0],
    "sort descending": lambda x, t: x.sort(-1, descending=True)[0],
    "topk": lambda x, t: x.topk(2)[0],
    "topk smallest": lambda x, t: x.topk(3, 1, largest=False)[0],
    "kthvalue": lambda x, t: x.kthvalue(2, 1)[0],
    "msort": lambda x, t: x.msort(),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name: str) -> None:
    x, reference = both()
    made, expected = OPERATORS[name](x, numbagrad), OPERATORS[name](reference, torch)
    np.testing.assert_allclose(made.detach().numpy(), expected.detach().numpy(), rtol=1e-14)
    check_gradients(made, expected, (x, reference))


IN_PLACE: dict[str, Build] = {
    "scatter_": lambda x, t: x.scatter_(0, index(t, [[0, 2], [1, 1]]), x[:1, :2, :2] * 3),
    "scatter_add_": lambda x, t: x.scatter_add_(2, index(t, [[0, 4, 4, 0]]), x[:1, :1, :4] * 3),
    "index_add_": lambda x, t: x.index_add_(1, index(t, 0, 2, 2), x[:, :3] * 2),
    "index_copy_": lambda x, t: x.index_copy_(2, index(t, 4, 0), x[..., 1:3] * 2),
    "index_fill_": lambda x, t: x.index_fill_(0, index(t, 1, -1), 4.0),
    "index_put_": lambda x, t: x.index_put_((index(t, 0, 1),), x[0] * 2),
    "index_put_ add": lambda x, t: x.index_put_((index(t, 1, 1),), x[0] * 2, accumulate=True),
    "masked_scatter_": lambda x, t: x.masked_scatter_(x > 0, x.flatten() * 2),
    "masked_fill_": lambda x, t: x.masked_fill_(x > 0, 3.0),
    "through a view": lambda x, t: (x[1].scatter_add_(0, index(t, [0, 0, 3, 3, 1]).reshape(1, 5),
                                                      x[0, :1] * 2), x)[1],
}  # fmt: skip


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(name: str) -> None:
    x, reference = both()
    made, expected = IN_PLACE[name](x * 2, numbagrad), IN_PLACE[name](reference * 2, torch)
    np.testing.assert_allclose(made.detach().numpy(), expected.detach().numpy(), rtol=1e-14)
    check_gradients(made, expected, (x, reference))


PLAIN: dict[str, Build] = {
    "nonzero": lambda x, t: (x > 0).nonzero(),
    "nonzero as_tuple": lambda x, t: (x > 0).nonzero(as_tuple=True)[1],
    "where": lambda x, t: t.where(x > 0)[2],
    "argwhere": lambda x, t: t.argwhere(x > 0),
    "sort indices": lambda x, t: x.sort(0, descending=True)[1],
    "argsort": lambda x, t: x.argsort(1),
    "topk indices": lambda x, t: x.topk(3, 1)[1],
    "kthvalue index": lambda x, t: x.kthvalue(2, 0, keepdim=True)[1],
    "unique": lambda x, t: t.unique((x * 2).round()),
    "unique inverse": lambda x, t: t.unique((x * 2).round(), return_inverse=True)[1],
    "unique counts": lambda x, t: t.unique((x * 2).round(), return_counts=True)[1],
    "unique rows": lambda x, t: t.unique((x[0] * 0.5).round(), dim=0),
    "unique_consecutive": lambda x, t: t.unique_consecutive((x > 0).flatten()),
    "unique_consecutive counts": lambda x, t: t.unique_consecutive(
        (x > 0).flatten(), return_inverse=True, return_counts=True
    )[2],
    "searchsorted": lambda x, t: t.searchsorted(x[0, 0].sort()[0], x),
    "searchsorted right": lambda x, t: t.searchsorted(x[0].sort()[0], x[0], right=True),
    "bucketize": lambda x, t: t.bucketize(x, t.tensor([-1.0, 0.0, 1.0], dtype=t.float64)),
    "sort nan": lambda x, t: t.tensor([2.0, float("nan"), 1.0]).sort(descending=True)[1],
}


@pytest.mark.parametrize("name", PLAIN)
def test_without_gradient(name: str) -> None:
    x, reference = both()
    made = PLAIN[name](x.detach(), numbagrad)
    expected = PLAIN[name](reference.detach(), torch)
    assert str(made.dtype) == str(expected.dtype)
    assert np.array_equal(made.numpy(), expected.numpy())


ERRORS: dict[str, Build] = {
    "gather range": lambda x, t: x.gather(0, index(t, [[5]])),
    "gather negative": lambda x, t: x.gather(0, index(t, [[-1]])),
    "gather rank": lambda x, t: x.gather(0, index(t, 0)),
    "gather size": lambda x, t: x.gather(0, index(t, [[0] * 6])),
    "gather dtype": lambda x, t: x.gather(0, t.zeros(1, 1, 1)),
    "scatter range": lambda x, t: x.scatter_add(0, index(t, [[5]]), x),
    "scatter size": lambda x, t: x.scatter_add(0, index(t, [[0] * 6]), x),
    "scatter dtype": lambda x, t: x.scatter_add(0, index(t, [[0]]), x.float()),
    "index_select range": lambda x, t: x.index_select(0, index(t, 5)),
    "index_select negative": lambda x, t: x.index_select(0, index(t, -1)),
    "index_select matrix": lambda x, t: x.index_select(0, index(t, [0])),
    "index_select dtype": lambda x, t: x.index_select(0, t.zeros(1)),
    "index_add range": lambda x, t: x.index_add(0, index(t, 5), x[:1]),
    "index_add count": lambda x, t: x.index_add(0, index(t, 0, 1), x[:1]),
    "index_add shape": lambda x, t: x.index_add(0, index(t, 0), x[:1, :2]),
    "index_add dtype": lambda x, t: x.index_add(0, index(t, 0), x[:1].float()),
    "index_copy range": lambda x, t: x.index_copy(0, index(t, 5), x[:1]),
    "index_copy count": lambda x, t: x.index_copy(0, index(t, 0, 1), x[:1]),
    "index_fill range": lambda x, t: x.index_fill(0, index(t, 5), 1.0),
    "take": lambda x, t: x.take(index(t, 60)),
    "take_along_dim": lambda x, t: t.take_along_dim(x, index(t, 0), 0),
    "masked_select": lambda x, t: x.masked_select(index(t, 1, 0)),
    "masked_scatter": lambda x, t: x.masked_scatter(x > -9, x[0]),
    "topk": lambda x, t: x.topk(6),
    "value too long": lambda x, t: (x * 1).__setitem__(0, t.zeros(7, dtype=t.float64)),
    "value for indices": lambda x, t: (x * 1).__setitem__(index(t, 0), t.zeros(7, dtype=t.float64)),
    "value dtype": lambda x, t: (x * 1).__setitem__(index(t, 0), t.zeros(5)),
    "value string": lambda x, t: (x * 1).__setitem__(0, "a"),
    "scalar": lambda x, t: x[0, 0, 0][0],
    "scalar slice": lambda x, t: x[0, 0, 0][:],
}


@pytest.mark.parametrize("name", ERRORS)
def test_same_errors(name: str) -> None:
    x, reference = both()
    with pytest.raises(Exception) as expected:  # noqa: PT011 - torch says which
        ERRORS[name](reference, torch)
    with pytest.raises(expected.type) as raised:
        ERRORS[name](x, numbagrad)
    assert str(raised.value) == str(expected.value)


def test_index_copy_errs_as_torch_does():
    """Of several things that do not fit, the one that torch names."""
    generator = random.Random(0)
    shapes = [(3,), (2, 3), (), (3, 2, 2), (1,)]
    indices = [[0], [0, 1], [5], [-1], [], 0, [[0, 1]], [0, 0], 2]
    raised = 0
    for _ in range(400):
        shape, index = generator.choice(shapes), generator.choice(indices)
        source = generator.choice([shape, (2,), (1,), (), (2, 3), (1, 3), (3, 1), (2, 4)])
        dim = generator.choice([0, 0, 0, 1, -1, -2, 5])
        kinds = [generator.choice(each) for each in (
            ["float32"] * 3 + ["int64"], ["int64"] * 4 + ["int32", "float32"],
            ["float32"] * 3 + ["float64"])]  # fmt: skip
        texts = []
        for t in (numbagrad, torch):
            given, chosen, other = [getattr(t, kind) for kind in kinds]
            arguments = dim, t.tensor(index, dtype=chosen), t.ones(source, dtype=other)
            try:
                texts.append(t.zeros(shape, dtype=given).index_copy_(*arguments).tolist())
            except (RuntimeError, IndexError) as error:
                texts.append((type(error), str(error)))
        assert texts[0] == texts[1], (shape, kinds, *arguments)
        raised += isinstance(texts[0], tuple)
    assert raised > 200
