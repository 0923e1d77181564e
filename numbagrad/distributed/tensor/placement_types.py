"""``torch.distributed.tensor.placement_types``: which part of a tensor a process holds.

Libraries write plans with these at import. What would follow a plan is not there.
"""

from __future__ import annotations

import dataclasses

from ...absent import lacking

_absent, __getattr__, __dir__ = lacking(
    __name__,
    "every process holds whole tensors; see docs/distributed.md",
    "DTensorSpec TensorMeta _StridedShard",
)

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """Base of the placements."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether processes hold slices (of dimension ``dim``)."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Whether every process holds all of it."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether processes hold terms (of the reduction ``reduce_op``)."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclasses.dataclass(frozen=True)
class Shard(Placement):
    """Every process holds a slice of dimension ``dim``."""

    dim: int


@dataclasses.dataclass(frozen=True)
class Replicate(Placement):
    """Every process holds all of it."""


@dataclasses.dataclass(frozen=True)
class Partial(Placement):
    """Every process holds a term of it."""

    reduce_op: str = "sum"
