"""A kernel before it is compiled: its text, and the number of threads of a block.

Every kernel is a function ``kernel`` of int64 words: addresses, sizes, strides in bytes, and the
bits of numbers. Arguments are therefore one packed array, whoever launches. The text is Python; it
uses the names of ``language`` (``load``, ``store``, ``fma``, ...), and ``cuda`` for the indices of
threads, shared memory and barriers. Other functions that the text defines are called by ``kernel``.
"""

from __future__ import annotations

import dataclasses
import functools
import re


@dataclasses.dataclass(frozen=True)
class Source:
    """A kernel: a name for people, its text, and the threads of a block.

    Attributes:
        text: the definition of ``kernel``, and before that of functions it calls.
        threads: how many threads a block has; the text may rely on it.
    """

    name: str
    text: str
    threads: int

    @functools.cached_property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters, in their order."""
        found = re.search(r"^def kernel\((.*?)\):", self.text, re.M | re.S)
        assert found is not None, self.text
        return tuple([x.strip() for x in found[1].split(",") if x.strip()])

    @property
    def functions(self) -> tuple[str, ...]:
        """The names of the functions of the text that ``kernel`` calls."""
        names = re.findall(r"^def (\w+)\(", self.text, re.M)
        return tuple([x for x in names if x != "kernel"])
