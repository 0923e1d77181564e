"""``torch.special``'s Bessel and Airy functions, tails of the normal distribution, polynomials.

Reference values are those of tables (Abramowitz and Stegun, *Handbook of Mathematical Functions*;
NIST DLMF) and of identities.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import numbagrad as torch
from numbagrad import special
from numbagrad.autograd import gradcheck, gradgradcheck

TABLE = {
    "bessel_j0": {
        0.0: 1.0,
        1.0: 0.7651976865579666,
        10.0: -0.2459357644513483,
        50.0: 0.05581232766925181,
    },
    "bessel_j1": {
        0.0: 0.0,
        -1.0: -0.4400505857449335,
        10.0: 0.04347274616886144,
        50.0: -0.09751182812517514,
    },
    "bessel_y0": {1.0: 0.08825696421567698, 10.0: 0.05567116728359939, 50.0: -0.09806499547007708},
    "bessel_y1": {1.0: -0.7812128213002887, 10.0: 0.2490154242069539, 50.0: -0.05679566856201478},
    "modified_bessel_k0": {
        0.1: 2.4270690247020164,
        1.0: 0.42102443824070834,
        5.0: 0.003691098334042594,
    },
    "modified_bessel_k1": {
        0.1: 9.853844780870606,
        1.0: 0.6019072301972346,
        5.0: 0.004044613445452164,
    },
    "modified_bessel_i0": {0.0: 1.0, 1.0: 1.2660658777520082},
    "modified_bessel_i1": {0.0: 0.0, 1.0: 0.5651591039924851},
    "airy_ai": {
        0.0: 0.3550280538878172,
        1.0: 0.13529241631288141,
        -10.0: 0.04024123848644319,
        5.0: 0.00010834442813607442,
    },
    "spherical_bessel_j0": {0.0: 1.0, math.pi / 2: 2 / math.pi, math.inf: 0.0},
    "erfcx": {
        0.0: 1.0,
        1.0: 0.42758357615580700,
        30.0: 0.018795888861416751,
        -1.0: 5.00898008076228346,
    },
    "log_ndtr": {0.0: -math.log(2), -10.0: -53.23128515051247, -50.0: -1254.8313611394194},
    "ndtri": {
        0.5: 0.0,
        0.975: 1.959963984540054,
        1e-10: -6.361340902404056,
        0.0: -math.inf,
        1.0: math.inf,
    },
}


@pytest.mark.parametrize("name", TABLE)
def test_values(name):
    x = torch.tensor(list(TABLE[name]), dtype=torch.float64)
    expected = list(TABLE[name].values())
    np.testing.assert_allclose(getattr(special, name)(x), expected, rtol=2e-14, atol=1e-16)
    out = torch.empty(0)
    assert getattr(special, name)(x.float(), out=out) is out and out.dtype is torch.float32
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", [*TABLE, "erfcx", "log_ndtr", "ndtri", "i0", "i0e", "i1", "i1e"])
def test_tensors_without_dimensions(name):
    function = getattr(special, name)
    for value in (-3.0, 0.0, 0.01, 0.5, 2.5, 13.0, 40.0):
        alone, (among,) = function(torch.tensor(value)), function(torch.tensor([value]))
        assert alone.shape == () and str(alone.item()) == str(among.item())


def test_where_series_meet():
    """On both sides of an edge a function is the same."""
    for name, edges in {
        "bessel_j0": (8,), "bessel_j1": (8,), "bessel_y0": (8,), "bessel_y1": (8,), "i0e": (8,),
        "i1e": (8,), "modified_bessel_k0": (2,), "modified_bessel_k1": (2,),
        "airy_ai": (-9, 0, 2), "log_ndtr": (-1, 1),
        "ndtri": (0.075, 0.925), "erfinv": (0.85, -0.85),
    }.items():  # fmt: skip
        for edge in edges:
            x = torch.tensor([np.nextafter(edge, -99.0), edge, np.nextafter(edge, 99.0)])
            found = getattr(special, name)(x.double()).numpy()
            np.testing.assert_allclose(found, found[1], rtol=3e-14, atol=5e-15)


def test_wronskian():
    """J1 Y0 - J0 Y1 is 2 / (pi x) (DLMF 10.5.2)."""
    x = torch.logspace(-2, 3, 400, dtype=torch.float64)
    left = special.bessel_j1(x) * special.bessel_y0(x) - special.bessel_j0(x) * special.bessel_y1(x)
    np.testing.assert_allclose(left * x * math.pi / 2, np.ones(400), rtol=2e-13)
    # I0 K1 + I1 K0 is 1 / x (DLMF 10.28.2).
    x = torch.logspace(-2, 2, 400, dtype=torch.float64)
    scaled = special.scaled_modified_bessel_k0(x), special.scaled_modified_bessel_k1(x)
    left = special.i0e(x) * scaled[1] + special.i1e(x) * scaled[0]
    np.testing.assert_allclose(left * x, np.ones(400), rtol=2e-14)


def test_outside_of_their_domain():
    for name in ("bessel_y0", "bessel_y1", "modified_bessel_k0", "scaled_modified_bessel_k1"):
        found = getattr(special, name)(torch.tensor([-1.0, math.nan, 0.0]))
        assert found.isnan().tolist() == [True, True, False] and math.isinf(found[2].item())
    assert special.ndtri(torch.tensor([-0.1, 1.1])).isnan().all()


@pytest.mark.parametrize("name", ["erfcx", "log_ndtr", "ndtri"])
def test_gradients(name):
    x = torch.tensor([0.02, 0.3, 0.5, 0.97], dtype=torch.float64, requires_grad=True)
    assert gradcheck(getattr(special, name), (x,))
    assert gradgradcheck(getattr(special, name), (x,))


def test_there_is_no_other_gradient():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="bessel_j0"):
        special.bessel_j0(x).sum().backward()


POLYNOMIALS = {
    "chebyshev_polynomial_t": lambda x: 16 * x**5 - 20 * x**3 + 5 * x,
    "chebyshev_polynomial_u": lambda x: 32 * x**5 - 32 * x**3 + 6 * x,
    "chebyshev_polynomial_v": lambda x: 32 * x**5 - 16 * x**4 - 32 * x**3 + 12 * x**2 + 6 * x - 1,
    "chebyshev_polynomial_w": lambda x: 32 * x**5 + 16 * x**4 - 32 * x**3 - 12 * x**2 + 6 * x + 1,
    "hermite_polynomial_h": lambda x: 32 * x**5 - 160 * x**3 + 120 * x,
    "hermite_polynomial_he": lambda x: x**5 - 10 * x**3 + 15 * x,
    "laguerre_polynomial_l": lambda x: (
        (-(x**5) + 25 * x**4 - 200 * x**3 + 600 * x**2 - 600 * x + 120) / 120
    ),
    "legendre_polynomial_p": lambda x: (63 * x**5 - 70 * x**3 + 15 * x) / 8,
}


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials(name):
    function, expected = getattr(special, name), POLYNOMIALS[name]
    x = np.linspace(-1.5, 1.5, 31)
    np.testing.assert_allclose(function(torch.tensor(x), 5), expected(x), rtol=1e-12, atol=1e-12)
    degrees = torch.tensor([-1.0, 0.0, 0.9])
    assert function(torch.tensor(0.5), degrees).tolist() == [0, 1, 1]
    at_nan = function(torch.tensor(math.nan), torch.tensor([-1.0, 0.0, 3.0, 9.0]))
    np.testing.assert_array_equal(at_nan, [0, 1, math.nan, math.nan])
    if name.startswith("chebyshev"):
        shifted = getattr(special, f"shifted_{name}")
        np.testing.assert_allclose(shifted(torch.tensor(x), 5), expected(2 * x - 1), atol=1e-9)
        angle = 0.7  # the recurrence and the circular functions agree at higher degrees
        ends = function(torch.tensor(math.cos(angle), dtype=torch.float64), torch.arange(5, 12))
        steps = (ends[2:] + ends[:-2]) - 2 * math.cos(angle) * ends[1:-1]
        assert steps.abs().max() < 1e-13


def test_two_numbers_are_refused():
    for function in (special.legendre_polynomial_p, special.zeta):
        with pytest.raises(TypeError, match="expected a Tensor"):
            function(1.0, 2.0)


#: The arguments, P and Q, with sixty digits computed and seventeen kept.
INCOMPLETE = (
    (0.5, 0.3, 0.5614219739190002, 0.4385780260809999),
    (3.0, 20.0, 0.9999995444850495, 4.555149505589213e-07),
    (1e-3, 0.5, 0.9994399333435292, 0.0005600666564707498),
    (50.0, 45.0, 0.24680203440017026, 0.7531979655998298),
    (2000.0, 2100.0, 0.9863525323166297, 0.013647467683370378),
)


def test_incomplete_gamma_functions_keep_the_digits_of_small_results():
    a, x, p, q = torch.tensor(INCOMPLETE, dtype=torch.float64).T
    np.testing.assert_allclose(special.gammainc(a, x), p, rtol=1e-13)
    np.testing.assert_allclose(special.gammaincc(a, x), q, rtol=1e-13)
    rows = special.gammainc(a[:, None], x)  # broadcast, read along either stride
    np.testing.assert_array_equal(rows.diagonal(), special.gammainc(a, x))
    np.testing.assert_array_equal(rows.T, special.gammainc(a, x[:, None]))


def test_zeta_of_large_exponents_and_negative_shifts():
    x, q = torch.tensor([1.5, 30, 3]).double(), torch.tensor([0.25, 7.5, -2.5]).double()
    expected = [10.213055360466601, 5.735621073686468e-27, 0.0541020258208637]
    np.testing.assert_allclose(special.zeta(x, q), expected, rtol=1e-13)


def test_erfinv_keeps_its_digits_near_one():
    y = torch.tensor([0.5, 1 - 1e-10, 2.0**-53 - 1, 1e-300], dtype=torch.float64)
    expected = [0.4769362762044699, 4.572824958544925, -5.8635847487551676, 8.86226925452758e-301]
    np.testing.assert_allclose(special.erfinv(y), expected, rtol=3e-15)
