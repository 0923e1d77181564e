"""Blocks of memory that the intrinsics of a kernel tell apart, as LLVM's alias scopes.

``intrinsics.py`` notes each access with the number of its block; ``target.py`` has them written
when the function is whole: every access lists all other blocks, so that their number counts.
Imports nothing.
"""

from __future__ import annotations

import weakref
from typing import Any

#: Blocks of memory that a kernel can tell apart by number (``intrinsics.load_apart``), from 1 on.
APART = 40
#: Numbers that an access is always told apart from: other functions of a kernel may use them.
COMMON = 8

#: For each module that is being made, the accesses to memory that has a number.
_accesses: weakref.WeakKeyDictionary[Any, list[tuple[Any, int]]] = weakref.WeakKeyDictionary()


def note(module: Any, instruction: Any, memory: int) -> None:
    """Note that an access shares no byte with those of other numbers."""
    _accesses.setdefault(module, []).append((instruction, memory))


def write(module: Any) -> None:
    """Tell LLVM what was noted of the accesses in a module."""
    accesses = _accesses.pop(module, None)
    if accesses is None:
        return
    domain = module.add_metadata(["numbagrad"])
    most = max(COMMON, *[memory for _, memory in accesses])
    scopes = [module.add_metadata([f"memory {k}", domain]) for k in range(1, most + 1)]
    for memory in {memory for _, memory in accesses}:
        own = module.add_metadata([scopes[memory - 1]])
        others = module.add_metadata([*scopes[: memory - 1], *scopes[memory:]])
        for instruction, number in accesses:
            if number == memory:
                instruction.set_metadata("alias.scope", own)
                instruction.set_metadata("noalias", others)
