"""Random programs of views and writes, run by torch and by numbagrad.

Values and shapes must be equal after every step, and gradients at the end, wherever torch has some.
What torch refuses this library may do: it keeps the value that a gradient needs, where torch says
that it was overwritten.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import numbagrad

VIEWS: tuple[Callable[[Any], Any], ...] = (
    lambda x: x.split(1, 0),
    lambda x: x.chunk(2, 0),
    lambda x: x.split([1, x.shape[0] - 1], 0),
    lambda x: x.unbind(0),
    lambda x: (x.squeeze(),),
    lambda x: (x.squeeze(0),),
    lambda x: (x.unsqueeze(0),),
    lambda x: (x.transpose(0, -1),),
    lambda x: (x.view(-1),),
    lambda x: (x[0],),
    lambda x: (x[1:],),
    lambda x: (x.diagonal(),),
    lambda x: (x.expand(2, *x.shape),),
    lambda x: (x.view_as(x),),
)
#: More of them, for complex numbers.
PARTS: tuple[Callable[[Any], Any], ...] = (
    lambda x: (x.conj(),),
    lambda x: (x.real,),
    lambda x: (x.imag,),
    lambda x: (x._neg_view(),),
    lambda x: (x.mH,),
    lambda x: (x.resolve_conj(),),
    lambda x: (x.unfold(0, 1, 1),),
)
WRITES: tuple[Callable[[Any, Any], Any], ...] = (
    lambda x, other: x.mul_(2),
    lambda x, other: x.add_(other.sum()),
    lambda x, other: x.zero_(),
    lambda x, other: x.sin_(),
    lambda x, other: x.copy_(other.sum()),
    lambda x, other: x.fill_(0.5),
    lambda x, other: x.mul_(x.clone()),
    lambda x, other: x.__setitem__(0, other.sum()),
    lambda x, other: x.copy_(x),
    lambda x, other: x.masked_fill_(x > 0.5, 0.25),
    lambda x, other: x.squeeze_(0),
    lambda x, other: x.unsqueeze_(0),
    lambda x, other: x.transpose_(0, -1),
    lambda x, other: x.__iadd__(x),
    lambda x, other: x.requires_grad_(),
    lambda x, other: x.cumsum_(0),
)
#: In-place views of pending ones have another gradient in torch than differences say.
RESHAPES = (10, 11, 12)
OPERATORS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda x, other: x * other.sum(),
    lambda x, other: x.sin(),
    lambda x, other: x.sum(),
    lambda x, other: x + x.detach(),
)
SHAPES = ((2, 3), (1, 3), (2, 1), (4,), (1, 1), (2, 2, 1))


class Program:
    """A few random steps; the same for either library."""

    def __init__(self, seed: int, complex_numbers: bool) -> None:
        choose = random.Random(seed)
        draw = np.random.RandomState(seed).rand
        self.values = draw(24) + 1j * draw(24) if complex_numbers else draw(24)
        views = VIEWS + PARTS if complex_numbers else VIEWS
        writes = tuple([x for k, x in enumerate(WRITES) if not (complex_numbers and k in RESHAPES)])
        self.shape = choose.choice(SHAPES)
        self.is_computed = choose.random() < 0.6
        self.steps = [
            (choose.choice((views, views, writes, OPERATORS)), choose.random(), choose.random())
            for _ in range(choose.randint(3, 8))
        ]

    def run(self, library: Any, follow: list[bool] | None) -> tuple[list[bool], list[Any]]:
        """Which steps were done, and what there is behind each; ``follow``: which are to be."""
        count = int(np.prod(self.shape))
        kind = library.complex128 if self.values.dtype.kind == "c" else library.float64
        x = library.tensor(self.values[:count].reshape(self.shape).tolist(), dtype=kind)
        other = library.tensor(self.values[-2:].tolist(), dtype=kind).requires_grad_()
        leaves = [other, x.requires_grad_()] if self.is_computed else [other]
        known = [x * 1] if self.is_computed else [x]
        done: list[bool] = []
        seen: list[Any] = []
        for number, (kind, which, position) in enumerate(self.steps):
            step = kind[int(which * len(kind))]
            tensor = known[int(position * len(known))]
            if follow is not None and not follow[number]:
                done.append(False)
                continue
            try:
                made = step(tensor) if step in VIEWS + PARTS else step(tensor, other)
                done.append(True)
            except (RuntimeError, IndexError, NotImplementedError):
                done.append(False)
                continue
            if step in VIEWS + PARTS:
                known.extend(made)
            elif kind is OPERATORS:
                known.append(made)
            seen.append([(t.shape, elements(t.detach()), t._version) for t in known])
        for tensor in known:
            seen.append(self.gradients(tensor, leaves))
        return done, seen

    def gradients(self, tensor: Any, leaves: list[Any]) -> Any:
        """Those of the leaves, or None where no leaf has one or the library refuses."""
        for leaf in leaves:
            leaf.grad = None
        try:
            loss = (tensor * tensor).sum()
            (loss.abs() if loss.is_complex() else loss).backward(retain_graph=True)
        except RuntimeError:
            return None
        if all([leaf.grad is None for leaf in leaves]):
            return None
        return [None if leaf.grad is None else elements(leaf.grad) for leaf in leaves]


def elements(tensor: Any) -> np.ndarray[Any, Any]:
    found: np.ndarray[Any, Any] = tensor.resolve_conj().resolve_neg().numpy().copy()
    return found


@pytest.mark.parametrize("begin", range(0, 1000, 100))
@pytest.mark.parametrize("complex_numbers", [False, True])
@pytest.mark.filterwarnings("ignore")
def test_writes_through_views(begin: int, complex_numbers: bool) -> None:
    for seed in range(begin, begin + 100):
        program = Program(seed, complex_numbers)
        done, expected = program.run(torch, None)
        found_done, found = program.run(numbagrad, done)
        assert found_done == done, seed
        assert len(found) == len(expected), seed
        for mine, theirs in zip(found, expected, strict=True):
            if theirs is None:
                continue
            assert mine is not None, seed
            for one, another in zip(mine, theirs, strict=True):
                if another is None or one is None:
                    assert one is another, seed
                elif isinstance(one, tuple):
                    assert tuple(one[0]) == tuple(another[0]) and one[2] == another[2], seed
                    np.testing.assert_allclose(one[1], another[1], atol=1e-9, err_msg=str(seed))
                else:
                    np.testing.assert_allclose(one, another, atol=1e-9, err_msg=str(seed))
