"""``torch.linalg``: linear algebra under torch's names.

A namespace only; the operators are in ``ops/linear_algebra/systems.py``,
``ops/products/contraction.py`` and ``ops/reductions/statistics.py``, and those that few programs
call in files that are imported on demand.
"""

from __future__ import annotations

from typing import Any

from .dispatch.policies import autocasts as _autocasts
from .lazy import lazy_names as _lazy_names
from .ops.arguments.check import check_namespace as _check_namespace
from .ops.arguments.check import public_function as _public_function
from .ops.linear_algebra.decompositions import cholesky, eigh, eigvalsh, svd, svdvals
from .ops.linear_algebra.lapack import LinAlgError
from .ops.linear_algebra.matrix_norms import matrix_norm, norm
from .ops.linear_algebra.qr import qr
from .ops.linear_algebra.systems import cross as _cross
from .ops.linear_algebra.systems import inv, matrix_power, slogdet, solve, solve_triangular
from .ops.linear_algebra.systems import linalg_det as det
from .ops.products.contraction import multi_dot
from .ops.products.matmul import matmul
from .ops.reductions.statistics import vector_norm
from .ops.views.parts import diagonal as _diagonal
from .tensor import Tensor

#: Functions that few programs call, by the file that has them.
_ON_DEMAND = {
    "numbagrad.ops.linear_algebra.least_squares": ("cond", "lstsq", "matrix_rank", "pinv"),
    "numbagrad.ops.linear_algebra.ldl": ("ldl_factor", "ldl_factor_ex", "ldl_solve"),
    "numbagrad.ops.linear_algebra.lu": ("lu_factor", "lu_factor_ex"),
    "numbagrad.ops.linear_algebra.matrix_functions": (
        "eig", "eigvals", "householder_product", "matrix_exp", "tensorinv", "tensorsolve",
    ),
    "numbagrad.ops.linear_algebra.older_functions": ("cholesky_ex", "inv_ex", "solve_ex"),
}  # fmt: skip

__all__ = [
    "LinAlgError", "cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul",
    "matrix_norm", "matrix_power", "multi_dot", "norm", "qr", "slogdet", "solve",
    "solve_triangular", "svd", "svdvals", "vecdot", "vector_norm",
]  # fmt: skip


def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """Cross products of vectors of three along ``dim``."""
    return _cross(input, other, dim)


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices, as a view."""
    return _diagonal(A, offset, dim1, dim2)


@_autocasts("lower")
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Any:
    """Sums of products of the conjugates of ``x`` with ``y``, along one dimension."""
    if x._array.dtype.kind in "iub":
        raise RuntimeError(
            "linalg.vecdot: Expected a floating point or complex tensor as input. Got "
            f"{x.dtype}; convert it with .to(dtype)"
        )
    return (x.conj() * y).sum(dim)


_check_namespace(globals(), __package__)
__getattr__, __dir__ = _lazy_names(
    __name__,
    {
        **{name: home for home, names in _ON_DEMAND.items() for name in names},
        # The top namespace has other functions of these names.
        "lu": "numbagrad.ops.linear_algebra.lu:linalg_lu",
        "lu_solve": "numbagrad.ops.linear_algebra.lu:linalg_lu_solve",
        "vander": "numbagrad.ops.linear_algebra.matrix_functions:linalg_vander",
    },
    lambda value, name: _public_function(value, __name__, __package__, name),
)
