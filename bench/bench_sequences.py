"""Recurrent layers and attention beside torch, forward and backward."""

import pytest
import torch

import numbagrad

TABLE = "Sequences, float32, forward and backward"


def recurrent(library, kind, of_data):
    """A layer, batch 32, length 50, hidden size 128; the gradient of its input unless that is data.

    As all layers between others have one.
    """
    library.manual_seed(0)
    net = getattr(library.nn, kind)(128, 128)
    x = library.randn(50, 32, 128, requires_grad=not of_data)
    wanted = [*net.parameters(), *([] if of_data else [x])]
    grad = library.ones(50, 32, 128)
    return lambda: library.autograd.grad(net(x)[0], wanted, grad)


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
@pytest.mark.parametrize("of_data", [True, False])
def test_recurrent(race, kind, of_data):
    race(
        TABLE,
        f"{kind}(128, 128), batch 32, length 50, {'of data' if of_data else 'between layers'}",
        bar=0.7,
        numbagrad=recurrent(numbagrad, kind, of_data),
        torch=recurrent(torch, kind, of_data),
    )


def attention(library):
    """Causal attention of (8, 4, 256, 32)."""
    library.manual_seed(0)
    operands = [library.randn(8, 4, 256, 32, requires_grad=True) for _ in range(3)]
    grad = library.ones(8, 4, 256, 32)
    attend = library.nn.functional.scaled_dot_product_attention
    return lambda: library.autograd.grad(attend(*operands, is_causal=True), operands, grad)


def test_attention(race):
    race(
        TABLE,
        "causal attention (8, 4, 256, 32)",
        bar=0.7,
        numbagrad=attention(numbagrad),
        torch=attention(torch),
    )
