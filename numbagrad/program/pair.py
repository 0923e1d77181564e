"""Pairs whose forward and backward are programs: of composite operators and compiled functions."""

from __future__ import annotations

from ..executor.cache.library import Kernel
from .program import Program


class ProgramPair:
    """The programs of one signature, made together: a ``Pair`` (``executor/pair.py``)."""

    @property
    def programs(self) -> tuple[Program, Program | None]:
        """The program of the forward, and that of the backward if there is one."""
        raise NotImplementedError

    @property
    def forward_kernels(self) -> tuple[Kernel, ...]:
        return _kernels_of(self.programs[0])

    @property
    def backward_kernels(self) -> tuple[Kernel, ...]:
        backward = self.programs[1]
        return () if backward is None else _kernels_of(backward)


def _kernels_of(program: Program) -> tuple[Kernel, ...]:
    from .explanation import describe  # only people ask

    rows = describe(program, "").rows
    return tuple(dict.fromkeys([kernel for row in rows for kernel in row.kernels]))


__all__ = ["ProgramPair"]
