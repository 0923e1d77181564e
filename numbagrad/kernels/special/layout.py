"""Numbers of the families of orthogonal polynomials, for kernels and those who launch them."""

from __future__ import annotations

#: Chebyshev's of the first to the fourth kind, and those of Hermite, Laguerre and Legendre.
T, U, V, W, HERMITE_H, HERMITE_HE, LAGUERRE, LEGENDRE = range(8)
