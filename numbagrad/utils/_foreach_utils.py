"""``torch.utils._foreach_utils``: tensors in groups that one ``_foreach`` call takes."""

from __future__ import annotations

from typing import Any

Groups = dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]]


def _get_foreach_kernels_supported_devices() -> list[str]:
    """Types of devices on which ``_foreach`` functions take whole lists."""
    return ["cpu"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """Types of devices on which optimisers update all parameters in one call."""
    return ["cpu"]


def _has_foreach_support(tensors: list[Any], device: Any) -> bool:
    return all(tensor is None or tensor.device == device for tensor in tensors)


def _group_tensors_by_device_and_dtype(
    tensorlistlist: list[list[Any]], with_indices: bool = False
) -> Groups:
    """Lists of tensors, cut by the device and the dtype of those of the first.

    Args:
        tensorlistlist: lists of one length; an element of a later list may be None.
        with_indices: whether positions in the lists are wanted.

    Returns:
        For every device and dtype the lists of its tensors, and their positions.
    """
    groups: Groups = {}
    for position, row in enumerate(zip(*tensorlistlist, strict=True)):
        key = (row[0].device, row[0].dtype)
        lists, positions = groups.setdefault(key, ([[] for _ in tensorlistlist], []))
        for tensors, tensor in zip(lists, row, strict=True):
            tensors.append(tensor)
        if with_indices:
            positions.append(position)
    return groups
