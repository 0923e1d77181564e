"""The report of ``checkpoint(..., debug=True)`` if the two runs of a function differ.

An ``OperatorLog`` notes the nodes that are made while it is open, and where in the program.
"""

from __future__ import annotations

import threading
import traceback
from typing import Any

from ..autograd.hooks import watching

__all__ = ["OperatorLog", "report"]


class _Open(threading.local):
    """The logs that are open in one thread."""

    def __init__(self) -> None:
        self.logs: list[OperatorLog] = []


_open = _Open()


class OperatorLog:
    """A context in which the operators that leave a node are noted.

    Attributes:
        operators: the names of their nodes.
        places: for each the lines of the program that led there, innermost first.
    """

    def __init__(self) -> None:
        self.operators: list[str] = []
        self.positions: list[list[str]] = []

    def __enter__(self) -> OperatorLog:
        _open.logs.append(self)
        watching.change(1)
        return self

    def __exit__(self, *exception: object) -> None:
        watching.change(-1)
        _open.logs.remove(self)

    def note(self, node: Any) -> None:
        """Note an operator whose node was just made."""
        frames = traceback.extract_stack()[:-3]
        self.operators.append(node.name())
        self.positions.append([f"{f.filename}:{f.lineno}:{f.name}" for f in reversed(frames)])


def _note_all(node: Any) -> None:
    for log in _open.logs:
        log.note(node)


watching.watcher(_note_all, first=True)  # hooks of saved tensors may end a run


_REPORT = """\
 An error happened while unpacking tensors; dumping logs of latest computation
because you passed `debug=True` to `torch.utils.checkpoint.checkpoint()`.
Scroll all the way down for guidance on how to navigate these logs.

{line}
|        1. Stack traces of the operators that ran in the original forward     |
{rule}

{first_positions}
{line}
|        2. Stack traces of the operators that ran during recomputation        |
{rule}

{second_positions}
{line}
|       3. Log of operators in the original forward and recomputation          |
{rule}
(Scroll up to correlate stack traces with each operation listed below. This
 helps identify their source in the code.)

Operations executed during the original forward:

{first}

Operations executed during recomputation:

{second}

{rule}
 ERROR: Detected non-determinism while running activation checkpointing

 You are seeing this error because you passed `debug=True` to checkpoint and
 tensors to be saved during the original forward and differ between those saved
 during recomputation. This can happen if different operators were ran in the
 original forward and in the recomputation.

 To identify where the mismatch may be coming from, you can do the following:

 1) Compare the operators ran during original forward and recomputation to
    see where they differ. These operators are printed above in the order they
    were executed.

 2) Review the stack trace for each operator to locate its invocation source.
    Each operator's stack trace is printed in their execution order.

 Note that the logs can be quite long. Here's how they are structured:
 (Tip: you can Ctrl-f for these headers)

 1. Stack traces of the operators that ran in the original forward
 2. Stack traces of the operators that ran during recomputation
 3. Log of operators in the original forward and recomputation
 4. Error message                                             <--- You are here
{bottom}
"""


def report(first: OperatorLog, second: OperatorLog) -> str:
    """The operators of both runs, and how to read them, as text."""
    return _REPORT.format(
        line="+" + "~" * 78 + "+",
        rule="+" + "-" * 78 + "+",
        bottom="-" * 80,
        first_positions=_positions(first, "original"),
        second_positions=_positions(second, "recompute"),
        first="\n".join(first.operators),
        second="\n".join(second.operators),
    )


def _positions(log: OperatorLog, label: str) -> str:
    count = len(log.operators)
    parts = []
    for number, (operator, lines) in enumerate(zip(log.operators, log.positions, strict=True), 1):
        where = "\n".join(lines)
        parts.append(f"{operator}   ({number} of {count} in {label})\n\n{where}\n\n")
    return "\n".join(parts)
