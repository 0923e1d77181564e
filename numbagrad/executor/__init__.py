"""What runs kernels: signatures, the caches in memory and on disk, and what they did.

``stats()`` says how many kernels this process compiled, loaded from disk and found in memory;
``explain(function, *args)`` shows the kernels that a call runs.
"""

from .explain import Explanation, explain
from .library import Statistics, stats

__all__ = ["Explanation", "Statistics", "explain", "stats"]
