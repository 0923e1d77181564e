"""Kernels of a new program that other processes compile while calls go on uncompiled.

``call_capture.py`` asks here before it makes a program, and ``captured_function.py`` leaves the
function alone until the kernels are there; the next call is captured then. That is done only if
somebody asked for it (``compiler.set_stance``), as uncompiled calls round otherwise than programs
do, and how many of them there are depends on how long compiling takes.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

from ..executor.builtin import described
from ..executor.cache import background, library
from ..executor.plan.lowering import lower
from ..executor.plan.operations import Call, Operation

#: The stance of ``compiler.set_stance`` that has calls go on.
EAGER_WHILE_COMPILING = "eager_while_compiling"

#: Launchers of compiled calls, which their first runs would wait for.
_LAUNCHERS = (
    ("run_program", "program"), ("holds", "replay"), ("replay", "replay"), ("unchanged", "guards"),
    ("call", "compiled_call"), ("backward", "compiled_backward"),
)  # fmt: skip


class _Process:
    """Whether calls of this process go on while the kernels of their program are compiled."""

    enabled = False


process = _Process()


def missing(operations: Iterable[Operation]) -> frozenset[str]:
    """Keys of kernels that a program lacks and other processes are asked for; empty for none.

    Those that no other process compiles, or failed to, are left to who makes the program.
    """
    if not process.enabled or not background.has_core():
        return frozenset()
    lookups = [functools.partial(lower, each) for each in operations if not isinstance(each, Call)]
    launchers = [functools.partial(library.hand_written, *described(*each)) for each in _LAUNCHERS]
    asked = library.request_missing([*lookups, *launchers])
    return frozenset([key for key in asked if not background.is_done(key)])


def are_there(keys: Iterable[str]) -> bool:
    """Whether other processes are done with kernels that they were asked for."""
    return all(map(background.is_done, keys))


__all__ = ["EAGER_WHILE_COMPILING", "are_there", "missing", "process"]
