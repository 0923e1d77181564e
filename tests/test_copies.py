"""Copies of arrays that lie transposed or reversed, and writes at indices in one call."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.executor.families.writing import writers
from numbagrad.executor.memory.arrays import copied
from numbagrad.executor.plan.forms import shows


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64", "complex64"])
def test_copies_of_any_arrangement_are_equal(dtype):
    rng = np.random.default_rng(0)
    for shape in ((300, 300), (1, 70000), (40, 33, 50), (3, 2, 20, 20, 30)):
        array = (rng.standard_normal(shape) * 50).astype(dtype)
        for order in itertools.islice(itertools.permutations(range(len(shape))), 0, None, 7):
            view = array.transpose(order)
            for dims in ((), (0,), (-1,), tuple(range(len(shape)))):
                turned = np.flip(view, dims)
                made = copied(turned)
                assert made.flags.c_contiguous
                np.testing.assert_array_equal(made, turned)
            np.testing.assert_array_equal(copied(view[..., 1:]), view[..., 1:])


def test_filled_tensors_hold_the_number():
    for dtype in (torch.uint8, torch.bfloat16, torch.float32, torch.float64, torch.complex64):
        for value in (0, 3, 1.5) if dtype.is_floating_point else (0, 3):
            made = torch.full((300, 300), value, dtype=dtype)
            assert bool((made == value).all()) and made.sum().isfinite().all()
    assert torch.full((40000,), -0.0).signbit().all()


def test_what_is_shown_by_a_view_is_what_numpy_shows():
    for shape in ((2, 3, 4), (4, 1, 6), (24,), (2, 12), (1, 24), (2, 2, 3, 2)):
        array = np.arange(24).reshape(shape)
        views = [array.transpose(p) for p in itertools.permutations(range(len(shape)))]
        views += [array[..., ::2], np.broadcast_to(array, (2, *shape)), array[:1]]
        for view, sizes in itertools.product(
            views, [(24,), (6, 4), (2, 3, 4), (12,), (2, 6), (48,)]
        ):
            if np.prod(sizes) == view.size:
                made = view.reshape(sizes)
                is_view = np.shares_memory(made, view)
                assert shows(view.shape, view.strides, sizes) == is_view


METHODS = ["scatter_", "scatter_add_", "index_add_", "index_copy_"]


@pytest.mark.parametrize("name", METHODS)
def test_writes_in_one_call_count_and_refuse_as_others(name):
    """The launcher and Python write the same; versions count once; what is wrong is refused."""
    if name.startswith("index"):
        index, source = torch.tensor([2, 0, 1]), torch.arange(12.0).reshape(3, 4)
    else:
        index, source = torch.tensor([[1, 0, 2, 3]] * 3), torch.arange(12.0).reshape(3, 4)
    for dtype in (torch.float32, torch.int64, torch.float32):  # again, with the kernel known
        x, values = torch.ones(3, 4, dtype=dtype), source.to(dtype)
        wanted = getattr(x.clone().t().contiguous().t(), name)(
            0 if name.startswith("index") else 1, index, values
        )
        made = getattr(x, name)(0 if name.startswith("index") else 1, index, values)
        assert made is x and x._version == 1
        assert torch.equal(x, wanted)
    dim = 0 if name.startswith("index") else 1
    for wrong in (index - 1, index + 7):
        with pytest.raises((RuntimeError, IndexError)):
            getattr(x, name)(dim, wrong, source)
    with pytest.raises(RuntimeError):
        getattr(x, name)(dim, index, source.double())
    with pytest.raises(RuntimeError):
        getattr(x, name)(dim, index, x)  # in its own memory
    leaf = torch.ones(3, 4, requires_grad=True)
    with pytest.raises(RuntimeError):
        getattr(leaf, name)(dim, index, source)
    followed = leaf * 1
    getattr(followed, name)(dim, index, source)
    assert followed.grad_fn is not None and followed._version == 1


def test_launchers_write_nothing_where_they_say_no():
    x, source = np.zeros((3, 4), "float32"), np.ones((3, 4), "float32")
    for index in (np.array([0, 1, 3]), np.array([0, 1]), np.array([0, 1, 2], "int32")):
        assert writers["index_add"](x, 0, index, source) is None
    assert writers["index_add"](x.T, 0, np.arange(4), source.T) is None
    assert writers["scatter"](x, 1, np.zeros((3, 5), np.int64), source) is None
    assert writers["scatter"](x, 2, np.zeros((3, 4), np.int64), source) is None
    assert not x.any()


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(200, 130), (130, 200), (3, 100, 100), (1, 5000), (5000, 1)])
def test_triangles_of_large_matrices_are_numpys(shape: tuple[int, ...], dtype: str) -> None:
    values = (np.random.default_rng(0).standard_normal(shape) * 99).astype(dtype)
    x = torch.tensor(values)
    for diagonal in (0, 1, -1, -40, 300, -300, 2**40, -(2**40)):
        places = np.arange(shape[-1]) - np.arange(shape[-2])[:, None]
        zero = np.zeros((), dtype)
        lower = np.where(places <= diagonal, values, zero)
        np.testing.assert_array_equal(torch.tril(x, diagonal).numpy(), lower)
        upper = np.where(places >= diagonal, values, zero)
        np.testing.assert_array_equal(torch.triu(x, diagonal).numpy(), upper)


@pytest.mark.parametrize("dims", [(), (0,), (-1,), (1, 0), (0, 2, 0), (1, 1)])
def test_rolled_tensors_are_numpys(dims: tuple[int, ...]) -> None:
    for shape in ((3, 4, 5), (1, 2, 3), (2, 0, 3), (20, 40, 50)):
        array = np.arange(np.prod(shape)).reshape(shape)
        for shifts in ((2, -3, 11), (0, 4, -4), (5, 1, 1)):
            chosen = shifts[: len(dims)] or shifts[:1]
            expected = np.roll(array, chosen if dims else chosen[0], dims or None)
            for given in (array, array.transpose(0, 1, 2).copy("F")):
                made = torch.roll(torch.from_numpy(given), chosen, dims)
                assert made.is_contiguous()
                np.testing.assert_array_equal(made.numpy(), expected)


@pytest.mark.parametrize("dtype", ["float32", "int64", "complex128"])
def test_cross_products_are_numpys(dtype: str) -> None:
    rng = np.random.default_rng(0)
    for first, second, dim in (((4, 3), (4, 3), 1), ((3, 5), (3, 1), 0), ((1, 3, 2), (6, 3, 2), 1)):
        a, b = [(rng.standard_normal(shape) * 9).astype(dtype) for shape in (first, second)]
        made = torch.linalg.cross(torch.tensor(a), torch.tensor(b), dim=dim).numpy()
        expected = np.cross(a, b, axisa=dim, axisb=dim, axisc=dim)
        np.testing.assert_allclose(made, expected, rtol=1e-5, atol=1e-5)
