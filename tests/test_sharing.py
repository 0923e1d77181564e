"""Which forms may share memory: never two that do are told apart."""

from __future__ import annotations

import numpy as np
import pytest

from numbagrad.executor.plan.sharing import apart_or_same, extent, may_overlap, meet
from numbagrad.executor.plan.views import Memory, View, overlap

WHOLE = np.arange(6 * 8, dtype=np.float32).reshape(6, 8)
PARTS = {
    "whole": WHOLE, "transposed": WHOLE.T, "rows": WHOLE[1:3], "later rows": WHOLE[3:],
    "columns": WHOLE[:, :3], "later columns": WHOLE[:, 3:], "every other": WHOLE[:, ::2],
    "the others": WHOLE[:, 1::2], "backwards": WHOLE[::-1, ::-1], "one": WHOLE[2, 3:4],
    "none": WHOLE[2:2], "expanded": np.broadcast_to(WHOLE[:, :1], (6, 8)),
    "halves": WHOLE.view(np.float16)[:, 6:7],
}  # fmt: skip


@pytest.mark.parametrize("first", PARTS)
def test_what_shares_a_byte_is_never_apart(first):
    start = WHOLE.__array_interface__["data"][0]
    memory = Memory(WHOLE, made=False)
    for name, other in PARTS.items():
        array = PARTS[first]
        shares = np.shares_memory(array, other)
        positions = [x.__array_interface__["data"][0] - start for x in (array, other)]
        views = [
            View(memory, position, x.shape, x.strides, x.dtype)
            for position, x in zip(positions, (array, other), strict=True)
        ]
        assert meet(extent(array), extent(other)) == np.may_share_memory(array, other), name
        assert may_overlap(array, other, *positions) == overlap(*views), name
        assert overlap(*views) or not shares, name
        assert apart_or_same(array, other) == (
            array is other or not meet(extent(array), extent(other))
        )


def test_columns_of_one_memory_are_apart():
    memory = Memory(WHOLE, made=False)
    left = View(memory, 0, (6, 3), (32, 4), WHOLE.dtype)
    right = View(memory, 12, (6, 5), (32, 4), WHOLE.dtype)
    assert not overlap(left, right) and overlap(left, left)
    assert not overlap(left, View(Memory(WHOLE.copy(), True), 0, (6, 3), (32, 4), WHOLE.dtype))
