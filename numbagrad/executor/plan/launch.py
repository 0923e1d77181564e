"""A launch, as a program holds it before its memory is planned: what every lowering makes."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from .views import Memory


@dataclasses.dataclass
class Launch:
    """One kernel over ``total`` units of work, ``grain`` of which are worth a thread.

    ``addresses`` lists the arguments that hold an address: of a byte of some memory; ``numbers``
    those that hold the address of a Python number in some dtype.
    """

    name: str
    kernel: int
    args: np.ndarray[Any, Any]
    total: int
    grain: int
    addresses: list[tuple[int, Memory, int]]
    numbers: list[tuple[int, Any, str]] = dataclasses.field(default_factory=list)
    #: Elements it touches, to tell short programs from long ones.
    work: int = 0
    #: Whether it may fail: then its first arguments say where it notes that, and as what.
    fallible: bool = False
    #: Whether it changes its arguments while it runs; behind it they are as they were.
    changing: bool = False
