"""``torch.utils.data._utils.collate``: samples as a batch."""

from ....data.collate import default_collate, default_convert

__all__ = ["default_collate", "default_convert"]
