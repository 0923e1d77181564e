"""Operators that few programs call: what the table of operators does not say."""

import numpy as np
import pytest

import numbagrad as torch

X = torch.arange(6.0).view(2, 3)


class TestSpecial:
    @pytest.mark.parametrize("name", torch.special.__all__)
    def test_namespace(self, name):
        assert callable(getattr(torch.special, name))

    def test_functions_of_the_top_namespace(self):
        x = torch.tensor([0.25, 0.5])
        assert torch.special.expit(x).tolist() == torch.sigmoid(x).tolist()
        assert torch.special.gammaln(x).tolist() == torch.lgamma(x).tolist()
        assert torch.special.psi(x).tolist() == torch.digamma(x).tolist()
        np.testing.assert_allclose(torch.special.ndtr(x).numpy(), [0.5987063, 0.6914625], rtol=1e-6)
        np.testing.assert_allclose(torch.special.entr(x).numpy(), -x.numpy() * np.log(x.numpy()))

    def test_bessel_functions_of_all_sizes(self):
        x = torch.tensor([0.0, 1e-300, 8.0, 1e5, float("inf"), float("nan")], dtype=torch.float64)
        i0, i1 = torch.i0(x).tolist(), torch.special.i1(x).tolist()
        assert i0[:2] == pytest.approx([1, 1]) and i1[0] == 0
        assert i1[1] == pytest.approx(5e-301, abs=1e-15)
        assert i0[2] == pytest.approx(427.56411572180474, rel=1e-13)
        assert i1[2] == pytest.approx(399.8731367825601, rel=1e-13)
        assert i0[3] == i0[4] == i1[4] == float("inf") and np.isnan(i0[5])
        scaled = torch.special.i0e(x)[3].item()
        assert scaled == pytest.approx((2 * np.pi * 1e5) ** -0.5 * (1 + 1 / 8e5), rel=1e-10)
        assert torch.special.i1(-x[2]).item() == -i1[2]

    def test_the_slope_of_i1_at_zero(self):
        x = torch.zeros(1, dtype=torch.float64, requires_grad=True)
        for function in (torch.special.i1, torch.special.i1e):
            assert torch.autograd.grad(function(x), x)[0].item() == pytest.approx(0.5, 1e-14)

    def test_zeta(self):
        x = torch.tensor([2.0, 4.0], dtype=torch.float64)
        made = torch.special.zeta(x, 1.0)
        np.testing.assert_allclose(made.numpy(), [np.pi**2 / 6, np.pi**4 / 90], rtol=1e-14)
        assert torch.special.zeta(x - 1, 1.0)[0].item() == float("inf")
        assert torch.special.zeta(2.5, torch.tensor([1])).dtype is torch.float32
        with pytest.raises(NotImplementedError, match="special_zeta: self"):
            torch.special.zeta(x.requires_grad_(), 1.0).sum().backward()

    def test_polygamma(self):
        x = torch.tensor([1.0, 2.0], dtype=torch.float64)
        assert x.polygamma(0).tolist() == torch.digamma(x).tolist()
        np.testing.assert_allclose(x.polygamma(1).numpy(), [np.pi**2 / 6, np.pi**2 / 6 - 1])
        y = x.clone()
        assert y.polygamma_(2) is y and y.tolist() == torch.polygamma(2, x).tolist()
        with pytest.raises(RuntimeError, match="does not support negative n"):
            torch.polygamma(-1, x)
        with pytest.raises(RuntimeError, match="greater than or equal to 1"):
            torch.mvlgamma(x, 0)


class TestIntegers:
    def test_in_place(self):
        x = torch.tensor([4, 6, 0])
        assert x.clone().gcd_(torch.tensor(6)).tolist() == [2, 6, 6]
        assert x.clone().lcm_(torch.tensor(6)).tolist() == [12, 6, 0]
        assert torch.ones(2).ldexp_(torch.tensor([1, -1])).tolist() == [2, 0.5]
        with pytest.raises(NotImplementedError, match="\"gcd_cpu\" not implemented for 'Float'"):
            torch.gcd(X, X)

    def test_mantissas_and_exponents(self):
        made = X.frexp()
        assert made.exponent.dtype is torch.int32
        np.testing.assert_array_equal((made.mantissa * 2.0**made.exponent).numpy(), X.numpy())
        with pytest.raises(RuntimeError, match="only supports floating-point"):
            torch.frexp(torch.tensor([1]))

    def test_positions(self):
        made = torch.unravel_index(torch.tensor([[3, 5], [0, 1]]), (2, 3))
        assert [x.tolist() for x in made] == [[[1, 1], [0, 0]], [[0, 2], [0, 1]]]
        assert torch.unravel_index(torch.tensor([7]), (2, 3))[0].tolist() == [0]
        assert torch.unravel_index(torch.tensor([1]), 3)[0].tolist() == [1]
        with pytest.raises(TypeError, match="expected 'indices' to be integer dtype"):
            torch.unravel_index(X, (2, 3))
        with pytest.raises(ValueError, match="cannot have negative values"):
            torch.unravel_index(torch.tensor([1]), (2, -3))
        for shape in (torch.tensor([2, 3]), 2.0, None):
            with pytest.raises(TypeError, match="expected 'shape' to be int or sequence of ints"):
                torch.unravel_index(torch.tensor([1]), shape)
        with pytest.raises(TypeError, match="sequence to only contain ints, but got float"):
            torch.unravel_index(torch.tensor([1]), (2, 3.0))

    def test_choices(self):
        assert torch.cartesian_prod(torch.arange(2)).tolist() == [0, 1]
        assert torch.combinations(torch.arange(3), 0).shape == (0,)
        assert torch.combinations(torch.arange(1)).shape == (0, 2)
        for call, message in (
            (lambda: torch.cartesian_prod(), "non-empty TensorList"),
            (lambda: torch.cartesian_prod(X), r"1D vector, but got shape \[2, 3\]"),
            (lambda: torch.combinations(X), r"1D vector, but got shape \[2, 3\]"),
            (lambda: torch.combinations(torch.arange(3), -1), "non-negative number, but got -1"),
        ):
            with pytest.raises(RuntimeError, match=message):
                call()


class TestCalculus:
    def test_of_integers(self):
        x = torch.arange(6).view(2, 3)
        assert torch.trapezoid(x).tolist() == [2, 8] and torch.trapz(x, dx=2).tolist() == [4, 16]
        assert torch.gradient(x)[0].dtype is torch.float32

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda: torch.trapezoid(X, torch.ones(2)), "one `x` value for each sample point"),
            (lambda: torch.trapezoid(X > 1), "bool is not supported"),
            (lambda: torch.gradient(X, edge_order=3), "only supports edge_order=1 and"),
            (lambda: torch.gradient(X, edge_order=2), "at least edge_order.1"),
            (lambda: torch.gradient(X, spacing=(1.0, 2.0, 3.0)), "'self.dim.. = 2', since dim"),
            (lambda: torch.gradient(X.byte()), "does not support uint8 input"),
        ],
    )
    def test_refused(self, call, message):
        with pytest.raises(RuntimeError, match=message):
            call()


class TestReplacements:
    def test_in_place(self):
        x = X.clone()
        assert x.put_(torch.tensor([0, -1]), torch.tensor([7.0, 8.0])) is x
        assert x.tolist() == [[7, 1, 2], [3, 4, 8]]
        assert X.clone().renorm_(2, 0, 3.0).norm(dim=1).tolist() == pytest.approx([5**0.5, 3])
        assert X.double().float_power_(2).tolist() == (X**2).tolist()
        assert X.clone().apply_(lambda v: v + 1).tolist() == (X + 1).tolist()
        assert X.clone().map_(X[0], lambda a, b: a * b).tolist() == (X * X[0]).tolist()

    def test_methods(self):
        assert X.hardshrink(2.5).tolist() == [[0, 0, 0], [3, 4, 5]]
        made = X.new_empty_strided((2, 3), (1, 2))
        assert made.stride() == (1, 2) and made.dtype is X.dtype
        assert torch.norm_except_dim(X, 2, -1).item() == pytest.approx(55**0.5)

    @pytest.mark.parametrize(
        ("call", "error", "message"),
        [
            (lambda: torch.put(X, torch.tensor([0]), torch.ones(3)), IndexError, "same number of"),
            (lambda: torch.put(X, torch.tensor([9]), torch.ones(1)), IndexError, "out of bounds"),
            (lambda: torch.put(X, torch.tensor([0]), torch.ones(1).double()), RuntimeError, "same"),
            (lambda: torch.renorm(X, 2, 0, -1), RuntimeError, "expected maxnorm to be >= 0"),
            (lambda: torch.renorm(X[0], 2, 0, 1), RuntimeError, "at least 2 dimensions"),
            (lambda: X.long().float_power_(2), RuntimeError, "requires dtype Double"),
            (lambda: X.clone().requires_grad_().apply_(abs), RuntimeError, "Can't call apply_"),
        ],
    )
    def test_refused(self, call, error, message):
        with pytest.raises(error, match=message):
            call()

    def test_rows_of_nothing_have_no_quantile(self):
        x = torch.tensor([[1.0, float("nan"), 3.0], [float("nan")] * 3])
        made = torch.nanquantile(x, 0.5, 1)
        assert made[0].item() == 2 and torch.isnan(made[1])


class TestHistogram:
    def test_counts(self):
        made = torch.histogram(X, 4)
        assert made.hist.tolist() == [2, 1, 1, 2]
        assert made.bin_edges.tolist() == [0, 1.25, 2.5, 3.75, 5]
        assert torch.histogram(X, torch.tensor([0.0, 2.0, 5.0])).hist.tolist() == [2, 4]
        assert X.histogram(3, range=(0.0, 3.0)).hist.tolist() == [1, 1, 2]
        assert torch.histogram(X, 3, weight=X).hist.tolist() == [1, 5, 9]
        assert torch.histogram(X, 3, density=True).hist.tolist() == pytest.approx([0.2] * 3)

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda: torch.histogram(X, 0), "bins must be > 0, but got 0"),
            (lambda: torch.histogram(X, 2, range=(3.0, 1.0)), "min 3 max 1 for dimension 0"),
            (lambda: torch.histogram(X.long(), 2), "not implemented for 'Long'"),
        ],
    )
    def test_refused(self, call, message):
        with pytest.raises(RuntimeError, match=message):
            call()


def test_elements_of_vectors_are_tensors():
    """What is picked from a vector has no dimensions, and is an array all the same."""
    x = torch.tensor([3.0, 1.0, 2.0])
    for found in (x.kthvalue(2), x.median(0), x.nanmedian(0)):
        assert repr(found.values) == "tensor(2.)" and found.indices.item() == 2
    assert x.mode().values.item() == 1
