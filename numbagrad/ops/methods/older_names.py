"""Functions under the names that torch keeps for older programs: norms, and methods in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...backend import backend_for
from ...dtype import get_default_dtype
from ...layout import strided
from ...tensor import Tensor
from ..arguments.kinds import Sizes
from ..arguments.requirements import leaf
from ..reductions.statistics import vector_norm

__all__ = [
    "frobenius_norm", "from_file", "gcd_", "i0_", "is_distributed", "lcm_", "ldexp_",
    "nuclear_norm",
]  # fmt: skip


def _in_place(name: str) -> Callable[..., Tensor]:
    """``Tensor.name_`` as a function."""

    def function(input: Tensor, *arguments: Any) -> Tensor:
        made: Tensor = getattr(input, name)(*arguments)
        return made

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``input.{name}(...)``."
    return function


gcd_, lcm_, ldexp_, i0_ = [_in_place(name) for name in ("gcd_", "lcm_", "ldexp_", "i0_")]


def frobenius_norm(input: Tensor, dim: Sizes, keepdim: bool = False) -> Tensor:
    """``linalg.vector_norm(input, 2, dim, keepdim)``.

    Raises:
        RuntimeError: for more than two dimensions.
    """
    if isinstance(dim, (tuple, list)) and len(dim) > 2:
        raise RuntimeError(f"Expected at most 2 dimensions, but got {len(dim)} dimensions instead.")
    return vector_norm(input, 2, dim, keepdim)


def nuclear_norm(input: Tensor, dim: Any = (-2, -1), keepdim: bool = False) -> Tensor:
    """``linalg.matrix_norm(input, "nuc", dim, keepdim)``."""
    made: Tensor = input.norm("nuc", dim, keepdim)
    return made


def is_distributed(input: Tensor) -> bool:
    """False: no tensor lies in several processes."""
    return False


def from_file(
    filename: str,
    shared: bool | None = None,
    size: int = 0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of ``size`` elements whose memory is a file.

    Args:
        filename: a file of these elements, in the computer's order of bytes.
        shared: whether writes reach the file, which is then made if there is none; else they are
            the tensor's own.
        size: how many elements.
        dtype: their dtype, by default the default one.
        layout, device: strided, and the CPU, which alone can hold a file.
        pin_memory: refused.
        requires_grad: whether the tensor does.

    Raises:
        ValueError: if the file is shorter.
        NotImplementedError: for another layout or device.
        RuntimeError: if the memory is to be pinned.
    """
    where = backend_for(device)
    if where is not None or layout not in (None, strided):
        found = layout if where is None else device
        raise NotImplementedError(f"from_file: the memory of {found} cannot be a file")
    if pin_memory:
        raise RuntimeError("from_file: tensors constructed from a file cannot be pinned")
    kind = (get_default_dtype() if dtype is None else dtype).numpy
    if shared:
        with open(filename, "ab") as file:
            file.truncate(max(file.tell(), size * kind.itemsize))
    mapped = np.memmap(filename, kind, "r+" if shared else "c", shape=(size,))
    return leaf(np.frombuffer(mapped, kind), requires_grad)
