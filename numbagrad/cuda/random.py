"""``torch.cuda.random``: GPUs draw from the default generator, so its state is theirs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import random as generators
from ..ops.creation import random as states
from . import manual_seed, manual_seed_all
from .devices import device_count, index_of, is_available

__all__ = ["get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all",
           "seed", "seed_all", "set_rng_state", "set_rng_state_all"]  # fmt: skip


def get_rng_state(device: Any = "cuda") -> Any:
    """The state of the generator that a GPU draws from: a copy of the default one's.

    Raises:
        AssertionError: without a GPU.
    """
    index_of(device)
    return states.get_rng_state()


def get_rng_state_all() -> list[Any]:
    """The state for each GPU."""
    return [get_rng_state(f"cuda:{index}") for index in range(device_count())]


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Set the state of that generator, and so the numbers of the CPU as well.

    Raises:
        AssertionError: without a GPU.
    """
    index_of(device)
    states.set_rng_state(new_state)


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    """Set a state for each GPU, of which the last one counts; one without a GPU raises."""
    for index, state in enumerate(new_states):
        set_rng_state(state, f"cuda:{index}")


def initial_seed() -> int:
    """The seed of that generator; raises without a GPU."""
    index_of(None)
    return int(generators.initial_seed())


def seed() -> None:
    """Seed that generator anew; without a GPU nothing happens."""
    if is_available():
        generators.seed()


seed_all = seed
