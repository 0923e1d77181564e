"""``torch.utils.data.dataloader``: the loader, at torch's path."""

from ...data.collate import default_collate, default_convert
from ...data.dataset import IterableDataset
from ...data.loader import DataLoader
from ...data.worker import get_worker_info

__all__ = ["DataLoader", "IterableDataset", "default_collate", "default_convert", "get_worker_info"]
