"""Whether programs are being timed, and by whom; ``program/profiling.py`` says so.

Programs look here at each run. While ``active`` is None, as it is most of the time, that is all.
"""

from __future__ import annotations

from typing import Any

#: The profile that is at work, or None.
active: Any = None
