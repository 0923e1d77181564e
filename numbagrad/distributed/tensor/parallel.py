"""``torch.distributed.tensor.parallel``: how layers are cut among processes.

Libraries write plans with these at import. ``parallelize_module``, which follows one, is not there.
"""

from __future__ import annotations

from typing import Any

from ...absent import lacking

_absent, __getattr__, __dir__ = lacking(
    __name__,
    "every process holds whole tensors; see docs/distributed.md",
    "loss_parallel parallelize_module",
)

__all__ = ["ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleInputOutput",
           "PrepareModuleOutput", "RowwiseParallel", "SequenceParallel"]  # fmt: skip


class ParallelStyle:
    """A way to cut a layer: its keyword arguments."""

    def __init__(self, **layouts: Any) -> None:
        self.layouts = layouts


class ColwiseParallel(ParallelStyle):
    """Every process has columns of the weight."""


class RowwiseParallel(ParallelStyle):
    """Every process has rows of the weight."""


class SequenceParallel(ParallelStyle):
    """Every process has elements of the sequence."""


class PrepareModuleInput(ParallelStyle):
    """How inputs lie, and how the layer wants them."""


class PrepareModuleOutput(ParallelStyle):
    """How outputs lie, and how they are wanted."""


class PrepareModuleInputOutput(ParallelStyle):
    """Both."""
