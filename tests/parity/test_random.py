"""Random numbers against live torch: the same values and the same state of the generator after."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import numbagrad
from numbagrad import random
from numbagrad import random_filling as filling

FLOATS = ["float16", "float32", "float64"]
ALL = ["bool", "uint8", "int8", "int16", "int32", "int64", *FLOATS]
SIZES = [1, 3, 15, 16, 17, 100, 625, 5003]
SEEDS = [0, 1, 42, 2**32 - 1, -5, 2**64 - 1]


class Pair:
    """A torch generator and one of ours, which must stay in step."""

    def __init__(self, seed: int):
        self.theirs = torch.Generator().manual_seed(seed)
        self.ours = random.Generator().manual_seed(seed)

    def check(self, array: np.ndarray, tensor: torch.Tensor) -> None:
        np.testing.assert_array_equal(array, tensor.numpy(), strict=True)
        assert np.array_equal(self.ours.get_state(), self.theirs.get_state().numpy())

    def fill(self, function, method, array, *arguments) -> None:
        """Fill ``array`` and a tensor whose memory has the same order."""
        tensor = torch.from_numpy(np.empty_like(array, order="K"))
        function(self.ours, array, *arguments)
        self.check(array, getattr(tensor, method)(*arguments, generator=self.theirs))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("seed", SEEDS)
def test_real_numbers(dtype, seed):
    pair = Pair(seed)
    for size in SIZES:
        array = np.empty(size, dtype)
        pair.fill(filling.fill_uniform, "uniform_", array)
        pair.fill(filling.fill_uniform, "uniform_", array, -0.3, 2.7)
        pair.fill(filling.fill_normal, "normal_", array)
        pair.fill(filling.fill_normal, "normal_", array, 0.37, 1.9)
        pair.fill(filling.fill_normal, "normal_", np.empty((size, 3), dtype).T, 0.37, 1.9)
        pair.fill(filling.fill_exponential, "exponential_", array, 1.7)
        pair.fill(filling.fill_log_normal, "log_normal_", array, 0.3, 0.7)
        pair.fill(filling.fill_cauchy, "cauchy_", array, 0.3, 0.7)
        pair.fill(filling.fill_geometric, "geometric_", array, 0.3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_million_numbers(dtype):
    pair = Pair(3)
    pair.fill(filling.fill_uniform, "uniform_", np.empty(1000003, dtype))
    pair.fill(filling.fill_normal, "normal_", np.empty(1000003, dtype), 2.0, 3.0)


RANGES = [
    (0, 2), (3, 100), (-7, 7), (0, 2**28 - 1), (0, 2**28), (0, 2**31 - 1), (-(2**31), 2**31),
    (5, 2**40), (-(2**62), 2**62), (-(2**63), 2**63 - 1), (0, 65504), (-2049, 2051),
    (-(2**24) - 3, 2**24 + 7), (2**53 + 1, 2**53 + 9),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*out of bounds:UserWarning")
@pytest.mark.parametrize("dtype", ALL)
def test_whole_numbers(dtype):
    pair = Pair(11)
    for size in SIZES:
        array = np.empty(size, dtype)
        pair.fill(filling.fill_random, "random_", array)
        for low, high in RANGES:
            tensor = torch.from_numpy(np.empty_like(array))
            try:
                tensor.random_(low, high, generator=pair.theirs)
            except RuntimeError:
                with pytest.raises(RuntimeError):
                    filling.fill_randint(pair.ours, array, low, high)
                continue
            filling.fill_randint(pair.ours, array, low, high)
            pair.check(array, tensor)


@pytest.mark.parametrize("dtype", ALL)
def test_bernoulli(dtype):
    """Against torch's tensor probabilities: with a number its MKL builds draw otherwise on Intel.

    A float64 probability for each element is what every other build does for a number.
    """
    pair, weights = Pair(12), np.random.default_rng(1)
    for size in SIZES:
        array = np.empty((size, 2), dtype).T
        for p in (0.3, *(weights.random((2, size)).astype(kind) for kind in FLOATS)):
            tensor = torch.from_numpy(np.empty_like(array, order="K"))
            probabilities = torch.from_numpy(np.asarray(p))
            filling.fill_bernoulli(pair.ours, array, p)
            pair.check(array, tensor.bernoulli_(probabilities, generator=pair.theirs))


def test_permutation():
    pair = Pair(13)
    for size in SIZES:
        permuted = torch.randperm(size, generator=pair.theirs)
        pair.check(filling.permutation(pair.ours, size), permuted)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(1,), (7,), (100,), (3, 20), (1, 1000)])
def test_multinomial(dtype, shape):
    pair = Pair(14)
    weights = (np.random.default_rng(2).random(shape) + 0.01).astype(dtype)
    for number, replacement in ((1, False), (1, True), (min(5, shape[-1]), False), (9, True)):
        tensor = torch.multinomial(
            torch.from_numpy(weights), number, replacement, generator=pair.theirs
        )
        pair.check(filling.multinomial(pair.ours, weights, number, replacement), tensor)


def test_states_are_exchanged():
    pair = Pair(15)
    torch.empty(5).normal_(generator=pair.theirs)
    pair.ours.set_state(pair.theirs.get_state().numpy())
    pair.fill(filling.fill_normal, "normal_", np.empty(6, np.float32))
    filling.fill_normal(pair.ours, np.empty(3, np.float32))
    pair.theirs.set_state(torch.from_numpy(pair.ours.get_state()))
    pair.fill(filling.fill_normal, "normal_", np.empty(6, np.float64))


@pytest.mark.parametrize("low", [0, 1, 5])
@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32", "int64"]
)
def test_whole_numbers_up_to_the_largest_of_the_dtype(low, dtype):
    made = []
    for library in (torch, numbagrad):
        library.manual_seed(3)
        made.append(library.empty(20, dtype=getattr(library, dtype)).random_(low, None).tolist())
    assert made[0] == made[1]
