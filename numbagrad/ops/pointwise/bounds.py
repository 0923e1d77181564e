"""Selection, bounds and rounding. ``__init__.py`` says what an entry is."""

from __future__ import annotations

from ...formula import ceil, floor, isfinite, isinf, isnan, maximum, minimum, round, trunc, where
from ..operators.definition import HOLOMORPHIC, Refused, define
from .domains import BETWEEN_INTEGERS, NONZERO, ORDERED

# What torch refuses of operands whose promoted dtype it would take. Each is given the dtypes of the
# operands by name.


def same_dtypes(dtypes):
    """heaviside promotes nothing either."""
    if dtypes["x"] is not dtypes["values"]:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")


# Selection and bounds

define(
    "where",
    lambda condition, x, y: where(condition, x, y),
    in_place=False,
    complex=HOLOMORPHIC,
    bounded_inputs=("x", "y"),
    refuses_numbers="wide",
)
define("masked_fill", lambda x, mask, value: where(mask, value, x), complex=HOLOMORPHIC)
define(
    "clamp",
    clamp_formula := lambda x, low, high: minimum(maximum(x, low), high),
    gradient={"x": lambda grad, x, low, high: where((x >= low) & (x <= high), grad, 0)},
    domain={"x": ((-3.0, -1.2), (-0.8, 0.8), (1.2, 3.0)), "low": (-1.1, -0.9), "high": (0.9, 1.1)},
    scalars={"low": None, "high": None},
    dtypes="number",
    aliases=("clip",),
    grad_fn="ClampBackward1",
    promoting=("low", "high"),
    masked=True,
    complex=Refused("clamp is not supported for complex types"),
)
define(
    "clamp_tensor",
    clamp_formula,
    gradient={
        "x": lambda grad, x, low, high: where((x >= low) & (x <= high), grad, 0),
        "low": lambda grad, x, low, high: where((x < low) & (low < high), grad, 0),
        "high": lambda grad, x, low, high: where((x > high) | (high < low), grad, 0),
    },
    domain={"x": ((-3.0, -1.2), (-0.8, 0.8), (1.2, 3.0)), "low": (-1.1, -0.9), "high": (0.9, 1.1)},
    dtypes="number",
    grad_fn="ClampBackward0",
    masked=True,
    complex=Refused("clamp is not supported for complex types"),
)
define(
    "clamp_min",
    lambda x, low: maximum(x, low),
    gradient={"x": lambda grad, x, low: where(x >= low, grad, 0)},
    domain={"x": NONZERO, "low": (-0.09, 0.09)},
    scalars={"low": None},
    dtypes="number",
    promoting=("low",),
    masked=True,
    complex=Refused("clamp is not supported for complex types"),
)
define(
    "clamp_min_tensor",
    lambda x, low: maximum(x, low),
    gradient={
        "x": lambda grad, x, low: where(x >= low, grad, 0),
        "low": lambda grad, x, low: where(x < low, grad, 0),
    },
    domain={"x": NONZERO, "low": (-0.09, 0.09)},
    grad_fn="ClampMinBackward1",
    masked=True,
    complex=Refused("clamp is not supported for complex types"),
)
define(
    "clamp_max",
    lambda x, high: minimum(x, high),
    gradient={"x": lambda grad, x, high: where(x <= high, grad, 0)},
    domain={"x": NONZERO, "high": (-0.09, 0.09)},
    scalars={"high": None},
    dtypes="number",
    promoting=("high",),
    masked=True,
    complex=Refused("clamp is not supported for complex types"),
)
define(
    "clamp_max_tensor",
    lambda x, high: minimum(x, high),
    gradient={
        "x": lambda grad, x, high: where(x <= high, grad, 0),
        "high": lambda grad, x, high: where(x > high, grad, 0),
    },
    domain={"x": NONZERO, "high": (-0.09, 0.09)},
    grad_fn="ClampMaxBackward1",
    masked=True,
    complex=Refused("clamp is not supported for complex types"),
)
define(
    "minimum",
    lambda x, y: minimum(x, y),
    domain=ORDERED,
    in_place=False,
    masked=True,
    complex=Refused("minimum not implemented for complex tensors.", RuntimeError),
)
define(
    "maximum",
    lambda x, y: maximum(x, y),
    domain=ORDERED,
    in_place=False,
    masked=True,
    complex=Refused("maximum not implemented for complex tensors.", RuntimeError),
)
define(
    "fmin",
    lambda x, y: where((x <= y) | isnan(y), x, y),
    domain=ORDERED,
    in_place=False,
    masked=True,
    complex=Refused("fmin not implemented for complex tensors.", RuntimeError),
)
define(
    "fmax",
    lambda x, y: where((x >= y) | isnan(y), x, y),
    domain=ORDERED,
    in_place=False,
    masked=True,
    complex=Refused("fmax not implemented for complex tensors.", RuntimeError),
)
define(
    "heaviside",
    lambda x, values: where(x == 0, values, where(x > 0, 1, 0)),
    domain={"x": NONZERO},
    differentiable=False,
    check=same_dtypes,
    complex=Refused("heaviside is not yet implemented for complex tensors.", RuntimeError),
)
define(
    "nan_to_num",
    lambda x, nan, posinf, neginf: where(
        isnan(x), nan, where(isinf(x), where(x > 0, posinf, neginf), x)
    ),
    gradient={"x": lambda grad, x: where(isfinite(x), grad, 0)},
    scalars={"nan": 0.0, "posinf": None, "neginf": None},
    converted=("nan", "posinf", "neginf"),
    masked=True,
)

# Rounding

define(
    "floor",
    lambda x: floor(x),
    domain={"x": BETWEEN_INTEGERS},
    dtypes="number",
    complex=Refused("floor is not supported for complex inputs"),
)
define(
    "ceil",
    lambda x: ceil(x),
    domain={"x": BETWEEN_INTEGERS},
    dtypes="number",
    complex=Refused("ceil is not supported for complex inputs"),
)
define(
    "trunc",
    lambda x: trunc(x),
    domain={"x": BETWEEN_INTEGERS},
    dtypes="number",
    aliases=("fix",),
    complex=Refused("trunc is not supported for complex inputs"),
)
define("round", lambda x: round(x), domain={"x": (-0.4, 0.4)}, dtypes="number")
define("frac", lambda x: x - trunc(x), domain={"x": BETWEEN_INTEGERS}, dtypes="float")
