"""Graphs of ``torch.fx`` and their code beside torch's."""

import operator

import pytest
import torch as reference

import numbagrad as torch


def network(lib):
    class Network(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = lib.nn.Linear(3, 4)
            self.weight = lib.nn.Parameter(lib.ones(4))
            self.rest = lib.nn.Sequential(lib.nn.ReLU(), lib.nn.Linear(4, 2))

        def forward(self, x, scale: float = 2.0, *args, **kwargs):
            y = self.first(x) * self.weight + lib.ones(4)
            left, right = y.chunk(2, dim=-1)
            z = self.rest(lib.cat([left, right], dim=1)).view(-1, y.shape[0])
            return {"a": lib.sigmoid(z), "b": (z.size(0), z.T, -z, 1 - z, args[0])}

    return Network()


def function(lib):
    return lambda input, flag=True: (
        lib.linalg.norm(input @ input.T, dim=0)[..., 1:] ** 2 if flag else input
    )


def chosen(lib):
    return lib.fx.symbolic_trace(lambda x, on: x.neg() if on else x, concrete_args={"on": True})


def by_hand(lib):
    graph = lib.fx.Graph()
    x = graph.placeholder("x", default_value=1.0)
    y = graph.call_function(operator.getitem, (x, slice(None, 2)))
    graph.call_function(lib.relu, (x,))
    graph.output((graph.call_method("sum", (y,), {"dim": [0]}), y))
    return lib.fx.GraphModule({}, graph)


@pytest.mark.parametrize(
    "make",
    [
        lambda lib: lib.fx.symbolic_trace(network(lib)),
        chosen,
        by_hand,
    ],
)
def test_graphs_and_code_are_torchs(make):
    ours, theirs = make(torch), make(reference)
    assert str(ours.graph) == str(theirs.graph)
    assert ours.code == theirs.code


@pytest.mark.parametrize(
    "program",
    [
        lambda lib: lib.fx.symbolic_trace(function(lib)),
        lambda lib: lib.fx.symbolic_trace(lambda x: list(x)),
        lambda lib: lib.fx.symbolic_trace(lambda x: len(x)),
    ],
)
def test_errors_are_torchs(program):
    with pytest.raises(Exception) as theirs:  # noqa: PT011
        program(reference)
    with pytest.raises(Exception) as ours:  # noqa: PT011
        program(torch)
    assert type(ours.value).__name__ == type(theirs.value).__name__
    assert str(ours.value).split(".")[0] == str(theirs.value).split(".")[0]
