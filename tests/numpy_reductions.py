"""Reductions as NumPy computes them: what the kernels of ``ReductionProgram`` are compared with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy_formulas import print_numpy

from numbagrad import half_precision as half
from numbagrad.dtype import dtype_from_name, from_numpy
from numbagrad.formula import Formula

Array = np.ndarray[Any, Any]


def reduced_by_numpy(program: Any, array: Array, mask: int, keepdim: bool) -> Array:
    """What ``program.run(array, mask, keepdim)`` is, but for rounding."""
    definition = program.definition
    computed, state, result = definition.dtypes_of(from_numpy(array.dtype), program.requested)
    axes = tuple([d for d in range(array.ndim) if (mask >> d) & 1])
    kept = tuple([1 if d in axes else size for d, size in enumerate(array.shape)])
    known = {"x": half.converted(array, np.dtype(_numpy_name(computed)))}
    map_formula, finalise = program.formulas
    values = _evaluate(map_formula, "x", computed, known).astype(_numpy_name(state))
    known["total"] = _REDUCTIONS[definition.combine](values, axes, state)
    number = np.prod([array.shape[d] for d in axes])
    known["number"] = np.asarray(number, dtype=_numpy_name(state))
    made = _evaluate(finalise, "total", state, known)
    shape = kept if keepdim else tuple([n for d, n in enumerate(array.shape) if d not in axes])
    with np.errstate(over="ignore"):
        return half.converted(np.asarray(made), dtype_from_name(result).numpy).reshape(shape)


def _numpy_name(dtype: str) -> str:
    return "bool_" if dtype == "bool" else dtype


def _evaluate(formula: Formula | None, name: str, dtype: str, known: dict[str, Any]) -> Any:
    if formula is None:
        return known[name]
    namespace: dict[str, Any] = {}
    exec(print_numpy(formula, dtype), namespace)
    return namespace["formula"](*[known[x] for x in formula.inputs])


def _lowest(dtype: str) -> Any:
    return -np.inf if dtype.startswith("f") else False if dtype == "bool" else np.iinfo(dtype).min


def _highest(dtype: str) -> Any:
    return np.inf if dtype.startswith("f") else True if dtype == "bool" else np.iinfo(dtype).max


_REDUCTIONS = {
    "add": lambda x, axes, dtype: x.sum(axes, dtype=dtype, keepdims=True),
    "multiply": lambda x, axes, dtype: x.prod(axes, dtype=dtype, keepdims=True),
    "maximum": lambda x, axes, dtype: x.max(axes, initial=_lowest(dtype), keepdims=True),
    "minimum": lambda x, axes, dtype: x.min(axes, initial=_highest(dtype), keepdims=True),
    "either": lambda x, axes, dtype: x.any(axes, keepdims=True),
    "both": lambda x, axes, dtype: x.all(axes, keepdims=True),
}
