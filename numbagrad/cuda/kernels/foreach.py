"""One formula over many groups of arrays at once: a step of an optimizer, for all parameters.

Where the arrays of each group lie is a table in device memory. A block takes pieces of groups, one
after another; all arrays of a group are contiguous, and of one size and dtype. Called by
``cuda/foreach.py``.
"""

from __future__ import annotations

from ..driver.source import Source
from .pointwise import NUMBER, Body, Operand, function_text, number_text
from .text import indented, loaded, stored

#: Entries of a group in the table before the addresses: its first piece, and its elements.
HEADER = 2


def source(
    name: str,
    dtype: str,
    arrays: int,
    inputs: tuple[Operand, ...],
    positions: tuple[int, ...],
    written: tuple[int, ...],
    body: Body,
    piece: int,
    threads: int,
) -> Source:
    """The kernel of a formula whose outputs are the arrays ``written`` of a group.

    Args:
        inputs: numbers, and arrays, in the order of the formula.
        places: for each input the number of its array in a group; -1 for a number.
    """
    row = HEADER + arrays
    parameters = ["at_table", "groups", "pieces"]
    parameters += [f"word_{o.name}" for o in inputs if o.walk == NUMBER]
    once = [f"{o.name} = {number_text(o, dtype)}" for o in inputs if o.walk == NUMBER]
    find = [
        "low, high = int64(0), groups",
        "while high - low > 1:",
        "    middle = (low + high) // 2",
        f"    if load(at_table, middle * {row}, int64) <= unit:",
        "        low = middle",
        "    else:",
        "        high = middle",
        f"first = (unit - load(at_table, low * {row}, int64)) * {piece}",
        f"last = min(first + {piece}, load(at_table, low * {row} + 1, int64))",
        *[f"at_{k} = load(at_table, low * {row} + {HEADER + k}, int64)" for k in range(arrays)],
    ]
    made = ", ".join([f"made_{k}" for k in range(len(written))])
    given = ", ".join([o.name for o in inputs])
    each = [
        *[f"{o.name} = {loaded(f'at_{position}, i', o.dtype, dtype)}"
          for o, position in zip(inputs, positions, strict=True) if o.walk != NUMBER],
        f"{made} = element({given})",
        *[stored(f"at_{position}, i", f"made_{k}", dtype) for k, position in enumerate(written)],
    ]  # fmt: skip
    text = [
        f"# {name} of {dtype}, of many groups of {arrays} arrays",
        function_text(list(inputs), body),
        "",
        f"def kernel({', '.join(parameters)}):",
        *indented(1, once),
        "    for unit in range(cuda.blockIdx.x, pieces, cuda.gridDim.x):",
        *indented(2, find),
        f"        for i in range(first + cuda.threadIdx.x, last, {threads}):",
        *indented(3, each),
        "",
    ]
    return Source(name, "\n".join(text), threads)
