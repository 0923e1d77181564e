"""The check of a new program: run once on copies of what the call was given, it has to do the same.

Called by ``recording.py``. An operator that went past the recorder does not survive this.
"""

from __future__ import annotations

import numpy as np

from ..executor.program.graph import Array, Call
from ..executor.program.program import Program, as_view
from ..executor.program.recorder import Recorder
from .effects import Unusable
from .snapshot import Snapshot


def verify(
    program: Program, recorder: Recorder, before: Snapshot, copies: dict[int, Array]
) -> None:
    """Compare what the program does with what the recorded call did.

    Args:
        program: the program, which was not run yet.
        recorder: what recorded the call.
        before: the tensors before the call.
        copies: the memory that the program is given, as it was, by the id of its owner.
    """
    known = {id(view.memory.array) for view in program.given} | recorder.managed
    for root in before.roots:
        if id(root) not in known and not np.array_equal(root, copies[id(root)], _nan(root)):
            raise Unusable(f"a write to an array of shape {root.shape} that no kernel did")
    if any([isinstance(x, Call) and x.effect for x in program.operations]):
        return  # it draws random numbers: others than the call drew
    roots = [copies[id(view.memory.array)] for view in program.given]
    arrays = [as_view(root, view) for root, view in zip(roots, program.given, strict=True)]
    results = program.run(arrays, numbers=recorder.drawn)
    pairs = [(view.memory.array, root) for view, root in zip(program.given, roots, strict=True)]
    pairs += [(m.array, made) for m, made in zip(program.results, results, strict=True)]
    for expected, found in pairs:
        if not _agree(expected, found):
            raise Unusable(
                "a difference between the program and the call it was recorded from: something "
                f"that the program does not know of wrote an array of shape {expected.shape}"
            )


def _nan(array: Array) -> bool:
    """Whether elements of an array may be NaN."""
    return array.dtype.kind == "f"


def _agree(expected: Array, found: Array) -> bool:
    """Whether two arrays are equal but for rounding, which a fused program does differently."""
    if expected.dtype.kind != "f":
        return bool(np.array_equal(expected, found))
    with np.errstate(all="ignore"):
        scale = np.nanmax(np.abs(expected[np.isfinite(expected)]), initial=0.0)
        near = np.isclose(found, expected, rtol=1e-2, atol=1e-3 * scale, equal_nan=True)
    return bool(near.all())


__all__ = ["verify"]
