"""compile(): random functions full of effects, compiled beside themselves.

A function reads and writes parameters, buffers and arguments through views, walks graphs, clears
gradients, catches what raises, and returns some of what it has made; its caller writes results,
walks their graphs and changes state between the calls. All that there is to see has to be the same.
"""

from __future__ import annotations

import random
import warnings

import numpy as np
import pytest

import numbagrad as torch

CALLS = 8
#: The call with an index that is out of range.
WRONG = 5

STEPS = {
    "binary": lambda w, u, v, n, i: getattr(torch, ("add", "mul", "sub", "maximum")[n % 4])(u, v),
    "unary": lambda w, u, v, n, i: getattr(torch, ("exp", "sin", "relu", "tanh", "neg")[n % 5])(u),
    "view": lambda w, u, v, n, i: (
        u[1:], u.t(), u.reshape(-1), u[0], u[..., :1], u.unsqueeze(0)
    )[n],
    "detach": lambda w, u, v, n, i: u.detach(),
    "clone": lambda w, u, v, n, i: u.clone(),
    "index": lambda w, u, v, n, i: u.index_select(0, i),
    "where": lambda w, u, v, n, i: torch.where(u > 0, u, v),
}  # fmt: skip


def _in_place(w, u, v, n, i):
    if n % 2:
        u.add_(v * n)
    else:
        u.mul_(v.sin())


def _set_items(w, u, v, n, i):
    if n < 3:
        u[0] = v.sum()
    else:
        u[i] = float(n)


def _step_of_weight(w, u, v, n, i):
    with torch.no_grad():
        w[n % 2].sub_(v.sum() * 0.01)


def _walk(w, u, v, n, i):
    if u.requires_grad:
        u.pow(2).sum().backward(retain_graph=bool(n % 2))


def _gradient(w, u, v, n, i):
    if u.requires_grad:
        found = torch.autograd.grad((u * u).sum(), [w[0]], allow_unused=True, create_graph=n > 2)
        return found[0]


def _clear(w, u, v, n, i):
    if n < 2:
        w[n].grad = None
    elif w[n % 2].grad is not None:
        w[n % 2].grad.zero_()


def _without_graph(w, u, v, n, i):
    with torch.inference_mode() if n % 2 else torch.no_grad():
        return u * v


def _flag(w, u, v, n, i):
    if n == 1 and u.is_leaf:
        u.requires_grad_(not u.requires_grad)


STEPS.update(
    (step.__name__, step)
    for step in (
        _in_place, _set_items, _step_of_weight, _walk, _gradient, _clear, _without_graph, _flag,
    )
)  # fmt: skip
ACTIONS = ("write", "write without graph", "walk", "clear", "buffer", "flag", "weight", "argument")


class World:
    """The state of a function, the function, and what its caller does."""

    def __init__(self, seed):
        generator = random.Random(seed)
        torch.manual_seed(0)
        self.weights = [torch.randn(3, 2).requires_grad_() for _ in range(2)]
        self.buffers = [torch.randn(3, 2) for _ in range(2)]
        names = list(STEPS)
        self.steps = [
            (STEPS[generator.choice(names)], *[generator.randrange(100) for _ in range(2)],
             generator.randrange(6))
            for _ in range(generator.randint(3, 10))
        ]  # fmt: skip
        self.returned = [generator.randrange(100) for _ in range(generator.randint(1, 4))]
        self.actions = [
            [
                (generator.choice(ACTIONS), generator.randrange(100))
                for _ in range(generator.randint(0, 3))
            ]
            for _ in range(CALLS)
        ]

    def function(self):
        """The function; its steps are chosen by places among the values made so far."""
        weights, buffers, steps, returned = self.weights, self.buffers, self.steps, self.returned

        def run(x, y, index):
            values = [x, y, *weights, *buffers]
            for step, first, second, number in steps:
                u, v = values[first % len(values)], values[second % len(values)]
                try:
                    made = step(weights, u, v, number, index)
                except (RuntimeError, IndexError, ValueError):
                    continue
                if made is not None:
                    values.append(made)
            return (*[values[position % len(values)] for position in returned], weights[0].grad)

        return run

    def act(self, k, results, y):
        """What the caller does after a call."""
        results = [x for x in results if x is not None]
        for action, number in self.actions[k]:
            chosen, weight = results[number % len(results)], self.weights[number % 2]
            try:
                if action == "write":
                    chosen.mul_(2)
                elif action == "walk":
                    roots = [x for x in results if x.requires_grad and x.grad_fn is not None]
                    roots = [x for j, x in enumerate(roots) if number >> j & 1]
                    if roots:
                        sum([x.pow(2).sum() for x in roots]).backward(retain_graph=number > 50)
                elif action == "clear":
                    weight.grad = None
                elif action == "flag":
                    weight.requires_grad_(not weight.requires_grad)
                else:
                    written = {"buffer": self.buffers[number % 2], "weight": weight, "argument": y}
                    with torch.no_grad():
                        written.get(action, chosen).mul_(0.5)
            except RuntimeError as error:
                yield str(error)[:25]


def seen(value):
    """A value with all that there is to see of the tensors in it."""
    if isinstance(value, torch.Tensor):
        try:
            flags = value.requires_grad, value.is_leaf, value.grad_fn is not None
        except RuntimeError as error:  # a view that is not to be looked at any more
            return str(error)[:25]
        return (*flags, value.is_inference(), value.shape), np.array(value.tolist(), np.float64)
    return [seen(each) for each in value] if isinstance(value, (tuple, list)) else value


def history(seed, compiled):
    """What there is to see after each call."""
    world = World(seed)
    function = world.function()
    run = torch.compile(function) if compiled else function
    for k in range(CALLS):
        torch.manual_seed(k)
        x, y = torch.randn(3, 2), torch.randn(3, 2).requires_grad_()
        index = torch.tensor([k % 3, 7 if k == WRONG else k * 2 % 3])
        x.requires_grad_(k % 4 == 3)
        results = run(x, y, index)
        known = [*results, x, y, *world.weights, *world.buffers]
        same = [next(j for j, other in enumerate(known) if other is result) for result in results]
        yield same, seen(results), list(world.act(k, results, y))
        tensors = [x, y, *world.weights]
        yield seen([*tensors, *world.buffers]), seen([each.grad for each in tensors])


def check(found, expected):
    """Check that two histories are equal but for rounding."""
    if isinstance(expected, np.ndarray):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    elif isinstance(expected, (tuple, list)):
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            check(a, b)
    else:
        assert found == expected


@pytest.mark.parametrize("seed", range(60))
def test_random_function(seed):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for found, expected in zip(history(seed, True), history(seed, False), strict=True):
            check(found, expected)
