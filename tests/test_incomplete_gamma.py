"""``igamma`` and ``igammac``: against exact values and closed forms, and their gradients."""

import math

import pytest

import numbagrad as torch

#: a, x, P(a, x) and Q(a, x), computed with forty digits.
EXACT = [
    (1e-09, 0.3, 0.99999999909432335, 9.0567665183785709e-10),
    (0.25, 0.1, 0.60833884572896607, 0.39166115427103393),
    (0.5, 1.3, 0.89313628500662054, 0.10686371499337946),
    (2.5, 0.5, 0.037434226752703631, 0.96256577324729637),
    (3.0, 10.0, 0.99723060428448842, 0.0027693957155115759),
    (40.0, 25.0, 0.0034435687294270697, 0.99655643127057293),
    (900.0, 1000.0, 0.99937740221572495, 0.00062259778427504726),
    (20000.0, 19000.0, 3.2368746436185902e-13, 0.99999999999967631),
    (1000000.0, 1003000.0, 0.99863825935378241, 0.0013617406462175915),
    (1000000000.0, 999900000.0, 0.00078244613996278354, 0.99921755386003722),
]


def double(values):
    return torch.tensor(values, dtype=torch.float64)


@pytest.mark.parametrize(("a", "x", "p", "q"), EXACT)
def test_exact_values(a, x, p, q):
    tolerance = 1e-12 if a < 1e8 else 1e-10  # x - a is known to that many digits
    assert torch.igamma(double(a), double(x)).item() == pytest.approx(p, rel=tolerance)
    assert torch.igammac(double(a), double(x)).item() == pytest.approx(q, rel=tolerance)


def test_closed_forms():
    x = torch.linspace(0.01, 30, 200, dtype=torch.float64)
    one = torch.ones_like(x)
    assert torch.allclose(torch.igamma(one, x), -torch.expm1(-x), rtol=1e-13)
    assert torch.allclose(torch.igammac(one / 2, x), torch.erfc(x.sqrt()), rtol=1e-12)
    a = torch.linspace(0.1, 60, 200, dtype=torch.float64)
    step = torch.exp(a * x.log() - x - torch.lgamma(a + 1))
    assert torch.allclose(torch.igamma(a + 1, x), torch.igamma(a, x) - step, atol=1e-13)
    assert torch.allclose(torch.igamma(a, x) + torch.igammac(a, x), one, rtol=1e-14)


def test_limits():
    infinity, nan = math.inf, math.nan
    a = double([0, 1, infinity, 2, 0, -1, 1, infinity, nan])
    x = double([1, 0, 1, infinity, 0, 1, -1, infinity, 1])
    p, q = torch.igamma(a, x), torch.igammac(a, x)
    assert p[:4].tolist() == [1, 0, 0, 1] and q[:4].tolist() == [0, 1, 1, 0]
    assert p[4:].isnan().all() and q[4:].isnan().all()


def test_a_value_does_not_depend_on_the_others():
    a = double([case[0] for case in EXACT])
    x = double([case[1] for case in EXACT])
    for function in (torch.igamma, torch.igammac):
        together = function(a, x)
        assert [function(a[k], x[k]).item() for k in range(len(EXACT))] == together.tolist()
        assert torch.equal(function(a[:, None], x)[2], function(a[2].expand(10), x))


def test_dtypes_and_writes():
    a, x = torch.tensor([0.5, 2.0]), torch.tensor([1.0, 1.5])
    assert torch.igamma(a, x).dtype is torch.float32
    assert torch.igamma(a.double(), x).dtype is torch.float64
    out = torch.empty(2)
    assert torch.igamma(a, x, out=out) is out and torch.equal(out, a.igamma(x))
    b = a.clone()
    assert b.igammac_(x) is b and torch.equal(b, torch.igammac(a, x))
    with pytest.raises(NotImplementedError, match="not implemented"):
        torch.igamma(torch.tensor(1), torch.tensor(2))


# --- derivatives ----------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [torch.igamma, torch.igammac])
def test_gradients_by_the_bound(function):
    a = double([0.3, 1.0, 2.5, 12.0])
    x = double([0.5, 2.0, 3.0, 11.0]).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: function(a, x), x)
    assert torch.autograd.gradgradcheck(lambda x: function(a, x), x)
    assert torch.autograd.gradcheck(lambda x: function(a[:, None], x), x)
    each = torch.vmap(lambda a, x: function(a, x), in_dims=(0, 0))(a, x.detach())
    assert torch.equal(each, function(a, x.detach()))


@pytest.mark.parametrize("name", ["igamma", "igammac"])
def test_there_is_no_derivative_by_the_other_argument(name):
    function = getattr(torch, name)
    a, x = double([1.0]).requires_grad_(), double([2.0]).requires_grad_()
    made = function(a, x)
    with pytest.raises(NotImplementedError, match=f"the derivative for '{name}: self' is not"):
        made.backward()
    a, x = a.detach(), x.detach()
    with pytest.raises(NotImplementedError, match=f"forward AD with {name} that does not support"):
        torch.func.jvp(lambda a: function(a, x), (a,), (a,))
    value, tangent = torch.func.jvp(lambda x: function(a, x), (x,), (torch.ones_like(x),))
    sign = 1 if name == "igamma" else -1
    assert value.item() == function(a, x).item()
    assert tangent.item() == pytest.approx(sign * math.exp(-2.0))
