"""Transformations of functions, under torch's names (``torch.func``).

The files of this folder open the levels of ``transforms/`` around a call.
"""

from .vmap import vmap

__all__ = ["vmap"]
