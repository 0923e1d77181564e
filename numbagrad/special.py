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
from .ops.pointwise.special_functions import i0, i0e, i1, i1e, polygamma, zeta
from .ops.pointwise.special_functions import mvlgamma as multigammaln
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
entr: _Function = _operator_variant("function", "entr", _pointwise("special_entr"))
ndtr: _Function = _operator_variant("function", "ndtr", _pointwise("special_ndtr"))
xlog1py: _Function = _operator_variant("function", "xlog1py", _pointwise("special_xlog1py"))


#: Functions that few programs call, by the file that has them.
_ON_DEMAND = {
    "numbagrad.ops.pointwise.bessel_functions": (
        "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_i0",
        "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1",
        "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "spherical_bessel_j0",
    ),
    "numbagrad.ops.pointwise.normal_functions": ("erfcx", "log_ndtr", "ndtri"),
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
