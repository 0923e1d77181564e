"""The logarithm of the gamma function of positive numbers.

Called by the table of this package. A ratio of polynomials near the zeros at 1 and 2, to which
lgamma(x + 1) = lgamma(x) + log(x) leads from both sides, and Stirling's formula farther out.
"""

from __future__ import annotations

from ...formula import log, logical_not, where
from .arithmetic import Format, Value, polynomial

# lgamma(x) / ((x - 1) (x - 2)) as a ratio in powers of x - 1 for x in [0.69, 3]; errors 2**-29.3
# and 2**-57.0.
_CENTRE = {
    "float32": (
        (
            0.5772156715393066, 0.897400975227356, 0.4016619622707367, 0.04854846000671387,
            0.00042483219294808805,
        ),
        (
            1.0, 1.9795933961868286, 1.2676818370819092, 0.28914499282836914, 0.0173244196921587,
        ),
    ),
    "float64": (
        (
            0.5772156649015329, 1.9520342540243762, 2.618730774032742, 1.7746849559385587,
            0.6402520163521355, 0.1187557674540593, 0.009970518829488084, 0.0002744754552926938,
            5.369734576634456e-07,
        ),
        (
            1.0, 3.806697836105663, 5.8849656524916485, 4.749413887495628, 2.142034801272912,
            0.5365354310883409, 0.06975092940704326, 0.004013839593876698, 6.908672965508823e-05,
        ),
    ),
}  # fmt: skip

#: Where Stirling's formula begins.
_FAR = {"float32": 4, "float64": 8}

# x (lgamma(x) - (x - 1/2) (log(x) - 1) - (log(2 pi) - 1) / 2) in powers of 1 / x**2 from there on;
# errors 2**-24.4 and 2**-51.
_STIRLING = {
    "float32": (0.0833333283662796, -0.0027766332, 0.00074301427),
    "float64": (
        0.0833333333333333, -0.0027777777776099464, 0.0007936506668385214, -0.0005952029330628496,
        0.0008373081240334501, -0.001653231260713264,
    ),
}  # fmt: skip
_STIRLING_OFFSET = 0.4189385332046727  # (log(2 pi) - 1) / 2

#: Above, the C library says where the result is infinite.
LARGE = 1e30


def lgamma_usual(x: Value, f: Format) -> Value:
    """lgamma of a number that is not small or large beyond measure."""
    small, far = x < 0.8, x >= _FAR[f.name]
    t = where(small, x + 1, x)
    product: Value = 1.0
    for _ in range(3, _FAR[f.name]):
        down = t >= 3
        t = where(down, t - 1, t)
        product = where(down, product * t, product)
    above, below = _CENTRE[f.name]
    z = t - 1
    near = z * (t - 2) * (polynomial(z, above) / polynomial(z, below))
    logarithm = log(where(small | far, x, product))
    near = near + where(small, -logarithm, logarithm)
    inverse = 1 / x
    rest = inverse * polynomial(inverse * inverse, _STIRLING[f.name])
    stirling = (x - 0.5) * (logarithm - 1) + (_STIRLING_OFFSET + rest)
    return where(far, stirling, near)


def is_unusual_gamma(x: Value, f: Format) -> Value:
    """Whether `lgamma_usual` does not hold, as for NaN, and numbers that are not positive."""
    return logical_not((x >= f.smallest_normal) & (x < LARGE))
