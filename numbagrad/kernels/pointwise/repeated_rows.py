"""Copies of a row beside each other, with which a kernel computes several rows as one run.

Used by kernels that ``source.py`` writes, hence imported only to compile.
"""

from __future__ import annotations

from ...codegen.intrinsics import copy_memory, subroutine

__all__ = ["repeat_row"]


@subroutine
def repeat_row(target, row, size, times):
    """Write ``times`` copies of the ``size`` bytes at ``row``, each time as many as there are."""
    copy_memory(target, row, size)
    done = size
    left = size * (times - 1)
    while left > 0:
        part = done if done < left else left
        copy_memory(target + done, target, part)
        done += part
        left -= part
