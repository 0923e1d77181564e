"""An operator of one's own: a recurrence as two loops, declared with ``numbagrad.kernel``.

Four channels each smooth the same noise, ``y[t] = decay * y[t - 1] + x[t]``, at rates that nobody
tells us; gradients through the recurrence find them. The loops are compiled by ``@njit``, the whole
training step by ``numbagrad.compile``: it runs them with no Python in between. Run with
``python examples/recurrence.py``.
"""

import argparse

from numba import njit

import numbagrad as torch
from numbagrad.autograd import gradcheck


@njit(cache=True)
def smooth(decay, x, y):
    """Write y (times, channels), given the decay of each channel and x (times, channels)."""
    times, channels = x.shape
    for k in range(channels):
        state = 0.0
        for t in range(times):
            state = decay[k] * state + x[t, k]
            y[t, k] = state


@njit(cache=True)
def smooth_backward(decay, y, grad_y, grad_decay, grad_x):
    """Write the gradients: what reaches y[t] goes on to x[t], to the decay, and to y[t - 1]."""
    times, channels = y.shape
    for k in range(channels):
        flow = 0.0
        total = 0.0
        for t in range(times - 1, -1, -1):
            flow = grad_y[t, k] + decay[k] * flow
            grad_x[t, k] = flow
            if t > 0:
                total += flow * y[t - 1, k]
        grad_decay[k] = total


recurrence = torch.kernel(smooth, smooth_backward, shapes=lambda decay, x: x)


def train(steps):
    """Find the decays from what the recurrence makes of noise; returns them and the loss."""
    torch.manual_seed(0)
    noise = torch.randn(500, 1).expand(500, 4)
    wanted = recurrence(torch.tensor([0.2, 0.5, 0.8, 0.95]), noise)
    logits = torch.zeros(4, requires_grad=True)
    optimizer = torch.optim.Adam([logits], lr=0.1)

    @torch.compile
    def step():
        optimizer.zero_grad()
        loss = (recurrence(logits.sigmoid(), noise) - wanted).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss

    for _ in range(steps):
        loss = step()
    return logits.detach().sigmoid(), loss.item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=300)
    options = parser.parse_args()
    inputs = [torch.rand(2, dtype=torch.double), torch.rand(5, 2, dtype=torch.double)]
    print("gradcheck:", gradcheck(recurrence, [x.requires_grad_() for x in inputs]))
    decays, loss = train(options.steps)
    print("decays found:", " ".join([f"{decay:.3f}" for decay in decays.tolist()]))
    print(f"loss {loss:.2e}")


if __name__ == "__main__":
    main()
