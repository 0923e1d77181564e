"""Kernels by description: found in memory, loaded from disk, or compiled, in that order.

Called by everything that runs a kernel. ``generated`` takes source text, ``hand_written`` names a
function of ``numbagrad/kernels`` or ``numbagrad/native``. Both return the address of a function
that lives as long as the process, and count what they did in :func:`stats`.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import functools
import importlib
import linecache
import os
import pathlib
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from ... import dtype
from ...codegen import addresses, loader
from ...interrupts import uninterrupted
from .. import capture
from ..mode import JIT_DISABLED
from . import background, progress, shipped
from .disk import ObjectCache, default_directory
from .keys import content_of, generated_content, key_of, shipped_key, sources

#: Signature of a kernel: address of packed arguments, and a range of work.
UNIFORM = "void(int64, int64, int64)"

#: Compiled functions are never freed, so a program that keeps making new ones is told.
KERNEL_BOUND = 10_000


@dataclasses.dataclass
class Statistics:
    """Counts of the kernels that the executor compiled, loaded and found in this process."""

    compiled: int = 0
    loaded: int = 0
    hits: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        return (
            f"{self.compiled} kernels compiled, {self.loaded} loaded from disk, "
            f"{self.hits} found in memory, in {self.seconds:.2f} s"
        )

    def _repr_html_(self) -> str:
        """A table, in notebooks."""
        names = ("compiled", "loaded", "hits", "seconds")
        head = "".join(f"<th>{name}</th>" for name in names)
        cells = f"<td>{self.compiled}</td><td>{self.loaded}</td><td>{self.hits}</td>"
        return f"<table><tr>{head}</tr><tr>{cells}<td>{self.seconds:.2f}</td></tr></table>"


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A kernel of this process, as ``explain`` shows it.

    `origin` is "compiled" or "loaded". `source` is the text of a generated kernel and `path` the
    file it is kept in; a hand-written one is `name` in the module `module`. `fastmath` and `code`
    are the options that it is compiled with (``codegen/compiler.py``).
    """

    name: str
    origin: str
    signature: str
    source: str | None = None
    path: pathlib.Path | None = None
    module: str | None = None
    fastmath: tuple[str, ...] = ("contract",)
    code: str = "loops"


_statistics = Statistics()
_addresses: dict[str, int] = {}
_origins: dict[str, str] = {}

#: Held while a kernel is compiled or loaded, and while the launchers of an operator are set up.
lock = threading.RLock()

#: Whether kernels were compiled since a backward was foreseen (``ops/operators/foresight.py``).
compiled_more = False

#: Called with every kernel that is looked up, while ``explain`` runs.
listener: Callable[[Kernel], None] | None = None


def stats() -> Statistics:
    """Kernels compiled, loaded from disk and found in memory, and the seconds that took."""
    return dataclasses.replace(_statistics)


def compiled() -> int:
    """How many kernels this process has compiled, or had compiled by others."""
    return _statistics.compiled


Function = TypeVar("Function", bound=Callable[..., Any])
_forgetters: list[Callable[[], None]] = []


def remembered(function: Function) -> Function:
    """``functools.cache`` for functions that look kernels up, which ``explain`` can reset."""
    cached: Any = functools.cache(function)
    _forgetters.append(cached.cache_clear)
    return cached


def when_forgetting(function: Callable[[], None]) -> Callable[[], None]:
    """Decorator: have ``function`` called by :func:`forget_lookups`."""
    _forgetters.append(function)
    return function


#: How often lookups were forgotten: what was compiled before may be missing again.
forgotten = 0


def forget_lookups() -> None:
    """Make every operator look its kernels up again; the kernels themselves stay in memory."""
    global forgotten
    forgotten += 1
    for forget in _forgetters:
        forget()


# A launcher knows the dtypes of results by those of the operands: of integers, by the default too.
dtype.when_default_changes(forget_lookups)


# A fork waits until no thread is compiling: the child would inherit Numba half way through a
# function, and locks that nobody is left to release.
_held: list[Any] = []


def _before_fork() -> None:
    lock.acquire()
    numba_locks = sys.modules.get("numba.core.compiler_lock")
    if numba_locks is not None:
        _held.append(numba_locks.global_compiler_lock)
        _held[-1].acquire()


def _after_fork() -> None:
    while _held:
        _held.pop().release()
    lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )


@functools.lru_cache(maxsize=1)
def cache() -> ObjectCache:
    """The disk cache of this process; its folder is decided at first use."""
    return ObjectCache(default_directory())


class _Target(threading.local):
    """The target of the kernels that this thread looks up."""

    is_python = JIT_DISABLED
    #: Whether those that are missing are named, and left out for now.
    gathers = False


_target = _Target()


@contextlib.contextmanager
def as_python() -> Iterator[None]:
    """Have kernels that this thread looks up be Python functions, for ``addresses.run_kernel``."""
    before, _target.is_python = _target.is_python, True
    try:
        yield
    finally:
        _target.is_python = before


def _key_here(key: str) -> str:
    """The key of a kernel as this thread runs it: as Python it is another one."""
    return f"python {key}" if _target.is_python else key


class _Missing(Exception):  # noqa: N818 - a signal to ``together``
    """Raised with the key of a kernel that has to be compiled, and the kernel."""


def _address(
    content: str,
    kernel: Kernel,
    python: Callable[[], Callable[..., Any]],
    meanwhile: Callable[[], None] | None = None,
) -> int:
    """Address of ``python()``, compiled as ``kernel`` says if need be."""
    global compiled_more
    machine_key = key_of(content)
    key = _key_here(machine_key)
    with lock:
        address = _addresses.get(key)
        if address is not None:
            _statistics.hits += 1
            return address
        if JIT_DISABLED or _target.is_python:
            address = _addresses[key] = -1 - len(_addresses)  # no machine code is there
            _origins[key] = "python"
            addresses.register(address, python)
            return address
        start = time.perf_counter()
        symbol = _symbol(kernel.name)
        address = None if background.knows(machine_key) else _load(content, symbol)
        if address is not None:
            _addresses[key] = address
            _origins[key] = "loaded"
            _statistics.loaded += 1
        elif _target.gathers and not background.has_result(machine_key):
            raise _Missing(machine_key, kernel)
        else:
            if meanwhile is not None:
                meanwhile()
            # An interrupt waits until the kernel is there, for the next call.
            with capture.unheard(), uninterrupted():
                data = _compiled(machine_key, kernel, python)
                _addresses[key] = address = loader.load(data, symbol)
                _origins[key] = "compiled"
                _statistics.compiled += 1
                compiled_more = True
        addresses.register(address, python)
        _statistics.seconds += time.perf_counter() - start
        if len(_addresses) == KERNEL_BOUND * 9 // 10:
            warnings.warn(
                f"this process holds {len(_addresses)} compiled kernels, which are never freed; "
                "something makes a new signature again and again",
                RuntimeWarning,
                stacklevel=3,
            )
        return address


def _compiled(key: str, kernel: Kernel, python: Callable[[], Callable[..., Any]]) -> bytes:
    """The object file of a kernel, of another process if one is at it, and kept on disk."""
    symbol = _symbol(kernel.name)
    with progress.compiling(symbol):
        data = background.result(key)
        if data is None:
            from ...codegen.compiler import compile_to_object

            options = kernel.signature, symbol, kernel.fastmath, kernel.code
            data = compile_to_object(python(), *options)
            cache().write(key, data)
    return data


Result = TypeVar("Result")


def together(tasks: Sequence[Callable[[], Result]]) -> list[Result]:
    """Results of functions that look kernels up; missing ones are compiled on all cores.

    A function is called again if a kernel of it was missing.
    """
    if _target.gathers or not background.can_help(len(tasks)):
        return [task() for task in tasks]
    found, missing = _gathered(tasks)
    if background.can_help(len(missing)):
        _request_all(missing)
    return [found[k] if k in found else task() for k, task in enumerate(tasks)]


def _gathered(tasks: Iterable[Callable[[], Result]]) -> tuple[dict[int, Result], dict[str, Kernel]]:
    """Results by the number of the function, and the first missing kernel of each other one."""
    found: dict[int, Result] = {}
    missing: dict[str, Kernel] = {}
    before, _target.gathers = _target.gathers, True
    try:
        for position, task in enumerate(tasks):
            try:
                found[position] = task()
            except _Missing as signal:
                key, kernel = signal.args
                missing[key] = kernel
    finally:
        _target.gathers = before
    return found, missing


def _request_all(missing: Mapping[str, Kernel], last: bool = False) -> None:
    for key, kernel in missing.items():
        background.request(key, kernel, last)


def request(wanted: HandWritten) -> None:
    """Have another process compile a kernel that is expected to be needed, if it is missing."""
    if background.has_core():
        _is_ready(wanted)


def request_missing(tasks: Iterable[Callable[[], Any]], last: bool = False) -> list[str]:
    """Have other processes compile what functions look up; the keys of what is missing.

    A function ends where a kernel of it is missing; nothing is compiled in this process. What comes
    ``last`` waits for all other requests.
    """
    missing = _gathered(tasks)[1]
    _request_all(missing, last)
    return [*missing]


def without_waiting(task: Callable[[], Result], worth: bool) -> Result | None:
    """The result of a function that looks a kernel up, or None as long as that is not there.

    Where it is ``worth`` it, another process compiles it meanwhile; if there is none, this one.
    """
    if _target.gathers:
        return None
    _target.gathers = True
    try:
        return task()
    except _Missing as signal:
        key, kernel = signal.args
    finally:
        _target.gathers = False
    if background.knows(key):
        comes = not background.is_done(key)
    else:
        comes = not worth or background.request(key, kernel)
    return None if comes else task()


def _stored(content: str) -> bytes | None:
    """The object file of a kernel: of the user's cache, or one that came with the package."""
    data = cache().read(key_of(content))
    if data is None and shipped.ENABLED and loader.target() is loader.host():
        level = loader.host_level()
        if level is not None and len(kernels := shipped.of_level(level)):
            data = kernels.read(shipped_key(content, level))
    return data


def _load(content: str, symbol: str) -> int | None:
    """Address of a kernel that is on disk, or None: it is compiled again if LLVM refuses it."""
    data = _stored(content)
    if data is None:
        return None
    try:
        return loader.load(data, symbol)
    except RuntimeError as error:
        warnings.warn(
            f"numbagrad compiles {symbol} again: its entry {key_of(content)}.o in "
            f"{cache().directory} cannot be used ({error})",
            RuntimeWarning,
            stacklevel=2,
        )
        return None


_WORDS = (ctypes.c_int64,) * 3


def callable_at(address: int, parameters: Sequence[Any] = _WORDS) -> Callable[..., None]:
    """The kernel at an address as a function that Python can call, compiled or as Python.

    ``parameters`` are the ctypes of its arguments, those of a kernel with the uniform entry if they
    are not given.
    """
    if address < 0:
        return functools.partial(addresses.run_kernel, address)
    function = ctypes.CFUNCTYPE(None, *parameters)(address)

    def call(*arguments: Any) -> None:
        try:
            function(*arguments)
        except ctypes.ArgumentError as error:  # all are ints: there is no memory for one of C
            raise MemoryError from error

    return call


def run_kernel(kernel: int, words: Any, total: int) -> None:
    """Run a kernel over all of its work on this thread, compiled or as Python."""
    callable_at(kernel)(words.ctypes.data, 0, total)


def _symbol(name: str) -> str:
    return f"numbagrad_{name}"


def hand_written(
    module: str,
    function: str,
    signature: str = UNIFORM,
    fastmath: tuple[str, ...] = ("contract",),
    code: str = "loops",
    compiling: bool = True,
    meanwhile: Callable[[], None] | None = None,
) -> int:
    """Address of ``function`` of ``numbagrad.<module>``, compiled for ``signature``.

    ``code`` is "calls" for functions without a loop that matters: they compile faster. Without
    ``compiling`` the address is 0 for what would have to be compiled first; else ``meanwhile`` is
    called before it is, to request what other processes can do at that time.
    """
    python = functools.partial(_hand_written_function, module, function, signature, fastmath, code)
    content = _hand_written_content(module, function, signature, fastmath, code)
    key = key_of(content)
    if not compiling and key not in _addresses and _stored(content) is None:
        return 0
    kernel = _hand_written_kernel(module, function, signature, fastmath, code)
    address = _address(content, kernel, python, meanwhile)
    if listener is not None:
        listener(dataclasses.replace(kernel, origin=_origins[_key_here(key)]))
    return address


def _hand_written_kernel(
    module: str, function: str, signature: str, fastmath: tuple[str, ...], code: str
) -> Kernel:
    full = f"numbagrad.{module}"
    return Kernel(function, "compiled", signature, None, None, full, fastmath, code)


class HandWritten(NamedTuple):
    """A hand-written kernel, by the arguments of :func:`hand_written`."""

    module: str
    function: str
    signature: str = UNIFORM
    fastmath: tuple[str, ...] = ("contract",)
    code: str = "loops"


def ready(kernels: Iterable[HandWritten]) -> bool:
    """Whether kernels can be had without a stall; those that cannot are compiled meanwhile.

    For what a program can do without until it is there. True as well where no other process
    compiles: whoever wants the kernels has to wait for them then.
    """
    return all([_is_ready(each) for each in kernels])


def _is_ready(wanted: HandWritten) -> bool:
    content = _hand_written_content(*wanted)
    key = key_of(content)
    if _key_here(key) in _addresses or JIT_DISABLED or _target.is_python:
        return True
    if background.knows(key):
        return background.is_done(key)
    if _stored(content) is not None:
        return True
    return not background.request(key, _hand_written_kernel(*wanted))


def _hand_written_content(
    module: str, function: str, signature: str, fastmath: tuple[str, ...], code: str
) -> str:
    text = sources.of_module(module)
    return content_of("hand written", module, function, signature, code, text, *fastmath)


def _hand_written_function(
    module: str, function: str, signature: str, fastmath: tuple[str, ...], code: str
) -> Callable[..., Any]:
    found = importlib.import_module(f"numbagrad.{module}")
    if module.startswith("native."):
        return getattr(found, function)
    return _declared(found.__name__, function, (signature, fastmath, code))


def compile_ahead(kernel: Kernel) -> tuple[str, bytes]:
    """The content and the object file of a kernel for :func:`loader.target`.

    That CPU need not be this one.

    ``kernel`` is what a listener was given, in whatever process.
    """
    content, function = _described(kernel)
    key = key_of(content)
    data = cache().read(key)
    return content, _compiled(key, kernel, function) if data is None else data


def _described(kernel: Kernel) -> tuple[str, Callable[[], Callable[..., Any]]]:
    """The content of a kernel of whatever process, and what returns its function."""
    options = kernel.signature, kernel.fastmath, kernel.code
    if kernel.source is not None:
        content = generated_content(kernel.name, kernel.source, *options)
        return content, functools.partial(_function, key_of(content), kernel.source)
    module = (kernel.module or "").removeprefix("numbagrad.")
    content = _hand_written_content(module, kernel.name, *options)
    return content, functools.partial(_hand_written_function, module, kernel.name, *options)


def object_of(key: str, kernel: Kernel) -> bytes:
    """The object file of a kernel that another process knows by this key.

    Raises:
        RuntimeError: if it is another kernel here, as after an edit of its source.
    """
    content, data = compile_ahead(kernel)
    if key_of(content) != key:
        raise RuntimeError(f"{kernel.name} is another kernel in the process that asks for it")
    return data


# Kernels that Python calls are the same machine code as those of the executor.
addresses.find_kernel = hand_written

#: Kernels that others call by name, by room and function.
SHARED = (("kernels.pointwise.rows", "row_steps"), ("kernels.pointwise.rows", "row_starts"))


def _shared(room: str, name: str) -> int:
    """Address of a kernel that others call: a part of those, which nobody looks up or counts."""
    wanted = HandWritten(room, name, loader.SHARED_SIGNATURE)
    content = _hand_written_content(*wanted)
    with lock:
        address = _load(content, _symbol(name))
        if address is None:
            kernel, python = (
                _hand_written_kernel(*wanted),
                functools.partial(_hand_written_function, *wanted),
            )
            with capture.unheard(), uninterrupted():
                address = loader.load(_compiled(key_of(content), kernel, python), _symbol(name))
    return address


loader.find_shared = _shared


def shared_kernels() -> list[Kernel]:
    """The kernels of :data:`SHARED`, for what compiles kernels ahead."""
    return [_hand_written_kernel(*HandWritten(*each, loader.SHARED_SIGNATURE)) for each in SHARED]


def _declared(module: str, name: str, options: tuple[Any, ...]) -> Callable[..., Any]:
    """The function of a kernel, which is to be compiled as its decorator says."""
    from ...codegen.kernel import kernels_of  # which processes without a miss do without

    kernel = kernels_of(module)[name]
    declared = kernel.signature, kernel.fastmath, kernel.code
    if declared != options:
        raise RuntimeError(f"{kernel!r} is declared with {declared}, and asked for with {options}")
    return kernel.py_func


def generated(
    name: str,
    source: str,
    signature: str = UNIFORM,
    fastmath: tuple[str, ...] = ("contract",),
    code: str = "formula",
) -> int:
    """Address of the function ``kernel`` that ``source`` defines, compiled for ``signature``.

    ``code`` says which passes it is worth (see ``compiler.py``). The source is kept beside the
    object, so that it can be read and stepped through.
    """
    content = generated_content(name, source, signature, fastmath, code)
    key = key_of(content)
    python = functools.partial(_function, key, source)
    kernel = Kernel(name, "compiled", signature, source, None, None, fastmath, code)
    address = _address(content, kernel, python)
    if listener is not None:
        path, origin = cache().source_path(key), _origins[_key_here(key)]
        listener(dataclasses.replace(kernel, origin=origin, path=path))
    return address


def source_key(
    name: str,
    source: str,
    signature: str = UNIFORM,
    fastmath: tuple[str, ...] = ("contract",),
    code: str = "formula",
) -> str:
    """The key under which a generated kernel is kept. Comments are no part of it."""
    return key_of(generated_content(name, source, signature, fastmath, code))


def _function(key: str, source: str) -> Callable[..., None]:
    path = str(cache().write_source(key, source))
    linecache.cache[path] = (len(source), None, source.splitlines(True), path)
    namespace: dict[str, Callable[..., None]] = {}
    exec(compile(source, path, "exec"), namespace)
    return namespace["kernel"]
