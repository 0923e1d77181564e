"""Solve a differential equation with a network: second derivatives inside the loss.

A damped oscillator, u'' + 2 d u' + w² u = 0 with u(0) = 1 and u'(0) = 0. The network is u itself.
Its derivatives by time come from autograd, recorded, so that ``backward`` goes through them; the
loss is how far the equation is from holding (Raissi, Perdikaris and Karniadakis, "Physics-informed
neural networks"). No value of the solution is ever shown to it. Run it with
``make example NAME=pinn``; ``--help`` lists the options.
"""

import math

from matplotlib.figure import Figure
from training import Training, parse

import numbagrad as torch
from numbagrad import nn

DAMPING, FREQUENCY, END = 0.5, 4.0, 3.0
POINTS, STEPS = 128, 50


class Solution(nn.Module):
    """u(t) = 1 + t² n(t) with a network n, which starts as it should whatever n is."""

    def __init__(self, hidden=48):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(1, hidden), nn.Tanh(),
            nn.Linear(hidden, hidden), nn.Tanh(),
            nn.Linear(hidden, 1),
        )  # fmt: skip

    def forward(self, t):
        return 1 + t * t * self.net(2 * t / END - 1)


def residual(u, t):
    """Return u'' + 2 d u' + w² u at the times ``t`` (count, 1), which require grad."""
    value = u(t)
    (first,) = torch.autograd.grad(value.sum(), t, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), t, create_graph=True)
    return second + 2 * DAMPING * first + FREQUENCY**2 * value


def exact(t):
    """Return the solution, as textbooks have it."""
    w = math.sqrt(FREQUENCY**2 - DAMPING**2)
    return torch.exp(-DAMPING * t) * (torch.cos(w * t) + DAMPING / w * torch.sin(w * t))


@torch.no_grad()
def error(u):
    """Return the largest distance from the solution at 401 times."""
    t = torch.linspace(0, END, 401).unsqueeze(1)
    return (u(t) - exact(t)).abs().max().item()


def plot(u, history, path):
    """Write the errors of all epochs, and both solutions, to a file."""
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    curve, both = figure.subplots(2)
    curve.semilogy(history["error"])
    curve.set(xlabel="epoch", ylabel="largest error")
    t = torch.linspace(0, END, 401).unsqueeze(1)
    with torch.no_grad():
        both.plot(
            t[:, 0].tolist(), exact(t)[:, 0].tolist(), color="0.7", linewidth=3, label="exact"
        )
        both.plot(t[:, 0].tolist(), u(t)[:, 0].tolist(), "--", label="network")
    both.set(xlabel="t", ylabel="u")
    both.legend()
    figure.savefig(path, dpi=150)


def main():
    options = parse(__doc__, "pinn", epochs=100)
    torch.manual_seed(0)
    u = Solution()
    optimizer = torch.optim.Adam(u.parameters(), lr=5e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=100)
    training = Training(model=u, optimizer=optimizer, schedule=schedule)

    def epoch():
        total = 0.0
        for _ in range(STEPS):
            t = (END * torch.rand(POINTS, 1)).requires_grad_()
            # Later times depend on earlier ones, which therefore weigh more.
            loss = (torch.exp(-DAMPING * t.detach()) * residual(u, t)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        schedule.step()
        return {"loss": total / STEPS, "error": error(u)}

    training.run(epoch, options)
    plot(u, training.history, options.plot)
    print(f"after {training.epochs} epochs: training loss {training.history['loss'][-1]!r}")
    print(f"largest error on [0, {END:g}]: {training.history['error'][-1]:.2e}")
    print(f"curves: {options.plot}, checkpoint: {options.checkpoint}")


if __name__ == "__main__":
    main()
