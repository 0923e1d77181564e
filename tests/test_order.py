"""Sorting, selecting and ranking: NumPy's stable order, whatever way the elements are sorted.

Rows are short and long (sorted by NumPy, and digit by digit), along any dimension, of all dtypes,
with equal elements, NaN, infinities and zeros of both signs.
"""

from __future__ import annotations

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.executor.families import order

SHAPES = [((700,), 0), ((3, 600), 1), ((600, 3), 0), ((5, 60, 7), 1), ((40, 30), 1), ((40, 30), 0)]
DTYPES = ["float16", "float32", "float64", "uint8", "int64"]


def elements(rng, dtype, shape, kind):
    """Elements over the whole range, or a few different ones; floats with all special values."""
    kind_of_dtype = np.dtype(dtype).kind
    if kind_of_dtype != "f":
        limits = np.iinfo(dtype)
        low, high = (limits.min, limits.max) if kind == "many" else (limits.min, limits.min + 5)
        return rng.integers(low, high, shape, dtype=dtype, endpoint=True)
    if kind == "many":
        return rng.standard_normal(shape).astype(dtype)
    return rng.choice(np.array([0.0, -0.0, 1, -1, np.nan, np.inf, -np.inf], dtype), shape)


def stable(array, dim, descending):
    if not descending:
        return array.argsort(dim, kind="stable")
    turned = np.flip(array, dim).argsort(dim, kind="stable")
    return array.shape[dim] - 1 - np.flip(turned, dim)


@pytest.mark.parametrize("kind", ["many", "few"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_order_is_the_stable_one(dtype, kind):
    rng = np.random.default_rng(0)
    for shape, dim in SHAPES:
        array = elements(rng, dtype, shape, kind)
        for descending in (False, True):
            wanted = stable(array, dim, descending)
            np.testing.assert_array_equal(order.argsort(array, dim, descending), wanted)
            size = shape[dim]
            for start, stop in ((0, 1), (0, 6), (3, 9), (0, size), (size - 1, size)):
                found = order.between(array, dim, descending, start, stop)
                part = np.take(wanted, np.arange(start, stop), dim)
                np.testing.assert_array_equal(found, part)
        for rank in (0, 7, size // 2, size - 1):
            wanted = np.take(stable(array, dim, False), [rank], dim)
            np.testing.assert_array_equal(order.of_rank(array, dim, rank), wanted)


def test_integers_near_the_ends_of_int64_are_sorted():
    for low in (-(2**63), 2**63 - 1000):
        array = low + np.random.default_rng(0).permutation(1000)
        np.testing.assert_array_equal(order.argsort(array, 0, False), array.argsort())
    wide = np.array([2**63 - 1, -(2**63), 0] * 300)
    np.testing.assert_array_equal(order.argsort(wide, 0, True), stable(wide, 0, True))


def test_bfloat16_and_bools_are_sorted():
    x = torch.randn(700).bfloat16()
    values, places = x.sort()
    np.testing.assert_array_equal(places.numpy(), x.float().numpy().argsort(kind="stable"))
    assert torch.equal(values, x[places])
    assert torch.equal(x.topk(5).indices, x.float().topk(5).indices)
    flags = torch.arange(700) % 3 == 0
    assert flags.sort(stable=True).indices.tolist() == flags.numpy().argsort(kind="stable").tolist()


@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_medians_heed_nan(name):
    rng = np.random.default_rng(0)
    array = rng.standard_normal((20, 100)).astype("float32")
    array[3, 5] = array[4] = np.nan
    values, places = getattr(torch, name)(torch.tensor(array), 1)
    for row, value, place in zip(array, values.tolist(), places.tolist(), strict=True):
        known = np.sort(row[~np.isnan(row)])
        if name == "median" and np.isnan(row).any() or not known.size:
            assert np.isnan(value) and np.isnan(row[place])
        else:
            assert value == known[(known.size - 1) // 2] == row[place]
    whole = getattr(torch, name)(torch.tensor(array)).item()
    assert np.isnan(whole) if name == "median" else whole == np.sort(array, None)[(1899 - 1) // 2]


def test_unique_elements_keep_what_numpy_says():
    rng = np.random.default_rng(0)
    for array in (
        rng.integers(-5, 5, (30, 40)),
        rng.choice(np.array([0.0, 1, np.nan, np.inf], "float32"), 900),
        np.zeros(0, "float32"),
    ):
        wanted = np.unique(array, return_inverse=True, return_counts=True, equal_nan=False)
        found = torch.unique(torch.tensor(array), return_inverse=True, return_counts=True)
        np.testing.assert_array_equal(found[0].numpy(), wanted[0])
        known = ~np.isnan(array)  # of which NaN is which is not said
        np.testing.assert_array_equal(
            found[1].numpy()[known], wanted[1].reshape(array.shape)[known]
        )
        np.testing.assert_array_equal(found[2].numpy(), wanted[2])
        assert torch.equal(
            torch.unique(torch.tensor(array[:0])), torch.tensor(array[:0].reshape(-1))
        )


@pytest.mark.parametrize("dtype", [*DTYPES, "bool"])
@pytest.mark.parametrize("kind", ["many", "few"])
def test_running_extrema_of_long_rows(dtype, kind):
    """Values and the latest places of equals, NaN for good, of more rows than one thread takes."""
    array = elements(
        np.random.default_rng(0), "uint8" if dtype == "bool" else dtype, (70, 500), kind
    )
    array = array.astype(dtype)
    array[1] = np.sort(array[1])
    for name, better in [("cummax", np.greater_equal), ("cummin", np.less_equal)]:
        values, places = getattr(torch, name)(torch.from_numpy(array), 1)
        best, place = array[:, 0].copy(), np.zeros(len(array), np.int64)
        for k in range(array.shape[1]):
            x = array[:, k]
            found = better(x, best) | (x != x)
            best, place = np.where(found, x, best), np.where(found, k, place)
            np.testing.assert_array_equal(values[:, k].numpy(), best)
            np.testing.assert_array_equal(places[:, k].numpy(), place)


@pytest.mark.parametrize("dtype", [*DTYPES, "bool"])
@pytest.mark.parametrize("shape", [(65, 3), (3, 65), (40, 2, 2), (1, 4), (0, 3)])
def test_unique_entries_of_a_dimension(shape, dtype):
    array = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
    if np.dtype(dtype).kind == "f":
        array[array == 0] = -0.0
    for dim in range(1 if 0 in shape else array.ndim):
        wanted = np.unique(array, return_inverse=True, return_counts=True, axis=dim)
        given = torch.from_numpy(np.asfortranarray(array))
        found = torch.unique(given, return_inverse=True, return_counts=True, dim=dim)
        for mine, expected in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(mine.numpy(), expected)


def test_unique_rows_with_nan_are_all_different():
    rows = torch.tensor([[1, np.nan], [0, 2], [1, np.nan], [0, 2], [np.nan, 0]])
    found, places, counts = torch.unique(rows, return_inverse=True, return_counts=True, dim=0)
    np.testing.assert_array_equal(found, [[0, 2], [1, np.nan], [1, np.nan], [np.nan, 0]])
    assert places.tolist() == [1, 0, 2, 0, 3]
    assert counts.tolist() == [2, 1, 1, 1]
