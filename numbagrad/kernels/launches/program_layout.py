"""The tables of a program, for Python that fills them and the compiled code that runs them.

This file must not import Numba.
"""

from __future__ import annotations

from ...codegen.record import Record, Word, list_of


class Launch(Record):
    """A kernel, its packed arguments and its work."""

    kernel = Word()
    arguments = Word()  # their address
    total = Word()  # units of work
    grain = Word()  # units that are worth a thread of their own


class Patch(Record):
    """An address that changes from run to run."""

    target = Word()  # where it is written
    argument = Word()  # which array it comes from
    offset = Word()  # bytes from the first element of that array


class ProgramTable(Record):
    """A program."""

    runtime = Word()  # as in every table of a launcher (``native/layout.py``)
    launches = list_of(Launch)
    patches = list_of(Patch)
    long = Word()  # 1 if the program is worth letting go of the GIL for
    failed = Word()  # number of the launch that failed, from 1 on; 0 if none did
    clock = Word()  # address of clock_gettime while the program is timed, or 0
    clock_id = Word()  # the clock it is asked for
    times = Word()  # where its answers go: before the first launch, and after each


class MayFail(Record):
    """The first words of a launch that may fail."""

    failed = Word()  # address of the word in which it notes that it did
    failure = Word()  # what it writes there
