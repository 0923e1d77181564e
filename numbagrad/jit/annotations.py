"""``torch.jit.annotations``: types as torch's scripts know them; only those of Python."""

from typing import Any, List, Optional, Tuple  # noqa: UP035

__all__ = ["Any", "BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "List",
           "Optional", "Tuple"]  # fmt: skip

BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = List  # noqa: UP006
