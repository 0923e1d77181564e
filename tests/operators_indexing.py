"""Entries of operators that read or write at indices."""

from __future__ import annotations

import numpy as np
from operator_rows import (
    changed,
    condition,
    normal,
    row,
    same_function,
)

_rows = [2, 0, 2]
_positions = [[0, 2], [1, 1], [2, 0]]
_mask = condition(3, 4)
row("index_select", lambda t, x: t.index_select(x, 1, t.tensor(_rows)), normal(2, 3),
    lambda x: x[:, _rows])  # fmt: skip
row("gather", lambda t, x: t.gather(x, 1, t.tensor(_positions)), normal(3, 3),
    lambda x: np.take_along_axis(x, np.array(_positions), 1))  # fmt: skip
row("take_along_dim", lambda t, x: t.take_along_dim(x, t.tensor(_positions), 1), normal(3, 3),
    lambda x: np.take_along_axis(x, np.array(_positions), 1))  # fmt: skip
row(
    "take",
    lambda t, x: t.take(x, t.tensor(_positions)),
    normal(3, 3),
    lambda x: x.ravel()[_positions],
)
row("masked_select", same_function("masked_select"), (normal(3, 4), _mask), lambda x, m: x[m])
row("getitem", lambda t, x: x[1:, ::2], normal(3, 4), lambda x: x[1:, ::2], case="slices")
row("getitem", lambda t, x: x[..., None, -1], normal(3, 4), lambda x: x[..., None, -1],
    case="ellipsis")  # fmt: skip
row("getitem", lambda t, x: x[t.tensor(_rows)], normal(3, 4), lambda x: x[_rows], case="rows")
row("getitem", lambda t, x: x[t.tensor(_rows), :, t.tensor([1, 1, 0])], normal(3, 2, 2),
    lambda x: x[_rows, :, [1, 1, 0]], case="apart")  # fmt: skip
row("getitem", lambda t, x, m: x[m], (normal(3, 4), condition(3)), lambda x, m: x[m], case="mask")
row("nonzero", same_function("nonzero"), _mask, np.argwhere, differentiable=False,
    dtypes="integral")  # fmt: skip
row("argwhere", same_function("argwhere"), _mask, np.argwhere, differentiable=False,
    dtypes="integral")  # fmt: skip
row("embedding", lambda t, weight: t.embedding(weight, t.tensor(_positions)), normal(3, 4),
    lambda weight: weight[_positions], dtypes="float")  # fmt: skip

_distinct = [[0, 2], [1, 0], [2, 0]]
_at = (np.arange(3)[:, None], np.array(_positions))
_columns = (slice(None), [2, 0])
row("scatter", lambda t, x, y: t.scatter(x, 1, t.tensor(_distinct), y),
    (normal(3, 3), normal(3, 2)),
    changed(lambda x, y: np.put_along_axis(x, np.array(_distinct), y, 1)))  # fmt: skip
row("scatter_add", lambda t, x, y: t.scatter_add(x, 1, t.tensor(_positions), y),
    (normal(3, 3), normal(3, 2)), changed(lambda x, y: np.add.at(x, _at, y)),
    dtypes="number")  # fmt: skip
for _reduce, _numpy in [("sum", np.add), ("prod", np.multiply), ("amax", np.maximum),
                        ("amin", np.minimum)]:  # fmt: skip
    row("scatter_reduce",
        lambda t, x, y, _reduce=_reduce: t.scatter_reduce(x, 1, t.tensor(_positions), y, _reduce),
        (normal(3, 3), normal(3, 2)),
        changed(lambda x, y, _numpy=_numpy: _numpy.at(x, _at, y)),
        case=_reduce, dtypes="number")  # fmt: skip
row("index_add", lambda t, x, y: t.index_add(x, 1, t.tensor(_rows), y),
    (normal(2, 3), normal(2, 3)),
    changed(lambda x, y: np.add.at(x, (slice(None), _rows), y)), dtypes="number")  # fmt: skip
for _reduce, _numpy in [("prod", np.multiply), ("amax", np.maximum), ("amin", np.minimum)]:
    row("index_reduce",
        lambda t, x, y, _reduce=_reduce: t.index_reduce(x, 1, t.tensor(_rows), y, _reduce),
        (normal(2, 3), normal(2, 3)),
        changed(lambda x, y, _numpy=_numpy: _numpy.at(x, (slice(None), _rows), y)),
        case=_reduce, dtypes="number")  # fmt: skip
row("index_copy", lambda t, x, y: t.index_copy(x, 1, t.tensor([2, 0]), y),
    (normal(2, 3), normal(2, 2)), changed(lambda x, y: x.__setitem__(_columns, y)))  # fmt: skip
row("index_fill", lambda t, x: t.index_fill(x, 1, t.tensor([2, 0]), 1), normal(2, 3),
    changed(lambda x: x.__setitem__(_columns, 1)))  # fmt: skip
row("index_put", lambda t, x, y: t.index_put(x, (t.tensor([2, 0]),), y),
    (normal(3, 4), normal(2, 4)), changed(lambda x, y: x.__setitem__([2, 0], y)))  # fmt: skip
row("masked_scatter", same_function("masked_scatter"), (normal(3, 4), _mask, normal(12)),
    changed(lambda x, mask, y: x.__setitem__(mask, y[: mask.sum()])))  # fmt: skip

row("select_scatter", same_function("select_scatter", 1, -1), (normal(3, 4), normal(3)),
    changed(lambda x, y: x.__setitem__((slice(None), -1), y)))  # fmt: skip
row("slice_scatter", same_function("slice_scatter", 1, 1, 4, 2), (normal(3, 4), normal(3, 2)),
    changed(lambda x, y: x.__setitem__((slice(None), slice(1, 4, 2)), y)))  # fmt: skip
row("diagonal_scatter", same_function("diagonal_scatter", 1), (normal(3, 4), normal(3)),
    changed(lambda x, y: x.__setitem__(([0, 1, 2], [1, 2, 3]), y)))  # fmt: skip
