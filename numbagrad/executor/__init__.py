"""What runs kernels: signatures, the caches in memory and on disk, and what they did.

``stats()`` says how many kernels this process compiled, loaded from disk and found in memory.
"""

from .library import Statistics, stats

__all__ = ["Statistics", "stats"]
