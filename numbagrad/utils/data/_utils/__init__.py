"""``torch.utils.data._utils``: what programs take from the inside of torch's loader."""

from . import collate, fetch, worker

__all__ = ["collate", "fetch", "worker"]
