"""Launchers: compiled functions as CPython builtins, and the tables they read.

A launcher (``numbagrad/native/launch.py``) becomes callable from Python as an ordinary builtin
whose ``self`` is an ndarray of 64-bit words: the table of one operator. Calling it costs what
calling any builtin costs, with no boxing of arguments in between.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import awake
from ..codegen.record import Record, row_of, size_of
from ..dtype import bfloat16
from ..native import layout
from ..native.c_structures import new_builtin, numpy_function
from ..native.layout import LaunchTable, Runtime, Slot, Slots
from ..type_names import type_name
from . import capture
from .cache import background, library
from .memory import buffers as memory
from .mode import NATIVE
from .threads import pool

_FASTCALL_SIGNATURE = "int64(int64, int64, int64)"
_NEW_ARRAY_SLOT = 93  # PyArray_New in NumPy's C API table, fixed by its ABI
_NEW_FROM_DESCRIPTOR_SLOT = 94  # PyArray_NewFromDescr
_SET_BASE_SLOT = 282  # PyArray_SetBaseObject


class LaunchMiss(Exception):  # noqa: N818 - a signal between a launcher and its caller
    """Raised by a launcher that says no.

    Operators learn nothing else from it, and go the way of ``dispatch/descent.py``. To the program
    that the launcher belongs to the argument says what is to be compiled or repaired: the key of a
    kernel, or one of ``layout.MISS_*``.
    """


class Repairs:
    """The misses of one call that were repaired, each of which may come once.

    Whoever compiles what a launcher missed, and calls it again, adds every miss here first. If a
    miss comes back, what was done about it did not help, and would not help the next time either.
    """

    def __init__(self, name: str):
        self.name = name
        self._seen: set[tuple[int, int]] = set()

    def add(self, code: int, operands: tuple[Any, ...]) -> None:
        """Note a miss, the argument of a ``LaunchMiss``, that is about to be repaired.

        Raises:
            RuntimeError: if it is one that was repaired before; names the kernel and the operands.
        """
        found = code, library.forgotten  # in between another thread may have emptied the tables
        if found in self._seen:
            raise RuntimeError(
                f"{self.name}: internal error: the launcher misses {_reason(code)} again, after "
                f"that was repaired, for ({', '.join(map(_described, operands))}). Please report "
                "this with the call that led to it."
            )
        self._seen.add(found)


_REASONS = {getattr(layout, name): name for name in dir(layout) if name.startswith("MISS_")}


def _reason(code: int) -> str:
    if code >= 0:
        return f"the kernel of signature {code:#x}"
    return _REASONS.get(code, f"for reason {code}")


def _described(operand: Any) -> str:
    """An operand as an error message shows it."""
    if isinstance(operand, np.ndarray):
        strides = f", strides={operand.strides}" if not operand.flags.c_contiguous else ""
        return f"{type(operand).__name__}(shape={operand.shape}, dtype={operand.dtype}{strides})"
    if isinstance(operand, (bool, int, float, complex, str)) or operand is None:
        return repr(operand)
    return type_name(operand)


def make_launcher(
    name: str, table: Record | np.ndarray, function: str, module: str = "launch"
) -> Callable[..., Any]:
    """The launcher that is a function of ``numbagrad/native/<module>.py``, with a table's words."""
    words = table.words if isinstance(table, Record) else table
    return new_builtin(name, launcher_address(function, module), words)


def launcher_address(function: str, module: str = "launch", compiling: bool = True) -> int:
    """Address of a launcher of ``numbagrad/native/<module>.py``.

    Without ``compiling`` it is 0 if neither this process nor the disk cache has it.
    """
    return library.hand_written(
        *described(function, module), compiling=compiling, meanwhile=_request_usual
    )


#: Launchers that nearly every program needs. Processes begin with the request that came last, so
#: those that are needed first stand at the end.
_USUAL = (
    ("launch_hand_written", "array_launch"), ("along", "rowwise_launch"), ("replay", "replay"),
    ("run_program", "program"), ("reduce_all", "reduction_launch"), ("reduce", "reduction_launch"),
    ("matmul", "matmul_launch"), ("pointwise", "launch"), ("pointwise_general", "broadcast"),
)  # fmt: skip


@functools.cache
def _request_usual() -> None:
    """Have the usual launchers compiled meanwhile, when the first one is missing: most are, then.

    A wheel brings them; a checkout has none, nor has a CPU that no kernels were compiled ahead for.
    """
    for each in _USUAL if compiles_ahead() else ():
        library.request(described(*each))


def compiles_ahead() -> bool:
    """Whether other processes compile what this one is about to need.

    One that was told to use one thread, as those that load data, does all by itself at first.
    """
    return pool.get_num_threads() > 1 and background.has_core()


def at_hand(function: str, module: str = "launch") -> bool:
    """Whether a launcher can be had without a stall; if not, another process compiles it meanwhile.

    Python does the same until then, with the same kernels over the same parts. True as well where
    no other process compiles, and while somebody asks which kernels are looked up.
    """
    if library.listener is not None or not compiles_ahead():
        return True
    if library.ready([described(function, module)]):
        return True
    _request_usual()
    return False


def described(function: str, module: str = "launch") -> library.HandWritten:
    """A launcher as ``library.ready`` is asked for it."""
    return library.HandWritten(f"native.{module}", function, _FASTCALL_SIGNATURE, code="calls")


def leave_to_capture() -> None:
    """Raise what launchers raise in a thread that captures: for calls before there is one.

    What is captured may be run without launchers, which then need not be compiled.
    """
    if capture.active is not None and capture.current_trace() is not None:
        raise LaunchMiss(layout.MISS_CAPTURE)


def runtime() -> Runtime:
    """The runtime block: addresses and facts of this process that launchers need."""
    with library.lock:  # there must be one: launchers keep its address
        return _runtime()


@functools.lru_cache(maxsize=1)
def _runtime() -> Runtime:
    block = Runtime()
    if not NATIVE:
        return block  # nothing reads it
    block.array_type = id(np.ndarray)
    block.float_type = id(float)
    block.int_type = id(int)
    block.bool_type = id(bool)
    block.true = id(True)
    block.false = id(False)
    block.none = id(None)
    block.new_array = numpy_function(_NEW_ARRAY_SLOT)
    block.new_from_descriptor = numpy_function(_NEW_FROM_DESCRIPTOR_SLOT)
    block.bfloat16 = id(bfloat16.numpy)
    block.set_base = numpy_function(_SET_BASE_SLOT)
    block.miss = id(LaunchMiss)
    block.pool = pool.pool_address()
    for number in range(layout.TYPES):
        kind = bfloat16.numpy if number == layout.BFLOAT16 else _dtype_of_number(number)
        if kind is not None:
            block.item_sizes[number] = kind.itemsize
            block.descriptors[number] = id(kind)  # NumPy's own live for ever
    memory.install(block)
    awake.mirror(block)
    return block


def _dtype_of_number(number: int) -> np.dtype | None:
    for code in np.typecodes["AllInteger"] + np.typecodes["AllFloat"] + "?":
        if np.dtype(code).num == number:
            return np.dtype(code)
    return None


class KernelTable:
    """The table of one operator: from signature keys to kernels, read by its launchers.

    Launchers read it, and this class writes it, while holding the GIL.
    """

    def __init__(self, outputs: int, grain: int, into: bool = False):
        self.record = record = LaunchTable()
        record.runtime = runtime().address
        record.outputs = outputs
        record.grain = grain
        record.into = into
        self._entries: dict[int, tuple[int, ...]] = {}
        self._build(15)
        _tables.add(self)

    def clear(self) -> None:
        """Forget all kernels: the next launch of each signature misses."""
        with library.lock:
            self._entries.clear()
            self._build(15)

    def insert(self, key: int, kernel: int, output_types: int, scalar_types: int) -> None:
        """Add the kernel of ``key``; the table doubles when it is half full."""
        with library.lock:
            entry = self._entries[key] = row_of(
                Slot, key=key, kernel=kernel, output_types=output_types, scalar_types=scalar_types
            )
            mask = self.record.slots.mask
            if 2 * len(self._entries) > mask:
                self._build(2 * mask + 1)
            else:
                _position(self._slots, entry)

    def _build(self, mask: int) -> None:
        slots = np.full((mask + 1, size_of(Slot)), layout.EMPTY_KEY, dtype=np.int64)
        for entry in self._entries.values():
            _position(slots, entry)
        # One store: another thread may launch between two. The old slots live until after it.
        self.record.slots.words[:] = row_of(Slots, mask=mask, first=slots.ctypes.data)
        self._slots = slots


def _position(slots: np.ndarray, entry: tuple[int, ...]) -> None:
    """Write an entry into its slot, or into the next that is free."""
    key = entry[Slot.key.position]
    mask = len(slots) - 1
    product = (key * layout.HASH_MULTIPLIER) & 0xFFFF_FFFF_FFFF_FFFF
    signed = product - (1 << 64) if product >> 63 else product
    position = (signed >> layout.HASH_SHIFT) & mask
    while slots[position, Slot.key.position] not in (layout.EMPTY_KEY, key):
        position = (position + 1) & mask
    slots[position] = entry


_tables: weakref.WeakSet[KernelTable] = weakref.WeakSet()


@library.when_forgetting
def _clear_tables() -> None:
    for table in _tables:
        table.clear()
