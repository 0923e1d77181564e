"""Writes in place under vmap and forward mode give what functions without an underscore give."""

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.autograd import forward_ad
from numbagrad.func import grad, jvp, vmap


def square_in_place(x):
    y = x.clone()
    y.mul_(x)
    return y


def through_a_view(x):
    y = x * 1
    y[0] = x[1] * 2
    y[1:].add_(x[1:])
    return y


def into_new_memory(x):
    y = torch.zeros_like(x)
    y[0] = x[0] ** 2
    y[1:].copy_(x[:-1])
    return y.sin()


def filled(x):
    y = x.clone()
    y.zero_()
    y.fill_(3)
    return y * x


def clamped(x):
    return (x * 1).clamp_(min=0).mul_(x).add_(1, alpha=2)


WRITES = [square_in_place, through_a_view, into_new_memory, filled, clamped]
POINT = np.array([0.5, -1.5, 2.0, 1.25])


def numerical_jvp(function, x, t, step=1e-6):
    return (function(x + step * t) - function(x - step * t)) / (2 * step)


@pytest.mark.parametrize("function", WRITES, ids=lambda f: f.__name__)
class TestWrites:
    def test_forward_mode(self, function):
        x, t = torch.tensor([0.5, 1.5, 2.0, 1.25], dtype=torch.float64), torch.randn(4).double()
        value, tangent = jvp(function, (x,), (t,))
        np.testing.assert_array_equal(value.numpy(), function(x).numpy())
        expected = numerical_jvp(function, x, t)
        np.testing.assert_allclose(tangent.numpy(), expected.numpy(), rtol=1e-6, atol=1e-8)

    def test_forward_over_reverse(self, function):
        x, t = torch.tensor([0.5, 1.5, 2.0, 1.25], dtype=torch.float64), torch.randn(4).double()
        gradient = grad(lambda x: (function(x) ** 3).sum())
        value, tangent = jvp(gradient, (x,), (t,))
        np.testing.assert_allclose(value.numpy(), gradient(x).numpy())
        expected = numerical_jvp(gradient, x, t)
        np.testing.assert_allclose(tangent.numpy(), expected.numpy(), rtol=1e-5, atol=1e-7)

    def test_samples(self, function):
        x = torch.rand(3, 4).double() + 0.1
        expected = torch.stack([function(row) for row in x])
        np.testing.assert_array_equal(vmap(function)(x).numpy(), expected.numpy())

    def test_gradients_of_samples(self, function):
        x = torch.rand(3, 4).double() + 0.1
        gradient = grad(lambda x: (function(x) ** 3).sum())
        expected = torch.stack([gradient(row) for row in x])
        np.testing.assert_allclose(vmap(gradient)(x).numpy(), expected.numpy())

    def test_gradient_of_all_samples(self, function):
        x = (torch.rand(3, 4).double() + 0.1).requires_grad_()
        (vmap(function)(x) ** 3).sum().backward()
        expected = torch.stack([grad(lambda x: (function(x) ** 3).sum())(row) for row in x.data])
        np.testing.assert_allclose(x.grad.numpy(), expected.numpy())


def test_a_tensor_without_samples_takes_no_value_of_a_sample():
    total = torch.zeros(4)
    with pytest.raises(RuntimeError, match="vmap: inplace arithmetic.*not possible"):
        vmap(lambda row: total.add_(row))(torch.ones(3, 4))
    assert torch.equal(total, torch.zeros(4))


def test_a_tensor_that_is_written_becomes_dual():
    def function(x):
        y = torch.zeros(4).double()
        view = y[1:3]
        view.mul_(0).add_(x[:2])
        return y * y

    x, t = torch.randn(4).double(), torch.ones(4).double()
    _, tangent = jvp(function, (x,), (t,))
    expected = numerical_jvp(function, x, t)
    np.testing.assert_allclose(tangent.numpy(), expected.numpy(), rtol=1e-6, atol=1e-9)


def test_a_saved_tensor_that_was_written_raises():
    def function(x):
        y = x * 1
        z = y * y
        y.add_(1)
        return z.sum()

    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        vmap(grad(function))(torch.ones(3, 4))


class TestViewsOfWhatHasNoTangent:
    def test_the_base_and_its_other_views_get_tangents(self):
        with forward_ad.dual_level():
            base = torch.zeros(2, 4).t()
            above, column = base[:2], base[2:, 0]
            column.copy_(forward_ad.make_dual(torch.ones(2), torch.tensor([3.0, 4.0])))
            assert forward_ad.unpack_dual(base).tangent[:, 0].tolist() == [0, 0, 3, 4]
            assert forward_ad.unpack_dual(above).tangent.sum() == 0

    @pytest.mark.parametrize("shape", [lambda x: x.view_as(x), torch.t])
    def test_tangents_of_samples(self, shape):
        view = shape(torch.zeros(2, 2))

        def tangents(t):
            with forward_ad.dual_level():
                view.copy_(forward_ad.make_dual(torch.zeros(2, 2), t))
                return [forward_ad.unpack_dual(x).tangent for x in (view, view._base)]

        t = torch.randn(3, 2, 2)
        of_view, of_base = vmap(tangents)(t)
        assert torch.equal(of_view, t)
        assert torch.equal(vmap(shape)(of_base), t)

    def test_a_view_of_a_tangent_that_lies_otherwise_is_not_written(self):
        with forward_ad.dual_level():
            rows = torch.tensor([[0.0, 2, 3], [1, 4, 5]]).t().contiguous().t()
            scores = torch.log_softmax(forward_ad.make_dual(rows, torch.ones(2, 3)), 1)
            with pytest.raises(RuntimeError, match=r"clone\(\) the base"):
                scores.as_strided((2,), (1,), 1).mul_(2)
