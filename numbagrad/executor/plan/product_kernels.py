"""Kernels of matrix products: found by method and dtype, with memory for what they pack.

Asked by the launcher of products on a miss, and by the lowering of programs.
"""

from __future__ import annotations

import numpy as np

from ...kernels.matmul import layout as matmul_layout
from ..cache import library

#: Names of the methods of ``kernels/matmul/layout.py``, in their order.
_METHODS = ("tiles", "dots", "row")


def kernel_of(method: int, dtype: str) -> int:
    """Address of the kernel of a method (``kernels/matmul/layout.py``) for float32 or float64."""
    # Its vector code is written by hand: the long list of passes would find nothing to do.
    name = f"matmul_{_METHODS[method]}_{dtype}"
    address = library.hand_written("kernels.matmul.product", name, code="calls")
    if address not in _reserved:
        _reserve_scratch(name, address)
        _reserved.add(address)
    return address


#: Kernels that have memory for what they pack: they cannot raise when they run.
_reserved: set[int] = set()


def _reserve_scratch(name: str, address: int) -> None:
    launch_args = np.zeros(matmul_layout.WORDS, dtype=np.int64)
    launch_args[matmul_layout.PACKS] = launch_args[matmul_layout.WIDTH] = 1
    library.callable_at(address)(launch_args.ctypes.data, 0, 0)
    if launch_args[matmul_layout.PACKS] == 0:
        raise MemoryError(f"{name}: no memory for the operands that it packs")
