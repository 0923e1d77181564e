"""A launch: a kernel, its arguments, and in which of them addresses and numbers are filled in.

The lowerings (``pointwise.py``, ``reduction.py``, ``matmul.py``, ``rowwise.py``) make launches of
operations of ``executor/plan/operations.py``; ``lowering.py`` has the table. A launch is made once
and run as often as a program runs: memory may lie elsewhere each time, and numbers may be others.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..executor.plan.views import Memory, Number, View
from ..kernels.pointwise.source import loaded_as
from .driver import driver
from .driver.source import Source


@dataclasses.dataclass
class Launch:
    """One kernel over so many units of work, each one of which is worth a thread or a block.

    Attributes:
        launch_args: the arguments but for those that are filled in.
        addresses: word, memory, and byte in it.
        numbers: word, number (or the place of one that a program is given), and its dtype.
        blocks: how many blocks there is work for.
    """

    source: Source
    launch_args: list[int]
    blocks: int
    addresses: list[tuple[int, Memory, int]] = dataclasses.field(default_factory=list)
    numbers: list[tuple[int, Any, str]] = dataclasses.field(default_factory=list)


class LaunchArgs:
    """The arguments of a launch, as a lowering writes them one by one."""

    def __init__(self) -> None:
        self.launch_args: list[int] = []
        self.addresses: list[tuple[int, Memory, int]] = []
        self.numbers: list[tuple[int, Any, str]] = []

    def add(self, *values: int) -> None:
        """Sizes, strides and the like."""
        self.launch_args += [int(x) for x in values]

    def add_view(self, view: View | None) -> None:
        """The address of a view; 0 where there is none."""
        if view is not None:
            self.addresses.append((len(self.launch_args), view.memory, view.offset))
        self.launch_args.append(0)

    def add_number(self, number: Any, dtype: str) -> None:
        """The bits of a number, as a dtype has it."""
        self.numbers.append((len(self.launch_args), number, dtype))
        self.launch_args.append(0)

    def launch(self, source: Source, blocks: int) -> Launch:
        """The launch of a kernel with these arguments."""
        assert len(self.launch_args) == len(source.parameters), (source.text, self.launch_args)
        return Launch(source, self.launch_args, blocks, self.addresses, self.numbers)


def blocks_for(units: int, of_block: int) -> int:
    """How many blocks have work if each does so many units before it goes on to the next."""
    return max(min(-(-units // of_block), driver().blocks), 1)


def bits_of(value: Any, dtype: str) -> int:
    """A number as a word: the bits of a float64, after it was rounded to its dtype, or itself."""
    rounded = np.array([value], loaded_as(dtype))[0]
    if rounded.dtype.kind != "f":
        return int(rounded)
    (word,) = struct.unpack("<q", struct.pack("<d", float(rounded)))
    return int(word)


#: Called before something is launched: runs the operations that wait (``foreach.py``).
before_launches: list[Callable[[], None]] = []


class Scratch:
    """Memory that launches hand to one another, taken from a device when it is first asked for."""

    def __init__(self, device: int):
        self.device = device
        self._blocks: dict[int, Any] = {}

    def address_of(self, memory: Memory) -> int:
        """Where a piece of it begins."""
        block = self._blocks.get(id(memory))
        if block is None:
            block = self._blocks[id(memory)] = driver().allocate(memory.nbytes, self.device)
        return int(block.address)


def run(
    launches: Sequence[Launch],
    start_of: Callable[[Memory], int],
    numbers: Sequence[Any] = (),
    device: int = 0,
    scratch: Scratch | None = None,
) -> None:
    """Run launches one after another; ``start_of`` gives the address of a block of memory.

    ``scratch`` is given where they are a part of a program, whose parts share it.
    """
    for run_before in before_launches:
        run_before()
    where = driver()
    scratch = Scratch(device) if scratch is None else scratch
    for launch in launches:
        launch_args = list(launch.launch_args)
        for word, memory, offset in launch.addresses:
            address = (scratch.address_of if memory.is_scratch else start_of)(memory)
            launch_args[word] = address + offset
        for word, number, dtype in launch.numbers:
            value = numbers[number.index] if isinstance(number, Number) else number
            launch_args[word] = bits_of(value, dtype)
        where.launch(launch.source, launch.blocks, launch_args, device)
