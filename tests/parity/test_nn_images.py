"""Pooling, resampling and padding against live torch: numbers, gradients, text, errors."""

import pytest
import torch
from parity_tools import both, close, message

import numbagrad

LAYERS = {
    "max, one dimension": (lambda nn: nn.MaxPool1d(3, 2, 1), (2, 3, 9)),
    "max": (lambda nn: nn.MaxPool2d(2), (2, 3, 6, 7)),
    "max, unbatched": (lambda nn: nn.MaxPool2d((2, 3)), (3, 6, 7)),
    "max, all options": (lambda nn: nn.MaxPool2d(3, 2, 1, 2, ceil_mode=True), (2, 3, 8, 7)),
    "max, ceil": (lambda nn: nn.MaxPool2d(2, ceil_mode=True), (2, 2, 5, 7)),
    "max, three": (lambda nn: nn.MaxPool3d(2), (1, 2, 4, 4, 4)),
    "mean, one dimension": (lambda nn: nn.AvgPool1d(3, 2, 1), (2, 3, 9)),
    "mean": (lambda nn: nn.AvgPool2d(2), (2, 3, 6, 7)),
    "mean, padded": (lambda nn: nn.AvgPool2d((2, 3), (1, 2), 1), (2, 3, 6, 7)),
    "mean, not of padding": (
        lambda nn: nn.AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=False), (3, 6, 8)
    ),
    "mean, ceil": (lambda nn: nn.AvgPool2d(3, 2, 1, ceil_mode=True), (1, 2, 6, 8)),
    "mean, divisor": (lambda nn: nn.AvgPool2d(2, divisor_override=3), (1, 2, 4, 4)),
    "mean, three": (lambda nn: nn.AvgPool3d(2), (1, 2, 4, 4, 4)),
    "norms": (lambda nn: nn.LPPool2d(2, 2), (2, 3, 4, 4)),
    "norms, one": (lambda nn: nn.LPPool1d(3, 2, 1), (2, 3, 6)),
    "parts": (lambda nn: nn.AdaptiveAvgPool2d((3, 4)), (2, 3, 7, 6)),
    "one part": (lambda nn: nn.AdaptiveAvgPool2d(1), (2, 3, 7, 6)),
    "parts of one": (lambda nn: nn.AdaptiveAvgPool2d((None, 2)), (3, 7, 6)),
    "parts of lines": (lambda nn: nn.AdaptiveAvgPool1d(5), (2, 3, 7)),
    "parts of volumes": (lambda nn: nn.AdaptiveAvgPool3d(2), (1, 2, 3, 4, 5)),
    "largest of parts": (lambda nn: nn.AdaptiveMaxPool2d((3, 2)), (2, 3, 7, 6)),
    "largest of parts of lines": (lambda nn: nn.AdaptiveMaxPool1d(3), (2, 3, 7)),
    "nearest": (lambda nn: nn.Upsample(scale_factor=2), (2, 3, 3, 4)),
    "nearest, fraction": (lambda nn: nn.Upsample(scale_factor=(1.7, 0.6)), (2, 3, 5, 7)),
    "nearest, size": (lambda nn: nn.Upsample((7, 5)), (2, 3, 3, 9)),
    "nearest of lines": (lambda nn: nn.Upsample(5), (2, 3, 7)),
    "nearest exactly": (lambda nn: nn.Upsample(5, mode="nearest-exact"), (2, 3, 7)),
    "linear": (lambda nn: nn.Upsample(5, mode="linear"), (2, 3, 7)),
    "bilinear": (lambda nn: nn.Upsample(scale_factor=2, mode="bilinear"), (2, 3, 3, 4)),
    "bilinear, corners": (lambda nn: nn.UpsamplingBilinear2d((7, 5)), (2, 3, 3, 4)),
    "trilinear": (lambda nn: nn.Upsample(scale_factor=1.5, mode="trilinear"), (1, 2, 2, 3, 4)),
    "area": (lambda nn: nn.Upsample((3, 2), mode="area"), (2, 3, 7, 5)),
    "pixels": (lambda nn: nn.PixelShuffle(2), (2, 8, 3, 4)),
    "channels": (lambda nn: nn.PixelUnshuffle(2), (2, 2, 4, 6)),
    "shuffled channels": (lambda nn: nn.ChannelShuffle(2), (2, 6, 2, 3)),
    "constant": (lambda nn: nn.ConstantPad2d((1, 2, 0, -1), 3.5), (2, 3, 4, 4)),
    "constant of lines": (lambda nn: nn.ConstantPad1d(2, 3.5), (2, 3, 4)),
    "zeros": (lambda nn: nn.ZeroPad2d(1), (2, 3, 4, 4)),
    "reflected": (lambda nn: nn.ReflectionPad2d((1, 2, 3, 0)), (2, 3, 4, 4)),
    "replicated": (lambda nn: nn.ReplicationPad1d(3), (2, 3, 4)),
    "circular": (lambda nn: nn.CircularPad2d((1, 2, 0, 3)), (2, 3, 4, 4)),
    "normalized images": (lambda nn: nn.InstanceNorm2d(3, affine=True), (2, 3, 4, 4)),
    "normalized lines": (
        lambda nn: nn.InstanceNorm1d(3, track_running_stats=True), (2, 3, 5)
    ),
    "normalized neighbours": (lambda nn: nn.LocalResponseNorm(3), (2, 5, 4, 4)),
}  # fmt: skip


@pytest.mark.parametrize("case", LAYERS)
def test_layers_and_their_gradients(case):
    make, shape = LAYERS[case]

    def run(library):
        layer = make(library.nn)
        x = library.randn(*shape).abs() if "norms" in case else library.randn(*shape)
        x = x.requires_grad_()
        y = layer(x)
        (y * library.randn(*y.shape)).sum().backward()
        state = [value.double() for value in layer.state_dict().values()]
        return repr(layer), [y, x.grad, *state]

    ours, theirs = both(run)
    assert ours[0] == theirs[0]
    for mine, reference in zip(ours[1], theirs[1], strict=True):
        close(mine, reference, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("case", ["max, all options", "mean, ceil", "parts", "bilinear"])
def test_second_derivatives(case):
    make, shape = LAYERS[case]

    def run(library):
        layer = make(library.nn)
        x = library.randn(*shape, dtype=library.float64, requires_grad=True)
        y = layer(x)
        (first,) = library.autograd.grad((y * y * y).sum(), x, create_graph=True)
        (first * first).sum().backward()
        return x.grad

    close(*both(run), rtol=1e-9)


@pytest.mark.parametrize(
    "mode", ["nearest", "nearest-exact", "bilinear", "bicubic", "bilinear aa", "bicubic aa"]
)
def test_factors_that_change_no_size_or_double_it(mode):
    mode, _, antialias = mode.partition(" ")

    def run(library):
        image = library.arange(24.0, dtype=library.float64).reshape(1, 2, 4, 3)
        return [
            library.nn.functional.interpolate(
                image, scale_factor=factors, mode=mode, antialias=bool(antialias)
            )
            for factors in (1.2, 1.02, (1.2, 2.3), (2.2, 1.2), (1.2, 0.7), (1, 2))
        ]

    for mine, reference in zip(*both(run), strict=True):
        close(mine, reference, rtol=1e-6)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "linear", "trilinear"])
def test_factors_in_lines_and_volumes(mode):
    rank = 3 if mode == "trilinear" else 1

    def run(library):
        image = library.arange(3.0**rank, dtype=library.float64).reshape(1, 1, *[3] * rank)
        return [
            library.nn.functional.interpolate(image, scale_factor=factor, mode=mode)
            for factor in (1.2, 1.02, 2.2, 0.7, 2)
        ]

    for mine, reference in zip(*both(run), strict=True):
        close(mine, reference, rtol=1e-6)


def test_indices_of_the_largest():
    def run(library):
        F = library.nn.functional
        x = library.randn(2, 3, 6, 8)
        x[0, 0, 0, 0] = float("nan")
        ties = library.ones(1, 1, 5, 5)
        lowest = library.full((1, 1, 4, 4), float("-inf"))
        return [
            *F.max_pool2d(x, 3, 2, 1, return_indices=True),
            F.max_pool2d(ties, 2, 1, 1, return_indices=True)[1],
            F.max_pool2d(lowest, 3, 2, 1, 2, return_indices=True)[1],
            F.max_pool1d(x[0], 2, return_indices=True)[1],
            F.adaptive_max_pool2d(x, (2, 3), return_indices=True)[1],
            F.max_pool2d(library.arange(16).view(1, 1, 4, 4), 2),
        ]

    for ours, theirs in zip(*both(run), strict=True):
        close(ours, theirs)


ERRORS = [
    lambda lib: lib.nn.functional.max_pool2d(lib.randn(1, 1, 2, 2), 3),
    lambda lib: lib.nn.functional.max_pool2d(lib.randn(1, 1, 4, 4), 2, padding=2),
    lambda lib: lib.nn.functional.max_pool2d(lib.randn(1, 1, 4, 4), 2, stride=0),
    lambda lib: lib.nn.functional.avg_pool2d(lib.randn(1, 1, 2, 2), 3),
    lambda lib: lib.nn.functional.avg_pool2d(lib.randn(1, 1, 4, 4), 2, padding=2),
    lambda lib: lib.nn.functional.avg_pool2d(lib.randn(1, 1, 4, 4), 2, divisor_override=0),
    lambda lib: lib.nn.functional.adaptive_avg_pool2d(lib.randn(4, 4), 2),
    lambda lib: lib.nn.functional.adaptive_avg_pool2d(lib.randn(1, 4, 4), (2, 2, 2)),
    lambda lib: lib.nn.functional.interpolate(lib.randn(1, 2, 3)),
    lambda lib: lib.nn.functional.interpolate(lib.randn(1, 2, 3), size=3, scale_factor=2),
    lambda lib: lib.nn.functional.interpolate(lib.randn(1, 2, 3), scale_factor=(2, 2)),
    lambda lib: lib.nn.functional.interpolate(lib.randn(1, 2, 3), size=3, mode="bilinear"),
    lambda lib: lib.nn.functional.interpolate(lib.randn(1, 2, 3), size=3, mode="x"),
    lambda lib: lib.nn.functional.interpolate(lib.randn(1, 2, 3), size=3, align_corners=True),
    lambda lib: lib.nn.functional.interpolate(lib.randn(3), size=3),
    lambda lib: lib.nn.functional.pixel_shuffle(lib.randn(1, 3, 2, 2), 2),
    lambda lib: lib.nn.functional.pixel_shuffle(lib.randn(2), 2),
    lambda lib: lib.nn.functional.pixel_unshuffle(lib.randn(1, 3, 3, 3), 2),
    lambda lib: lib.nn.functional.channel_shuffle(lib.randn(1, 3, 2, 2), 2),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors_have_the_text_of_torch(number):
    assert message(numbagrad, ERRORS[number]) == message(torch, ERRORS[number])


@pytest.mark.parametrize("sizes", [(3, None, None), (None, None, 2), (None, None, None)])
def test_means_of_parts_are_new_and_in_c_order(sizes):
    for rank in (2, 3):
        found = []
        for lib in (numbagrad, torch):
            x = lib.arange(2 * 4**rank, dtype=lib.float64).reshape(2, 1, *(4,) * rank)
            x.requires_grad_()
            made = getattr(lib.nn.functional, f"adaptive_avg_pool{rank}d")(x, sizes[-rank:])
            assert made.data_ptr() != x.data_ptr()
            assert made.is_contiguous()
            name = made.grad_fn.name()
            (gradient,) = lib.autograd.grad((made * made).sum(), x)
            found.append((made.tolist(), gradient.tolist(), name))
        assert found[0] == found[1]
