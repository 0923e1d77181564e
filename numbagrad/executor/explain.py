"""``explain``: which kernels a call runs, what they were compiled for, and their source.

Part of the public interface, for people. It costs nothing when it is not used: it makes every
operator forget the kernels it knows, runs the call, and notes what is looked up again.
"""

from __future__ import annotations

import dataclasses
import textwrap
import threading
from collections.abc import Callable
from typing import Any

from .cache import library
from .cache.library import Kernel

_lock = threading.RLock()

#: Words of the signatures of generated kernels that need explaining.
_GLOSSARY = {
    "contiguous": "elements side by side along the innermost dimension; others may be broadcast",
    "repeated": "one element for the whole innermost dimension: a number, or broadcast",
    "strided": "elements at any distance",
    "in place": "read from where the result is written",
}


@dataclasses.dataclass(frozen=True)
class Explanation:
    """The kernels that a call used, in order of first use, and what the call returned.

    ``str()`` shows them with their sources; ``kernels`` holds them one by one.
    """

    call: str
    kernels: tuple[Kernel, ...]
    result: Any

    def __str__(self) -> str:
        return described_kernels(self.call, self.kernels)

    __repr__ = __str__


def described_kernels(call: str, kernels: tuple[Kernel, ...]) -> str:
    """The kernels that a call ran, with signatures, files and sources, as a text."""
    if not kernels:
        return f"{call} ran no kernels"
    count = len(kernels)
    parts = [f"{call} ran {count} kernel{'s' if count > 1 else ''}"]
    parts += [f"{k}. {_describe(kernel)}" for k, kernel in enumerate(kernels, 1)]
    text = "\n\n".join(parts)
    used = [word for word in _GLOSSARY if f" {word}" in text]
    return text + "\n" + "".join(f"\n{word}: {_GLOSSARY[word]}" for word in used)


def explain(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Explanation:
    """Call ``function`` and say which kernels ran: signature, source, and where they came from.

    The function may be an operator, as in ``explain(torch.mul, a, b)``, or hold many, backward
    included, as in ``explain(lambda: (a * b).sum().backward())``. A kernel that runs several times
    is shown once. Other threads should rest meanwhile, for their kernels would be shown as well.
    """
    seen: dict[Kernel, None] = {}

    def record(kernel: Kernel) -> None:
        launcher = not kernel.signature.startswith("void")
        if not launcher and kernel.module != "numbagrad.native.threads":
            seen.setdefault(kernel)

    with _lock:
        library.forget_lookups()
        library.listener = record
        try:
            result = function(*args, **kwargs)
        finally:
            library.listener = None
    name = getattr(function, "__name__", type(function).__name__)
    return Explanation(name, tuple(seen), result)


def _describe(kernel: Kernel) -> str:
    origin = {
        "compiled": "compiled by this process",
        "loaded": "loaded from the disk cache",
        "python": "run as Python",
    }
    if kernel.source is None:
        return (
            f"{kernel.name}, hand-written: {kernel.module}.{kernel.name}\n"
            f"   {origin[kernel.origin]} for {kernel.signature}"
        )
    header, _, body = kernel.source.partition("\n")
    signature = header.removeprefix("# ").removeprefix(f"{kernel.name}: ")
    written = kernel.path is not None and kernel.path.exists()
    position = f"source: {kernel.path}" if written else "its source could not be kept in a file"
    source = textwrap.indent(body.strip("\n"), "       ")
    return f"{kernel.name}: {signature}\n   {origin[kernel.origin]}; {position}\n\n{source}"
