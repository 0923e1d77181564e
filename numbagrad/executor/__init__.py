"""The executor of kernels: signatures, plans, the caches in memory and on disk, statistics.

``stats()`` says how many kernels this process compiled, loaded from disk and found in memory;
``explain(function, *args)`` shows the kernels that a call runs; ``profile()`` times them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .cache.library import Statistics, stats
from .cache.progress import set_progress
from .explain import Explanation, explain

if TYPE_CHECKING:
    from ..program.profiling import Profile

__all__ = ["Explanation", "Statistics", "explain", "profile", "set_progress", "stats"]


def profile(eager: bool = True) -> Profile:
    """Time every launch inside a ``with`` block: ``with profile() as p: ...``, then ``print(p)``.

    Launches of compiled programs are timed natively, one by one; with ``eager`` the operators that
    this thread runs are timed too (each takes longer than without a profile, which is not counted).
    The table sets what launches achieve, in GFLOP/s and GB/s, beside what this machine can do;
    ``p.export_chrome_trace(path)`` writes a trace for Perfetto or ``chrome://tracing``.
    """
    from ..program.profiling import Profile

    return Profile(eager)
