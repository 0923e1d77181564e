"""Lazy layers beside torch: text before and after the first call, initial values, errors."""

import pytest
import torch
from parity_tools import both, close, message

import numbagrad

LAYERS = {
    "linear": (lambda nn: nn.LazyLinear(3), (2, 4)),
    "linear without bias": (lambda nn: nn.LazyLinear(3, bias=False), (2, 4)),
    "convolution": (lambda nn: nn.LazyConv2d(4, 3, padding=1, groups=2), (2, 6, 5, 5)),
    "convolution of one": (lambda nn: nn.LazyConv1d(4, 3, 2, bias=False), (2, 6)),
    "volume": (lambda nn: nn.LazyConv3d(2, 2), (1, 3, 4, 4, 4)),
    "transposed": (lambda nn: nn.LazyConvTranspose1d(4, 3, 1, 0, 0, 1, True), (2, 3, 5)),
    "transposed images": (lambda nn: nn.LazyConvTranspose2d(4, 3, stride=2), (2, 3, 5, 5)),
    "batch norm": (lambda nn: nn.LazyBatchNorm1d(), (4, 3)),
    "plain batch norm": (lambda nn: nn.LazyBatchNorm2d(affine=False), (2, 3, 4, 4)),
    "batch norm of scale": (lambda nn: nn.LazyBatchNorm1d(bias=False), (4, 3)),
    "instance norm": (lambda nn: nn.LazyInstanceNorm1d(), (2, 3, 5)),
}


@pytest.mark.parametrize("case", LAYERS)
def test_the_first_call_makes_an_ordinary_layer(case):
    make, shape = LAYERS[case]

    def run(library):
        layer = make(library.nn)
        before = repr(layer), list(layer.state_dict()), repr(list(layer.parameters()))
        optimizer = library.optim.SGD(layer.parameters(), lr=0.1) if before[1] != [] else None
        output = layer(library.randn(*shape))
        output.pow(2).sum().backward()
        if optimizer is not None and case != "plain batch norm":
            optimizer.step()
        after = repr(layer), type(layer).__name__
        return before, after, [output, *layer.state_dict().values()]

    if case == "plain batch norm":
        make = lambda nn: nn.Sequential(nn.LazyConv2d(3, 1), LAYERS[case][0](nn))  # noqa: E731
    ours, theirs = both(run)
    assert ours[:2] == theirs[:2]
    for mine, reference in zip(ours[2], theirs[2], strict=True):
        close(mine, reference, atol=1e-5)


def test_states_and_conversions():
    def run(library):
        nn = library.nn
        layer = nn.LazyLinear(3).double()
        dtype = str(layer.weight.dtype)
        layer.load_state_dict(nn.Linear(2, 3).state_dict())
        texts = [dtype, repr(layer), str(layer.weight.dtype), list(layer.weight.shape)]
        layer(library.ones(1, 2, dtype=library.float64))
        other = nn.LazyLinear(3)
        texts += [repr(layer), str(other.load_state_dict(nn.LazyLinear(3).state_dict()))]
        return texts, list(layer.state_dict().values())

    ours, theirs = both(run)
    assert ours[0] == theirs[0]
    for mine, reference in zip(ours[1], theirs[1], strict=True):
        close(mine, reference)


ERRORS = [
    lambda lib: lib.nn.LazyLinear(3).weight.shape,
    lambda lib: lib.nn.LazyConv2d(4, 3, groups=3)(lib.ones(1, 2, 5, 5)),
    lambda lib: lib.nn.LazyConv2d(4, 3)(lib.ones(2, 5)),
    lambda lib: lib.nn.LazyBatchNorm2d()(lib.ones(2, 5)),
    lambda lib: lib.nn.Linear(2, 3).load_state_dict(lib.nn.LazyLinear(3).state_dict()),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors_have_the_text_of_torch(number):
    assert message(numbagrad, ERRORS[number]) == message(torch, ERRORS[number])
