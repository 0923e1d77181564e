"""Entries of reductions, statistics, scans and orders."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from operator_rows import (
    normal,
    row,
    same_function,
    softmax,
    with_positions,
)

for _case, _dims, _options in [
    ("all", (), {}),
    ("one", (1,), {}),
    ("last", (-1,), {"keepdim": True}),
    ("two", ((0, 2),), {}),
]:
    _axis = {"axis": _dims[0] if _dims else None, "keepdims": _options.get("keepdim", False)}
    row(
        "sum",
        same_function("sum", *_dims, **_options),
        normal(2, 3, 4),
        functools.partial(np.sum, **_axis),
        case=_case,
    )
    row(
        "mean",
        same_function("mean", *_dims, **_options),
        normal(2, 3, 4),
        functools.partial(np.mean, **_axis),
        case=_case,
        dtypes="float",
    )

# Ties make places ambiguous, so what returns places is tested on floats alone.

for _name, _numpy in [("all", np.all), ("any", np.any), ("count_nonzero", np.count_nonzero)]:
    row(_name, same_function(_name), normal(2, 3), _numpy, differentiable=False)
    row(_name, same_function(_name, 1), normal(2, 3, 2), functools.partial(_numpy, axis=1),
        case="dim", differentiable=False)  # fmt: skip
for _name, _numpy in [("prod", np.prod), ("amax", np.max), ("amin", np.min)]:
    row(_name, same_function(_name), normal(2, 3), _numpy, dtypes="number")
    row(_name, same_function(_name, 1), normal(2, 3, 2), functools.partial(_numpy, axis=1),
        case="dim", dtypes="number")  # fmt: skip
for _name, _numpy in [("nansum", np.nansum), ("nanmean", np.nanmean)]:
    row(_name, same_function(_name, 1), normal(2, 3), functools.partial(_numpy, axis=1),
        dtypes="float")  # fmt: skip
for _name, _numpy, _position, _pairwise in [
    ("max", np.max, np.argmax, np.maximum),
    ("min", np.min, np.argmin, np.minimum),
]:
    row(_name, same_function(_name), normal(2, 3), _numpy, dtypes="number")
    row(_name, same_function(_name, 1), normal(2, 5), with_positions(_numpy, _position),
        case="dim", dtypes="float")  # fmt: skip
    row(_name, same_function(_name), (normal(2, 3), normal(3)), _pairwise,
        case="two", dtypes="float")  # fmt: skip
    row(f"arg{_name}", same_function(f"arg{_name}", 1), normal(3, 4),
        functools.partial(_position, axis=1), dtypes="float", differentiable=False)  # fmt: skip
row("aminmax", same_function("aminmax", dim=1), normal(2, 3), lambda x: (x.min(1), x.max(1)),
    dtypes="number")  # fmt: skip
row("median", same_function("median"), normal(7), np.median, dtypes="float")
row("median", same_function("median", 1), normal(2, 5),
    lambda x: (np.median(x, 1), np.argsort(x, 1)[:, 2]), case="dim", dtypes="float")  # fmt: skip
row("nanmedian", same_function("nanmedian"), normal(7), np.nanmedian, dtypes="float")

_statistic = functools.partial(row, dtypes="float", tolerance=1e-5)
for _name, _numpy in [("var", np.var), ("std", np.std)]:
    _statistic(_name, same_function(_name), normal(2, 3), functools.partial(_numpy, ddof=1))
    _statistic(_name, same_function(_name, 1, correction=0, keepdim=True), normal(2, 4),
               functools.partial(_numpy, axis=1, keepdims=True), case="dim")  # fmt: skip
    _statistic(f"{_name}_mean", same_function(f"{_name}_mean", 0), normal(3, 2),
               lambda x, _numpy=_numpy: (_numpy(x, 0, ddof=1), x.mean(0)))  # fmt: skip
_statistic("logsumexp", same_function("logsumexp", 1), normal(2, 4),
           lambda x: np.log(np.exp(x).sum(1)))  # fmt: skip
_statistic("norm", same_function("norm"), normal(2, 4), np.linalg.norm)
for _order in (2, 1, 3.5, 0, float("inf"), -float("inf")):
    _statistic("norm", same_function("norm", _order, 1), normal(2, 4),
               lambda x, _order=_order: np.linalg.norm(x, _order, 1), case=str(_order))  # fmt: skip


_statistic("softmax", same_function("softmax", 1), normal(2, 4), softmax)
_statistic("softmax", same_function("softmax", 1), normal(2, 3, 2), softmax, case="middle")
_statistic("log_softmax", same_function("log_softmax", 1), normal(2, 4),
           lambda x: np.log(softmax(x)))  # fmt: skip

# Scans

row("cumsum", same_function("cumsum", 1), normal(2, 4), lambda x: np.cumsum(x, 1), tolerance=1e-5)
row("cumprod", same_function("cumprod", 1), normal(2, 4), lambda x: np.cumprod(x, 1),
    tolerance=1e-5)  # fmt: skip
row("logcumsumexp", same_function("logcumsumexp", 1), normal(2, 4),
    lambda x: np.log(np.cumsum(np.exp(x), 1)), dtypes="float", tolerance=1e-5)  # fmt: skip


def _extreme_so_far(extreme: Any) -> Callable[..., Any]:
    """The running extreme along dimension 1, and where it was found."""

    def reference(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        best = extreme.accumulate(x, 1)
        return best, np.maximum.accumulate(np.where(x == best, np.arange(x.shape[1]), 0), 1)

    return reference


row("cummax", same_function("cummax", 1), normal(2, 5), _extreme_so_far(np.maximum), dtypes="float")
row("cummin", same_function("cummin", 1), normal(2, 5), _extreme_so_far(np.minimum), dtypes="float")

# Order

row("sort", same_function("sort", 1), normal(2, 5), with_positions(np.sort, np.argsort),
    dtypes="float")  # fmt: skip
row("sort", same_function("sort", 1, True), normal(2, 5),
    lambda x: (np.sort(x, 1)[:, ::-1], np.argsort(x, 1)[:, ::-1]),
    case="descending", dtypes="float")  # fmt: skip
row("msort", same_function("msort"), normal(5, 2), lambda x: np.sort(x, 0))
row("argsort", same_function("argsort", 1), normal(2, 5), lambda x: np.argsort(x, 1),
    dtypes="float", differentiable=False)  # fmt: skip
row("topk", same_function("topk", 2), normal(2, 5),
    lambda x: (np.sort(x, 1)[:, :2:-1], np.argsort(x, 1)[:, :2:-1]), dtypes="float")  # fmt: skip
row("kthvalue", same_function("kthvalue", 2, 1), normal(2, 5),
    lambda x: (np.sort(x, 1)[:, 1], np.argsort(x, 1)[:, 1]), dtypes="float")  # fmt: skip

# Differences, order and counts

row("diff", same_function("diff"), normal(2, 5), np.diff)
row("diff", same_function("diff", 2, 0), normal(4, 3), lambda x: np.diff(x, 2, 0), case="twice",
    dtypes="number")  # fmt: skip
row("diff", lambda t, x, y: t.diff(x, prepend=y, append=y), (normal(2, 3), normal(2, 1)),
    lambda x, y: np.diff(x, prepend=y, append=y), case="ends", dtypes="number")  # fmt: skip
row("mode", lambda t, x: t.mode(x - x % 1, 1), normal(2, 9),
    lambda x: _modes(np.floor(x)), dtypes="float")  # fmt: skip
row("quantile", same_function("quantile", 0.3), normal(3, 4), lambda x: np.quantile(x, 0.3),
    dtypes="matrix", tolerance=1e-5)  # fmt: skip
for _how in ("linear", "lower", "higher", "midpoint", "nearest"):
    row("quantile",
        lambda t, x, _how=_how: t.quantile(
            x, t.tensor([0.15, 0.5, 0.9], dtype=x.dtype), 1, interpolation=_how),
        normal(2, 5), lambda x, _how=_how: np.quantile(x, [0.15, 0.5, 0.9], 1, method=_how),
        case=_how, dtypes="matrix", tolerance=1e-5)  # fmt: skip


def _modes(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The most frequent number of each row, the least of several, and where it occurs last."""
    values, positions = [], []
    for numbers in rows:
        distinct, counts = np.unique(numbers, return_counts=True)
        values.append(distinct[counts.argmax()])
        positions.append(np.flatnonzero(numbers == values[-1])[-1])
    return np.array(values), np.array(positions)


row("bincount", lambda t, x: t.bincount(abs(x), minlength=9), normal(7),
    lambda x: np.bincount(abs(x), minlength=9), dtypes="integer", differentiable=False)  # fmt: skip
row("histc", same_function("histc", 4, -2, 2), normal(20),
    lambda x: np.histogram(x, 4, (-2, 2))[0].astype(x.dtype), dtypes="matrix",
    differentiable=False)  # fmt: skip
row("isin", lambda t, x: t.isin(x, x[:2]), normal(5), lambda x: np.isin(x, x[:2]),
    dtypes="number", differentiable=False)  # fmt: skip
