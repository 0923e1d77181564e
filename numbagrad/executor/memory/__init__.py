"""Memory of results: the pool of buffers, and ndarrays that Python fills."""

from .buffers import empty_pool, pool_stats, set_pool_limit

__all__ = ["empty_pool", "pool_stats", "set_pool_limit"]
