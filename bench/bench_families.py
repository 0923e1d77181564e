"""Operators beside torch, one or a few of each family, on 512×512 elements that the work is in.

Each row of ``CALLS`` is run by both libraries on the same numbers, without recording.
"""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

import numbagrad

TABLE = "Operators of each family, 512×512 float32, forward"

#: (library, its ``nn.functional``, operands) -> result.
CALLS = {
    "exp": lambda t, F, o: o.x.exp(),
    "lgamma": lambda t, F, o: o.x.lgamma(),
    "x + row": lambda t, F, o: o.x + o.row,
    "integers // integers": lambda t, F, o: o.index // o.small,
    "complex x * x": lambda t, F, o: o.z * o.z,
    "complex abs": lambda t, F, o: o.z.abs(),
    "sum(0)": lambda t, F, o: o.x.sum(0),
    "std(1)": lambda t, F, o: o.x.std(1),
    "max(1)": lambda t, F, o: o.x.max(1),
    "argmax": lambda t, F, o: o.x.argmax(),
    "linalg.vector_norm": lambda t, F, o: t.linalg.vector_norm(o.x),
    "logsumexp": lambda t, F, o: o.x.logsumexp(1),
    "softmax(0)": lambda t, F, o: o.x.softmax(0),
    "cumsum(1)": lambda t, F, o: o.x.cumsum(1),
    "cummax(1)": lambda t, F, o: o.x.cummax(1),
    "sort(1)": lambda t, F, o: o.x.sort(1),
    "topk(5)": lambda t, F, o: o.x.topk(5, 1),
    "median(1)": lambda t, F, o: o.x.median(1),
    "unique": lambda t, F, o: t.unique(o.index),
    "unique(dim=0)": lambda t, F, o: t.unique(o.small, dim=0),
    "searchsorted": lambda t, F, o: t.searchsorted(o.row.sort()[0], o.x),
    "histc": lambda t, F, o: t.histc(o.x, 20),
    "nonzero": lambda t, F, o: o.mask.nonzero(),
    "x[mask]": lambda t, F, o: o.x[o.mask],
    "gather": lambda t, F, o: o.x.gather(1, o.index),
    "scatter": lambda t, F, o: o.x.scatter(1, o.index, o.y),
    "scatter_add": lambda t, F, o: o.x.scatter_add(1, o.index, o.y),
    "index_select": lambda t, F, o: o.x.index_select(0, o.rows),
    "x.t().contiguous()": lambda t, F, o: o.x.t().contiguous(),
    "flip(1)": lambda t, F, o: o.x.flip(1),
    "roll": lambda t, F, o: o.x.roll(3, 1),
    "cat": lambda t, F, o: t.cat([o.x, o.y], 1),
    "pad": lambda t, F, o: F.pad(o.x, (1, 2, 3, 4)),
    "tril": lambda t, F, o: o.x.tril(),
    "mm": lambda t, F, o: o.x @ o.y,
    "cdist": lambda t, F, o: t.cdist(o.x, o.y),
    "linalg.solve of 128": lambda t, F, o: t.linalg.solve(o.matrix, o.matrix[:, :4]),
    "linalg.cholesky of 128": lambda t, F, o: t.linalg.cholesky(o.matrix),
    "fft": lambda t, F, o: t.fft.fft(o.x),
    "rfft2": lambda t, F, o: t.fft.rfft2(o.x),
    "fft2": lambda t, F, o: t.fft.fft2(o.x),
    "zeros": lambda t, F, o: t.zeros(512, 512),
    "linspace": lambda t, F, o: t.linspace(0, 1, 262_144),
    "hann_window": lambda t, F, o: t.hann_window(262_144),
    "randn": lambda t, F, o: t.randn(512, 512),
    "to float64": lambda t, F, o: o.x.double(),
    "cross_entropy": lambda t, F, o: F.cross_entropy(o.x, o.rows),
    "layer_norm": lambda t, F, o: F.layer_norm(o.x, (512,)),
    "max_pool2d(2)": lambda t, F, o: F.max_pool2d(o.images, 2),
    "interpolate, bilinear": lambda t, F, o: F.interpolate(o.images, (256, 256), mode="bilinear"),
    "interpolate, bicubic": lambda t, F, o: F.interpolate(o.images, (256, 256), mode="bicubic"),
    "grid_sample": lambda t, F, o: F.grid_sample(o.images, o.grid, align_corners=False),
}  # fmt: skip


def operands(library):
    """The same numbers for both libraries."""
    rng = np.random.default_rng(0)

    def normal(*shape):
        return library.tensor(rng.standard_normal(shape).astype("float32"))

    matrix = normal(128, 128)
    return SimpleNamespace(
        x=normal(512, 512), y=normal(512, 512), row=normal(512), images=normal(2, 8, 128, 128),
        z=library.complex(normal(512, 512), normal(512, 512)),
        matrix=matrix @ matrix.t() / 128 + library.eye(128),
        index=library.tensor(rng.integers(0, 512, (512, 512))),
        small=library.tensor(rng.integers(1, 10, (512, 512))),
        rows=library.tensor(rng.permutation(512)),
        mask=library.tensor(rng.random((512, 512)) < 0.5),
        grid=library.tensor(rng.uniform(-1, 1, (2, 128, 128, 2)).astype("float32")),
    )  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_operator_of_a_family(race, name):
    def run(library):
        given = operands(library)
        return lambda: CALLS[name](library, library.nn.functional, given)

    race(TABLE, name, numbagrad=run(numbagrad), torch=run(torch))
