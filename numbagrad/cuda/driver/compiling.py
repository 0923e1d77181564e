"""From the text of a kernel to PTX and machine code. Needs Numba's CUDA packages, and no GPU.

Machine code is kept on disk with the CPU's objects (``executor/cache/disk.py``), under a key of
all that decides it: the text, the language, the architecture and the versions of the compilers.
"""

from __future__ import annotations

import functools
import hashlib
import linecache
import pathlib
import re
from importlib import metadata
from typing import Any

from numba import cuda
from numba.cuda import types

from ...executor.cache import library
from . import language
from .source import Source

Architecture = tuple[int, int]


def compile_to_ptx(source: Source, architecture: Architecture) -> tuple[str, str]:
    """The PTX of a kernel for an architecture as (9, 0), and the name of its entry."""
    text, _ = cuda.compile_ptx(*prepared(source), cc=architecture)
    found = re.search(r"\.entry\s+([\w$]+)", text)
    if found is None:
        raise RuntimeError(f"the PTX of {source.name} has no entry:\n{text}")
    return text, found[1]


def prepared(source: Source) -> tuple[Any, Any]:
    """The function of a kernel as Numba compiles it, and its signature."""
    digest = hashlib.sha256(source.text.encode()).hexdigest()[:12]
    path = f"<cuda {source.name} {digest}>"
    linecache.cache[path] = (len(source.text), None, source.text.splitlines(True), path)
    names: dict[str, Any] = dict(language.NAMES)
    exec(compile(source.text, path, "exec"), names)
    for name in source.functions:
        # What a kernel calls becomes part of it before types are known.
        names[name] = cuda.jit(device=True, inline="always")(names[name])
    return names["kernel"], types.void(*[types.int64] * len(source.parameters))


def compile_to_cubin(source: Source, architecture: Architecture) -> tuple[bytes, str]:
    """The machine code of a kernel for an architecture, and the name of its entry; kept on disk."""
    key = cubin_key(source, architecture)
    kept = library.cache().read(key)
    if kept is not None:
        name, _, code = kept.partition(b"\0")
        return code, name.decode()
    text, entry = compile_to_ptx(source, architecture)
    code = link(text, architecture)
    library.cache().write(key, entry.encode() + b"\0" + code)
    return code, entry


def link(ptx: str, architecture: Architecture) -> bytes:
    """The machine code of PTX, by nvJitLink."""
    from cuda.core import Linker, LinkerOptions, ObjectCode

    major, minor = architecture
    options = LinkerOptions(arch=f"sm_{major}{minor}")
    linked = Linker(ObjectCode.from_ptx(ptx.encode()), options=options).link("cubin")
    return bytes(linked.code)


def cubin_key(source: Source, architecture: Architecture) -> str:
    """The key of a kernel in the cache on disk."""
    digest = hashlib.sha256(_environment())
    for part in (source.text, source.threads, *architecture):
        digest.update(b"\0" + str(part).encode())
    return f"cuda-{digest.hexdigest()[:40]}"


@functools.cache
def _environment() -> bytes:
    """The part of a key beside the text: the language, and versions of compilers."""
    digest = hashlib.sha256()
    for module in (language.__file__, __file__):
        digest.update(pathlib.Path(module).read_bytes())
    for package in ("numba-cuda", "llvmlite", "nvidia-nvvm", "nvidia-nvjitlink"):
        try:
            version = metadata.version(package)
        except metadata.PackageNotFoundError:  # from a toolkit that lies elsewhere
            version = "toolkit"
        digest.update(f"{package} {version}\n".encode())
    return digest.digest()
