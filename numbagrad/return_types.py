"""The named tuples that some operators return, as ``torch.return_types``.

Made here, filled by the operators of ``ops/``.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from .absent import absent

__all__ = [
    "aminmax", "cummax", "cummin", "frexp", "geqrf", "histogram", "histogramdd",
    "kthvalue",
    "linalg_cholesky_ex", "linalg_eig", "linalg_eigh", "linalg_inv_ex", "linalg_lstsq",
    "linalg_ldl_factor", "linalg_ldl_factor_ex",
    "linalg_lu", "linalg_lu_factor", "linalg_lu_factor_ex", "linalg_qr", "linalg_slogdet",
    "linalg_solve_ex", "linalg_svd", "lu_unpack", "max", "median", "min", "mode", "nanmedian",
    "qr", "slogdet", "sort", "svd", "topk", "triangular_solve",
]  # fmt: skip


def _named(name: str, *fields: str) -> Any:
    make: Any = namedtuple  # type checkers want the names as literals
    made = make(name, fields)

    def text(self: Any) -> str:
        lines = [f"{field}={value!r}" for field, value in zip(fields, self, strict=True)]
        return f"torch.return_types.{name}(\n" + ",\n".join(lines) + ")"

    made.__repr__ = text
    return made


aminmax = _named("aminmax", "min", "max")
cummax = _named("cummax", "values", "indices")
cummin = _named("cummin", "values", "indices")
frexp = _named("frexp", "mantissa", "exponent")
geqrf = _named("geqrf", "a", "tau")
histogram = _named("histogram", "hist", "bin_edges")
histogramdd = _named("histogramdd", "hist", "bin_edges")
kthvalue = _named("kthvalue", "values", "indices")
linalg_cholesky_ex = _named("linalg_cholesky_ex", "L", "info")
linalg_eig = _named("linalg_eig", "eigenvalues", "eigenvectors")
linalg_eigh = _named("linalg_eigh", "eigenvalues", "eigenvectors")
linalg_inv_ex = _named("linalg_inv_ex", "inverse", "info")
linalg_lstsq = _named("linalg_lstsq", "solution", "residuals", "rank", "singular_values")
linalg_lu = _named("linalg_lu", "P", "L", "U")
linalg_ldl_factor = _named("linalg_ldl_factor", "LD", "pivots")
linalg_ldl_factor_ex = _named("linalg_ldl_factor_ex", "LD", "pivots", "info")
linalg_lu_factor = _named("linalg_lu_factor", "LU", "pivots")
linalg_lu_factor_ex = _named("linalg_lu_factor_ex", "LU", "pivots", "info")
linalg_qr = _named("linalg_qr", "Q", "R")
linalg_slogdet = _named("linalg_slogdet", "sign", "logabsdet")
linalg_solve_ex = _named("linalg_solve_ex", "result", "info")
linalg_svd = _named("linalg_svd", "U", "S", "Vh")
lu_unpack = _named("lu_unpack", "P", "L", "U")
max = _named("max", "values", "indices")
median = _named("median", "values", "indices")
min = _named("min", "values", "indices")
mode = _named("mode", "values", "indices")
nanmedian = _named("nanmedian", "values", "indices")
qr = _named("qr", "Q", "R")
slogdet = _named("slogdet", "sign", "logabsdet")
sort = _named("sort", "values", "indices")
svd = _named("svd", "U", "S", "V")
topk = _named("topk", "values", "indices")
triangular_solve = _named("triangular_solve", "solution", "cloned_coefficient")

#: Results of functions that wrote into an ``out``, under torch's names.
_WRITTEN = (
    "aminmax", "cummax", "cummin", "frexp", "geqrf", "histogram", "kthvalue",
    "linalg_cholesky_ex", "linalg_eig", "linalg_eigh", "linalg_inv_ex", "linalg_ldl_factor",
    "linalg_ldl_factor_ex", "linalg_lstsq", "linalg_lu", "linalg_lu_factor", "linalg_lu_factor_ex",
    "linalg_qr", "linalg_slogdet", "linalg_solve_ex", "linalg_svd", "lu_unpack", "max", "median",
    "min", "mode", "nanmedian", "qr", "slogdet", "sort", "svd", "topk", "triangular_solve",
)  # fmt: skip
globals().update({f"{name}_out": globals()[name] for name in _WRITTEN})
#: Every class by its name.
all_return_types = [globals()[name] for name in __all__]

pytree_register_structseq = absent(
    "torch.return_types.pytree_register_structseq",
    "named tuples are containers to torch.utils._pytree",
)
