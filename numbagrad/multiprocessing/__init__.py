"""``torch.multiprocessing``: Python's, with torch's ``spawn``, and with tensors that are shared.

A process that is started gets the tensors among its arguments in memory that both see, and sees
those that ``share_memory_`` was called for wherever they come from. Other tensors that go through
queues and pipes are copied; torch shares them too. ``reductions.py`` says how.
"""

from __future__ import annotations

from multiprocessing import *  # noqa: F403
from multiprocessing import __all__ as _names

from . import reductions as reductions
from .spawn import (
    ProcessContext,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

__all__ = [*_names, "ProcessContext", "ProcessExitedException", "ProcessRaisedException",
           "SpawnContext", "get_all_sharing_strategies", "get_sharing_strategy",
           "reductions", "set_sharing_strategy", "spawn", "start_processes"]  # fmt: skip

_strategy = "file_descriptor"


def get_all_sharing_strategies() -> set[str]:
    """The ways in which torch shares memory on this system."""
    return {"file_descriptor", "file_system"}


def get_sharing_strategy() -> str:
    """The last setting of ``set_sharing_strategy``."""
    return _strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Kept, and changes nothing: memory is sent as the descriptor of a file."""
    global _strategy
    assert new_strategy in get_all_sharing_strategies()
    _strategy = new_strategy
