"""Source of pointwise kernels over complex numbers that lie next to each other in memory.

Called by the executor with the formula of both parts already printed as statements; returns the
text of a module with one function ``kernel(args, lo, hi)``, whose arguments are an address for each
operand that lies in memory of its own, in their order. Both parts of a number are read by one
address: LLVM takes whole vectors of them and shuffles these. By an address each, with strides, as
``source.py`` reads any layout, it takes them one by one.
"""

from __future__ import annotations

import dataclasses

from .. import layout
from .source import Body, Operand, _imports, load_operand, store_operand

__all__ = ["Parts", "source"]


@dataclasses.dataclass(frozen=True)
class Parts:
    """An operand of real numbers, one or two of which are an element.

    ``names`` are the variables that they are in the formula: those of an output say how many there
    are. The layout is ``UNIT``, ``ZERO`` or ``ALIAS``, as of other kernels.
    """

    operand: Operand
    names: tuple[str, ...]

    def places(self) -> list[str]:
        """Where the numbers of element ``i`` are, counted in numbers."""
        position = "0" if self.operand.layout == layout.ZERO else "i"
        count = len(self.names)
        return [f"{count} * {position} + {k}" if count > 1 else position for k in range(count)]


def source(
    name: str,
    inputs: list[Parts],
    output: Parts,
    compute_dtype: str,
    body: Body,
    booleans: frozenset[str],
) -> str:
    """The module of a kernel; ``body`` and ``booleans`` are as for those of real numbers."""
    described = ", ".join([f"{x.operand.name} {x.operand.dtype}" for x in (*inputs, output)])
    text = [f"# {name}: {described} in pairs, computed in {compute_dtype}", *_imports([body])]
    text += ["", "", "def kernel(args, lo, hi):"]
    own = [x.operand.name for x in (*inputs, output) if x.operand.layout != layout.ALIAS]
    text += [f"    at_{x} = load(args, {word}, int64)" for word, x in enumerate(own)]
    once, loop = [], ["for i in range(lo, hi):"]
    for x in inputs:
        for variable, place in zip(x.names, x.places(), strict=True):
            kind = "bool" if variable in booleans else compute_dtype
            line = f"{variable} = {load_operand(x.operand, kind, place)}"
            if x.operand.layout == layout.ZERO:
                once.append(line)
            else:
                loop.append(f"    {line}")
    loop += [f"    {line}" for line in body.lines]
    for result, place in zip(body.results, output.places(), strict=True):
        loop.append(f"    {store_operand(output.operand, result, index=place)}")
    return "\n".join([*text, *[f"    {line}" for line in (*once, *loop)], ""])
