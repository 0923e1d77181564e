"""Kernels by description: found in memory, loaded from disk, or compiled, in that order.

Called by everything that runs a kernel. ``generated`` takes source text, ``hand_written`` names a
function of ``numbagrad/kernels``. Both return the address of a function that lives as long as the
process, and count what they did in :func:`stats`.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib
import importlib.util
import linecache
import pathlib
import threading
import time
import warnings
from collections.abc import Callable

from .._version import __version__
from ..kernels import loader
from .cache import ObjectCache, default_directory

#: Signature of a kernel: address of packed arguments, and a range of work.
UNIFORM = "void(int64, int64, int64)"

#: Compiled functions are never freed, so a program that keeps making new ones is told.
KERNEL_BOUND = 10_000


@dataclasses.dataclass
class Statistics:
    """What the executor did in this process."""

    compiled: int = 0
    loaded: int = 0
    hits: int = 0
    seconds: float = 0.0


_statistics = Statistics()
_addresses: dict[str, int] = {}
_lock = threading.RLock()


def stats() -> Statistics:
    """Kernels compiled, loaded from disk and found in memory, and the seconds that took."""
    return dataclasses.replace(_statistics)


@functools.lru_cache(maxsize=1)
def cache() -> ObjectCache:
    """The disk cache of this process; its folder is decided at first use."""
    return ObjectCache(default_directory())


@functools.lru_cache(maxsize=1)
def _environment() -> str:
    """What decides the machine code beside the source: CPU, versions, and our kernel files."""
    import llvmlite

    digest = hashlib.sha256()
    digest.update("\n".join((*loader.host_cpu(), llvmlite.__version__, __version__)).encode())
    digest.update(_numba_version())
    for path in sorted((pathlib.Path(__file__).parent.parent / "kernels").glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _numba_version() -> bytes:
    """Numba's version without importing Numba (or its metadata, which is slower to read)."""
    found = importlib.util.find_spec("numba")
    if found is not None and found.origin is not None:
        path = pathlib.Path(found.origin).with_name("_version.py")
        if path.exists():
            return path.read_bytes()
    from importlib import metadata

    return metadata.version("numba").encode()


def _key(*parts: str) -> str:
    digest = hashlib.sha256(_environment().encode())
    for part in parts:
        digest.update(b"\0" + part.encode())
    return digest.hexdigest()[:40]


def _address(key: str, symbol: str, compile_object: Callable[[], bytes]) -> int:
    with _lock:
        address = _addresses.get(key)
        if address is not None:
            _statistics.hits += 1
            return address
        start = time.perf_counter()
        data = cache().read(key)
        if data is None:
            data = compile_object()
            cache().write(key, data)
            _statistics.compiled += 1
        else:
            _statistics.loaded += 1
        address = _addresses[key] = loader.load(data, symbol)
        _statistics.seconds += time.perf_counter() - start
        if len(_addresses) == KERNEL_BOUND * 9 // 10:
            warnings.warn(
                f"this process holds {len(_addresses)} compiled kernels, which are never freed; "
                "something makes a new signature again and again",
                RuntimeWarning,
                stacklevel=3,
            )
        return address


def _symbol(name: str) -> str:
    return f"numbagrad_{name}"


def hand_written(
    module: str, function: str, signature: str = UNIFORM, fastmath: tuple[str, ...] = ("contract",)
) -> int:
    """Address of ``function`` of ``numbagrad.kernels.<module>``, compiled for ``signature``."""
    symbol = _symbol(function)

    def compile_object() -> bytes:
        from ..kernels.compiler import compile_to_object

        python = getattr(importlib.import_module(f"numbagrad.kernels.{module}"), function)
        python = getattr(python, "py_func", python)
        return compile_to_object(python, signature, symbol, fastmath)

    key = _key("hand written", module, function, signature, *fastmath)
    return _address(key, symbol, compile_object)


def generated(
    name: str, source: str, signature: str = UNIFORM, fastmath: tuple[str, ...] = ("contract",)
) -> int:
    """Address of the function ``kernel`` that ``source`` defines, compiled for ``signature``.

    The source is kept beside the object, so that it can be read and stepped through.
    """
    symbol = _symbol(name)

    def compile_object() -> bytes:
        from ..kernels.compiler import compile_to_object

        return compile_to_object(_function(key, source), signature, symbol, fastmath)

    key = source_key(name, source, signature, fastmath)
    return _address(key, symbol, compile_object)


def source_key(
    name: str, source: str, signature: str = UNIFORM, fastmath: tuple[str, ...] = ("contract",)
) -> str:
    """The key under which a generated kernel is kept."""
    return _key("generated", name, source, signature, *fastmath)


def _function(key: str, source: str) -> Callable[..., None]:
    path = str(cache().write_source(key, source))
    linecache.cache[path] = (len(source), None, source.splitlines(True), path)
    namespace: dict[str, Callable[..., None]] = {}
    exec(compile(source, path, "exec"), namespace)
    return namespace["kernel"]
