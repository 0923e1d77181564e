"""Entries of what fits no other family: layers of the namespace, other names of arithmetic."""

from __future__ import annotations

import math

import numpy as np
from operator_rows import (
    normal,
    positive,
    row,
    same_function,
    softmax,
)

import numbagrad

row("linear", lambda t, x, w, b: t.nn.functional.linear(x, w, b),
    (normal(3, 4), normal(2, 4), normal(2)), lambda x, w, b: x @ w.T + b,
    dtypes="float", tolerance=1e-5)  # fmt: skip
row("softmin", lambda t, x: (t if t is numbagrad else t.nn.functional).softmin(x, 1), normal(2, 4),
    lambda x: softmax(-x), dtypes="float", tolerance=1e-5)  # fmt: skip


def lower_gamma(x: np.ndarray) -> np.ndarray:
    """``igamma(2.5, x)`` by its power series."""
    terms = [x ** (2.5 + k) / math.gamma(3.5 + k) for k in range(60)]
    return np.exp(-x) * sum(terms)


row("igamma", lambda t, x: t.igamma(t.tensor(2.5, dtype=x.dtype), x), positive(4), lower_gamma,
    dtypes="matrix")  # fmt: skip
row("igammac", lambda t, x: t.igammac(t.tensor(2.5, dtype=x.dtype), x), positive(4),
    lambda x: 1 - lower_gamma(x), dtypes="matrix", tolerance=1e-5)  # fmt: skip
row("subtract", same_function("subtract"), (normal(3), normal(3)), np.subtract, dtypes="number")
row("positive", same_function("positive"), normal(3), np.copy, dtypes="number")
