"""The operator table on the device: results, gradients and gradients of gradients of the CPU."""

from __future__ import annotations

import pytest
from cases import by_name, compare, missing_name
from operator_table import ENTRIES, POINTWISE_ENTRIES

#: Operators without a kernel for GPUs, as errors call them.
MISSING = {
    "a mask as an index", "an index of tensors", "argsort", "as_strided_scatter", "bincount",
    "cholesky_inverse", "cholesky_solve", "combinations", "complex", "fft_r2c", "histc",
    "householder_product", "index", "index_put_", "is_singular", "isin", "linalg_cholesky_ex",
    "linalg_det", "linalg_eig", "linalg_eigh", "linalg_inv_ex", "linalg_lstsq",
    "linalg_lu_factor_ex", "linalg_matrix_exp", "linalg_pinv", "linalg_qr", "linalg_slogdet",
    "linalg_solve_ex", "linalg_solve_triangular", "linalg_svd", "lu_info", "masked_scatter",
    "masked_select", "nanquantile", "nonzero", "pdist", "quantile", "sort", "special_zeta",
    "stft", "trace",
}  # fmt: skip


@pytest.mark.parametrize("entry", POINTWISE_ENTRIES, ids=by_name)
def test_formulas(entry):
    dtype = next(x for x in ("float32", "int64") if entry.admits(x))
    compare(entry, dtype, 1 if entry.differentiable else 0)


@pytest.mark.parametrize(
    "entry", [x for x in POINTWISE_ENTRIES if x.admits("float64")], ids=by_name
)
def test_gradients_of_gradients_of_formulas(entry):
    compare(entry, "float64", 2 if entry.differentiable else 0)


@pytest.mark.parametrize("entry", ENTRIES, ids=by_name)
def test_other_operators_or_the_name_of_what_is_missing(entry):
    """Equal results, or one error that says which operator does not run on which device."""
    dtype = next(x for x in ("float32", "float64", "int64", "bool") if entry.admits(x))
    try:
        compare(entry, dtype, 1 if entry.differentiable else 0)
    except NotImplementedError as error:
        assert missing_name(error) in MISSING
