"""The matrix product beside torch's and NumPy's: public functions, results newly allocated."""

import numpy as np
import pytest
import torch

import numbagrad

SHAPES = [
    (64, 1000, 100), (1000, 64, 100), (32, 784, 128), (784, 32, 128),
    *((n, n, n) for n in (64, 128, 256, 512, 1024, 2048)),
]  # fmt: skip

#: No product at less than 0.9 of the speed of the faster rival; the geometric mean above 1.05.
BAR = 1 / 0.9


def operand(rng, rows: int, columns: int, how: str) -> np.ndarray:
    """A random matrix with contiguous rows (N) or contiguous columns (T)."""
    shape = (rows, columns) if how == "N" else (columns, rows)
    values = rng.standard_normal(shape).astype(np.float32)
    return values if how == "N" else values.T


@pytest.mark.parametrize("layouts", ("NN", "NT", "TN"))
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_product(race, shape, layouts):
    rng = np.random.default_rng(0)
    m, k, n = shape
    a, b = operand(rng, m, k, layouts[0]), operand(rng, k, n, layouts[1])
    ours = [numbagrad.from_numpy(x) for x in (a, b)]
    theirs = [torch.from_numpy(x) for x in (a, b)]
    race(
        "Matrix product, float32",
        f"{layouts} {shape}",
        bar=BAR,
        work=2 * m * k * n,
        numbagrad=lambda: numbagrad.mm(*ours),
        torch=lambda: torch.mm(*theirs),
        NumPy=lambda: a @ b,
    )


@pytest.mark.parametrize("layouts", ("NN", "NT", "TN"))
@pytest.mark.parametrize("size", (256, 512, 1024, 2048))
def test_bfloat16(race, size, layouts):
    """Beside our own product of float32; the bar is for CPUs with an instruction for bfloat16."""
    rng = np.random.default_rng(0)
    operands = [operand(rng, size, size, how) for how in layouts]

    def product(dtype):
        a, b = [numbagrad.from_numpy(x).to(dtype) for x in operands]
        return lambda: numbagrad.mm(a, b)

    race(
        "Matrix product, bfloat16 beside our float32",
        f"{layouts} {size}",
        bar=1 / 1.6,
        work=2 * size**3,
        numbagrad=product(numbagrad.bfloat16),
        float32=product(numbagrad.float32),
    )
