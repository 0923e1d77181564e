"""Soft-DTW: a distance between time series whose kernel is a loop, written with ``@njit``.

Dynamic time warping lines up two series that run at different speeds; its soft form (Cuturi and
Blondel, 2017, arXiv:1703.01541) can be differentiated. Each cell of a table depends on three
neighbours, which tensor operations can hardly say and a loop says plainly. Run with
``python examples/soft_dtw.py``; if torch is installed, it is timed on the same task.
"""

import argparse
import importlib.util
from statistics import median
from time import perf_counter

import numpy as np
from numba import njit

import numbagrad as torch
from numbagrad.autograd import Function, gradcheck
from numbagrad.autograd.function import once_differentiable


@njit(cache=True)
def align(cost, gamma, weights, distances):
    """Fill ``distances`` (batch) from ``cost`` (batch, rows, columns), cell after cell.

    A cell is reached from the cells above it, left of it and diagonally before it. ``weights``
    (batch, rows, columns, 3) keeps how much each of the three counts, which is all that the
    gradient needs.
    """
    batch, rows, columns = cost.shape
    for b in range(batch):
        above = np.full(columns + 1, np.inf)
        above[0] = 0.0
        current = np.empty(columns + 1)
        for i in range(rows):
            current[0] = np.inf
            for j in range(columns):
                best = min(above[j], above[j + 1], current[j])
                diagonal = np.exp((best - above[j]) / gamma)
                up = np.exp((best - above[j + 1]) / gamma)
                left = np.exp((best - current[j]) / gamma)
                total = diagonal + up + left
                weights[b, i, j, 0] = diagonal / total
                weights[b, i, j, 1] = up / total
                weights[b, i, j, 2] = left / total
                current[j + 1] = cost[b, i, j] + best - gamma * np.log(total)
            above, current = current, above
        distances[b] = above[columns]


@njit(cache=True)
def send_back(weights, grad, grad_cost):
    """Send the gradient of every distance back through the table; ``grad_cost`` starts as zeros."""
    batch, rows, columns = grad_cost.shape
    for b in range(batch):
        grad_cost[b, rows - 1, columns - 1] = grad[b]
        for i in range(rows - 1, -1, -1):
            for j in range(columns - 1, -1, -1):
                here = grad_cost[b, i, j]
                if i > 0 and j > 0:
                    grad_cost[b, i - 1, j - 1] += here * weights[b, i, j, 0]
                if i > 0:
                    grad_cost[b, i - 1, j] += here * weights[b, i, j, 1]
                if j > 0:
                    grad_cost[b, i, j - 1] += here * weights[b, i, j, 2]


class SoftDTW(Function):
    """From the cost of each pair of points to the soft-DTW distance; kernels take the tensors."""

    @staticmethod
    def forward(ctx, cost, gamma):
        weights = cost.new_empty((*cost.shape, 3))
        distances = cost.new_empty(len(cost))
        align(cost, gamma, weights, distances)
        ctx.save_for_backward(weights)
        return distances

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        (weights,) = ctx.saved_tensors
        grad_cost = weights.new_zeros(weights.shape[:-1])
        send_back(weights, grad.contiguous(), grad_cost)
        return grad_cost, None


def squared_distances(x, y):
    """Return the cost of each pair of points: (batch, rows, d), (batch, columns, d) -> table."""
    return (x.unsqueeze(2) - y.unsqueeze(1)).pow(2).sum(dim=3)


def average(steps):
    """Find the series that is closest to eight bumps, each at another time; print its distance."""
    time = torch.linspace(0, 1, 48)
    centres = torch.linspace(0.3, 0.7, 8)
    bumps = torch.exp(-((time - centres.unsqueeze(1)) ** 2) / 0.005).unsqueeze(2)
    found = torch.zeros(1, 48, 1, requires_grad=True)
    optimizer = torch.optim.Adam([found], lr=0.05)
    for step in range(steps):
        loss = SoftDTW.apply(squared_distances(found, bumps), 0.01).mean()
        if step in (0, steps - 1):
            print(f"step {step}: mean distance {loss.item():.4f}")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


#: What soft-DTW is made of in torch.
RIVALS = ("a Function around the same loops", "its own operators")


def torch_rivals():
    """Return soft-DTW in torch: cost and gamma -> distances, by name."""
    import torch

    class SoftDTW(torch.autograd.Function):
        @staticmethod
        def forward(ctx, cost, gamma):
            weights = cost.new_empty((*cost.shape, 3))
            distances = cost.new_empty(len(cost))
            align(cost.numpy(), gamma, weights.numpy(), distances.numpy())
            ctx.save_for_backward(weights)
            return distances

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, grad):
            (weights,) = ctx.saved_tensors
            grad_cost = weights.new_zeros(weights.shape[:-1])
            send_back(weights.numpy(), grad.contiguous().numpy(), grad_cost.numpy())
            return grad_cost, None

    def by_operators(cost, gamma):
        """One anti-diagonal of the table after the other: its cells do not need each other."""
        batch, rows, columns = cost.shape
        far = 1e9
        # Row i moves i places to the right, so that anti-diagonals become columns.
        padded = torch.nn.functional.pad(cost, (0, rows), value=far).flatten(1)
        diagonals = padded[:, :-rows].view(batch, rows, rows + columns - 1).unbind(2)
        nowhere = cost.new_full((batch, 1), far)
        before = torch.cat([cost.new_zeros(batch, 1), nowhere.expand(batch, rows)], 1)
        last = nowhere.expand(batch, rows + 1)
        for diagonal in diagonals:
            ways = torch.stack([before[:, :-1], last[:, :-1], last[:, 1:]])
            reached = diagonal - gamma * torch.logsumexp(-ways / gamma, 0)
            before, last = last, torch.cat([nowhere, reached], 1)
        return last[:, rows]

    return dict(zip(RIVALS, (SoftDTW.apply, by_operators), strict=True))


def step_function(library, soft_dtw, batch=8, length=48):
    """Return a function that takes one step: distances of random walks, and their gradient."""
    random = np.random.default_rng(0)
    walks = random.standard_normal((2, batch, length, 2)).cumsum(axis=2).astype(np.float32)
    x = library.from_numpy(walks[0]).requires_grad_()
    y = library.from_numpy(walks[1])

    def step():
        x.grad = None
        loss = soft_dtw(squared_distances(x, y), 1.0).mean()
        loss.backward()
        return loss.item(), x.grad.numpy()

    return step


def race(turns):
    """Time every contestant in turns, on one thread, and print how they compare."""
    torch.set_num_threads(1)
    steps = {"numbagrad": step_function(torch, SoftDTW.apply)}
    if importlib.util.find_spec("torch") is not None:
        import torch as rival

        rival.set_num_threads(1)
        for name, soft_dtw in torch_rivals().items():
            steps[f"torch, {name}"] = step_function(rival, soft_dtw)
    seconds = {name: [] for name in steps}
    for _ in range(turns):
        for name, step in steps.items():
            start = perf_counter()
            step()
            seconds[name].append(perf_counter() - start)
    ours = median(seconds["numbagrad"])
    for name in steps:
        theirs = median(seconds[name])
        print(f"{name}: {1e3 * theirs:.2f} ms a step; numbagrad takes {ours / theirs:.2f} of that")
    if len(steps) == 1:
        print("(pip install torch to see it take the same steps)")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=200, help="steps towards the average series")
    parser.add_argument("--turns", type=int, default=31, help="turns of each contestant")
    options = parser.parse_args()

    torch.manual_seed(0)
    cost = torch.rand(2, 4, 5, dtype=torch.double, requires_grad=True)
    print("gradcheck:", gradcheck(lambda cost: SoftDTW.apply(cost, 0.5), (cost,)))
    average(options.steps)
    race(options.turns)


if __name__ == "__main__":
    main()
