"""Random numbers of a GPU: generators, and launches that fill arrays.

Numbers are Philox's, by a seed and a count of used counters, drawn where they are needed; they are
others than the CPU's from the same seed, and than torch's. What a distribution takes and refuses is
defined by ``random_filling.py``, whose functions call :func:`fill`.
"""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import random as numbers
from .. import random_filling as filling
from ..device import device as Device
from ..dtype import name_of
from ..executor import capture
from ..executor.families.checks import check_fractions
from ..executor.plan.forms import contiguous
from ..executor.plan.operations import Pointwise
from ..executor.plan.views import view_of
from ..formula import (
    Formula,
    ceil,
    constant,
    cos,
    exp,
    log,
    maximum,
    print_numba,
    sin,
    sqrt,
    tan,
    trace,
    where,
)
from . import composed, launches
from .array import CudaArray
from .devices import index_of
from .driver import driver
from .kernels import draws
from .kernels import random as texts
from .kernels.pointwise import Body
from .launches import LaunchArgs, bits_of, blocks_for

if TYPE_CHECKING:
    from .backend import CudaBackend

#: The bytes of a state: the seed, and how many counters were used.
_STATE = np.dtype([("seed", np.uint64), ("used", np.uint64)])


class Generator(numbers.Generator):
    """A stream of random numbers of a GPU.

    Its state is 16 bytes, as that of torch's generators there: the seed and an offset.

    Raises:
        RuntimeError: for a GPU that is not there.
    """

    def __init__(self, device: Any = "cuda"):
        self.index = index_of(device)
        self.device = Device("cuda", self.index)
        self._lock = threading.RLock()
        self._seed, self._used = numbers.DEFAULT_SEED, 0

    def __repr__(self) -> str:
        return f"<numbagrad.Generator device='{self.device}' initial_seed={self.initial_seed()}>"

    def _reset(self, seed: int) -> None:
        self._seed, self._used = seed, 0

    def initial_seed(self) -> int:
        """The seed this generator last started from."""
        capture.refuse("the seed of a generator")
        return self._seed

    def get_state(self) -> np.ndarray[Any, Any]:
        """The state as uint8 array of 16 bytes."""
        capture.refuse("the state of a generator")
        with self._lock:
            state = np.array((self._seed, self._used), _STATE)
        return np.frombuffer(state.tobytes(), np.uint8).copy()

    def set_state(self, new_state: Any) -> Generator:
        """Go on from a state of ``get_state``; give back itself.

        Raises:
            TypeError: unless it is made of bytes.
            RuntimeError: unless they are 16.
        """
        capture.refuse("the state of a generator")
        array = np.asarray(new_state)
        if array.dtype != np.uint8:
            raise TypeError(f"set_state: RNG state must be a uint8 array, but got {array.dtype}")
        if array.size != _STATE.itemsize:
            raise RuntimeError(
                f"set_state: a state of a generator of cuda has {_STATE.itemsize} bytes, but found "
                f"{array.size}; pass what get_state returned"
            )
        state = np.frombuffer(array.tobytes(), _STATE)[0]
        with self._lock:
            self._seed, self._used = int(state["seed"]), int(state["used"])
        return self

    def get_offset(self) -> int:
        """How many counters were used."""
        return self._used

    def set_offset(self, offset: int) -> None:
        """Go on as if so many counters had been used."""
        with self._lock:
            self._used = int(offset)

    def rewind(self, launch_args: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Go back to a state that this returned before; returns that of now."""
        with self._lock:
            now = np.array([self._seed, self._used], np.uint64).view(np.int64)
            if launch_args.size:
                self._seed, self._used = [int(x) for x in launch_args.view(np.uint64)]
        return now

    def take(self, counters: int) -> tuple[int, int]:
        """The seed, and the first of so many counters that nobody else is given."""
        with self._lock:
            first, self._used = self._used, self._used + counters
        return self._seed, first

    def fill_elsewhere(self, name: str, array: np.ndarray[Any, Any], arguments: Any) -> None:
        """Refuse memory of the host: nothing is drawn into it here.

        Raises:
            RuntimeError: torch's.
        """
        raise RuntimeError("Expected a 'cpu' device type for generator but found 'cuda'")


@functools.cache
def default_generators() -> tuple[Generator, ...]:
    """The streams of GPUs that are used when none is passed; seeded as that of the CPU last was.

    All are made at once, so that who keeps states (checkpoints, ``fork_rng``) knows all of them.
    """
    made = tuple([Generator(Device("cuda", x)) for x in range(driver().device_count)])
    for each in made:
        each.manual_seed(numbers.default_generator().initial_seed())
    numbers.streams_elsewhere.extend(made)
    return made


def _chosen(generator: Any, index: int) -> Generator:
    """The generator to draw from on a device.

    Raises:
        RuntimeError: torch's, for one of another device.
    """
    if generator is None or generator is numbers.default_generator():
        return default_generators()[index]
    if not isinstance(generator, Generator):
        raise RuntimeError("Expected a 'cuda' device type for generator but found 'cpu'")
    if generator.index != index:
        raise RuntimeError(
            f"Expected a generator of 'cuda:{index}' but found one of '{generator.device}'"
        )
    return generator


# --- distributions, as formulas of u in [0, 1) or of normal z -------------------------------------


def _between(u: Any, a: Any, b: Any) -> Any:
    value = u * (b - a) + a
    return where(value >= b, a, value)  # rounded to the end, which is not in the range


def _positive(u: Any) -> Any:
    """``u``, but not zero."""
    return maximum(u, 2.0**-54)


def _pair(u: Any, v: Any) -> Any:
    """Two normal numbers of two uniform ones (Box and Muller, 1958)."""
    radius, angle = sqrt(log(1 - u) * -2), v * (2 * math.pi)
    return radius * cos(angle), radius * sin(angle)


#: By the name of the function of ``random_filling.py``: whether of a normal number, the formula of
#: it and two numbers, and these if they are not given.
_REAL: dict[str, tuple[bool, Callable[..., Any], tuple[float, float]]] = {
    "fill_uniform": (False, _between, (0.0, 1.0)),
    "fill_normal": (True, lambda z, a, b: z * b + a, (0.0, 1.0)),
    "fill_log_normal": (True, lambda z, a, b: exp(z * b + a), (1.0, 2.0)),
    "fill_exponential": (False, lambda u, a, b: -log(_positive(u)) / a, (1.0, 0.0)),
    "fill_cauchy": (False, lambda u, a, b: tan((u - 0.5) * math.pi) * b + a, (0.0, 1.0)),
    "fill_geometric": (False, lambda u, a, b: ceil(log(_positive(u)) / log(1 - a)), (0.5, 0.0)),
    "fill_bernoulli": (False, lambda u, a, b: where(u < a, constant(1), constant(0)), (0.5, 0.0)),
}


def _printed(function: Callable[..., Any], inputs: tuple[str, ...], kind: str) -> Body:
    lines, results = print_numba(trace(function, inputs), kind)
    return Body(tuple(lines), tuple(results))


@functools.lru_cache(maxsize=128)
def _real(name: str, dtype: str, kind: str, threads: int) -> Any:
    normal, function, _ = _REAL[name]
    body = _printed(function, (texts.NORMAL if normal else texts.UNIFORM, "a", "b"), kind)
    pair = _printed(_pair, ("u", "v"), kind) if normal else None
    return texts.real_source(name.removeprefix("fill_"), dtype, kind, pair, body, threads)


_integers = functools.lru_cache(maxsize=32)(texts.integers_source)


def fill(there: CudaBackend, name: str, generator: Any, array: CudaArray, arguments: Any) -> None:
    """``random_filling.<name>(generator, array, *arguments)`` for an array of a device.

    The elements of memory without gaps are drawn in its order.
    """
    generator = _chosen(generator, array.block.device)
    if array.dtype.kind == "c":
        _fill_complex(there, name, generator, array, arguments)
        return
    if name == "fill_bernoulli" and arguments and hasattr(arguments[0], "shape"):
        _fill_bernoulli(there, generator, array, arguments[0])
        return
    # What the CPU refuses, in its arguments.
    getattr(filling, name)(_UNUSED, np.empty(0, array.dtype), *arguments)
    if not array.size:
        return
    target = array
    if not array.flags.c_contiguous:
        target = there.new(contiguous(array.shape, array.dtype), array)
    dtype, threads = name_of(array.dtype), driver().threads
    if name in _REAL:
        kind = "float64" if dtype == "float64" else "float32"
        given = [float(x) for x in (*arguments, *_REAL[name][2][len(arguments) :])]
        source, more = _real(name, dtype, kind, threads), [bits_of(x, kind) for x in given]
        wide = kind == "float64"
    else:
        if name == "fill_random":
            number, low, _ = filling.range_of_type(array.dtype)
        else:
            number, low, _ = filling.range_of_integers(array.dtype, *arguments)
        source, wide = _integers(dtype, threads), True
        more = [_signed(number), low]
    _run(source, target, generator, texts.elements_of_counter(wide), more)
    if target is not array:
        there.copy(array, target)


_UNUSED = numbers.Generator()


def _signed(number: int) -> int:
    """The lower 64 bits as a word."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def _run(source: Any, target: CudaArray, generator: Generator, of_one: int, more: Any) -> None:
    counters = -(-target.size // of_one)
    seed, first = generator.take(counters)
    launch_args = LaunchArgs()
    launch_args.add(target.address, target.size, _signed(seed), first, *more)
    launch = launch_args.launch(source, blocks_for(counters, source.threads))
    launches.run([launch], lambda memory: memory.address, (), target.block.device)


def drawn(
    there: CudaBackend, one: Callable[..., float], arrays: Sequence[CudaArray], generator: Any
) -> CudaArray:
    """Numbers that a function of ``distributions/sampling.py`` draws, one for each element."""
    like = arrays[0]
    generator = _chosen(generator, like.block.device)
    made = there.new(contiguous(like.shape, like.dtype), like)
    if made.size:
        given = [there.in_order(x) for x in arrays]
        source = _drawing(one, len(given), name_of(like.dtype), driver().threads)
        seed, counter = generator.take(1)
        launch_args = LaunchArgs()
        launch_args.add(made.address, *[x.address for x in given])
        launch_args.add(made.size, _signed(seed), counter)
        launch = launch_args.launch(source, blocks_for(made.size, source.threads))
        launches.run([launch], lambda memory: memory.address, (), like.block.device)
    return made


_drawing = functools.lru_cache(maxsize=32)(draws.source)


def _fill_complex(there: Any, name: str, generator: Any, array: CudaArray, arguments: Any) -> None:
    """Both parts: of a complex normal number each has half of the variance."""
    if name == "fill_normal":
        mean, std = [*arguments, 0.0, 1.0][:2] if not arguments else [*arguments, 1.0][:2]
        half = float(std) / math.sqrt(2)
        parts: list[Any] = [(complex(mean).real, half), (complex(mean).imag, half)]
    elif name == "fill_uniform":
        parts = [tuple(arguments)] * 2
    else:
        getattr(filling, name)(_UNUSED, np.empty(0, array.dtype), *arguments)
        raise NotImplementedError(f"{name} of {array.dtype} on the device 'cuda'")
    for part, given in zip((array.real, array.imag), parts, strict=True):
        fill(there, name, generator, part, given)


def _fill_bernoulli(there: Any, generator: Any, array: Any, p: Any) -> None:
    """Ones with the probabilities of an array, which broadcasts."""
    filling.check_kind_of_probabilities(p)
    if isinstance(p, np.ndarray):
        p = there.from_host(p)
    check_fractions("bernoulli(): an element of p", p, filling.check_probabilities)
    if not array.size:
        return
    kind = np.dtype(np.float64 if p.dtype == np.float64 else np.float32)
    uniform: Any = there.new(contiguous(array.shape, kind), array)
    fill(there, "fill_uniform", generator, uniform, ())
    views = view_of(uniform), view_of(p).expanded(array.shape)
    there.run(Pointwise.of_views("bernoulli", _below(), views, view_of(array), kind.name))


@functools.cache
def _below() -> Formula:
    return trace(lambda u, p: where(u < p, constant(1), constant(0)), ("u", "p"))


def multinomial(
    there: CudaBackend, generator: Any, weights: CudaArray, count: int, replacement: bool = False
) -> CudaArray:
    """``random_filling.multinomial``, drawn and chosen here; bad weights are told of later."""
    filling.check_draws(weights, count, replacement)
    if not weights.shape[-1]:
        filling.check_weights(np.zeros(weights.shape))
    again = replacement and count > 1
    shape = (*weights.shape[:-1], count) if again else weights.shape
    # 53 bits for places in a sum of weights; without replacement each weight has its own number.
    kind = np.dtype(np.float64 if again or weights.dtype == np.float64 else np.float32)
    drawn = there.new(contiguous(shape, kind), weights)
    fill(there, "fill_uniform" if again else "fill_exponential", generator, drawn, ())
    choose = composed.places_in_sums if again else composed.winners
    made: CudaArray = choose(there, weights, drawn, count)
    return made
