"""More libraries written for torch, unchanged: models, probability, optimisers, tools of training.

Each does a small piece of work whose result is known: a closed form, a sum that has to be one, a
function computed twice, a loss that falls.
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


def falls(parameters, loss_of, steps=10, make=torch.optim.Adam, **options) -> bool:
    """Whether a loss is lower after a few steps of an optimiser."""
    optimizer = make(parameters, **{"lr": 1e-2, **options})
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses[-1] < losses[0]


def test_torchmetrics():
    import torchmetrics

    accuracy = torchmetrics.classification.MulticlassAccuracy(3, average="micro")
    for _ in range(2):
        accuracy.update(torch.tensor([0, 1, 2, 2]), torch.tensor([0, 1, 1, 2]))
    assert accuracy.compute().item() == pytest.approx(0.75)
    error = torchmetrics.MeanSquaredError()
    assert error(torch.tensor([1.0, 3.0]), torch.tensor([1.0, 1.0])).item() == pytest.approx(2.0)


def test_accelerate():
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    model = nn.Linear(3, 1)
    data = torch.utils.data.TensorDataset(torch.randn(16, 3), torch.ones(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = torch.utils.data.DataLoader(data, batch_size=8)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    losses = []
    for _ in range(8):
        for x, y in loader:
            optimizer.zero_grad()
            loss = (model(x) - y).square().mean()
            accelerator.backward(loss)
            optimizer.step()
            losses.append(loss.item())
    assert losses[-1] < losses[0] / 2


def test_lightning():
    import pytorch_lightning as lightning

    class Regression(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 1)
            self.losses = []

        def training_step(self, batch, index):
            loss = nn.functional.mse_loss(self.layer(batch[0]), batch[1])
            self.losses.append(loss.item())
            return loss

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    x = torch.randn(32, 2)
    data = torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True))
    model = Regression()
    trainer = lightning.Trainer(
        max_epochs=4, accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    trainer.fit(model, torch.utils.data.DataLoader(data, batch_size=8))
    assert len(model.losses) == 16 and model.losses[-1] < model.losses[0] / 10


def test_ignite():
    from ignite.engine import Events, create_supervised_trainer

    model = nn.Linear(2, 1)
    trainer = create_supervised_trainer(
        model, torch.optim.SGD(model.parameters(), lr=0.1), nn.MSELoss()
    )
    losses = []
    trainer.add_event_handler(
        Events.ITERATION_COMPLETED, lambda engine: losses.append(engine.state.output)
    )
    x = torch.randn(8, 2)
    trainer.run([(x, x.sum(1, keepdim=True))] * 5, max_epochs=4)
    assert len(losses) == 20 and losses[-1] < losses[0] / 10


def test_pyro():
    import pyro
    import pyro.distributions as dist
    from pyro.infer import SVI, Trace_ELBO

    pyro.clear_param_store()
    data = torch.tensor([1.0, 2.0, 3.0, 2.0])

    def model():
        mean = pyro.sample("mean", dist.Normal(0.0, 1.0))
        with pyro.plate("data", 4):
            pyro.sample("x", dist.Normal(mean, 1.0), obs=data)

    def guide():
        location = pyro.param("location", torch.tensor(0.0))
        scale = pyro.param("scale", torch.tensor(1.0), constraint=dist.constraints.positive)
        pyro.sample("mean", dist.Normal(location, scale))

    svi = SVI(model, guide, pyro.optim.Adam({"lr": 0.05}), Trace_ELBO(num_particles=2))
    for _ in range(150):
        svi.step()
    # The posterior of a normal mean: 8 / 5 and 1 / sqrt(5).
    assert pyro.param("location").item() == pytest.approx(1.6, abs=0.25)
    assert pyro.param("scale").item() == pytest.approx(5**-0.5, abs=0.15)


def test_gpytorch():
    import gpytorch

    class Process(gpytorch.models.ExactGP):
        def __init__(self, x, y, likelihood):
            super().__init__(x, y, likelihood)
            self.mean_module = gpytorch.means.ZeroMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(
                self.mean_module(x), self.covar_module(x)
            )

    x = torch.linspace(0, 1, 12)
    y = torch.sin(6 * x)
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Process(x, y, likelihood)
    marginal = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    assert falls(model.parameters(), lambda: -marginal(model(x), y), lr=0.1)
    model.eval()
    likelihood.eval()
    at = torch.tensor([0.25, 0.6])
    with torch.no_grad():
        found = model(at).mean
        k = model.covar_module(x, x).to_dense() + likelihood.noise * torch.eye(12)
        by_hand = model.covar_module(at, x).to_dense() @ torch.linalg.solve(k, y)
    assert torch.allclose(found, by_hand, atol=1e-3)


def test_linear_operator():
    from linear_operator import to_linear_operator
    from linear_operator.operators import DiagLinearOperator

    a = torch.randn(5, 5)
    a = a @ a.T + torch.eye(5)
    operator = to_linear_operator(a) + DiagLinearOperator(torch.arange(1.0, 6))
    dense = a + torch.diag(torch.arange(1.0, 6))
    b = torch.randn(5, 2)
    assert torch.allclose(operator.solve(b), torch.linalg.solve(dense, b), atol=1e-4)
    assert torch.allclose(operator.logdet(), torch.logdet(dense), atol=1e-4)


def test_zuko():
    import zuko

    flow = zuko.flows.NSF(2, transforms=2, hidden_features=[16])
    x = torch.randn(64, 2) * torch.tensor([2.0, 0.5])
    assert falls(flow.parameters(), lambda: -flow().log_prob(x).mean())
    transform = flow().transform
    assert torch.allclose(transform.inv(transform(x)), x, atol=1e-3)


def test_torchsde():
    import torchsde

    class Growth(nn.Module):
        noise_type, sde_type = "diagonal", "ito"

        def f(self, t, y):
            return 0.5 * y

        def g(self, t, y):
            return torch.zeros_like(y)

    y = torchsde.sdeint(Growth(), torch.ones(3, 1), torch.linspace(0, 1, 3), dt=1e-2)
    assert torch.allclose(y[-1], torch.full((3, 1), math.exp(0.5)), atol=1e-2)


def test_torchcde():
    import torchcde

    t = torch.linspace(0, 1, 10)
    x = torch.stack([t, t**2], -1).unsqueeze(0)
    spline = torchcde.CubicSpline(torchcde.natural_cubic_coeffs(x))
    assert torch.allclose(spline.evaluate(spline.interval[1]), x[:, -1], atol=1e-4)


def test_captum():
    from captum.attr import IntegratedGradients, Saliency

    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    x = torch.randn(2, 3)
    attributions = IntegratedGradients(model).attribute(x, n_steps=200)
    difference = (model(x) - model(torch.zeros(2, 3))).squeeze(1)
    assert torch.allclose(attributions.sum(1).float(), difference, atol=1e-3)
    leaf = x.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(model(leaf).sum(), leaf)
    assert torch.allclose(Saliency(model).attribute(x.requires_grad_()), gradient.abs())


def test_higher():
    import higher

    model = nn.Linear(2, 1, bias=False)
    x = torch.tensor([[1.0, 2.0]])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loop = higher.innerloop_ctx(model, optimizer, copy_initial_weights=False)
    with loop as (functional, differentiable):
        differentiable.step(functional(x).square().sum())
        functional(x).square().sum().backward()
    # One step shrinks the output by 1 - 2 * 0.1 * 5 = 0, through which nothing flows back.
    assert torch.allclose(model.weight.grad, torch.zeros(1, 2), atol=1e-5)


def _quadratic(make, **options) -> bool:
    weight = nn.Parameter(torch.tensor([3.0, -2.0]))
    return falls([weight], lambda: (weight**2).sum(), 20, make, **options)


def test_schedulefree():
    import schedulefree

    weight = nn.Parameter(torch.tensor([3.0, -2.0]))
    optimizer = schedulefree.AdamWScheduleFree([weight], lr=0.1)
    optimizer.train()
    for _ in range(40):
        optimizer.zero_grad()
        (weight**2).sum().backward()
        optimizer.step()
    optimizer.eval()
    assert (weight**2).sum().item() < 4


@pytest.mark.parametrize("name", ["RAdam", "Lamb", "Yogi", "DiffGrad", "AdaBound", "NovoGrad"])
def test_torch_optimizer(name):
    import torch_optimizer

    assert _quadratic(getattr(torch_optimizer, name), lr=1e-2)


@pytest.mark.parametrize("name", ["AdaBelief", "Lion", "MADGRAD", "Adan", "StableAdamW"])
def test_pytorch_optimizer(name):
    import pytorch_optimizer

    assert _quadratic(getattr(pytorch_optimizer, name), lr=1e-2)


def test_prodigy():
    from prodigyopt import Prodigy

    assert _quadratic(Prodigy, lr=1.0)


def test_dadaptation():
    from dadaptation import DAdaptAdam

    assert _quadratic(DAdaptAdam, lr=1.0)


def test_pytorch_warmup():
    import pytorch_warmup

    optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0)
    warmup = pytorch_warmup.LinearWarmup(optimizer, warmup_period=4)
    rates = []
    for _ in range(5):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        with warmup.dampening():
            pass
    assert rates == pytest.approx([0.25, 0.5, 0.75, 1.0, 1.0])


def test_ema_pytorch():
    from ema_pytorch import EMA

    net = nn.Linear(2, 2)
    ema = EMA(net, beta=0.5, update_after_step=0, update_every=1, include_online_model=False)
    ema.update()
    with torch.no_grad():
        net.weight += 1
    for _ in range(30):
        ema.update()
    assert torch.allclose(ema.ema_model.weight, net.weight, atol=1e-2)


def test_rotary_embedding():
    from rotary_embedding_torch import RotaryEmbedding

    rotary = RotaryEmbedding(dim=8)
    q = torch.randn(1, 1, 6, 8)
    turned = rotary.rotate_queries_or_keys(q)
    assert torch.allclose(turned.norm(dim=-1), q.norm(dim=-1), atol=1e-5)
    assert torch.allclose(turned[..., 0, :], q[..., 0, :])


def test_perceiver():
    from perceiver_pytorch import Perceiver

    model = Perceiver(
        input_channels=3, input_axis=2, num_freq_bands=2, max_freq=4.0, depth=1, num_latents=4,
        latent_dim=8, cross_dim_head=8, latent_heads=2, latent_dim_head=4, num_classes=2,
        self_per_cross_attn=1,
    )  # fmt: skip
    x, y = torch.randn(2, 6, 6, 3), torch.tensor([0, 1])
    assert falls(model.parameters(), lambda: nn.functional.cross_entropy(model(x), y))


def test_local_attention():
    from local_attention import LocalAttention

    attention = LocalAttention(dim=8, window_size=4, causal=True, autopad=True)
    q, k, v = torch.randn(3, 2, 12, 8)
    before = attention(q, k, v)
    v[:, -1] += 1
    assert torch.allclose(attention(q, k, v)[:, :-1], before[:, :-1], atol=1e-5)


def test_torchinfo():
    import torchinfo

    summary = torchinfo.summary(nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 2)), (1, 4), verbose=0)
    assert summary.total_params == 4 * 8 + 8 + 8 * 2 + 2


def test_metric_learning():
    from pytorch_metric_learning import losses

    embeddings = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    labels = torch.tensor([0, 0, 1, 1])
    assert losses.TripletMarginLoss(margin=0.1)(embeddings, labels).item() == 0
    assert losses.ContrastiveLoss()(embeddings, labels.flip(0)).item() == pytest.approx(0.0)
    assert losses.NTXentLoss()(embeddings, torch.tensor([0, 1, 0, 1])).item() > 1


def test_freia():
    from FrEIA.framework import SequenceINN
    from FrEIA.modules import AllInOneBlock

    def subnet(inputs, outputs):
        return nn.Sequential(nn.Linear(inputs, 8), nn.ReLU(), nn.Linear(8, outputs))

    net = SequenceINN(4)
    for _ in range(2):
        net.append(AllInOneBlock, subnet_constructor=subnet)
    x = torch.randn(6, 4)
    z, log_det = net(x)
    back, inverse = net(z, rev=True)
    assert torch.allclose(back, x, atol=1e-4) and torch.allclose(inverse, -log_det, atol=1e-4)


def test_geotorch():
    import geotorch

    layer = nn.Linear(4, 4)
    geotorch.orthogonal(layer, "weight")
    x, y = torch.randn(8, 4), torch.randn(8, 4)
    assert falls(layer.parameters(), lambda: (layer(x) - y).square().mean())
    assert torch.allclose(layer.weight @ layer.weight.T, torch.eye(4), atol=1e-4)


def test_julius():
    import julius

    t = torch.arange(0, 800) / 800
    low, high = torch.sin(2 * math.pi * 10 * t), torch.sin(2 * math.pi * 200 * t)
    filtered = julius.lowpass_filter(low + high, 50 / 800)
    assert (filtered - low)[100:-100].abs().max() < 0.05


def test_tensorly():
    import tensorly as tl
    from tensorly.decomposition import parafac

    tl.set_backend("pytorch")
    try:
        a, b, c = torch.rand(3, 1), torch.rand(4, 1), torch.rand(5, 1)
        tensor = torch.einsum("ir,jr,kr->ijk", a, b, c)
        found = tl.cp_to_tensor(parafac(tensor, rank=1, n_iter_max=20))
        assert torch.allclose(found, tensor, atol=1e-4)
    finally:
        tl.set_backend("numpy")


def test_torchdyn():
    from torchdyn.core import NeuralODE

    field = nn.Linear(2, 2, bias=False)
    field.weight.data = torch.tensor([[0.0, 1.0], [-1.0, 0.0]])
    solution = NeuralODE(field, solver="dopri5", sensitivity="autograd")
    _, y = solution(torch.tensor([[1.0, 0.0]]), torch.linspace(0, math.pi / 2, 5))
    assert torch.allclose(y[-1], torch.tensor([[0.0, -1.0]]), atol=1e-2)


def test_pytorch_tabnet():
    from pytorch_tabnet.tab_model import TabNetClassifier

    x = np.random.randn(128, 4).astype(np.float32)
    y = (x[:, 0] > 0).astype(np.int64)
    model = TabNetClassifier(n_d=4, n_a=4, n_steps=2, verbose=0, seed=0)
    model.fit(x, y, max_epochs=15, batch_size=64, virtual_batch_size=32, drop_last=False)
    assert (model.predict(x) == y).mean() > 0.6
