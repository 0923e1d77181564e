"""Sampling by grids, unpooling and adaptive softmax against torch: numbers, gradients, texts."""

import numpy as np
import pytest
import torch
from parity_tools import both, close, message
from test_nn_sampling import KINDS, drawn

import numbagrad


@pytest.mark.parametrize(("rank", "mode", "padding", "corners"), KINDS)
def test_grid_sample(rank, mode, padding, corners):
    x, grid = drawn(rank)

    def run(library):
        inputs = [library.from_numpy(a.copy()).requires_grad_() for a in (x, grid)]
        made = library.nn.functional.grid_sample(*inputs, mode, padding, corners)
        return [made, *library.autograd.grad((made**3).sum(), inputs)]

    for ours, theirs in zip(*both(run), strict=True):
        close(ours, theirs, 1e-11, 1e-11)


@pytest.mark.parametrize("corners", [True, False])
@pytest.mark.parametrize("size", [(2, 3, 4, 5), (2, 1, 3, 2, 4), (2, 3, 1, 5)], ids=str)
@pytest.mark.filterwarnings("ignore:Since version 1.3.0")
def test_affine_grid(size, corners):
    rank = len(size) - 2
    array = np.random.default_rng(0).normal(size=(2, rank, rank + 1))

    def run(library):
        theta = library.from_numpy(array.copy()).requires_grad_()
        made = library.nn.functional.affine_grid(theta, size, corners)
        (made**2).sum().backward()
        assert tuple(made.stride()) == tuple(torch.empty(made.shape).stride())
        return made, theta.grad

    for ours, theirs in zip(*both(run), strict=True):
        close(ours, theirs, 1e-11, 1e-11)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("options", [{"kernel_size": 2}, {"kernel_size": 3, "stride": 2,
                                                          "padding": 1}], ids=str)  # fmt: skip
def test_unpooling(rank, options):
    def run(library):
        F = library.nn.functional
        x = library.randn(2, 3, *(7, 6, 5)[:rank]).requires_grad_()
        pool, unpool = (getattr(F, f"max_{name}{rank}d") for name in ("pool", "unpool"))
        made = unpool(*pool(x, return_indices=True, **options), **options, output_size=x.shape)
        (made**3).sum().backward()
        return made, x.grad

    for ours, theirs in zip(*both(run), strict=True):
        close(ours, theirs)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.parametrize(
    "options",
    [{"kernel_size": 2, "output_size": 4}, {"kernel_size": 3, "output_size": 1},
     {"kernel_size": 2, "output_ratio": 0.6}], ids=str)  # fmt: skip
def test_fractional_pooling_draws_as_torch(rank, options, dtype):
    def run(library):
        x = library.randn(2, 3, *(9, 8, 7)[:rank], dtype=getattr(library, dtype)).requires_grad_()
        layer = getattr(library.nn, f"FractionalMaxPool{rank}d")(return_indices=True, **options)
        made, where = layer(x)
        made.sum().backward()
        assert made.grad_fn.name() == f"FractionalMaxPool{rank}DBackward0"
        return made, where, x.grad

    for ours, theirs in zip(*both(run), strict=True):
        close(ours, theirs)


@pytest.mark.parametrize("cutoffs", [[5], [3, 7], [2, 4, 9]], ids=str)
def test_adaptive_softmax(cutoffs):
    targets = np.random.default_rng(0).integers(0, 12, 9)

    def run(library):
        layer = library.nn.AdaptiveLogSoftmaxWithLoss(8, 12, cutoffs, 2.0, head_bias=True)
        x = library.randn(9, 8).requires_grad_()
        made = layer(x, library.from_numpy(targets))
        made.loss.backward()
        grads = [p.grad for p in layer.parameters()]
        return [*made, x.grad, *grads, layer.log_prob(x), layer.predict(x)]

    for ours, theirs in zip(*both(run), strict=True):
        close(ours, theirs)
    texts = [repr(x.nn.AdaptiveLogSoftmaxWithLoss(8, 12, cutoffs)) for x in (numbagrad, torch)]
    assert texts[0] == texts[1]


def _unpooled(library, **options):
    F = library.nn.functional
    shift = options.pop("shift", 0)
    shape = (1, 1, 2, 2) if shift else (2, 3, 6, 6)
    made, where = F.max_pool2d(library.randn(*shape), 2, return_indices=True)
    return F.max_unpool2d(made, where + shift, 2, **options)


ERRORS = [
    lambda t: t.nn.functional.grid_sample(t.ones(1, 1, 2, 2), t.ones(1, 1, 1, 2), mode="x"),
    lambda t: t.nn.functional.grid_sample(t.ones(1, 1, 2, 2), t.ones(1, 1, 1, 2), padding_mode="x"),
    lambda t: t.nn.functional.grid_sample(
        t.ones(1, 1, 2, 2, 2), t.ones(1, 1, 1, 1, 3), mode="bicubic", align_corners=True
    ),
    lambda t: t.nn.functional.grid_sample(
        t.ones(2, 1, 2, 2), t.ones(1, 1, 1, 2), align_corners=True
    ),
    lambda t: t.nn.functional.grid_sample(
        t.ones(1, 1, 2, 2), t.ones(1, 1, 1, 3), align_corners=True
    ),
    lambda t: t.nn.functional.grid_sample(
        t.ones(1, 1, 0, 2), t.ones(1, 1, 1, 2), align_corners=True
    ),
    lambda t: t.nn.functional.grid_sample(
        t.ones(1, 1, 2, 2).double(), t.ones(1, 1, 1, 2), align_corners=True
    ),
    lambda t: t.nn.functional.affine_grid(t.ones(2, 2, 3), (2, 3, 0, 5), False),
    lambda t: t.nn.functional.affine_grid(t.ones(2, 3, 4), (2, 3, 4, 5), False),
    lambda t: t.nn.functional.affine_grid(t.ones(2, 2, 3).long(), (2, 3, 4, 5), False),
    lambda t: t.nn.functional.affine_grid(t.ones(2, 2, 3), (2, 3, 4), False),
    lambda t: t.nn.functional.affine_grid(t.ones(2, 2, 3), (3, 3, 4, 5), False),
    lambda t: _unpooled(t, output_size=(9, 9)),
    lambda t: _unpooled(t, output_size=(1, 2, 3, 6, 6)),
    lambda t: _unpooled(t, shift=100),
    lambda t: t.nn.functional.max_unpool2d(t.ones(2, 2), t.ones(2, 2).long(), 2),
    lambda t: t.nn.functional.max_unpool2d(t.ones(1, 2, 2), t.ones(1, 2, 2), 2),
    lambda t: t.nn.functional.max_unpool2d(t.ones(1, 2, 2), t.ones(1, 2, 1).long(), 2),
    lambda t: t.nn.FractionalMaxPool2d(2),
    lambda t: t.nn.FractionalMaxPool2d(2, output_ratio=1.5),
    lambda t: t.nn.FractionalMaxPool2d(2, output_size=3, output_ratio=0.5),
    lambda t: t.nn.functional.fractional_max_pool2d(t.ones(1, 1, 4, 4), 2),
    lambda t: t.nn.functional.fractional_max_pool2d(t.ones(1, 1, 4, 5), 3, 3),
    lambda t: t.nn.AdaptiveLogSoftmaxWithLoss(8, 20, []),
    lambda t: t.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 5]),
    lambda t: t.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5])(t.ones(3, 8), t.tensor([1, 2])),
    lambda t: t.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5])(t.ones(2, 8), t.tensor([1, 25])),
    lambda t: t.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5])(t.ones(2, 2, 8), t.tensor([1, 2])),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors_have_the_text_of_torch(number):
    assert message(numbagrad, ERRORS[number]) == message(torch, ERRORS[number])


@pytest.mark.parametrize("size", [2, 3, 5])
def test_neighbouring_channels_up_to_where_torch_keeps_the_first(size):
    def run(library):
        return library.nn.CrossMapLRN2d(size, 0.1)(library.randn(2, 6, 3, 3))

    ours, theirs = both(run)
    same = (size - 1) // 2 + 1
    close(ours[:, :same], theirs[:, :same])
