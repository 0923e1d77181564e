"""``torch.distributed.tensor._utils``: shapes of parts of tensors; not there."""

from ...absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "every process holds whole tensors; see docs/distributed.md",
    "compute_global_tensor_info compute_local_shape_and_global_offset",
)
