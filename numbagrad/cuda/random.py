"""``torch.cuda.random``: the generators of GPUs, of which there are none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import manual_seed, manual_seed_all, unavailable

__all__ = ["get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all",
           "seed", "seed_all", "set_rng_state", "set_rng_state_all"]  # fmt: skip


def get_rng_state(device: Any = "cuda") -> Any:
    """The state of a generator; raises, as there is none."""
    raise unavailable(device)


def get_rng_state_all() -> list[Any]:
    """The states of all generators: there are none."""
    return []


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Set the state of a generator; raises, as there is none."""
    raise unavailable(device)


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    """Set the states of all generators; a state for one that is not there raises."""
    for index, state in enumerate(new_states):
        set_rng_state(state, f"cuda:{index}")


def initial_seed() -> int:
    """The seed of a generator; raises, as there is none."""
    raise unavailable("cuda")


def seed() -> None:
    """Seed the generator of the current GPU; as there is none, nothing happens."""


seed_all = seed
