"""Objects that refer to others, as the garbage collector knows them."""

from __future__ import annotations

import gc
from typing import Any

__all__ = ["referrers"]


def referrers(*objects: Any) -> list[Any]:
    """``gc.get_referrers`` of all objects that the collector tracks.

    It does not look among those that ``gc.freeze()`` has put aside, so these come back to the
    others: a reference that is missed would be a wrong result.
    """
    if gc.get_freeze_count():
        gc.unfreeze()
    return gc.get_referrers(*objects)
