"""``vmap`` over the functions of ``nn.functional``: values and gradients are those of a loop.

Each function is called with every tensor mapped and with each of them mapped alone; the operators
below them are those of ``test_vmap_operators.py``.
"""

import warnings

import numpy as np
import pytest

import numbagrad as torch
from numbagrad import vmap

F = torch.nn.functional
SAMPLES = 3


def floats(*shape):
    return ("float", shape)


#: Averages that a layer in evaluation reads: torch has no derivative by them.
AVERAGE = torch.linspace(-1, 1, 6, dtype=torch.float64)


def classes(count, *shape):
    return ("class", shape, count)


#: A function of samples, and what one sample is made of.
CASES = {
    "conv1d": (lambda x, w: F.conv1d(x, w), floats(3, 6), floats(2, 3, 3)),
    "conv2d": (
        lambda x, w, b: F.conv2d(x, w, b, padding=1, stride=2),
        floats(2, 3, 6, 6), floats(5, 3, 3, 3), floats(5),
    ),
    "conv2d-groups": (
        lambda x, w: F.conv2d(x, w, groups=2), floats(2, 4, 5, 5), floats(6, 2, 3, 3)
    ),
    "conv_transpose2d": (
        lambda x, w: F.conv_transpose2d(x, w, stride=2), floats(2, 3, 4, 4), floats(3, 5, 2, 2)
    ),
    "conv_transpose1d-groups": (
        lambda x, w: F.conv_transpose1d(x, w, groups=2), floats(2, 4, 5), floats(4, 3, 2)
    ),
    "max_pool1d": (lambda x: F.max_pool1d(x, 2), floats(3, 6)),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2, return_indices=True), floats(2, 3, 6, 6)),
    "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, 4), floats(2, 3, 6, 6)),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 2), floats(2, 3, 6, 6)),
    "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, 4), floats(2, 3, 6, 6)),
    "lp_pool2d": (lambda x: F.lp_pool2d(x.abs(), 2, 2), floats(2, 3, 4, 4)),
    "unfold": (lambda x: F.unfold(x, 2), floats(2, 3, 4, 4)),
    "fold": (lambda x: F.fold(x, (4, 4), 2), floats(2, 12, 9)),
    "pad": (lambda x: F.pad(x, (1, 2, 0, 1)), floats(2, 3)),
    "pad-reflect": (lambda x: F.pad(x, (1, 1), mode="reflect"), floats(2, 3)),
    "interpolate": (lambda x: F.interpolate(x, scale_factor=2), floats(2, 3, 3, 3)),
    "interpolate-bilinear": (
        lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), floats(2, 3, 3, 3)
    ),
    **{
        f"grid_sample-{mode}": (
            lambda x, g, mode=mode: F.grid_sample(
                x, g.tanh(), mode, "reflection", align_corners=False
            ),
            floats(2, 3, 4, 5), floats(2, 3, 3, 2),
        )
        for mode in ("bilinear", "nearest", "bicubic")
    },
    "affine_grid": (
        lambda x: F.affine_grid(x, (2, 1, 3, 4), align_corners=True), floats(2, 2, 3)
    ),
    "max_unpool2d": (
        lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2), floats(2, 3, 4, 4)
    ),
    "fractional_max_pool2d": (
        lambda x: F.fractional_max_pool2d(x, 2, 3, _random_samples=torch.full((2, 3, 2), 0.3)),
        floats(2, 3, 6, 6),
    ),
    "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 2), floats(2, 4, 3, 3)),
    "layer_norm": (
        lambda x, w, b: F.layer_norm(x, (6,), w, b), floats(5, 6), floats(6), floats(6)
    ),
    "batch_norm": (lambda x: F.batch_norm(x, None, None, training=True), floats(5, 6)),
    "batch_norm-eval": (lambda x: F.batch_norm(x, AVERAGE, AVERAGE.exp()), floats(5, 6)),
    "group_norm": (lambda x: F.group_norm(x, 2), floats(5, 6)),
    "instance_norm": (lambda x: F.instance_norm(x), floats(5, 6, 3)),
    "rms_norm": (lambda x: F.rms_norm(x, (6,)), floats(5, 6)),
    "local_response_norm": (lambda x: F.local_response_norm(x, 2), floats(2, 5, 6)),
    "normalize": (lambda x: F.normalize(x), floats(5, 6)),
    "cross_entropy": (lambda x, t: F.cross_entropy(x, t), floats(5, 6), classes(6, 5)),
    "cross_entropy-one": (lambda x, t: F.cross_entropy(x, t), floats(6), classes(6)),
    "cross_entropy-weight": (
        lambda x, t, w: F.cross_entropy(x, t, w.detach().exp()),
        floats(5, 6), classes(6, 5), floats(6),
    ),
    "cross_entropy-none": (
        lambda x, t: F.cross_entropy(x, t, reduction="none", ignore_index=1),
        floats(5, 6), classes(6, 5),
    ),
    "cross_entropy-smooth": (
        lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1), floats(5, 6), classes(6, 5)
    ),
    "cross_entropy-probabilities": (
        lambda x, t: F.cross_entropy(x, t.softmax(-1)), floats(5, 6), floats(5, 6)
    ),
    "cross_entropy-places": (
        lambda x, t: F.cross_entropy(x, t, reduction="sum"), floats(5, 6, 2), classes(6, 5, 2)
    ),
    "mse_loss": (lambda x, t: F.mse_loss(x, t), floats(5, 6), floats(5, 6)),
    "l1_loss": (lambda x, t: F.l1_loss(x, t, reduction="sum"), floats(5, 6), floats(5, 6)),
    "huber_loss": (lambda x, t: F.huber_loss(x, t), floats(5, 6), floats(5, 6)),
    "smooth_l1_loss": (lambda x, t: F.smooth_l1_loss(x, t), floats(), floats()),
    "binary_cross_entropy": (
        lambda x, t: F.binary_cross_entropy(x.sigmoid(), t.sigmoid()), floats(5, 6), floats(5, 6)
    ),
    "binary_cross_entropy_with_logits": (
        lambda x, t: F.binary_cross_entropy_with_logits(x, t.sigmoid()),
        floats(5, 6), floats(5, 6),
    ),
    "kl_div": (
        lambda x, t: F.kl_div(x, t.sigmoid(), reduction="batchmean"), floats(5, 6), floats(5, 6)
    ),
    "multi_margin_loss": (
        lambda x, t: F.multi_margin_loss(x, t), floats(5, 6), classes(6, 5)
    ),
    "multilabel_margin_loss": (
        lambda x, t: F.multilabel_margin_loss(x, t - 1), floats(5, 6), classes(7, 5, 6)
    ),
    "multilabel_soft_margin_loss": (
        lambda x, t: F.multilabel_soft_margin_loss(x, t), floats(5, 6), floats(5, 6)
    ),
    "triplet_margin_loss": (
        lambda x, p, n: F.triplet_margin_loss(x, p, n), floats(5, 6), floats(5, 6), floats(5, 6)
    ),
    "cosine_similarity": (lambda x, y: F.cosine_similarity(x, y), floats(5, 6), floats(5, 6)),
    "pairwise_distance": (lambda x, y: F.pairwise_distance(x, y), floats(5, 6), floats(5, 6)),
    "embedding": (
        lambda i, w: F.embedding(i, w, padding_idx=1), classes(6, 5), floats(6, 3)
    ),
    "one_hot": (lambda i: F.one_hot(i, 6), classes(6, 5)),
    "scaled_dot_product_attention": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        floats(2, 5, 6), floats(2, 5, 6), floats(2, 5, 6),
    ),
    "bilinear": (
        lambda a, b, w: F.bilinear(a, b, w), floats(5, 6), floats(5, 3), floats(2, 6, 3)
    ),
    "linear": (lambda x, w, b: F.linear(x, w, b), floats(5, 6), floats(3, 6), floats(3)),
    "linear-one": (lambda x, w, b: F.linear(x, w, b), floats(6), floats(3, 6), floats(3)),
    "glu": (lambda x: F.glu(x), floats(5, 6)),
    "prelu": (lambda x, w: F.prelu(x, w), floats(5, 6), floats(1)),
}  # fmt: skip


def drawn(kind, generator):
    """A tensor with a value of this kind for each sample."""
    shape = (SAMPLES, *kind[1])
    if kind[0] == "float":
        return torch.from_numpy(np.asarray(generator.standard_normal(shape)))
    return torch.from_numpy(np.asarray(generator.integers(0, kind[2], shape)))


def choices(count):
    """Which operands are mapped: all, and each alone."""
    alone = [tuple(i == k for i in range(count)) for k in range(count)]
    return dict.fromkeys([(True,) * count, *alone])


def results(made):
    return tuple(made) if isinstance(made, (tuple, list)) else (made,)


def weighted_sum(made):
    """A number that depends on every element of the results differently."""
    total = 0
    for x in results(made):
        if x.is_floating_point():
            weights = torch.arange(1.0, x.numel() + 1, dtype=x.dtype).reshape(x.shape)
            total = total + (x * weights).sum()
    return total


def gradients_of(function, floating):
    """A function of all tensors that returns the gradients of those with floats."""

    def gradients(*tensors):
        def loss(*chosen):
            given = list(tensors)
            for position, tensor in zip(floating, chosen, strict=True):
                given[position] = tensor
            return weighted_sum(function(*given))

        where = tuple(range(len(floating)))
        return torch.func.grad(loss, where)(*[tensors[i] for i in floating])

    return gradients


def assert_like_a_loop(function, tensors, mapped):
    given = [x if m else x[0] for x, m in zip(tensors, mapped, strict=True)]
    dims = tuple(0 if m else None for m in mapped)
    made = results(vmap(function, in_dims=dims)(*given))
    wanted = [
        results(function(*[x[n] if m else x for x, m in zip(given, mapped, strict=True)]))
        for n in range(SAMPLES)
    ]
    for position, result in enumerate(made):
        expected = np.stack([each[position].detach().numpy() for each in wanted])
        np.testing.assert_allclose(result.detach().numpy(), expected, rtol=1e-9, atol=1e-9)


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("name", CASES)
def test_samples_are_computed_as_one_by_one(name):
    function, *kinds = CASES[name]
    tensors = [drawn(kind, np.random.default_rng(0)) for kind in kinds]
    for mapped in choices(len(kinds)):
        assert_like_a_loop(lambda *xs: results(function(*xs)), tensors, mapped)


@pytest.mark.parametrize("name", [n for n in CASES if n != "one_hot"])
def test_gradients_of_samples_are_those_of_a_loop(name):
    function, *kinds = CASES[name]
    tensors = [drawn(kind, np.random.default_rng(0)) for kind in kinds]
    floating = [position for position, kind in enumerate(kinds) if kind[0] == "float"]
    for mapped in choices(len(kinds)):
        assert_like_a_loop(gradients_of(function, floating), tensors, mapped)
