"""Small tensors: what a call costs, forward and backward."""

import torch

import numbagrad

TABLE = "Small tensors, eager"


def pair(*shape: int):
    """The same random leaf for both libraries."""
    numbagrad.manual_seed(0)
    ours = numbagrad.randn(*shape, requires_grad=True)
    theirs = torch.from_numpy(ours.detach().numpy().copy()).requires_grad_()
    return ours, theirs


def test_multiply(race):
    (a, x), (b, y) = pair(8, 8), pair(8, 8)
    race(TABLE, "8×8 a * b, recorded", bar=1.1, numbagrad=lambda: a * b, torch=lambda: x * y)


def test_backward(race):
    a, x = pair(8, 8)
    race(
        TABLE,
        "(a * a).sum().backward() on 8×8",
        bar=0.5,
        numbagrad=lambda: (a * a).sum().backward(),
        torch=lambda: (x * x).sum().backward(),
    )


def test_hundred_parameters(race):
    ours, theirs = zip(*[pair(8, 8) for _ in range(100)], strict=True)

    def step(parameters):
        total = (parameters[0] * parameters[0]).sum()
        for parameter in parameters[1:]:
            total = total + (parameter * parameter).sum()
        total.backward()

    race(
        TABLE,
        "100 parameters of 8×8: sum of squares, backward, accumulate",
        bar=0.5,
        numbagrad=lambda: step(ours),
        torch=lambda: step(theirs),
    )
