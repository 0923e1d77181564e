"""Composite operators without ``compile``: forward and backward on 4096×1024 float32."""

import pytest
import torch

import numbagrad

TABLE = "Composite operators, eager, forward and backward, 4096×1024 float32"
ROWS, WIDTH = 4096, 1024

#: (torch or numbagrad, input) -> result.
OPERATORS = {
    "softmax": lambda torch, x: torch.softmax(x, 1),
    "layer_norm": lambda torch, x: torch.nn.functional.layer_norm(x, (WIDTH,)),
    "cross_entropy": lambda torch, x: torch.nn.functional.cross_entropy(
        x, torch.arange(ROWS) % WIDTH
    ),
    "gelu": lambda torch, x: torch.nn.functional.gelu(x),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_composite(race, name):
    operator = OPERATORS[name]
    ours = numbagrad.randn(ROWS, WIDTH)
    theirs = torch.from_numpy(ours.numpy())

    def step(library, x):
        gradient = library.ones_like(operator(library, x))
        x.requires_grad_()

        def run():
            return library.autograd.grad(operator(library, x), x, gradient)

        return run

    race(
        TABLE, name, bar=1.0,
        numbagrad=step(numbagrad, ours), torch=step(torch, theirs),
    )  # fmt: skip
