"""``compile``: a function that is recorded once a signature and then runs as one program.

The first calls of a signature run as always and are recorded (``executor/program``); later calls
check that everything the function can reach is what it was (``surroundings.py``), and run the
program. What cannot be recorded runs as always.
"""

from __future__ import annotations

import functools
import threading
import types
import warnings
from collections.abc import Callable
from typing import Any

from ..autograd.grad_mode import state as grad_mode
from ..executor.pointwise import JIT_DISABLED
from ..tensor import Tensor
from .recording import Recorded, Recording
from .structure import flatten

#: Recordings of one signature that may turn out useless before the function is left alone.
PATIENCE = 8
#: Signatures of one function after which compile() asks whether something is wrong.
MANY_SIGNATURES = 64


class CompileError(RuntimeError):
    """Raised with ``fullgraph=True`` for what cannot be part of a program."""


class CompiledFunction:
    """A function that runs as a compiled program where it can. Made by ``numbagrad.compile``."""

    def __init__(self, function: Callable[..., Any], fullgraph: bool = False):
        functools.update_wrapper(self, function)
        self._function = function
        self._fullgraph = fullgraph
        self._programs: dict[Any, list[Recorded]] = {}
        self._useless = 0
        self._given_up = False
        self._lock = threading.RLock()

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._given_up or JIT_DISABLED:
            return self._function(*args, **kwargs)
        leaves, structure = flatten((args, kwargs))
        key = (structure, grad_mode.enabled, *[_signature(leaf) for leaf in leaves])
        for recorded in self._programs.get(key, ()):
            if recorded.holds(leaves):
                return recorded.run(leaves)
        with self._lock:
            return self._record(key, leaves, args, kwargs)

    def _record(
        self, key: Any, leaves: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Call the function, and keep its program if it has one."""
        recording = Recording(self._function, leaves, args, kwargs)
        if self._fullgraph:
            recording.recorder.when_failed = _raise
        result, recorded, reason = recording.run()
        if recorded is not None:
            programs = self._programs.setdefault(key, [])
            programs.append(recorded)
            if len(self._programs) == MANY_SIGNATURES or len(programs) == PATIENCE:
                warnings.warn(
                    f"compile: {self._name} was compiled for {len(self._programs)} signatures, "
                    f"{len(programs)} times for this one; what changes is: "
                    f"{recording.difference(programs)}",
                    stacklevel=3,
                )
            return result
        if self._fullgraph and not recording.may_settle:
            _raise(reason)
        self._useless += 1
        if not recording.may_settle or self._useless >= PATIENCE:
            self._given_up = True
            warnings.warn(
                f"compile: {self._name} runs uncompiled, because of {reason}", stacklevel=3
            )
        return result

    @property
    def _name(self) -> str:
        return getattr(self._function, "__qualname__", type(self._function).__name__)


def _raise(reason: str) -> None:
    raise CompileError(f"compile(fullgraph=True): {reason} cannot be part of a program")


def _signature(leaf: Any) -> Any:
    """What decides the program of an argument."""
    if isinstance(leaf, Tensor):
        array = leaf._array
        return (
            type(leaf), array.shape, array.strides, array.dtype, leaf._requires_grad,
            leaf._grad_fn is None,
        )  # fmt: skip
    if isinstance(leaf, (bool, int, float, str, bytes, type(None))):
        return type(leaf), leaf
    return id(leaf)


__all__ = ["CompileError", "CompiledFunction"]
