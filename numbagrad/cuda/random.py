"""``torch.cuda.random``: seeds and states of the generators of GPUs.

Each GPU has one, of Philox numbers (``philox.py``). It starts with the seed of the CPU's, and
``torch.manual_seed`` seeds both; the same seed means other numbers there.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from ..tensor import Tensor, new_tensor
from .devices import device_count, index_of, is_available

__all__ = ["get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all",
           "seed", "seed_all", "set_rng_state", "set_rng_state_all"]  # fmt: skip


def _generator(device: Any) -> Any:
    """The default generator of a GPU.

    Raises:
        AssertionError: without a GPU.
    """
    index = index_of(device)
    from .philox import default_generators as streams

    return streams()[index]


def _all() -> list[Any]:
    return [_generator(f"cuda:{index}") for index in range(device_count())]


def manual_seed(seed: int) -> None:
    """Seed the generator of the current GPU; without a GPU nothing happens."""
    if is_available():
        _generator(None).manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all GPUs; without a GPU nothing happens."""
    for each in _all():
        each.manual_seed(seed)


def get_rng_state(device: Any = "cuda") -> Tensor:
    """The state of the generator of a GPU: 16 bytes.

    Raises:
        AssertionError: without a GPU.
    """
    return new_tensor(_generator(device).get_state())


def get_rng_state_all() -> list[Tensor]:
    """The state for each GPU."""
    return [new_tensor(each.get_state()) for each in _all()]


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Have the generator of a GPU go on from a state.

    Raises:
        AssertionError: without a GPU.
        RuntimeError: for a state that is none.
    """
    _generator(device).set_state(new_state._array)


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Set a state for each GPU; one without a GPU raises."""
    for index, state in enumerate(new_states):
        set_rng_state(state, f"cuda:{index}")


def initial_seed() -> int:
    """The seed of the generator of the current GPU; raises without one."""
    return int(_generator(None).initial_seed())


def seed() -> None:
    """Seed the generator of the current GPU at random; without a GPU nothing happens."""
    if is_available():
        _generator(None).seed()


def seed_all() -> None:
    """Seed the generators of all GPUs at random, all alike; without a GPU nothing happens."""
    manual_seed_all(int.from_bytes(os.urandom(8), "little") >> 11)


#: The default generators, by the number of the GPU.
default_generators: tuple[Any, ...] = tuple(_all())
