"""Generators of random numbers: their seeds, and their state as torch has it.

The numbers themselves come from ``kernels/random/mt19937.py``; ``random_filling.py`` fills arrays
with those of a distribution.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .absent import absent
from .backend import backend_for
from .device import device as Device
from .executor import capture
from .executor.builtin import make_launcher, runtime
from .executor.cache import library
from .executor.cache.deferred import Deferred
from .native.layout import DrawTable

# Layout of a generator's state, as kernels/random/mt19937.py defines it (a test compares the two).
_SEED, _LEFT, _NEXT, _NORMAL_IS_CACHED, _CACHED_NORMAL = 0, 1, 2, 3, 4
_HEADER = 8
_STATE_SIZE = 624

#: The bytes that torch's ``get_rng_state`` returns.
_TORCH_STATE = np.dtype(
    [
        ("initial_seed", np.uint64),
        ("left", np.int32),
        ("seeded", np.int32),
        ("next", np.uint64),
        ("state", np.uint64, _STATE_SIZE),
        ("normal_x", np.float64),
        ("normal_y", np.float64),
        ("normal_rho", np.float64),
        ("normal_is_valid", np.int32),
        ("padding", np.int32),
        ("next_float_normal", np.float32),
        ("next_float_normal_is_valid", np.int32),
    ]
)

_REALS = "void(int64, int64, int64, float64, float64)"
INTEGERS = "void(int64, int64, int64, int64, int64)"


@library.remembered
def _kernel(name: str, signature: str) -> Callable[..., None]:
    # No fastmath flag at all: the kernels say themselves which operations are fused.
    address = library.hand_written("kernels.random.mt19937", name, signature, fastmath=())
    parameter = ctypes.c_double if signature is _REALS else ctypes.c_int64
    types = [ctypes.c_int64] * 3 + [parameter] * 2
    return library.callable_at(address, types)


#: Arrays of at most so many elements are drawn by the launcher, which keeps the GIL.
_SMALL = 1024
_launchers = Deferred({"draw": "random_fill"}, lambda: None)


#: ``draw(state, array, first, second)`` for contiguous arrays, by the name of the kernel.
_small_kernels: dict[str, Callable[..., None]] = {}
library.when_forgetting(_small_kernels.clear)


def _small_kernel(name: str) -> Callable[..., None] | None:
    """Look up a launcher that is not in ``_small_kernels`` yet; None if there is to be none."""
    if not _launchers.ready():
        return None
    address = library.hand_written("kernels.random.mt19937", name, _REALS, fastmath=())
    table = DrawTable()
    table.runtime, table.kernel = runtime().address, address
    made = _small_kernels[name] = make_launcher(name, table, "draw", "random_fill")
    return made


@functools.lru_cache(maxsize=16)
def _seeded(seed: int) -> np.ndarray:
    """The words that a seed of 32 bits begins with; programs begin with the same seeds again."""
    values = [seed]
    for i in range(1, _STATE_SIZE):
        previous = values[-1]
        values.append((1812433253 * (previous ^ (previous >> 30)) + i) & 0xFFFFFFFF)
    words = np.array(values, np.uint32)
    words.flags.writeable = False
    return words


class Generator:
    """A Mersenne Twister (MT19937) with torch's seeding, and torch's way of keeping a spare normal.

    Safe to use from several threads at once; the order in which they draw is then undefined.
    """

    def __new__(cls, device: object = "cpu") -> Generator:
        """A generator of the device: of one of its backend's class if that has one.

        Raises:
            RuntimeError: for a device without generators.
        """
        if cls is not Generator or device is None or str(device) == "cpu":
            return super().__new__(cls)
        with contextlib.suppress(AssertionError, NotImplementedError):
            where = backend_for(device)
            if where is not None and where.generator_class is not None:
                kind: type[Generator] = where.generator_class
                return kind.__new__(kind, device)
        raise RuntimeError(
            f"Generator: device {str(device)!r} has no generator; use Generator('cpu')"
        )

    def __init__(self, device: Any = "cpu"):
        self.device = Device("cpu" if device is None else device)
        self._words = np.zeros(_HEADER + _STATE_SIZE // 2, np.int64)
        self._address = self._words.ctypes.data
        self._lock = threading.RLock()
        self._reset(DEFAULT_SEED)

    def __repr__(self) -> str:
        return f"<numbagrad.Generator device='cpu' initial_seed={self.initial_seed()}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _with_state, (str(self.device), self.get_state())

    def manual_seed(self, seed: int) -> Generator:
        """Start again from ``seed``, an integer of at most 64 bits, signed or unsigned."""
        seed = int(seed)
        if not -(1 << 63) <= seed < 1 << 64:
            raise RuntimeError(
                f"manual_seed expects a value of 64 bits, in [-2**63, 2**64 - 1], but got {seed}"
            )
        capture.refuse("a seed set")
        with self._lock:
            self._reset(seed % (1 << 64))
        return self

    def seed(self) -> int:
        """Start again from a seed that the operating system chooses; returns it."""
        seed = _nondeterministic_seed()
        self.manual_seed(seed)
        return seed

    def initial_seed(self) -> int:
        """The seed this generator last started from."""
        capture.refuse("the seed of a generator")
        return int(self._words[_SEED]) % (1 << 64)

    def get_state(self) -> np.ndarray:
        """The state as uint8 array, in the format of torch's ``get_rng_state``."""
        capture.refuse("the state of a generator")
        state = np.zeros((), _TORCH_STATE)
        words = self._read()
        state["initial_seed"] = words[_SEED : _SEED + 1].view(np.uint64)[0]
        state["left"], state["next"], state["seeded"] = words[_LEFT], words[_NEXT], 1
        state["state"] = words[_HEADER:].view(np.uint32)
        if words[_NORMAL_IS_CACHED]:
            state["normal_is_valid"] = 1
            state["normal_y"] = words[_CACHED_NORMAL : _CACHED_NORMAL + 1].view(np.float64)[0]
        return np.frombuffer(state.tobytes(), np.uint8).copy()

    def set_state(self, new_state: object) -> Generator:
        """Go on from a state of ``get_state`` (or torch's ``get_rng_state``); give back itself.

        Raises ``TypeError`` unless it is made of bytes, ``RuntimeError`` if it is no valid state.
        """
        capture.refuse("the state of a generator")
        array = np.asarray(new_state)
        if array.dtype != np.uint8:
            raise TypeError(f"set_state: RNG state must be a uint8 array, but got {array.dtype}")
        if array.size != _TORCH_STATE.itemsize:
            raise RuntimeError(
                f"set_state: expected a state of size {_TORCH_STATE.itemsize}, but found "
                f"{array.size}; pass what get_state returned"
            )
        state = np.frombuffer(array.tobytes(), _TORCH_STATE)[0]
        left, following = int(state["left"]), int(state["next"])
        if not (state["seeded"] and 0 < left <= _STATE_SIZE and following <= _STATE_SIZE):
            raise RuntimeError("set_state: invalid mt19937 state; pass what get_state returned")
        words = self._read()
        words[_SEED] = state["initial_seed"].astype(np.int64)
        words[_LEFT], words[_NEXT] = left, following
        words[_HEADER:].view(np.uint32)[:] = state["state"].astype(np.uint32)
        words[_NORMAL_IS_CACHED] = state["normal_is_valid"] != 0
        words[_CACHED_NORMAL : _CACHED_NORMAL + 1].view(np.float64)[0] = state["normal_y"]
        self._write(words)
        return self

    def _read(self) -> np.ndarray:
        with self._lock:
            return self._words.copy()

    def _write(self, words: np.ndarray) -> None:
        with self._lock:
            self._words[...] = words

    def rewind(self, words: np.ndarray) -> np.ndarray:
        """Go back to a state that this returned before; returns that of now. For compiled programs.

        An empty array changes nothing.
        """
        with self._lock:
            now = self._words.copy()
            if words.size:
                self._words[:] = words
        return now

    def fill_elsewhere(self, name: str, array: np.ndarray, arguments: tuple[object, ...]) -> None:
        """Fill an ndarray by the function of ``random_filling.py``; of subclasses alone."""
        raise NotImplementedError(f"{type(self).__name__} fills no ndarray")

    def clone_state(self) -> Generator:
        """A new generator that will give the same numbers as this one."""
        other = Generator(self.device)
        other.set_state(self.get_state())
        return other

    def _reset(self, seed: int) -> None:
        words = self._words
        words[:_HEADER] = 0
        words[_SEED] = seed - (seed >> 63 << 64)
        words[_LEFT] = 1
        words[_HEADER:].view(np.uint32)[:] = _seeded(seed & 0xFFFFFFFF)

    def run(
        self, name: str, out: np.ndarray, first: float, second: float, signature: str = _REALS
    ) -> None:
        """Fill a contiguous array by the kernel ``name``, whose two parameters follow.

        They are numbers, or with the signature ``INTEGERS`` whole numbers and addresses.
        """
        if out.size <= _SMALL and signature is _REALS:
            draw = _small_kernels.get(name) or _small_kernel(name)
            if draw is not None:
                with self._lock:
                    draw(self._address, out, first, second)
                return
        kernel = _kernel(name, signature)
        with self._lock:
            kernel(self._address, out.ctypes.data, out.size, first, second)


def _with_state(device: str, state: np.ndarray) -> Generator:
    """A generator from a pickle or a copy, which goes on as the one that it was made of."""
    return Generator(device).set_state(state)


#: torch's seed of a generator that was not seeded.
DEFAULT_SEED = 67280421310721


def _nondeterministic_seed() -> int:
    return int.from_bytes(os.urandom(8), "little") >> 11  # 53 bits, exact as a double too


@functools.lru_cache(maxsize=1)
def default_generator() -> Generator:
    """The generator that is used when none is passed; made, and seeded at random, at first use."""
    return Generator().manual_seed(_nondeterministic_seed())


#: The default generators of other devices, once a device was used.
streams_elsewhere: list[Generator] = []


class DefaultStreams:
    """The default generators of all devices as one that can be rewound."""

    def rewind(self, words: np.ndarray) -> np.ndarray:
        """Go back to a state that this returned before; returns that of now.

        An empty array changes nothing.
        """
        parts, start = [], 0
        for each in (default_generator(), *streams_elsewhere):
            now = each.rewind(words[:0])
            if start < words.size:
                each.rewind(words[start : start + now.size])
            start += now.size
            parts.append(now)
        return np.concatenate(parts)


def manual_seed(seed: int) -> Generator:
    """Seed the default generators of all devices, and return that of the CPU."""
    made = default_generator().manual_seed(seed)
    for other in streams_elsewhere:
        other.manual_seed(seed)
    return made


def seed() -> int:
    """Seed the default generators of all devices at random; returns the seed of the CPU's."""
    chosen = default_generator().seed()
    for other in streams_elsewhere:
        other.manual_seed(chosen)
    return chosen


def initial_seed() -> int:
    """The seed the default generator last started from."""
    return default_generator().initial_seed()


def get_rng_state() -> np.ndarray:
    """State of the default generator, see :meth:`Generator.get_state`."""
    return default_generator().get_state()


def set_rng_state(new_state: object) -> None:
    """Set the state of the default generator, see :meth:`Generator.set_state`."""
    default_generator().set_state(new_state)


@contextlib.contextmanager
def fork_rng(
    devices: object = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str = "cuda",
) -> Iterator[None]:
    """A block behind which the default generator goes on as if nothing had been drawn in it.

    Args:
        devices, device_type: accepted; the generators of all devices are meant.
        enabled: False for a block that does nothing.
    """
    if not enabled:
        yield
        return
    states = [(each, each.get_state()) for each in (default_generator(), *streams_elsewhere)]
    try:
        yield
    finally:
        for each, state in states:
            each.set_state(state)


def _unlock_in_child() -> None:
    """Another thread of the parent may have been drawing when the process was forked."""
    if default_generator.cache_info().currsize:
        default_generator()._lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock_in_child)


thread_safe_generator = absent(
    "torch.random.thread_safe_generator", "give each thread a Generator of its own"
)
