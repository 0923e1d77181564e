"""Reductions, softmax and scans against the installed torch: values, dtypes, nodes, gradients.

Each function runs on the same array in both libraries, with every choice of dimension, and so do
its gradient and the gradient of that.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

import numbagrad as ng

INF, NAN = float("inf"), float("nan")
SHAPES = [(4, 5), (2, 3, 4), (6,), ()]


def norm(p):
    return lambda x, dim, keepdim: x.norm(p, dim, keepdim)


#: Functions of a tensor, dimensions (None, an int or several) and keepdim.
REDUCTIONS = {
    "sum": lambda x, dim, keepdim: x.sum(dim, keepdim),
    "mean": lambda x, dim, keepdim: x.mean(dim, keepdim),
    "nansum": lambda x, dim, keepdim: x.nansum(dim, keepdim),
    "nanmean": lambda x, dim, keepdim: x.nanmean(dim, keepdim),
    "amax": lambda x, dim, keepdim: x.amax(() if dim is None else dim, keepdim),
    "amin": lambda x, dim, keepdim: x.amin(() if dim is None else dim, keepdim),
    "var": lambda x, dim, keepdim: x.var(dim, keepdim=keepdim),
    "std": lambda x, dim, keepdim: x.std(dim, unbiased=False, keepdim=keepdim),
    "any": lambda x, dim, keepdim: (x > 1).any() if dim is None else (x > 1).any(dim, keepdim),
    "all": lambda x, dim, keepdim: (x > 1).all() if dim is None else (x > 1).all(dim, keepdim),
    "logsumexp": lambda x, dim, keepdim: x.logsumexp(() if dim is None else dim, keepdim),
    **{f"norm {p}": norm(p) for p in (0, 0.5, 1, 1.5, 2, 3, INF, -INF, -1)},
}

#: Functions of one dimension.
ALONG = {
    "prod": lambda x, dim, keepdim: x.prod(dim, keepdim),
    "max": lambda x, dim, keepdim: x.max(dim, keepdim),
    "min": lambda x, dim, keepdim: x.min(dim, keepdim),
    "median": lambda x, dim, keepdim: x.median(dim, keepdim),
    "nanmedian": lambda x, dim, keepdim: x.nanmedian(dim, keepdim),
    "aminmax": lambda x, dim, keepdim: x.aminmax(dim=dim, keepdim=keepdim),
    "argmax": lambda x, dim, keepdim: x.argmax(dim, keepdim),
    "argmin": lambda x, dim, keepdim: x.argmin(dim, keepdim),
    "cumsum": lambda x, dim, keepdim: x.cumsum(dim),
    "cumprod": lambda x, dim, keepdim: x.cumprod(dim),
    "logcumsumexp": lambda x, dim, keepdim: x.logcumsumexp(dim),
    "cummax": lambda x, dim, keepdim: x.cummax(dim),
    "cummin": lambda x, dim, keepdim: x.cummin(dim),
    "softmax": lambda x, dim, keepdim: x.softmax(dim),
    "log_softmax": lambda x, dim, keepdim: x.log_softmax(dim),
}

FULL = {
    "max": lambda x: x.max(),
    "min": lambda x: x.min(),
    "prod": lambda x: x.prod(),
    "median": lambda x: x.median(),
    "argmax": lambda x: x.argmax(),
    "count_nonzero": lambda x: x.count_nonzero(),
    "aminmax": lambda x: x.aminmax(),
}


def same(ours, theirs, tolerance=1e-5):
    np.testing.assert_allclose(
        ours.detach().numpy(), theirs.detach().numpy(force=True), tolerance, tolerance
    )


def gradient(library, result, x, weight):
    return library.autograd.grad((result * weight).sum(), x, create_graph=True, allow_unused=True)[
        0
    ]


def compare(function, array, *arguments):
    """Results, names of nodes, gradients, and the gradients of those."""
    x = ng.tensor(array, requires_grad=True)
    y = torch.tensor(array, requires_grad=True)
    ours, theirs = function(x, *arguments), function(y, *arguments)
    if not isinstance(theirs, torch.Tensor):
        for a, b in zip(ours[1:], theirs[1:], strict=True):
            same(a, b)
        ours, theirs = ours[0], theirs[0]
    assert tuple(ours.shape) == tuple(theirs.shape) and str(ours.dtype) == str(theirs.dtype)
    same(ours, theirs)
    assert ours.requires_grad == theirs.requires_grad
    if not theirs.requires_grad:
        return
    random = np.random.default_rng(1)
    weight = random.standard_normal(ours.detach().numpy().shape)
    first = gradient(ng, ours, x, ng.tensor(weight))
    expected = gradient(torch, theirs, y, torch.tensor(weight))
    assert (first is None) == (expected is None)
    if expected is None:
        return
    same(first, expected, 1e-4)
    if not (expected.requires_grad and first.requires_grad):
        return
    weight = random.standard_normal(array.shape)
    second = gradient(ng, first, x, ng.tensor(weight))
    expected = gradient(torch, expected, y, torch.tensor(weight))
    zeros = np.zeros(array.shape)
    np.testing.assert_allclose(
        zeros if second is None else second.detach().numpy(),
        zeros if expected is None else expected.detach().numpy(force=True),
        1e-4,
        1e-4,
    )


def arrays():
    random = np.random.default_rng(0)
    return [np.asarray(random.standard_normal(shape)) for shape in SHAPES]


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name):
    for array in arrays():
        several = [(0, -1)] if array.ndim > 1 else []
        dims = [None, *range(array.ndim), *several]
        if name == "logsumexp" and array.ndim == 0:
            dims = [0]
        for dim, keepdim in itertools.product(dims, (False, True)):
            given = tuple(range(array.ndim)) if name == "logsumexp" and dim is None else dim
            compare(REDUCTIONS[name], array, given, keepdim)


@pytest.mark.parametrize("name", ALONG)
def test_along_one_dimension(name):
    for array in arrays():
        for dim, keepdim in itertools.product(range(max(array.ndim, 1)), (False, True)):
            compare(ALONG[name], array, dim, keepdim)


@pytest.mark.parametrize("name", FULL)
def test_of_all_elements(name):
    for array in arrays():
        compare(FULL[name], array)


def test_products_with_zeros():
    array = np.array([[0.0, 2, 3], [0, 0, 5], [1, 1, 2], [2, 0, 2]])
    for dim in (0, 1):
        compare(ALONG["prod"], array, dim, False)
        compare(ALONG["cumprod"], array, dim, False)
    compare(FULL["prod"], array)
    compare(FULL["prod"], np.array([0.0, 2, 3]))


def test_ties_zeros_and_nan():
    ties = np.array([[2.0, 2, 1], [0, 0, 0]])
    for p in (1, 2, 3, INF):
        compare(norm(p), ties, 1, False)
    compare(FULL["max"], ties)
    compare(REDUCTIONS["amax"], ties, 1, True)
    compare(REDUCTIONS["std"], np.ones(3), None, False)
    nan = np.array([3.0, NAN, 1, 2])
    for name in ("nansum", "nanmean", "amax"):
        compare(REDUCTIONS[name], nan, None, False)
    for name in ("max", "median", "nanmedian", "cummin"):
        compare(ALONG[name], nan, 0, False)
    compare(FULL["max"], nan)


@pytest.mark.parametrize("kind", ["float16", "float32", "int8", "uint8", "int64", "bool"])
def test_dtypes_of_results(kind):
    array = np.array([[1, 0, 1], [1, 1, 1]]).astype(kind)
    x, y = ng.tensor(array), torch.tensor(array)
    names = ["sum", "prod", "any", "all", "amax", "count_nonzero", "logsumexp", "cumsum", "nansum"]
    if kind == "bool":
        names = [name for name in names if name != "nansum"]
    for name in names:
        arguments = (1,) if name in ("logsumexp", "cumsum") else ()
        ours, theirs = getattr(x, name)(*arguments), getattr(y, name)(*arguments)
        assert str(ours.dtype) == str(theirs.dtype), name
        same(ours, theirs, 2e-3)


def test_named_results_are_printed_as_by_torch():
    for name in ("max", "min", "median", "cummax", "cummin"):
        values = [[1.5, 3.0], [2.0, 0.5]]
        ours = getattr(ng.tensor(values), name)(1)
        assert repr(ours) == repr(getattr(torch.tensor(values), name)(1))
    assert repr(ng.tensor([1.0, 2]).aminmax()) == repr(torch.tensor([1.0, 2]).aminmax())


ERRORS = [
    lambda lib: lib.ones(2, 3).sum(5),
    lambda lib: lib.ones(2, 3).sum((1, -1)),
    lambda lib: lib.tensor([1, 2]).mean(),
    lambda lib: lib.ones(3).mean(dtype=lib.int64),
    lambda lib: lib.ones(2, 0).max(),
    lambda lib: lib.ones(2, 0).max(1),
    lambda lib: lib.ones(2, 0).amax(1),
    lambda lib: lib.ones(2, 0).amax(),
    lambda lib: lib.ones(2, 0).argmax(),
    lambda lib: lib.ones(2, 0).argmax(1),
    lambda lib: lib.ones(2, 0).aminmax(dim=1),
    lambda lib: lib.ones(2, 0).aminmax(),
    lambda lib: lib.tensor([1, 2]).var(),
    lambda lib: lib.tensor([1, 2]).norm(),
    lambda lib: lib.tensor([True]).argmax(),
    lambda lib: lib.ones(2, 0).median(1),
    lambda lib: lib.tensor(1.0).sum(1),
    lambda lib: lib.ones(2).cumsum(1),
    lambda lib: lib.tensor([1, 2]).logcumsumexp(0),
    lambda lib: lib.tensor([1, 2]).nanmean(),
    lambda lib: lib.ones(0).norm(INF),
    lambda lib: lib.ones(2, 3).softmax((0, 1)),
]


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_errors(case):
    with pytest.raises(Exception) as theirs:  # noqa: B017, PT011 - whatever torch raises
        ERRORS[case](torch)
    with pytest.raises(theirs.type) as ours:
        ERRORS[case](ng)
    assert str(ours.value) == str(theirs.value)
