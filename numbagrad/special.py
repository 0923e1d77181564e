"""``torch.special``: special functions under torch's names, most of them of the top namespace."""

from __future__ import annotations

from collections.abc import Callable as _Callable

from .lazy import lazy_names as _lazy_names
from .ops.arguments.check import check_namespace as _check_namespace
from .ops.arguments.check import public_function as _public_function
from .ops.methods.variants import operator_variant as _operator_variant
from .ops.operators.pointwise_operator import pointwise as _pointwise
from .ops.pointwise.functions import (
    digamma,
    erf,
    erfc,
    erfinv,
    exp2,
    expm1,
    i0,
    log1p,
    round,
    sinc,
    xlogy,
)
from .ops.pointwise.functions import lgamma as gammaln
from .ops.pointwise.functions import sigmoid as expit
from .ops.pointwise.incomplete_gamma import igamma as gammainc
from .ops.pointwise.incomplete_gamma import igammac as gammaincc
from .ops.pointwise.selection import logit
from .ops.pointwise.special_functions import mvlgamma as multigammaln
from .ops.pointwise.special_functions import polygamma, zeta
from .ops.reductions.softmax import log_softmax, softmax
from .ops.reductions.statistics import logsumexp
from .tensor import Tensor as Tensor  # which torch shows there
from .tensor import Tensor as _Tensor

__all__ = [
    "digamma", "entr", "erf", "erfc", "erfinv", "exp2", "expit", "expm1", "gammainc", "gammaincc",
    "gammaln", "i0", "i0e", "i1", "i1e", "log1p", "log_softmax", "logit", "logsumexp",
    "multigammaln", "ndtr", "polygamma", "psi", "round", "sinc", "softmax", "xlog1py", "xlogy",
    "zeta",
]  # fmt: skip

psi = digamma


_Function = _Callable[..., _Tensor]


def _of_formula(name: str) -> _Function:
    made: _Function = _operator_variant("function", name, _pointwise(f"special_{name}"))
    return made


airy_ai = _of_formula("airy_ai")
bessel_j0 = _of_formula("bessel_j0")
bessel_j1 = _of_formula("bessel_j1")
bessel_y0 = _of_formula("bessel_y0")
bessel_y1 = _of_formula("bessel_y1")
entr = _of_formula("entr")
erfcx = _of_formula("erfcx")
i0e = _of_formula("i0e")
i1 = _of_formula("i1")
i1e = _of_formula("i1e")
log_ndtr = _of_formula("log_ndtr")
modified_bessel_i0 = _of_formula("modified_bessel_i0")
modified_bessel_i1 = _of_formula("modified_bessel_i1")
modified_bessel_k0 = _of_formula("modified_bessel_k0")
modified_bessel_k1 = _of_formula("modified_bessel_k1")
ndtr = _of_formula("ndtr")
ndtri = _of_formula("ndtri")
scaled_modified_bessel_k0 = _of_formula("scaled_modified_bessel_k0")
scaled_modified_bessel_k1 = _of_formula("scaled_modified_bessel_k1")
spherical_bessel_j0 = _of_formula("spherical_bessel_j0")
xlog1py = _of_formula("xlog1py")


#: Functions that few programs call, by the file that has them.
_ON_DEMAND = {
    "numbagrad.ops.pointwise.polynomials": (
        "chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v",
        "chebyshev_polynomial_w", "hermite_polynomial_h", "hermite_polynomial_he",
        "laguerre_polynomial_l", "legendre_polynomial_p", "shifted_chebyshev_polynomial_t",
        "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
        "shifted_chebyshev_polynomial_w",
    ),
}  # fmt: skip

_check_namespace(globals(), __package__)
__getattr__, __dir__ = _lazy_names(
    __name__,
    {name: home for home, names in _ON_DEMAND.items() for name in names},
    lambda value, name: _public_function(value, __name__, __package__, name),
)
