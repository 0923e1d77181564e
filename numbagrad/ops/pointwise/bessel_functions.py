"""Bessel and Airy functions, and tails of the normal distribution: ``torch.special``'s names.

Their arithmetic, in float64, is in ``formula/special_functions.py``. ``__init__.py`` says what an
entry is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ... import formula as f
from ...formula.differentiate import PARTIALS
from ..operators.definition import define
from .domains import UNIT

#: Arguments on both sides of the edges between series, without a zero of an odd function.
_WIDE = ((-12.0, -0.1), (0.1, 12.0))
_BEYOND_ZERO = (0.1, 12.0)

define("i0", lambda x: f.i0(x), domain={"x": _WIDE}, result="float")


def _by_result(name: str) -> Mapping[str, Callable[..., Any]]:
    """The gradient of a function whose derivative is written with its value."""
    partial = PARTIALS[name][0]
    return {"x": lambda grad, x, result: grad * partial(result, x)}


for _name, _formula, _domain, _gradient, _grad_fn in (
    ("i0e", lambda x: f.i0e(x), _WIDE, _by_result("i0e"), "SpecialI0EBackward0"),
    ("i1", lambda x: f.i1(x), _WIDE, _by_result("i1"), "SpecialI1Backward0"),
    ("i1e", lambda x: f.i1e(x), _WIDE, _by_result("i1e"), "SpecialI1EBackward0"),
    ("erfcx", lambda x: f.erfcx(x), (-3.0, 12.0), _by_result("erfcx"), "SpecialErfcxBackward0"),
    ("log_ndtr", lambda x: f.log_ndtr(x), (-12.0, 3.0), {}, "SpecialLogNdtrBackward0"),
    (
        "ndtri",
        lambda x: f.ndtri(x),
        UNIT,
        {
            "x": lambda grad, result: grad * PARTIALS["ndtri"][0](result, result),
        },
        "SpecialNdtriBackward0",
    ),
):
    define(
        f"special_{_name}",
        _formula,
        gradient=_gradient,
        domain={"x": _domain},
        result="float",
        in_place=False,
        grad_fn=_grad_fn,
    )

# These have no gradients in torch.
for _name, _formula, _domain in (
    ("airy_ai", lambda x: f.airy_ai(x), _WIDE),
    ("bessel_j0", lambda x: f.bessel_j0(x), _WIDE),
    ("bessel_j1", lambda x: f.bessel_j1(x), _WIDE),
    ("bessel_y0", lambda x: f.bessel_y0(x), _BEYOND_ZERO),
    ("bessel_y1", lambda x: f.bessel_y1(x), _BEYOND_ZERO),
    ("modified_bessel_i0", lambda x: f.i0(x), _WIDE),
    ("modified_bessel_i1", lambda x: f.i1(x), _WIDE),
    ("modified_bessel_k0", lambda x: f.k0(x), _BEYOND_ZERO),
    ("modified_bessel_k1", lambda x: f.k1(x), _BEYOND_ZERO),
    ("scaled_modified_bessel_k0", lambda x: f.k0e(x), _BEYOND_ZERO),
    ("scaled_modified_bessel_k1", lambda x: f.k1e(x), _BEYOND_ZERO),
    ("spherical_bessel_j0", lambda x: f.spherical_j0(x), _WIDE),
):
    define(
        f"special_{_name}",
        _formula,
        domain={"x": _domain},
        result="float",
        in_place=False,
        differentiable=False,
    )
