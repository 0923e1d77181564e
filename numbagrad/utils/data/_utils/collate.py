"""``torch.utils.data._utils.collate``: samples as a batch."""

from collections.abc import Callable
from typing import Any

from ....data.collate import collate, default_collate, default_collate_fn_map, default_convert

#: Kinds, and a text, that libraries import from here.
_collate_fn_t = Callable[[list[Any]], Any]
default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)

__all__ = ["collate", "default_collate", "default_collate_fn_map", "default_convert"]
