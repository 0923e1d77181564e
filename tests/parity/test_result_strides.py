"""How results lie in memory, for operands in any order that repeat elements: as in torch.

One rule decides it (``executor/plan/forms.py``), which compiled launchers have once more: every
case runs in both libraries, and the planner is asked for the same operands.
"""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
import torch

import numbagrad
from numbagrad.executor.plan.forms import dense

SIZES = (2, 3, 4, 5)
CALLS = {
    "add": lambda t, x, y: x + y,
    "compare": lambda t, x, y: x < y,
    "where": lambda t, x, y: t.where(x > y, y, x),
    "number": lambda t, x, y: x * 2.0,
    "complex": lambda t, x, y: t.complex(x, x) * y.to(t.complex64),
    "clone": lambda t, x, y: x.clone(),
    "cast": lambda t, x, y: x.to(t.float64),
    "empty_like": lambda t, x, y: t.empty_like(y),
}


def laid(library, shape, order, repeated, ones):
    """A tensor of a shape, its dimensions in an order, some repeated and some of size one."""
    sizes = [1 if d in repeated or d in ones else size for d, size in enumerate(shape)]
    made = library.zeros([sizes[d] for d in order]).permute(*np.argsort(order).tolist())
    return made.expand(*[1 if d in ones else size for d, size in enumerate(shape)])


def forms(seed):
    """Two descriptions of tensors that broadcast, from a seed."""
    draw = random.Random(seed)
    rank = draw.randint(1, 4)
    shape = [draw.choice(SIZES) for _ in range(rank)]
    for _ in range(2):
        dims = range(rank)
        order = draw.sample(dims, rank)
        repeated = [d for d in dims if draw.random() < 0.25]
        ones = [d for d in dims if draw.random() < 0.2]
        yield shape, order, repeated, ones


def steps(made):
    """Strides of the dimensions that are stepped through, which are all that matter."""
    return [step for size, step in zip(made.shape, made.stride(), strict=True) if size > 1]


@pytest.mark.parametrize("name", CALLS)
def test_results_lie_as_in_torch(name):
    for seed in range(150):
        described = list(forms(seed))
        mine, theirs = [
            CALLS[name](library, *[laid(library, *form) for form in described])
            for library in (numbagrad, torch)
        ]
        assert steps(mine) == steps(theirs), (seed, described)


def test_the_planner_knows_what_launchers_make():
    for seed in range(150):
        x, y = [laid(numbagrad, *form) for form in forms(seed)]
        made = x + y
        planned = dense(made.shape, np.dtype(np.float32), [x.numpy(), y.numpy()]).empty()
        assert steps(numbagrad.from_numpy(planned)) == steps(made), seed


def test_equal_strides_are_ordered_by_size():
    """Windows that overlap step alike through two dimensions."""
    for shape in itertools.permutations((2, 3, 4)):
        mine, theirs = [
            library.zeros(16).as_strided(shape, (1, 1, 2)) for library in (numbagrad, torch)
        ]
        assert (mine + mine).stride() == (theirs + theirs).stride()
        assert mine.clone().stride() == theirs.clone().stride()
