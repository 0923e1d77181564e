"""The parametrization of orthogonal matrices, of unitary ones where numbers are complex.

Three maps lead to them from matrices without constraints: the exponential and the Cayley transform
of skew-symmetric matrices, and products of Householder reflections. A trivialization
(Lezcano-Casado, "Trivializations for gradient-based optimization on manifolds") multiplies what
they give with a matrix that stays as it is, so that a weight may start anywhere.
"""

from __future__ import annotations

from ...autograd.grad_mode import no_grad
from ...dtype import finfo
from ...ops.conversion.query import allclose
from ...ops.creation.filled import zeros_like
from ...ops.creation.random import randn
from ...ops.linear_algebra.systems import eye_like, solve
from ...ops.views.join import cat
from ...tensor import Tensor
from ..module import Module

__all__: list[str] = []

#: The maps, by what callers name.
MAPS = ("matrix_exp", "cayley", "householder")


class _Orthogonal(Module):
    """Matrices with orthonormal columns, or rows if these are fewer, of any matrices of a shape."""

    base: Tensor

    def __init__(
        self, weight: Tensor, orthogonal_map: str, use_trivialization: bool = True
    ) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        wide = X.size(-2) < X.size(-1)
        tall = X.mT if wide else X
        if self.orthogonal_map == "householder":
            made = _reflections(tall)
        else:
            made = _rotation(tall, self.orthogonal_map)[..., : tall.size(-1)]
        if hasattr(self, "base"):
            made = self.base @ made
        return made.mT if wide else made

    @no_grad()
    def right_inverse(self, Q: Tensor) -> Tensor:
        """The matrix that ``forward`` makes ``Q`` of, which becomes the base if there is one.

        Raises:
            ValueError: for another shape.
            NotImplementedError: for "matrix_exp" and "cayley" without a base.
        """
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. "
                f"Got a tensor of shape {Q.shape}."
            )
        wide = Q.size(-2) < Q.size(-1)
        tall = Q.mT if wide else Q
        if hasattr(self, "base"):
            self.base = _square(tall)
            # Reflections take the signs of columns from the diagonal; to the others zeros are one.
            start = zeros_like(Q)
            start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
            return start
        if self.orthogonal_map != "householder":
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley "
                "parametrizations when use_trivialization=False."
            )
        vectors, tau = tall.geqrf()
        signs = vectors.diagonal(dim1=-2, dim2=-1)
        signs.sign_()
        signs[tau == 0.0] *= -1
        return vectors.mT if wide else vectors


def _rotation(X: Tensor, orthogonal_map: str) -> Tensor:
    """A square matrix of the lower triangle of a tall one, by way of a skew-symmetric one."""
    lower, missing = X.tril(), X.size(-2) - X.size(-1)
    if missing:
        lower = cat([lower, lower.new_zeros((*X.shape[:-1], missing))], -1)
    skew = lower - lower.mH
    if orthogonal_map == "matrix_exp":
        return skew.matrix_exp()
    one = eye_like(skew)
    return solve(one - 0.5 * skew, one + 0.5 * skew)


def _reflections(X: Tensor) -> Tensor:
    """The product of the reflections below the diagonal, by whose signs columns are turned."""
    vectors = X.tril(diagonal=-1)
    tau = 2.0 / (1.0 + (vectors * vectors).sum(dim=-2))
    signs = X.diagonal(dim1=-2, dim2=-1).int()  # through which nothing is differentiated
    return vectors.orgqr(tau) * signs.unsqueeze(-2)


def _square(Q: Tensor) -> Tensor:
    """A new orthogonal matrix whose first columns are those of ``Q``, if they are orthonormal."""
    rows, columns = Q.size(-2), Q.size(-1)
    if rows == columns:
        tolerance = 10.0 * rows * finfo(Q.dtype).eps
        product = Q.mH @ Q
        if allclose(product, eye_like(product), atol=tolerance):
            return Q.clone()
        whole = Q
    else:
        drawn = randn((*Q.shape[:-1], rows - columns), dtype=Q.dtype, device=Q.device)
        whole = cat([Q, drawn], -1)
    vectors, tau = whole.geqrf()
    signs = vectors.diagonal(dim1=-2, dim2=-1).sgn()
    return vectors.orgqr(tau) * signs.unsqueeze(-2)
