"""Functions that read the value of a number among the arguments without asking the number.

A captured call is given numbers that say how they are used (``program/input_numbers.py``).
Classes written in C take the value of what looks like a number unnoticed; where code of users
names such a class, numbers are constants of the program. Asked by ``reachable_state.py``.
"""

from __future__ import annotations

import sys
import types
from typing import Any

from .classes import is_a, module_of, name_of_module
from .code_names import Names
from .packages import USER, origin_of

#: Modules of which no class takes the value of a number without asking the number for it.
_ASKING = frozenset((
    __name__.split(".")[0], "builtins", "math", "functools", "operator", "itertools", "contextlib",
    "dataclasses", "typing", "collections", "enum", "abc", "warnings", "copy", "types", "time",
    "random", "os", "sys", "logging", "gc", "threading", "weakref", "pathlib", "numba",
))  # fmt: skip
#: Functions that demand an ``int`` in C, unlike the rest of their module: builtins (globals), and
#: functions and classes that are named under a module or imported from one.
_UNASKING_GLOBALS = frozenset(("pow",))
_UNASKING = frozenset(("type", "ldexp", "deque"))


def is_harmless_to_numbers(value: Any) -> bool:
    """Whether what user code can reach reads numbers, if at all, so that they notice.

    Classes written in C need not, and neither their instances (an encoder of JSON); calls of
    functions in C are seen by ``call_events.py``.
    """
    if is_a(value, types.ModuleType):
        module: types.ModuleType | None = value
    else:
        defined = is_a(value, (type, types.FunctionType))
        module = sys.modules.get(module_of(value if defined else type(value)))
    if module is None or origin_of(module) == USER:
        return True
    return name_of_module(module).split(".")[0] in _ASKING


def may_read(names: Names) -> bool:
    """Whether code names what reads numbers in C, or formats them by ``%``."""
    return (
        not _UNASKING.isdisjoint(names.loads)
        or not _UNASKING_GLOBALS.isdisjoint(names.globals)
        or any(["%" in text for text in names.texts])
    )


__all__ = ["is_harmless_to_numbers", "may_read"]
