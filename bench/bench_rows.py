"""Powers of a million elements, and rows too short for what a call or a row costs to vanish.

Rivals are torch, NumPy where it has the function, and JAX where it is installed.
"""

import importlib.util

import numpy as np
import pytest
import torch

import numbagrad

POWERS = "Powers, 1e6 elements"
ROWS = "Short rows, forward"
BAGS = "Rows of tables, 10,000×64, 64 bags of 50"

LIBRARIES = {"numbagrad": numbagrad, "torch": torch}


def compiled_by_jax(function, *arrays):
    """``function(jax, *arrays)`` as a contestant, or none where JAX is not installed."""
    if importlib.util.find_spec("jax") is None:
        return {}
    import jax

    jax.config.update("jax_enable_x64", True)
    placed = [jax.numpy.asarray(array) for array in arrays]
    run = jax.jit(lambda *given: function(jax, *given))
    return {"JAX": lambda: run(*placed).block_until_ready()}


def eager(function, *arrays):
    """``function(library, *tensors)`` as a contestant of each library."""

    def run(library):
        tensors = [library.tensor(array) for array in arrays]
        return lambda: function(library, *tensors)

    return {name: run(library) for name, library in LIBRARIES.items()}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("exponent", ["array", "2.7"])
def test_power(race, exponent, dtype):
    rng = np.random.default_rng(0)
    x = rng.uniform(0.01, 4, 1_000_000).astype(dtype)
    arrays = [x] if exponent == "2.7" else [x, rng.uniform(-3, 3, x.size).astype(dtype)]

    def power(_, x, y=2.7):
        return x**y

    race(
        POWERS,
        f"x ** {'y' if exponent == 'array' else exponent}, {dtype}",
        bar=1.0,
        **eager(power, *arrays),
        NumPy=lambda: power(None, *arrays),
        **compiled_by_jax(power, *arrays),
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(2000, 100), (1000, 1000), (4000, 8), (100_000, 16)])
def test_sum_of_rows(race, shape, dtype):
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    race(
        ROWS,
        f"sum(1) of {shape[0]}×{shape[1]}, {dtype}",
        bar=1.0,
        **eager(lambda _, x: x.sum(1), x),
        NumPy=lambda: x.sum(1),
        **compiled_by_jax(lambda _, x: x.sum(1), x),
    )


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax(race, name):
    x = np.random.default_rng(0).standard_normal((2000, 100)).astype("float32")
    race(
        ROWS,
        f"{name} of 2000×100, float32",
        bar=1.0,
        **eager(lambda library, x: getattr(library, name)(x, 1), x),
        **compiled_by_jax(lambda jax, x: getattr(jax.nn, name)(x, 1), x),
    )


@pytest.mark.parametrize("count", [20, 100])
def test_cross_entropy(race, count):
    rng = np.random.default_rng(0)
    x, classes = rng.standard_normal((2000, count)).astype("float32"), rng.integers(0, count, 2000)

    def of_jax(jax, x, classes):
        return -jax.numpy.take_along_axis(jax.nn.log_softmax(x, 1), classes[:, None], 1).mean()

    race(
        ROWS,
        f"cross_entropy of 2000×{count}, float32",
        bar=1.0,
        **eager(lambda library, x, y: library.nn.functional.cross_entropy(x, y), x, classes),
        **compiled_by_jax(of_jax, x, classes),
    )


#: (library, table, indices, starts of the bags in a vector of them) -> rows or sums of rows.
TABLES = {
    "embedding": lambda F, w, i, at: F.embedding(i, w),
    **{
        f"embedding_bag, {mode}": lambda F, w, i, at, mode=mode: F.embedding_bag(i, w, mode=mode)
        for mode in ("sum", "mean", "max")
    },
    **{
        f"embedding_bag, {mode} by offsets": lambda F, w, i, at, mode=mode: F.embedding_bag(
            i.view(-1), w, at, mode=mode
        )
        for mode in ("sum", "mean", "max")
    },
}


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("name", TABLES)
def test_table(race, name, backward):
    rng = np.random.default_rng(0)
    table = rng.standard_normal((10_000, 64)).astype("float32")
    indices = rng.integers(0, 10_000, (64, 50))

    def run(library):
        weight = library.tensor(table, requires_grad=True)
        index, starts = library.tensor(indices), library.arange(0, indices.size, 50)

        def call():
            return TABLES[name](library.nn.functional, weight, index, starts)

        slope = library.ones(call().shape)

        def both():
            weight.grad = None
            call().backward(slope)

        return both if backward else call

    described = f"{name}, forward and backward" if backward else name
    race(BAGS, described, bar=1.0, **{key: run(library) for key, library in LIBRARIES.items()})
