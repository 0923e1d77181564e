"""Entries of special functions, differences and integrals, divisors, and replaced elements."""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

import numpy as np
from operator_entry import Input
from operator_rows import normal, positive, row, same_function

_floats = functools.partial(row, dtypes="matrix", tolerance=1e-5)


# --- special functions ----------------------------------------------------------------------------


def zeta(x: float, q: np.ndarray) -> np.ndarray:
    """Hurwitz' zeta function by a long sum and the first terms of what is left."""
    count = 2000
    total = sum((q + k) ** -x for k in range(count))
    end = q + count
    total = total + end ** (1 - x) / (x - 1) + 0.5 * end**-x + x / 12 * end ** (-x - 1)
    return np.asarray(total, q.dtype)


_floats("special_zeta", lambda t, q: t.special.zeta(2.5, q), positive(4), lambda q: zeta(2.5, q))
for _order in (3, 4):
    _floats("polygamma", lambda t, x, n=_order: t.polygamma(n, x), positive(4),
            lambda x, n=_order: (-1) ** (n + 1) * math.factorial(n) * zeta(n + 1, x),
            case=str(_order))  # fmt: skip
_gamma = np.vectorize(math.lgamma)
_floats("mvlgamma", same_function("mvlgamma", 3), Input((4,), ((1.5, 5.0),)),
        lambda x: np.asarray(1.5 * math.log(math.pi) + sum(_gamma(x - k / 2) for k in range(3)),
                             x.dtype))  # fmt: skip


# --- integrals and derivatives --------------------------------------------------------------------

for _dim in (0, 1):
    _floats("trapezoid", same_function("trapezoid", dx=0.5, dim=_dim), normal(3, 4),
            lambda y, dim=_dim: np.trapezoid(y, dx=0.5, axis=dim), case=f"step-{_dim}",
            covers=("trapz",))  # fmt: skip
_floats("trapezoid", same_function("trapezoid"), (normal(3, 4), normal(4)), np.trapezoid)
_floats("trapezoid", same_function("trapezoid", dim=0), (normal(3, 4), normal(3, 4)),
        lambda y, x: np.trapezoid(y, x, axis=0), case="positions")  # fmt: skip


def integrals(y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Sums of trapezoids."""
    return np.cumsum((x[1:] - x[:-1]) * (y[:, 1:] + y[:, :-1]) / 2, 1)


_floats("cumulative_trapezoid", same_function("cumulative_trapezoid"), (normal(3, 4), normal(4)),
        integrals)  # fmt: skip
_floats("cumulative_trapezoid", same_function("cumulative_trapezoid", dx=3.0), normal(3, 4),
        lambda y: integrals(y, 3.0 * np.arange(4)).astype(y.dtype), case="step")  # fmt: skip
for _edge in (1, 2):
    _floats("gradient", same_function("gradient", spacing=0.5, edge_order=_edge), normal(3, 4),
            lambda x, edge=_edge: tuple(np.gradient(x, 0.5, edge_order=edge)),
            case=f"all-{_edge}")  # fmt: skip
    _floats("gradient", lambda t, x, edge=_edge: t.gradient(
                x, spacing=[t.tensor([0.0, 1.0, 3.0, 3.5], dtype=x.dtype)], dim=1, edge_order=edge),
            normal(3, 4), lambda x, edge=_edge: (np.gradient(
                x, np.array([0.0, 1.0, 3.0, 3.5], x.dtype), axis=1, edge_order=edge),),
            case=f"places-{_edge}")  # fmt: skip


# --- integers and choices -------------------------------------------------------------------------

for _name in ("gcd", "lcm"):
    row(_name, same_function(_name), (normal(2, 3), normal(3)), getattr(np, _name),
        dtypes="integer", differentiable=False)  # fmt: skip
row("ldexp", lambda t, x, n: t.ldexp(x, n), (normal(5), Input((5,), fixed="int64")),
    lambda x, n: np.asarray(x * 2.0**n, x.dtype), dtypes="matrix")  # fmt: skip
row("frexp", lambda t, x: t.frexp(x)[0], normal(5), lambda x: np.frexp(x)[0], dtypes="matrix")
_any = functools.partial(row, dtypes="number")
_any("cartesian_prod", same_function("cartesian_prod"), (normal(2), normal(3)),
     lambda x, y: np.array(list(itertools.product(x, y))))  # fmt: skip
_any("combinations", same_function("combinations"), normal(4),
     lambda x: np.array(list(itertools.combinations(x, 2))))  # fmt: skip
_any("combinations", same_function("combinations", 3, True), normal(3),
     lambda x: np.array(list(itertools.combinations_with_replacement(x, 3))),
     case="repeated")  # fmt: skip

# --- replaced elements ----------------------------------------------------------------------------


def positions(t: Any) -> Any:
    """Places in a tensor of six elements, one counted from the end."""
    return t.tensor([0, 3, -1])


def put_by_numpy(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A copy with elements at these places."""
    made = x.copy()
    np.put(made, [0, 3, 5], y)
    return made


def scattered(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A copy with elements at the second and the fourth place."""
    made = x.copy()
    np.put(made, [1, 3], y)
    return made


_any("put", lambda t, x, y: t.put(x, positions(t), y), (normal(2, 3), normal(3)), put_by_numpy)
_any("put", lambda t, x, y: t.put(x, positions(t), y, accumulate=True), (normal(2, 3), normal(3)),
     lambda x, y: x + put_by_numpy(np.zeros_like(x), y), case="added")  # fmt: skip
_any("as_strided_scatter", lambda t, x, y: t.as_strided_scatter(x, y, (2,), (2,), 1),
     (normal(2, 3), normal(2)), lambda x, y: scattered(x, y))  # fmt: skip
_any("fill", same_function("fill", 3), normal(2, 3), lambda x: np.full_like(x, 3))
_floats("renorm", same_function("renorm", 2, 0, 2.5), normal(3, 4),
        lambda x: x * np.where((n := np.linalg.norm(x, axis=1, keepdims=True)) > 2.5,
                               2.5 / (n + 1e-7), 1))  # fmt: skip
_floats("renorm", same_function("renorm", 1, 1, 3.0), normal(3, 4),
        lambda x: x * np.where((n := np.abs(x).sum(0, keepdims=True)) > 3, 3 / (n + 1e-7), 1),
        case="columns")  # fmt: skip
_floats("norm_except_dim", same_function("norm_except_dim", 2, 1), normal(3, 4),
        lambda x: np.linalg.norm(x, axis=0, keepdims=True))  # fmt: skip


def with_gaps(t: Any, x: Any) -> Any:
    """The same with NaN in the place of large numbers, of a whole row among them."""
    return t.where(x > 1, t.nan, x)


for _between in ("linear", "lower", "higher", "midpoint", "nearest"):
    _floats("nanquantile", lambda t, x, how=_between: t.nanquantile(
                with_gaps(t, x), 0.3, 1, interpolation=how), normal(3, 6),
            lambda x, how=_between: np.asarray(np.nanquantile(
                with_gaps(np, x), 0.3, axis=1, method=how), x.dtype), case=_between)  # fmt: skip
_floats("nanquantile", lambda t, x: t.nanquantile(
            with_gaps(t, x), t.tensor([0.1, 0.8], dtype=x.dtype), keepdim=True), normal(3, 6),
        lambda x: np.asarray(np.nanquantile(with_gaps(np, x), [0.1, 0.8], keepdims=True),
                             x.dtype), case="several")  # fmt: skip
_floats("segment_reduce",
        lambda t, x: t.segment_reduce(x, "mean", lengths=t.tensor([1, 3, 1, 1])), normal(6, 2),
        lambda x: np.stack([x[0], x[1:4].mean(0), x[4], x[5]]))  # fmt: skip
