"""An ordinary program, which type checkers accept without an error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import numbagrad as torch
import numbagrad.nn.functional as F
from numbagrad import Tensor, nn, optim
from numbagrad.utils.data import DataLoader, Dataset, TensorDataset, random_split


class Points(Dataset[tuple[Tensor, Tensor]]):
    def __init__(self, count: int) -> None:
        self.inputs = torch.randn(count, 4)
        self.targets = torch.randint(0, 3, (count,))

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.inputs[index], self.targets[index]


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None]:
        return grad_output * ctx.factor, None


class Classifier(nn.Module):
    def __init__(self, hidden: int = 16) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, hidden), nn.ReLU(), nn.Dropout(0.1))
        self.norm = nn.LayerNorm(hidden)
        self.head = nn.Linear(hidden, 3, bias=False)
        self.scale = nn.Parameter(torch.ones(1))
        self.layers = nn.ModuleList([nn.Linear(hidden, hidden) for _ in range(2)])
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(self.body(x))
        for layer in self.layers:
            x = F.gelu(layer(x)) + x
        logits: Tensor = Scale.apply(self.head(x), 2.0)
        return self.scale * logits


def batches(data: Dataset[tuple[Tensor, Tensor]]) -> Iterator[tuple[Tensor, Tensor]]:
    yield from DataLoader(data, batch_size=8, shuffle=True)


def train(epochs: int = 2) -> list[float]:
    torch.manual_seed(0)
    device = torch.device("cpu")
    model = Classifier().to(device)
    optimizer = optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    schedule = optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.9)
    criterion = nn.CrossEntropyLoss()
    losses: list[float] = []
    for _epoch in range(epochs):
        model.train()
        for inputs, targets in batches(Points(32)):
            optimizer.zero_grad(set_to_none=True)
            loss = criterion(model(inputs), targets.to(device))
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
        schedule.step()
    torch.save(model.state_dict(), "model.pt")
    model.load_state_dict(torch.load("model.pt"))
    return losses


@torch.compile
def step(x: Tensor, w: Tensor) -> Tensor:
    return (x.mm(w).clamp(min=0) ** 2).sum()


@torch.no_grad()
def evaluate(model: nn.Module, inputs: Tensor) -> np.ndarray:
    model.eval()
    with torch.no_grad(), torch.autograd.set_grad_enabled(False):
        values, indices = torch.max(model(inputs), dim=-1)
    assert values.dtype is torch.float32 and values.shape[0] == inputs.size(0)
    return indices.cpu().numpy()


def tensors() -> Tensor:
    a = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    b = torch.zeros(2, 2, dtype=torch.float64).to(torch.float32)
    c = torch.cat([a, b], dim=0)[:, 0].unsqueeze(1).expand(-1, 2).contiguous()
    d = torch.einsum("ij,kj->ik", a, c) + torch.arange(4.0) / 2
    e = torch.where(d > 0, d, torch.zeros_like(d)).softmax(dim=-1)
    f, g = torch.sort(e, descending=True)
    parts = torch.split(f, 1) + tuple(torch.chunk(f, 2, dim=1))
    (gradient,) = torch.autograd.grad(parts[0].sum(), [a])
    shape: torch.Size = gradient.shape
    rows, columns = shape
    h = torch.linalg.solve(torch.eye(rows), gradient.T)
    jacobian = torch.func.jacrev(torch.sin)(h)
    spectrum = torch.fft.rfft(h).abs()
    mask = ~torch.isnan(spectrum) & (spectrum >= 0)
    numbers = torch.distributions.Normal(0.0, 1.0).rsample((3,))
    hessian = torch.autograd.functional.hessian(lambda t: t.pow(3).sum(), h)
    a.grad = None
    item: int | float | bool | complex = g[0, 0].item()
    print(len(a), item, jacobian, mask.any(), numbers.tolist(), hessian, columns)
    print(float(a.sum()), int(g[0, 0]), a.detach().numpy(), [row.mean() for row in a])
    return torch.stack([-a, 2 - a, a @ a, a**2, abs(a)]).view(5, -1)


def split() -> int:
    data = TensorDataset(torch.randn(10, 2), torch.randn(10))
    first, second = random_split(data, [8, 2])
    return len(first) + len(second)


if __name__ == "__main__":
    print(train()[-1], step(torch.randn(3, 4), torch.randn(4, 2)), split(), tensors())
    print(evaluate(Classifier(), torch.randn(2, 4)))
