"""``torch.distributed.tensor``: tensors that several processes hold in parts.

There are the words in which plans are written; tensors in parts are not there.
"""

from ...absent import lacking
from .placement_types import Partial, Placement, Replicate, Shard

_absent, __getattr__, __dir__ = lacking(
    __name__,
    "every process holds whole tensors; see docs/distributed.md",
    """DTensor DeviceMesh distribute_module distribute_tensor empty full init_device_mesh ones rand
    randn zeros""",
)

__all__ = ["Partial", "Placement", "Replicate", "Shard"]
