"""Memory at addresses, for kernels that run as Python: elements, words and scratch memory.

``intrinsics`` gives its functions Python bodies that call these, so that a kernel is an ordinary
Python function as well, which reads and writes the same memory and can be stepped through. Elements
are NumPy scalars, whose arithmetic keeps their dtype. Addresses are not checked, as in C.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import sys
import threading
import types
from collections.abc import Callable, Iterator
from fractions import Fraction
from types import FrameType
from typing import Any

import numpy as np

_CTYPES = {
    "bool": ctypes.c_uint8, "boolean": ctypes.c_uint8,
    "int8": ctypes.c_int8, "int16": ctypes.c_int16, "int32": ctypes.c_int32,
    "int64": ctypes.c_int64, "uint8": ctypes.c_uint8, "uint16": ctypes.c_uint16,
    "uint32": ctypes.c_uint32, "uint64": ctypes.c_uint64,
    "float16": ctypes.c_uint16, "bfloat16": ctypes.c_uint16,
    "float32": ctypes.c_float, "float64": ctypes.c_double,
}  # fmt: skip


def load_element(address: int, index: int, dtype: Any) -> Any:
    """Element ``index`` of the array of ``dtype`` at ``address``; half precision as float32."""
    name = str(dtype)
    kind = _CTYPES[name]
    value = kind.from_address(int(address) + int(index) * ctypes.sizeof(kind)).value
    if name == "bfloat16":
        return np.uint32(value << 16).view(np.float32)
    if name == "float16":
        return np.float32(np.uint16(value).view(np.float16))
    if name in ("bool", "boolean"):
        return np.bool_(value != 0)
    return getattr(np, name)(value)


def store_element(address: int, index: int, value: Any, dtype: Any) -> None:
    """Write ``value``, converted to ``dtype``, to element ``index`` of the array at ``address``."""
    name = str(dtype)
    kind = _CTYPES[name]
    if name == "bfloat16":
        stored: Any = _bfloat16_bits(np.float32(value))
    elif name == "float16":
        stored = int(np.float16(np.float32(value)).view(np.uint16))
    elif name.startswith("float"):
        stored = float(value)
    elif name in ("bool", "boolean"):
        stored = int(bool(value))
    else:
        stored = int(value)  # ctypes keeps the low bits, as C does
    kind.from_address(int(address) + int(index) * ctypes.sizeof(kind)).value = stored


def _bfloat16_bits(value: Any) -> int:
    """The pattern of the bfloat16 nearest to a float32; of two, the even one."""
    if np.isnan(value):
        return 0x7FC0
    pattern = int(value.view(np.uint32))
    return (pattern + 0x7FFF + (pattern >> 16 & 1)) >> 16 & 0xFFFF


def rounded_element(value: Any, dtype: Any) -> Any:
    """A float32 rounded to float16 or bfloat16, as a float32."""
    if str(dtype) == "float16":
        return np.float32(np.float16(np.float32(value)))
    return np.uint32(_bfloat16_bits(np.float32(value)) << 16).view(np.float32)


def fused_multiply_add(x: Any, y: Any, z: Any) -> Any:
    """``x * y + z``, rounded once to the dtype of x."""
    if isinstance(x, np.float32):
        wide = np.float64(x) * np.float64(y) + np.float64(z)  # only the sum is rounded
        if not _is_half_way(wide):
            return np.float32(wide)
    if not (np.isfinite(x) and np.isfinite(y) and np.isfinite(z)):
        return x * y + z
    exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
    if not exact:
        return x * y + z  # the sign of zero follows from those of the operands
    return _nearest(exact, type(x))


def _is_half_way(wide: Any) -> bool:
    """Whether a float64, itself rounded, might round to another float32 than the exact value."""
    return int(wide.view(np.int64)) & 0x1FFFFFFF == 0x10000000 or abs(wide) < 2.0**-126


def _nearest(exact: Fraction, dtype: Any) -> Any:
    """A fraction as a float32 or float64, rounded once, to the even one of two that are as near."""
    try:
        found = dtype(float(exact))
    except OverflowError:
        return dtype(math.copysign(math.inf, exact))
    if dtype is np.float64 or not np.isfinite(found):
        return found
    for end in (-np.inf, np.inf):
        other = np.nextafter(found, np.float32(end))
        if np.isfinite(other):
            own, its = abs(Fraction(float(found)) - exact), abs(Fraction(float(other)) - exact)
            if its < own or (its == own and not int(other.view(np.uint32)) & 1):
                found = other
    return found


class _CMath:
    """Functions of C's library under the names of ``math``, which raise nothing.

    They compute in float64; a float32 comes back as one.
    """

    inf, nan = math.inf, math.nan

    def __getattr__(self, name: str) -> Any:
        count = 2 if name in ("atan2", "hypot", "pow", "fmod", "copysign") else 1
        kinds = [ctypes.c_double] * (count + 1)
        function = ctypes.CFUNCTYPE(*kinds)((name, ctypes.CDLL(None)))

        def call(*values: Any) -> Any:
            return np.asarray(values[0]).dtype.type(function(*map(float, values)))

        setattr(self, name, call)
        return call


c_math = _CMath()


class Address(int):
    """An address that keeps what is there.

    Attributes:
        units: the units of work that the arguments at the address describe; None if unknown.
    """

    units: int | None
    _kept: tuple[Any, ...]

    @classmethod
    def of(cls, words: Any, kept: tuple[Any, ...], units: int | None = None) -> Address:
        """The address of an array of words, which point to what is ``kept``."""
        made = cls(words.ctypes.data)
        made.units, made._kept = units, (words, *kept)
        return made


#: Address of a hand-written kernel by module, name, signature, fastmath and code: the executor's.
find_kernel: Callable[[str, str, str, tuple[str, ...], str], int] | None = None


# --- scratch memory and calls ---------------------------------------------------------------------


class _Running(threading.local):
    def __init__(self) -> None:
        self.depth = 0
        self.stack: list[Any] = []
        #: The same for functions that Python calls itself: with the frame that owns it.
        self.owned: list[tuple[FrameType, Any]] = []


_running = _Running()

#: Makers of the Python functions of kernels, by address, or by the number that stands for one.
_makers: dict[int, Callable[[], Callable[[int, int, int], None]]] = {}
_functions: dict[int, Callable[[int, int, int], None]] = {}


def words_on_stack(count: int) -> int:
    """Address of so many int64 words, which stay until the kernel that runs returns."""
    memory = np.zeros(int(count) + 8, dtype=np.int64)
    if _running.depth:
        _running.stack.append(memory)
    else:
        _give_to_caller(memory)
    return (memory.ctypes.data + 63) & -64


def words_at(address: int, count: int) -> np.ndarray[Any, Any]:
    """So many int64 words at an address, as an array that does not keep them alive."""
    return np.ctypeslib.as_array((ctypes.c_int64 * count).from_address(int(address)))


def _give_to_caller(memory: Any) -> None:
    """Keep scratch memory while the function runs that asked for it, without ``run_kernel``.

    Memory of functions that have returned is let go of when the next one asks.
    """
    frame: FrameType | None = sys._getframe(3)  # behind words_on_stack and the primitive
    assert frame is not None
    running = []
    owner = frame
    while frame is not None:
        running.append(frame)
        frame = frame.f_back
    _running.owned = [each for each in _running.owned if each[0] in running]
    _running.owned.append((owner, memory))


def register(address: int, maker: Callable[[], Callable[[int, int, int], None]]) -> None:
    """Say how the Python function of the kernel at an address is made, when one asks for it."""
    _makers[address] = maker


def function_at(address: int) -> Callable[[int, int, int], None]:
    """The Python function of the kernel at an address.

    Raises:
        KeyError: if no kernel is there.
    """
    found = _functions.get(int(address))
    if found is None:
        made = _makers[int(address)]()
        names = {**made.__globals__, "math": c_math} if "math" in made.__globals__ else None
        if names is not None:
            made = types.FunctionType(made.__code__, names, made.__name__, made.__defaults__)
        found = _functions[int(address)] = made
    return found


def call_function(address: int, args: int, lo: int, hi: int) -> None:
    """Call the kernel at an address, as Python."""
    function_at(address)(args, lo, hi)


@contextlib.contextmanager
def _frame() -> Iterator[None]:
    _running.depth += 1
    kept = len(_running.stack)
    try:
        # What machine code computes without a word: overflow, NaN, division by zero.
        with np.errstate(all="ignore"):
            yield
    finally:
        _running.depth -= 1
        del _running.stack[kept:]


def run_kernel(address: int, *arguments: float) -> Any:
    """Run the kernel at an address as Python, with arguments as int64 or float64."""
    kernel = function_at(address)
    values = [np.float64(x) if isinstance(x, float) else np.int64(x) for x in arguments]
    with _frame():
        return kernel(*values)
