"""Libraries that stand on names of torch's inside: from one seed, torch 2.13's numbers."""

import numpy as np
import pytest
import torch
from torch import nn


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)
    np.random.seed(0)


def are(found, expected):
    return found == pytest.approx(expected, abs=6e-5)


def first(tensor):
    return tensor.detach().flatten()[:6].tolist()


def steps(model, inputs, optimizer):
    found = []
    for _ in range(2):
        optimizer.zero_grad()
        loss = model(inputs).pow(2).mean()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def test_fairscale():
    from fairscale.nn import checkpoint_wrapper

    model = checkpoint_wrapper(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)))
    optimizer = torch.optim.SGD(model.parameters(), 1e-2)
    assert are(steps(model, torch.randn(4, 3), optimizer), [0.0265535, 0.0260355])
    x = torch.randn(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"Checkpointing is not compatible with \.grad\(\)"):
        torch.autograd.grad(model(x).sum(), x)


def test_tensordict(tmp_path):
    from tensordict import TensorDict
    from tensordict.nn import TensorDictModule, TensorDictParams, TensorDictSequential

    model = TensorDictSequential(
        TensorDictModule(nn.Linear(3, 4), ["x"], ["h"]),
        TensorDictModule(nn.Linear(4, 2), ["h"], ["y"]),
    )
    result = model(TensorDict({"x": torch.randn(5, 3)}, [5]))
    loss = result["y"].pow(2).mean()
    loss.backward()
    assert are(loss.item(), 0.0308374)
    data = TensorDict({"a": torch.arange(6.0).view(3, 2), "b": {"c": torch.zeros(3)}}, [3])
    assert data[1:]["a"].tolist() == [[2.0, 3.0], [4.0, 5.0]]
    assert torch.cat([data, data])["b", "c"].shape == (6,)
    assert data.apply(lambda x: x + 1)["b", "c"].tolist() == [1.0, 1.0, 1.0]
    assert torch.stack([data, data + 1])["a"].shape == (2, 3, 2)
    assert len(list(TensorDictParams(TensorDict({"w": torch.ones(2)}, [])).parameters())) == 1
    layer = nn.Linear(2, 2)
    with TensorDict.from_module(layer).apply(torch.zeros_like).to_module(layer):
        assert layer(torch.ones(1, 2)).tolist() == [[0.0, 0.0]]
    assert data.memmap_(tmp_path)["a"].tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]


def test_geoopt():
    import geoopt

    ball = geoopt.PoincareBall()
    point = geoopt.ManifoldParameter(ball.random(3, 2, dtype=torch.float32), manifold=ball)
    optimizer = geoopt.optim.RiemannianAdam([point], lr=0.1)
    target, found = ball.random(3, 2, dtype=torch.float32), []
    for _ in range(3):
        optimizer.zero_grad()
        loss = ball.dist(point, target).pow(2).sum()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    assert found == pytest.approx([21.868340, 20.342266, 18.872005], rel=1e-4)


def test_torch_geometric():
    from torch_geometric.nn import GCNConv

    edges = torch.tensor([[0, 1, 1, 2, 3], [1, 0, 2, 1, 0]])
    features = torch.randn(4, 3)
    layer = GCNConv(3, 2)
    result = layer(features, edges)
    result.pow(2).mean().backward()
    assert are(first(result), [-0.1895, 1.4936, 0.5737, 1.1767, 0.4531, 0.7542])
    assert are(first(layer.bias.grad), [0.0789, 0.9744])


def test_pytorch_minimize():
    from torchmin import minimize
    from torchmin.benchmarks import rosen

    for method in ("bfgs", "l-bfgs", "newton-exact"):
        found = minimize(rosen, torch.tensor([1.3, 0.7, 0.8]), method=method, max_iter=20)
        assert found.x.tolist() == pytest.approx([1.0, 1.0, 1.0], abs=1e-3)
