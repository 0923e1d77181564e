"""The operator table on the device: results, gradients and gradients of gradients of the CPU."""

from __future__ import annotations

import pytest
from complex_table import COMPLEX_ENTRIES
from device_cases import by_name, compare, compare_or_name
from operator_table import ENTRIES, POINTWISE_ENTRIES

from numbagrad.cuda import library

#: Operators without a kernel for GPUs, as errors call them: none of the table.
MISSING: frozenset[str] = frozenset()

#: Operators whose forward CuPy is known to refuse, so that the host runs them.
REFUSED_BY_LIBRARY: frozenset[str] = frozenset()


@pytest.fixture(autouse=True)
def _library_refuses_what_is_known():
    """No forward was refused by CuPy's arrays, so that the host ran it."""
    library.refused.clear()
    yield
    assert library.refused == REFUSED_BY_LIBRARY


@pytest.mark.parametrize("entry", POINTWISE_ENTRIES, ids=by_name)
def test_formulas(entry):
    dtype = next(x for x in ("float32", "int64") if entry.admits(x))
    compare(entry, "cuda", dtype, 1 if entry.differentiable else 0)


@pytest.mark.parametrize(
    "entry", [x for x in POINTWISE_ENTRIES if x.admits("float64")], ids=by_name
)
def test_gradients_of_gradients_of_formulas(entry):
    compare(entry, "cuda", "float64", 2 if entry.differentiable else 0)


@pytest.mark.parametrize("entry", ENTRIES, ids=by_name)
def test_other_operators_or_the_name_of_what_is_missing(entry):
    """Equal results, or one error that says which operator does not run on which device."""
    compare_or_name(entry, "cuda", MISSING)


@pytest.mark.parametrize(
    "entry", [x for x in ENTRIES if x.differentiable and x.admits("float64")], ids=by_name
)
def test_gradients_of_gradients_of_other_operators(entry):
    compare(entry, "cuda", "float64", 2)


@pytest.mark.parametrize("entry", COMPLEX_ENTRIES, ids=by_name)
def test_complex_numbers(entry):
    compare(entry, "cuda", "complex64", 0)
    compare(entry, "cuda", "complex128", 2)


@pytest.mark.parametrize(
    "entry", [x for x in POINTWISE_ENTRIES if x.admits("float16")], ids=by_name
)
def test_half_precision(entry):
    """Computed in float32 and rounded once, as on the CPU."""
    compare(entry, "cuda", "float16", 0, rtol=1e-3, atol=1e-3)
