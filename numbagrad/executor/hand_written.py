"""Hand-written kernels whose packed arguments are the memory of arrays, and ints.

Called by the families of operators that have such kernels (``families/nll_loss.py``). A call runs
at once; while a program is recorded it is also noted, as an operation that later runs without
Python.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from ..backend import foreign, shared_by
from ..native.array_launch_layout import HandWrittenTable
from . import capture
from .builtin import at_hand, make_launcher, runtime
from .cache import library
from .mode import NATIVE


class HandWrittenKernel:
    """``kernel(total, grain, *args)``: ``numbagrad.kernels.<module>.<name>`` over ``[0, total)``.

    ``grain`` units of work are worth a thread of their own. Words are ndarrays and ints. Arrays are
    contiguous, unless the kernel is told their steps and no trace is told of the call; the first
    ``writes`` are what is written, and the last ``updates`` of these are read as well.
    """

    def __init__(self, module: str, name: str, updates: int = 0, writes: int = 1):
        self.module = module
        self.name = name
        self.updates = updates
        self.writes = writes
        self._run: Callable[..., bool] | None = None
        #: Whether it has its scratch memory (:func:`with_scratch`).
        self.has_scratch = False
        library.when_forgetting(self._forget)

    def _forget(self) -> None:
        self._run = None
        self.has_scratch = False

    @property
    def address(self) -> int:
        """Where its machine code is, compiled if need be."""
        return library.hand_written(self.module, self.name)

    def __call__(self, total: int, grain: int, *launch_args: Any) -> None:
        if capture.active is None:
            self.launch(total, grain, *launch_args)
            return
        if capture.computes():
            trace = capture.current_trace()
            observed = trace is not None and trace.observes  # and times what runs in a pause
            with trace.pause() if observed else contextlib.nullcontext():
                self.launch(total, grain, *launch_args)
        capture.note_kernel(self, total, grain, launch_args)

    def launch(self, total: int, grain: int, *launch_args: Any) -> None:
        """A call that no trace is told of."""
        run = self._run
        if run is not None and run(total, grain, *launch_args):
            return
        # Something has to be made first, or there is a word of another class.
        if self._runs_elsewhere(total, launch_args):
            return
        launch_args = tuple(
            [word if word.__class__ is ndarray else int(word) for word in launch_args]
        )
        if not NATIVE or not at_hand("launch_hand_written", "array_launch"):
            self._run_directly(total, launch_args)
        elif not self._launcher()(total, grain, *launch_args):
            raise AssertionError(f"{self.name}: the launcher refuses arrays and ints")

    def _runs_elsewhere(self, total: int, launch_args: tuple[Any, ...]) -> bool:
        """Whether the arrays are those of a backend, which has run its own kernel then."""
        for word in launch_args:
            kind = word.__class__
            if kind is int or kind is ndarray:
                continue
            if (where := foreign(word)) is not None:
                shared_by(self.name, launch_args)
                where.kernel(self.module, self.name, total, launch_args)
                return True
            if isinstance(word, ndarray):
                raise NotImplementedError(
                    f"{self.name}: the kernel reads plain memory, but is given a "
                    f"{kind.__name__} array, which stands for a Tensor under a transformation"
                )
        return False

    def _launcher(self) -> Callable[..., bool]:
        """The launcher that runs the kernel, made if need be."""
        run = self._run
        if run is None:
            table = HandWrittenTable()
            table.runtime = runtime().address
            table.kernel = self.address
            run = self._run = make_launcher(self.name, table, "launch_hand_written", "array_launch")
        return run

    def _run_directly(self, total: int, launch_args: tuple[Any, ...]) -> None:
        packed = [x.ctypes.data if isinstance(x, ndarray) else x for x in launch_args]
        library.run_kernel(self.address, np.array(packed, dtype=np.int64), total)


def with_scratch(kernel: HandWrittenKernel, words: int) -> HandWrittenKernel:
    """A kernel once it has its scratch memory, so that it cannot raise when it runs.

    Called with the range ``[0, -1)`` such a kernel reserves it, and sets the first of its ``words``
    to 0 where there is none.

    Raises:
        MemoryError: if there is not enough memory.
    """
    if not kernel.has_scratch:
        given = np.zeros(words, np.int64)
        library.callable_at(kernel.address)(given.ctypes.data, 0, -1)
        if given[0] == 0:
            raise MemoryError(f"{kernel.name}: no memory for what it copies and packs")
        kernel.has_scratch = True
    return kernel
