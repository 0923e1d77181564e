"""Values of the threads of a block, combined: within warps by exchange, then over warps.

A thread meets the one whose number differs in one bit, for each bit in turn, so all end with the
same and the order follows from the number of threads alone. All threads of a block have to come.
"""

from __future__ import annotations

from collections.abc import Mapping

from .text import indented


def exchanging(others: Mapping[str, str], then: list[str], lanes: int) -> list[str]:
    """For each bit of a thread's number in a warp: what another has (a name for each), and then."""
    lines: list[str] = []
    distance = lanes // 2
    while distance:
        lines += [f"{x} = exchanged({own}, {distance})" for x, own in others.items()]
        lines += then
        distance //= 2
    return lines


def through_shared_memory(kept: Mapping[str, str], lanes: int, warps: int) -> list[str]:
    """Give each thread the values of one warp, by an array of shared memory for each variable.

    A barrier comes first: somebody may still read what lay there.
    """
    if warps == 1:
        return []
    return [
        "cuda.syncthreads()",
        f"if thread % {lanes} == 0:",
        *indented(1, [f"{array}[thread // {lanes}] = {x}" for x, array in kept.items()]),
        "cuda.syncthreads()",
        *[f"{x} = {array}[thread % {warps}]" for x, array in kept.items()],
    ]


def within_warp(variable: str, combine: str, lanes: int) -> list[str]:
    """Statements after which a variable is what so many neighbours have, combined."""
    return exchanging({"other": variable}, [f"{variable} = {combine}({variable}, other)"], lanes)


def joined(variable: str, combine: str, threads: int, lanes: int) -> list[str]:
    """Statements after which a variable is what all threads of the block have, combined.

    ``parts`` is shared memory with a place for each warp.
    """
    warps = threads // lanes
    return [
        *within_warp(variable, combine, lanes),
        *through_shared_memory({variable: "parts"}, lanes, warps),
        *within_warp(variable, combine, warps),
    ]
