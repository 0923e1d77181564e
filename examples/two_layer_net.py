"""Train a two-layer network whose activation is a hand-written `Function`, and plot its loss.

Run by ``make train``, or alone, as ``python examples/two_layer_net.py [STEPS]``, once the
``examples`` extra is installed. Except for its imports and its report on kernels, it is a script
for torch. The other forms of this network lie beside it, from ``two_layer_tensors.py`` on.
"""

import sys
from statistics import median
from time import perf_counter

from matplotlib.figure import Figure
from tqdm import tqdm

import numbagrad as torch
from numbagrad import executor

BATCH, INPUTS, HIDDEN, OUTPUTS = 64, 1000, 100, 10
STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 500
LEARNING_RATE = 1e-6
PLOT = "two_layer_net_loss.png"


class MyReLU(torch.autograd.Function):
    """max(x, 0), with its gradient written out."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[x < 0] = 0
        return grad_input


def train() -> tuple[list[float], list[float]]:
    """Fit random outputs to random inputs; return the loss and the seconds of each step."""
    torch.manual_seed(0)
    x = torch.randn(BATCH, INPUTS)
    y = torch.randn(BATCH, OUTPUTS)
    w1 = torch.randn(INPUTS, HIDDEN, requires_grad=True)
    w2 = torch.randn(HIDDEN, OUTPUTS, requires_grad=True)

    losses, seconds = [], []
    for _ in tqdm(range(STEPS), desc="training", unit="step"):
        start = perf_counter()

        prediction = MyReLU.apply(x.mm(w1)).mm(w2)
        loss = (prediction - y).pow(2).sum()
        loss.backward()
        with torch.no_grad():
            w1 -= LEARNING_RATE * w1.grad
            w2 -= LEARNING_RATE * w2.grad
            w1.grad.zero_()
            w2.grad.zero_()

        losses.append(loss.item())
        seconds.append(perf_counter() - start)
    return losses, seconds


def report(losses: list[float], seconds: list[float]) -> None:
    """Print the loss trace, the time of a step and where the kernels came from."""
    for step in [*range(0, STEPS, 50), STEPS - 1]:
        print(f"step {step:3d}  loss {losses[step]:.6g}")
    print(f"first step {1e3 * seconds[0]:.1f} ms, then {1e6 * median(seconds[1:]):.0f} µs a step")
    kernels = executor.stats()
    print(
        f"kernels: {kernels.compiled} compiled, {kernels.loaded} loaded from the disk cache, "
        f"{kernels.seconds:.2f} s in all"
    )


def plot(losses: list[float]) -> None:
    """Write the loss curve to a PNG file."""
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot(xlabel="step", ylabel="loss", yscale="log")
    axes.plot(losses)
    figure.savefig(PLOT, dpi=150)
    print(f"loss curve: {PLOT}")


if __name__ == "__main__":
    losses, seconds = train()
    report(losses, seconds)
    plot(losses)
