"""Operator calls: what common operators cost on 8×8 float32, where the arithmetic costs nothing.

Each row of ``CALLS`` is run by both libraries on the same numbers, forward with recording; those in
``BACKWARD`` also with the gradient of their sum.
"""

from types import SimpleNamespace

import pytest
import torch

import numbagrad

TABLE = "Operator calls, 8×8 float32, recorded"
GRADIENTS = "Operator calls, 8×8 float32, forward and backward"

#: (library, operands) -> result.
CALLS = {
    "mul": lambda torch, o: o.x * o.y,
    "add of a number": lambda torch, o: o.x + 2.0,
    "broadcast add": lambda torch, o: o.x + o.row,
    "floor_divide of integers": lambda torch, o: o.index // 3,
    "sum": lambda torch, o: o.x.sum(),
    "sum(dim)": lambda torch, o: o.x.sum(1),
    "mean": lambda torch, o: o.x.mean(),
    "max(dim)": lambda torch, o: o.x.max(1),
    "argmax": lambda torch, o: o.x.argmax(1),
    "softmax": lambda torch, o: torch.softmax(o.x, 1),
    "log_softmax": lambda torch, o: torch.log_softmax(o.x, 1),
    "mm": lambda torch, o: o.x @ o.y,
    "bmm": lambda torch, o: torch.bmm(o.stack, o.stack),
    "addmm": lambda torch, o: torch.addmm(o.row, o.x, o.y),
    "einsum": lambda torch, o: torch.einsum("ij,jk->ik", o.x, o.y),
    "t": lambda torch, o: o.x.t(),
    "view": lambda torch, o: o.x.view(4, 16),
    "reshape": lambda torch, o: o.x.reshape(-1),
    "transpose": lambda torch, o: o.x.transpose(0, 1),
    "permute": lambda torch, o: o.x.permute(1, 0),
    "unsqueeze": lambda torch, o: o.x.unsqueeze(0),
    "squeeze": lambda torch, o: o.thin.squeeze(0),
    "expand": lambda torch, o: o.row.expand(8, 8),
    "x[i]": lambda torch, o: o.x[3],
    "x[a:b]": lambda torch, o: o.x[2:5],
    "x[:, i]": lambda torch, o: o.x[:, 3],
    "x[indices]": lambda torch, o: o.x[o.rows],
    "chunk": lambda torch, o: o.x.chunk(2),
    "clone": lambda torch, o: o.x.clone(),
    "contiguous": lambda torch, o: o.turned.contiguous(),
    "detach": lambda torch, o: o.x.detach(),
    "cat": lambda torch, o: torch.cat([o.x, o.y]),
    "stack": lambda torch, o: torch.stack([o.x, o.y]),
    "flip": lambda torch, o: o.x.flip(0),
    "gather": lambda torch, o: o.x.gather(1, o.index),
    "index_select": lambda torch, o: o.x.index_select(0, o.rows),
    "take": lambda torch, o: o.x.take(o.rows),
    "embedding": lambda torch, o: torch.nn.functional.embedding(o.rows, o.x),
    "masked_fill": lambda torch, o: o.x.masked_fill(o.mask, 0.0),
    "where": lambda torch, o: torch.where(o.mask, o.x, o.y),
    "linear": lambda torch, o: torch.nn.functional.linear(o.x, o.y, o.row),
    "layer_norm": lambda torch, o: torch.nn.functional.layer_norm(o.x, (8,)),
    "cross_entropy": lambda torch, o: torch.nn.functional.cross_entropy(o.x, o.rows),
    "dropout": lambda torch, o: torch.nn.functional.dropout(o.x, 0.5),
    "zeros": lambda torch, o: torch.zeros(8, 8),
    "zeros_like": lambda torch, o: torch.zeros_like(o.x),
    "full": lambda torch, o: torch.full((8, 8), 2.0),
    "arange": lambda torch, o: torch.arange(8),
    "rand": lambda torch, o: torch.rand(8, 8),
    "randn": lambda torch, o: torch.randn(8, 8),
    "tensor(list)": lambda torch, o: torch.tensor([1.0, 2.0, 3.0]),
    "item": lambda torch, o: o.number.item(),
    "Linear and ReLU": lambda torch, o: o.net(o.x),
    "step of Adam, 20 parameters": lambda torch, o: o.adam.step(),
    "step of SGD, 20 parameters": lambda torch, o: o.sgd.step(),
}

BACKWARD = (
    "mul", "sum(dim)", "max(dim)", "softmax", "log_softmax", "mm", "bmm", "addmm", "einsum", "t",
    "view", "expand", "x[i]", "x[indices]", "clone", "cat", "stack", "flip", "gather",
    "index_select", "embedding", "layer_norm", "cross_entropy", "Linear and ReLU",
)  # fmt: skip


def operands(library):
    """The same numbers for both libraries."""
    library.manual_seed(0)
    o = SimpleNamespace(
        x=library.randn(8, 8, requires_grad=True),
        y=library.randn(8, 8, requires_grad=True),
        row=library.randn(8, requires_grad=True),
        thin=library.randn(1, 8, 8, requires_grad=True),
        stack=library.randn(1, 8, 8, requires_grad=True),
        index=library.arange(64).reshape(8, 8) % 8,
        rows=library.arange(8),
        mask=library.arange(64).reshape(8, 8) % 2 == 0,
        number=library.tensor(1.5),
        net=library.nn.Sequential(library.nn.Linear(8, 8), library.nn.ReLU()),
    )
    o.turned = library.randn(8, 8, requires_grad=True).t()
    for name in ("adam", "sgd"):
        parameters = [library.randn(8, 8, requires_grad=True) for _ in range(20)]
        for parameter in parameters:
            parameter.grad = library.ones(8, 8)
        optimizer = {"adam": library.optim.Adam, "sgd": library.optim.SGD}[name]
        setattr(o, name, optimizer(parameters, lr=1e-5))
    return o


def contestants(name, backward=False):
    """``name`` as a function without arguments, for each library."""

    def function(library):
        call, own = CALLS[name], operands(library)
        if not backward:
            return lambda: call(library, own)

        def run():
            made = call(library, own)
            (made if isinstance(made, library.Tensor) else made[0]).sum().backward()

        return run

    return {"numbagrad": function(numbagrad), "torch": function(torch)}


@pytest.mark.parametrize("name", CALLS)
def test_forward(race, name):
    race(TABLE, name, **contestants(name))


@pytest.mark.parametrize("name", BACKWARD)
def test_backward(race, name):
    race(GRADIENTS, name, **contestants(name, backward=True))
