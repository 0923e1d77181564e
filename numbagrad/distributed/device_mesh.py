"""``torch.distributed.device_mesh``: processes in rows and columns; not there."""

from ..absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__, "groups are made by new_group; see docs/distributed.md", "DeviceMesh init_device_mesh"
)
