"""Libraries written for torch do a small piece of work each, unchanged.

Most results are known without torch: a closed form, a sum that has to be one, a loss that falls.
"""

import math

import numpy as np
import pytest
import torch
from torch import nn


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)
    np.random.seed(0)


def test_einops_functions():
    from einops import einsum, pack, rearrange, reduce, repeat, unpack

    x = torch.randn(2, 3, 4, 4, requires_grad=True)
    patches = rearrange(x, "b c (h p) (w q) -> b (h w) (p q c)", p=2, q=2)
    assert patches.shape == (2, 4, 12)
    back = rearrange(patches, "b (h w) (p q c) -> b c (h p) (w q)", h=2, p=2, q=2)
    assert torch.equal(back, x)
    assert torch.allclose(reduce(x, "b c h w -> b c", "mean"), x.mean((2, 3)))
    assert torch.equal(reduce(x, "b c (h 2) (w 2) -> b c h w", "max"), nn.MaxPool2d(2)(x))
    assert torch.equal(repeat(x, "b c h w -> (n b) c h w", n=3), torch.cat([x] * 3))
    weight = torch.randn(3, 5)
    product = einsum(x, weight, "b c h w, c d -> b h w d")
    assert torch.allclose(product, torch.einsum("bchw,cd->bhwd", x, weight))
    product.sum().backward()
    assert torch.allclose(x.grad[0, :, 0, 0], weight.sum(1))
    parts = [torch.randn(2, 3), torch.randn(2, 4, 3)]
    packed, shapes = pack(parts, "b * c")
    assert all(torch.equal(a, b) for a, b in zip(parts, unpack(packed, shapes, "b * c")))  # noqa: B905


def test_einops_layers():
    from einops.layers.torch import EinMix, Rearrange, Reduce

    net = nn.Sequential(
        Rearrange("b c h w -> b h w c"),
        EinMix("b h w c -> b h w d", weight_shape="c d", bias_shape="d", c=3, d=7),
        Reduce("b h w d -> b d", "mean"),
        nn.Linear(7, 2),
    )
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x, y = torch.randn(16, 3, 4, 4), torch.randint(0, 2, (16,))
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


def test_einx():
    import einx

    x, w = torch.randn(4, 6), torch.randn(6, 3)
    assert torch.equal(einx.id("a (b c) -> c a b", x, b=2), x.reshape(4, 2, 3).permute(2, 0, 1))
    assert torch.allclose(einx.sum("a [b]", x), x.sum(1))
    assert torch.allclose(einx.dot("a b, b c -> a c", x, w), x @ w)


@pytest.mark.parametrize("adjoint", [False, True])
@pytest.mark.parametrize("method", ["dopri5", "rk4", "adaptive_heun"])
def test_torchdiffeq(adjoint, method):
    import torchdiffeq

    class Decay(nn.Module):
        def __init__(self):
            super().__init__()
            self.rate = nn.Parameter(torch.tensor(-0.7))

        def forward(self, t, y):
            return self.rate * y

    decay = Decay()
    solve = torchdiffeq.odeint_adjoint if adjoint else torchdiffeq.odeint
    y = solve(decay, torch.tensor([1.0, 2.0]), torch.linspace(0, 1, 11), method=method)
    y[-1].sum().backward()
    assert y[-1, 0].item() == pytest.approx(math.exp(-0.7), abs=1e-4)
    assert decay.rate.grad.item() == pytest.approx(3 * math.exp(-0.7), abs=1e-3)


def test_entmax():
    from entmax import Entmax15Loss, entmax15, entmax_bisect, sparsemax

    x = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    for function in (sparsemax, entmax15, lambda z: entmax_bisect(z, alpha=1.3)):
        p = function(x)
        assert torch.allclose(p.sum(-1), torch.ones(3).double()) and (p >= 0).all()
        (gradient,) = torch.autograd.grad((p**2).sum(), x)
        assert torch.allclose(gradient.sum(-1), torch.zeros(3).double(), atol=1e-9)
    assert torch.autograd.gradcheck(entmax15, (x,))
    Entmax15Loss()(x, torch.tensor([0, 1, 2])).backward()
    assert x.grad.isfinite().all()


def test_nflows():
    from nflows import distributions, flows, transforms
    from nflows.nn.nets import ResidualNet

    layers = transforms.CompositeTransform(
        [
            transforms.MaskedAffineAutoregressiveTransform(features=2, hidden_features=8),
            transforms.RandomPermutation(2),
            transforms.PiecewiseRationalQuadraticCouplingTransform(
                mask=torch.tensor([1, 0]),
                transform_net_create_fn=lambda i, o: ResidualNet(i, o, hidden_features=8),
                tails="linear",
                tail_bound=3.0,
            ),
        ]
    )
    flow = flows.Flow(layers, distributions.StandardNormal([2]))
    optimizer = torch.optim.Adam(flow.parameters(), lr=1e-2)
    x = torch.randn(64, 2) * torch.tensor([2.0, 0.5])
    losses = []
    for _ in range(15):
        optimizer.zero_grad()
        loss = -flow.log_prob(x).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    z, log_det = layers(x)
    back, inverse = layers.inverse(z)
    assert torch.allclose(back, x, atol=1e-3) and torch.allclose(inverse, -log_det, atol=1e-3)
    assert flow.sample(3).shape == (3, 2)


def test_normflows():
    import normflows as nf

    layers = []
    for _ in range(2):
        layers.append(nf.flows.AffineCouplingBlock(nf.nets.MLP([1, 8, 2], init_zeros=True)))
        layers.append(nf.flows.Permute(2, mode="swap"))
    layers.append(nf.flows.AutoregressiveRationalQuadraticSpline(2, 1, 8))
    layers.append(nf.flows.LULinearPermute(2))
    model = nf.NormalizingFlow(nf.distributions.base.DiagGaussian(2), layers)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    x = torch.randn(64, 2) + 1
    losses = []
    for _ in range(15):
        optimizer.zero_grad()
        loss = model.forward_kld(x)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    samples, log_prob = model.sample(4)
    assert torch.allclose(model.log_prob(samples), log_prob, atol=1e-3)


def test_x_transformers():
    from x_transformers import AutoregressiveWrapper, Decoder, Encoder, TransformerWrapper

    layers = Decoder(dim=16, depth=2, heads=2, rotary_pos_emb=True)
    model = AutoregressiveWrapper(
        TransformerWrapper(num_tokens=20, max_seq_len=16, attn_layers=layers)
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    tokens = torch.arange(12).repeat(2, 1)
    losses = []
    for _ in range(8):
        optimizer.zero_grad()
        loss = model(tokens)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    assert model.generate(tokens[:, :3], 5).shape == (2, 5)
    encoder = TransformerWrapper(
        num_tokens=20,
        max_seq_len=16,
        attn_layers=Encoder(dim=16, depth=1, heads=2, use_rmsnorm=True, ff_glu=True),
    )
    assert encoder(tokens, mask=torch.ones(2, 12).bool()).shape == (2, 12, 20)


def test_lion():
    from lion_pytorch import Lion

    weight = nn.Parameter(torch.ones(3))
    optimizer = Lion([weight], lr=0.01, weight_decay=0.0)
    for _ in range(5):
        optimizer.zero_grad()
        (weight**2).sum().backward()
        optimizer.step()
    assert torch.allclose(weight, torch.full((3,), 0.95))


def test_skorch():
    from sklearn.model_selection import cross_val_score
    from skorch import NeuralNetClassifier
    from skorch.callbacks import EpochScoring, LRScheduler

    x = np.random.randn(200, 4).astype(np.float32)
    y = (x[:, 0] > 0).astype(np.int64)
    net = NeuralNetClassifier(
        lambda: nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2)),
        criterion=nn.CrossEntropyLoss,
        max_epochs=15,
        lr=0.3,
        verbose=0,
        callbacks=[EpochScoring("accuracy"), LRScheduler("StepLR", step_size=10)],
    )
    net.fit(x, y)
    assert (net.predict(x) == y).mean() > 0.8
    assert len(cross_val_score(net, x, y, cv=2)) == 2


def test_deepxde():
    import deepxde as dde

    def equation(x, y):
        return dde.grad.hessian(y, x) + math.pi**2 * torch.sin(math.pi * x)

    line = dde.geometry.Interval(-1, 1)
    boundary = dde.icbc.DirichletBC(line, lambda x: 0, lambda x, on_boundary: on_boundary)
    data = dde.data.PDE(
        line, equation, boundary, 16, 2, solution=lambda x: np.sin(np.pi * x), num_test=16
    )
    net = dde.nn.FNN([1] + [16] * 2 + [1], "tanh", "Glorot uniform")
    model = dde.Model(data, net)
    model.compile("adam", lr=1e-2, metrics=["l2 relative error"])
    history, _ = model.train(iterations=200, display_every=100, verbose=0)
    assert sum(history.loss_train[-1]) < sum(history.loss_train[0]) / 5


def test_tensorboard(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from torch.utils.tensorboard import SummaryWriter

    values = torch.randn(100)
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_scalar("loss", torch.tensor(1.5), 3)
        writer.add_scalars("both", {"a": torch.tensor(1.0), "b": 2.0}, 0)
        writer.add_histogram("weights", values, 0)
        writer.add_image("image", torch.rand(3, 4, 6), 0)
        writer.add_text("text", "words", 0)
        writer.add_hparams({"lr": 0.1, "name": "x"}, {"accuracy": 0.5}, run_name="run")
    found = EventAccumulator(str(tmp_path / "")).Reload()
    (loss,) = found.Scalars("loss")
    assert (loss.step, loss.value) == (3, 1.5)
    (counted,) = found.Histograms("weights")
    weights = counted.histogram_value
    assert sum(weights.bucket) == weights.num == 100 and weights.max == values.max().item()
    (picture,) = found.Images("image")
    assert (picture.width, picture.height) == (6, 4)
    assert found.Tensors("text/text_summary")[0].tensor_proto.string_val == [b"words"]
    for folder, tag, value in (("both_b", "both", 2.0), ("run", "accuracy", 0.5)):
        (entry,) = EventAccumulator(str(tmp_path / folder)).Reload().Scalars(tag)
        assert entry.value == value
