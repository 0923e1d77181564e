"""What small worlds after issues of PyTorch's tracker on ``torch.compile`` are made of.

``tracker_reads.py`` and ``tracker_effects.py`` define worlds, ``test_compile_tracker.py`` runs each
eagerly and compiled. The numbers are those of issues and pull requests of
github.com/pytorch/pytorch; the code is written anew and only as large as what the issue is about.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numbagrad as torch

WORLDS: dict[str, Callable[[], World]] = {}


class World(NamedTuple):
    """What is called, and what is compared.

    Args:
        step: what is compiled.
        change: called with the number of the call before each call from the fifth on.
        state: what is there after a call.
        arguments: of the number of the call; one tensor of three elements if left out.
        after: done with the result, and compared in its place.
        around: a context of the call, of its number.
        raises: whether calls may raise.
    """

    step: Any
    change: Callable[[int], Any] = lambda k: None
    state: Callable[[], Any] = lambda: None
    arguments: Callable[[int], tuple[Any, ...]] = lambda k: (torch.full((3,), k + 1.0),)
    after: Callable[[Any], Any] = lambda result: result
    around: Callable[[int], Any] = lambda k: contextlib.nullcontext()
    raises: bool = False


def issue(*numbers: int) -> Callable[[Callable[[], World]], Callable[[], World]]:
    """Note which issues a world comes from."""

    def noted(make: Callable[[], World]) -> Callable[[], World]:
        for number in numbers:
            WORLDS[f"{number}-{make.__name__}"] = make
        return make

    return noted


__all__ = ["WORLDS", "World", "issue"]
