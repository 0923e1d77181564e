"""``torch.utils.data._utils.fetch``: how batches are made of samples."""

from ....data.fetch import fetcher

__all__ = ["fetcher"]
