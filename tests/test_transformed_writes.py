"""Writes in place under vmap and forward mode give what functions without an underscore give."""

import numpy as np
import pytest

import numbagrad as torch
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
