"""Convolutions and transposed convolutions against live torch: numbers, gradients, text, errors."""

import pytest
import torch
from parity_tools import both, close, message

import numbagrad

LAYERS = {
    "one dimension": (lambda nn: nn.Conv1d(3, 4, 3), (2, 3, 9)),
    "one dimension, all options": (
        lambda nn: nn.Conv1d(4, 6, 3, stride=2, padding=2, dilation=2, groups=2), (2, 4, 11)
    ),
    "two dimensions": (lambda nn: nn.Conv2d(3, 4, 3), (2, 3, 6, 7)),
    "unbatched": (lambda nn: nn.Conv2d(3, 4, (2, 3), padding=(1, 0)), (3, 6, 7)),
    "strided": (lambda nn: nn.Conv2d(3, 4, 3, (2, 3), padding=1, bias=False), (2, 3, 9, 8)),
    "dilated": (lambda nn: nn.Conv2d(2, 4, 3, dilation=(2, 1)), (2, 2, 7, 6)),
    "each channel apart": (lambda nn: nn.Conv2d(4, 8, 3, groups=4, padding=1), (2, 4, 5, 5)),
    "of single pixels": (lambda nn: nn.Conv2d(3, 5, 1), (2, 3, 4, 4)),
    "same": (lambda nn: nn.Conv2d(2, 3, (4, 3), padding="same"), (2, 2, 5, 6)),
    "reflected": (lambda nn: nn.Conv2d(2, 3, 3, padding=1, padding_mode="reflect"), (2, 2, 5, 6)),
    "circular": (lambda nn: nn.Conv1d(2, 3, 4, padding="same", padding_mode="circular"), (2, 2, 6)),
    "three dimensions": (lambda nn: nn.Conv3d(2, 3, 2, padding=1), (2, 2, 3, 4, 3)),
    "transposed, one": (lambda nn: nn.ConvTranspose1d(3, 4, 3, 2, 1, 1), (2, 3, 5)),
    "transposed": (lambda nn: nn.ConvTranspose2d(3, 4, 3), (2, 3, 4, 5)),
    "transposed, all options": (
        lambda nn: nn.ConvTranspose2d(4, 6, 3, 2, 1, 1, groups=2, dilation=2, bias=False),
        (2, 4, 4, 5),
    ),
    "transposed, three": (lambda nn: nn.ConvTranspose3d(2, 3, 2, 2), (2, 2, 3, 2, 3)),
    "unfold": (lambda nn: nn.Unfold((2, 3), dilation=(1, 2), padding=1, stride=2), (2, 3, 6, 7)),
    "fold": (lambda nn: nn.Fold((5, 6), (2, 3), padding=1, stride=2), (2, 12, 9)),
}  # fmt: skip


@pytest.mark.parametrize("case", LAYERS)
def test_layers_and_their_gradients(case):
    make, shape = LAYERS[case]

    def run(library):
        layer = make(library.nn)
        x = library.randn(*shape, requires_grad=True)
        y = layer(x)
        (y * library.randn(*y.shape)).sum().backward()
        gradients = [x.grad, *[p.grad for p in layer.parameters()]]
        return repr(layer), list(layer.state_dict()), [*layer.parameters(), y, *gradients]

    ours, theirs = both(run)
    assert ours[:2] == theirs[:2]
    for mine, reference in zip(ours[2], theirs[2], strict=True):
        close(mine, reference, atol=1e-5)


SPOILT = {
    "lines": ("conv1d", (2, 4, 11), (6, 2, 3), {"dilation": 2, "groups": 2}),
    "images": ("conv2d", (2, 3, 6, 7), (4, 3, 3, 2), {}),
    "strided": ("conv2d", (2, 4, 9, 8), (4, 1, 3, 3), {"stride": 2, "groups": 4}),
    "volumes": ("conv3d", (1, 2, 4, 5, 4), (3, 2, 2, 3, 2), {"stride": (1, 2, 1)}),
    "transposed lines": ("conv_transpose1d", (2, 3, 5), (3, 4, 4), {"stride": 3}),
    "transposed": ("conv_transpose2d", (2, 4, 4, 5), (4, 3, 3, 3), {"stride": 2, "groups": 2}),
    "transposed volumes": ("conv_transpose3d", (1, 2, 3, 2, 3), (2, 2, 2, 3, 2), {"dilation": 2}),
}


@pytest.mark.parametrize("operand", ["input", "weight", "grad"])
@pytest.mark.parametrize("case", SPOILT)
def test_infinities_reach_what_they_meet(case, operand):
    """In float64 and without padding: elsewhere some of torch's kernels multiply zeros."""
    name, *shapes, options = SPOILT[case]

    def run(library):
        tensors = [library.randn(*shape, dtype=library.float64) for shape in shapes]
        convolve = getattr(library.nn.functional, name)
        tensors.append(library.randn_like(convolve(*tensors, **options)))
        results = []
        chosen = ["input", "weight", "grad"].index(operand)
        size = tensors[chosen].numel()
        for position in range(0, size, max(1, size // 7)):
            x, w, grad = [each.clone() for each in tensors]
            (x, w, grad)[chosen].view(-1)[position] = float("nan" if position % 3 == 2 else "inf")
            x.requires_grad_(), w.requires_grad_()
            y = convolve(x, w, **options)
            y.backward(grad)
            results += [y, x.grad, w.grad]
        return results

    for mine, reference in zip(*both(run), strict=True):
        close(mine, reference, atol=1e-9)


@pytest.mark.parametrize("case", ["strided", "each channel apart", "transposed, all options"])
def test_second_derivatives(case):
    make, shape = LAYERS[case]

    def run(library):
        layer = make(library.nn).double()
        x = library.randn(*shape, dtype=library.float64, requires_grad=True)
        y = layer(x)
        tensors = [x, *layer.parameters()]
        firsts = library.autograd.grad((y * y * y).sum(), tensors, create_graph=True)
        sum((first * first).sum() for first in firsts).backward()
        return [tensor.grad for tensor in tensors]

    for mine, reference in zip(*both(run), strict=True):
        close(mine, reference, rtol=1e-9)


def test_the_size_of_a_transposed_convolution_can_be_asked_for():
    def run(library):
        layer = library.nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1)
        return layer(library.randn(1, 2, 4, 4), output_size=(8, 7))

    close(*both(run), atol=1e-5)


ERRORS = [
    lambda lib: lib.nn.functional.conv2d(lib.randn(3), lib.randn(4, 3, 3, 3)),
    lambda lib: lib.nn.functional.conv2d(lib.randn(2, 5, 5), lib.randn(4, 3, 3, 3)),
    lambda lib: lib.nn.functional.conv2d(lib.randn(1, 2, 5, 5), lib.randn(4, 3, 3, 3)),
    lambda lib: lib.nn.functional.conv2d(lib.randn(1, 3, 2, 2), lib.randn(4, 3, 3, 3)),
    lambda lib: lib.nn.functional.conv2d(
        lib.randn(1, 3, 5, 5), lib.randn(4, 3, 3, 3), lib.randn(3)
    ),
    lambda lib: lib.nn.functional.conv2d(lib.randn(1, 3, 5, 5).double(), lib.randn(4, 3, 3, 3)),
    lambda lib: lib.nn.functional.conv2d(lib.randn(1, 3, 5, 5), lib.randn(4, 3, 3, 3), stride=0),
    lambda lib: lib.nn.functional.conv2d(lib.randn(1, 3, 5, 5), lib.randn(4, 3, 3, 3), padding=-1),
    lambda lib: lib.nn.functional.conv2d(
        lib.randn(1, 3, 5, 5), lib.randn(4, 3, 3, 3), stride=2, padding="same"
    ),
    lambda lib: lib.nn.functional.conv2d(
        lib.randn(1, 3, 5, 5), lib.randn(4, 3, 3, 3), padding="sam"
    ),
    lambda lib: lib.nn.functional.conv2d(lib.randn(1, 4, 5, 5), lib.randn(4, 3, 3, 3), groups=2),
    lambda lib: lib.nn.functional.conv2d(lib.randn(1, 4, 5, 5), lib.randn(3, 2, 3, 3), groups=2),
    lambda lib: lib.nn.functional.conv1d(lib.randn(1, 4), lib.randn(3, 2, 3, 3)),
    lambda lib: lib.nn.functional.conv2d(
        lib.randn(1, 3, 5, 5), lib.randn(4, 3, 3, 3), stride=(1, 2, 3)
    ),
    lambda lib: lib.nn.functional.conv_transpose2d(lib.randn(1, 2, 5, 5), lib.randn(3, 4, 3, 3)),
    lambda lib: lib.nn.functional.conv_transpose2d(
        lib.randn(1, 3, 5, 5), lib.randn(3, 4, 3, 3), lib.randn(2)
    ),
    lambda lib: lib.nn.functional.fold(lib.randn(1, 12, 3), (3, 3), 2),
    lambda lib: lib.nn.Conv2d(3, 4, 3, groups=2),
    lambda lib: lib.nn.Conv2d(4, 3, 3, groups=2),
    lambda lib: lib.nn.Conv2d(4, 3, 3, groups=0),
    lambda lib: lib.nn.Conv2d(3, 4, 3, stride=2, padding="same"),
    lambda lib: lib.nn.ConvTranspose2d(3, 4, 3, padding_mode="reflect"),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors_have_the_text_of_torch(number):
    assert message(numbagrad, ERRORS[number]) == message(torch, ERRORS[number])


OPTIONS = [
    (stride, padding, dilation, groups)
    for stride in (1, 2, 3) for padding in (0, 2) for dilation in (1, 2) for groups in (1, 2)
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_options_together(rank, transposed, dtype):
    """Outputs and gradients for all options, and sizes and kernels that differ by dimension."""
    name = f"conv_transpose{rank}d" if transposed else f"conv{rank}d"
    sizes, kernel = (11, 9, 12)[-rank:], (2, 3, 4)[-rank:]

    for stride, padding, dilation, groups in OPTIONS:

        def run(library, stride=stride, padding=padding, dilation=dilation, groups=groups):
            kind = getattr(library, dtype)
            channels = (4, 6 // groups) if transposed else (6, 4 // groups)
            x = library.randn(2, 4, *sizes, dtype=kind, requires_grad=True)
            w = library.randn(*channels, *kernel, dtype=kind, requires_grad=True)
            b = library.randn(6, dtype=kind, requires_grad=True)
            y = getattr(library.nn.functional, name)(
                x, w, b, stride=stride, padding=padding, dilation=dilation, groups=groups
            )
            grad = library.randn(*y.shape, dtype=kind)
            return y, *library.autograd.grad(y, [x, w, b], grad)

        for mine, reference in zip(*both(run), strict=True):
            close(mine, reference, atol=5e-3 if dtype == "float32" else 1e-10)
