"""``torch.linalg``: linear algebra under torch's names.

A namespace only; the operators are in ``ops/linear_algebra.py``, ``ops/contraction.py`` and
``ops/statistics.py``, and those that few programs call in files that are imported on demand.
"""

from __future__ import annotations

from typing import Any

from .dispatch.policies import autocasts as _autocasts
from .lazy import lazy_names as _lazy_names
from .ops.argument_check import check_namespace as _check_namespace
from .ops.argument_check import public_function as _public_function
from .ops.contraction import multi_dot
from .ops.decompositions import cholesky, eigh, eigvalsh, svd, svdvals
from .ops.lapack import LinAlgError
from .ops.linear_algebra import cross as _cross
from .ops.linear_algebra import inv, matrix_power, slogdet, solve, solve_triangular
from .ops.linear_algebra import linalg_det as det
from .ops.matmul import matmul
from .ops.matrix_norms import matrix_norm, norm
from .ops.parts import diagonal as _diagonal
from .ops.qr import qr
from .ops.statistics import vector_norm
from .tensor import Tensor

#: Functions that few programs call, by the file that has them.
_ON_DEMAND = {
    "numbagrad.ops.least_squares": ("cond", "lstsq", "matrix_rank", "pinv"),
    "numbagrad.ops.lu": ("lu_factor", "lu_factor_ex"),
    "numbagrad.ops.matrix_functions": (
        "eig", "eigvals", "householder_product", "matrix_exp", "tensorinv", "tensorsolve",
    ),
    "numbagrad.ops.older_linear_algebra": ("cholesky_ex", "inv_ex", "solve_ex"),
}  # fmt: skip

__all__ = [
    "LinAlgError", "cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul",
    "matrix_norm", "matrix_power", "multi_dot", "norm", "qr", "slogdet", "solve",
    "solve_triangular", "svd", "svdvals", "vecdot", "vector_norm",
]  # fmt: skip


def cross(input: Tensor, other: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """Cross products of vectors of three along ``dim``."""
    return _cross(input, other, dim, out=out)


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
        "lu": "numbagrad.ops.lu:linalg_lu",
        "lu_solve": "numbagrad.ops.lu:linalg_lu_solve",
        "vander": "numbagrad.ops.matrix_functions:linalg_vander",
    },
    lambda value, name: _public_function(value, __name__, __package__, name),
)
