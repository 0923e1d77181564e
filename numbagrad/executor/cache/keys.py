"""The keys of machine code in caches: digests of what a kernel is, and of what compiled it.

The *content* of a kernel is its description, the same on every CPU; its *key* holds the CPU and the
versions as well.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import pathlib

from ..._version import __version__
from ...codegen import loader
from ...interrupts import uninterrupted
from .sources import Sources, without_comments

__all__: list[str] = []

#: The texts of the kernels of the package, and of their compiler.
sources = Sources(pathlib.Path(__file__).parents[2])


@functools.cache
def environment_of(target: loader.Target) -> str:
    """The part of a key beside a kernel's own source: CPU, versions, the compiler."""
    with uninterrupted():
        import llvmlite

    digest = hashlib.sha256()
    cpu = target.triple, target.name, target.features
    digest.update("\n".join((*cpu, llvmlite.__version__, __version__)).encode())
    digest.update(_numba_version())
    digest.update(sources.compiler.encode())
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


def key_of(content: str) -> str:
    """The key of a kernel's machine code for the CPU that this process compiles for."""
    environment = environment_of(loader.target())
    return hashlib.sha256(f"{environment}\0{content}".encode()).hexdigest()[:40]


def shipped_key(content: str, level: str) -> str:
    """The key of machine code that comes with the package: whatever compiled it, it is tested."""
    words = "shipped", level, __version__, sources.compiler, content
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:40]


def content_of(*parts: str) -> str:
    """The digest of a kernel's description, the same on every CPU."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(b"\0" + part.encode())
    return digest.hexdigest()


def generated_content(
    name: str, source: str, signature: str, fastmath: tuple[str, ...], code: str = "formula"
) -> str:
    """The digest of a generated kernel: comments in its source are no part of it."""
    text = without_comments(source)
    return content_of("generated", name, code, text, sources.of_text(text), signature, *fastmath)
