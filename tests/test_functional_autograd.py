"""autograd.functional: derivatives of functions, how they are laid out, and what strict refuses."""

from __future__ import annotations

import numpy as np
import pytest

import numbagrad as nb
from numbagrad.autograd import functional as F
from numbagrad.autograd import gradcheck, gradgradcheck


def tensor(*shape, seed=0):
    return nb.tensor(np.random.default_rng(seed).random(shape), requires_grad=True)


def cubes(x, y):
    return (x + y).pow(3).sum()


def test_a_jacobian_has_the_shape_of_the_output_and_then_of_the_input():
    x = tensor(2, 3)
    result = F.jacobian(lambda a: (2 * a).sum(dim=1), x)
    assert result.shape == (2, 2, 3)
    assert result.sum().item() == 12
    assert not result.requires_grad


@pytest.mark.parametrize("vectorize", [False, True])
def test_tuples_in_give_tuples_out(vectorize):
    x, y = tensor(3), tensor(2, seed=1)
    one = F.jacobian(lambda a: (a, a * 2), x, vectorize=vectorize)
    assert [j.shape for j in one] == [(3, 3), (3, 3)]
    both = F.jacobian(lambda a, b: (a, a.sum() * b), (x, y), vectorize=vectorize)
    assert [[j.shape for j in row] for row in both] == [[(3, 3), (3, 2)], [(2, 3), (2, 2)]]
    assert nb.equal(both[1][1], nb.eye(2, dtype=nb.float64) * x.sum())


@pytest.mark.parametrize("vectorize", [False, True])
def test_an_output_without_elements_has_a_jacobian_without_rows(vectorize):
    assert F.jacobian(lambda a: a[:0] * 2, tensor(3), vectorize=vectorize).shape == (0, 3)


@pytest.mark.parametrize("api", ["jacobian", "hessian"])
def test_forward_mode_gives_the_same(api):
    inputs = tensor(2, 3), tensor(3, 2, seed=1)

    def function(x, y):
        results = (x.cos() * x) @ y.sin()
        return results.sum() if api == "hessian" else (results, x.detach() * y.sum())

    option = "strategy" if api == "jacobian" else "outer_jacobian_strategy"
    derivative = getattr(F, api)
    rows = derivative(function, inputs, vectorize=True, **{option: "forward-mode"})
    for row, expected in zip(rows, derivative(function, inputs), strict=True):
        assert all([nb.allclose(a, b) for a, b in zip(row, expected, strict=True)])


def test_products_are_those_with_the_jacobian():
    x, v = tensor(4), tensor(4, seed=1)

    def function(a):
        return a**3 + a.sum()

    jacobian = F.jacobian(function, x)
    value, product = F.vjp(function, x, v)
    assert nb.allclose(value, function(x))
    assert nb.allclose(product, v @ jacobian)
    assert nb.allclose(F.jvp(function, x, v)[1], jacobian @ v)


def test_products_are_those_with_the_hessian():
    x, v = tensor(4), tensor(4, seed=1)

    def function(a):
        return (3 * a[:3].exp()).sum() * a.sum()

    hessian = F.hessian(function, x)
    assert nb.allclose(F.hvp(function, x, v)[1], hessian @ v)
    assert nb.allclose(F.vhp(function, x, v)[1], v @ hessian)


@pytest.mark.parametrize("vectorize", [False, True])
def test_the_hessian_of_two_inputs_is_a_table(vectorize):
    x, y = tensor(2), tensor(2, seed=1)
    table = F.hessian(cubes, (x, y), vectorize=vectorize)
    expected = nb.diag(6 * (x + y))
    assert all(nb.allclose(entry, expected) for row in table for entry in row)


@pytest.mark.parametrize("api", ["jvp", "vjp", "hvp", "vhp"])
def test_recorded_products_can_be_differentiated(api):
    x, y = tensor(2), tensor(2, seed=1)
    v = nb.ones((), dtype=nb.float64) if api == "vjp" else (tensor(2, seed=2), tensor(2, seed=3))

    def function(a, b):
        return getattr(F, api)(cubes, (a, b), v, create_graph=True)[1]

    assert gradcheck(function, (x, y))
    assert gradgradcheck(function, (x, y))


@pytest.mark.parametrize("vectorize", [False, True])
def test_recorded_jacobians_can_be_differentiated(vectorize):
    def function(a):
        return F.jacobian(lambda b: b.exp().sum(dim=1), a, create_graph=True, vectorize=vectorize)

    assert gradcheck(function, tensor(2, 2))
    assert gradgradcheck(function, tensor(2, 2))


def test_without_create_graph_the_inputs_get_no_history():
    x = tensor(2)
    for results in (F.vjp(lambda a: a.sum(), x), F.hvp(lambda a: (a * a).sum(), x, x)):
        assert not any(result.requires_grad for result in results)
    assert x.grad is None


def test_under_no_grad_derivatives_are_computed_all_the_same():
    x = tensor(3)
    with nb.no_grad():
        assert nb.equal(F.jacobian(lambda a: a * 2, x), 2 * nb.eye(3, dtype=nb.float64))
        assert F.jacobian(lambda a: a * a, x, create_graph=True).requires_grad


def test_strict_refuses_an_output_that_does_not_depend_on_the_input():
    x = tensor(3)
    with pytest.raises(RuntimeError, match="Output 0 of the user-provided function does not"):
        F.jacobian(lambda a: a.detach(), x, strict=True)
    with pytest.raises(RuntimeError, match="is independent of input 1"):
        F.jacobian(lambda a, b: a * 2, (x, x), strict=True)
    with pytest.raises(RuntimeError, match="jacobian of the user-provided function with respect"):
        F.hessian(lambda a: (3 * a).sum(), x, strict=True)
    assert F.jacobian(lambda a: a.detach(), x).abs().sum() == 0


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda x: F.vjp(lambda a: a, (x, 2), x), "value at index 1 has type <class 'int'>"),
        (lambda x: F.vjp(lambda a: (a, "b"), x, x), "The outputs of the user-provided function"),
        (lambda x: F.vjp(lambda a: a, x), "v can only be None if the user-provided function"),
        (lambda x: F.jvp(lambda a: a, x), "v can only be None if the input to the user-provided"),
        (lambda x: F.jvp(lambda a: a, x, (x, x)), "The given v should contain a single Tensor."),
        (lambda x: F.jvp(lambda a: a, x, x[:2]), "v has invalid size: should be torch.Size"),
        (lambda x: F.vhp(lambda a: a, x, x), "given to vhp should contain a single element"),
        (lambda x: F.hessian(lambda a: (a, a), x), "hessian should return a single Tensor"),
        (lambda x: F.jacobian(lambda a: a, x, strict=True, vectorize=True), "not supported togeth"),
        (lambda x: F.jacobian(lambda a: a, x, strategy="forward"), 'either "forward-mode" or'),
        (lambda x: F.jacobian(lambda a: a, x, strategy="forward-mode"), "`vectorize=True`"),
    ],
)
def test_what_does_not_fit_is_named(call, error):
    with pytest.raises((TypeError, RuntimeError, AssertionError, NotImplementedError), match=error):
        call(tensor(3))


def test_the_standard_basis_is_shared_out_to_the_tensors():
    parts = F._construct_standard_basis_for((nb.zeros(2), nb.zeros(()), nb.zeros(3)), (2, 1, 3))
    assert [part.shape for part in parts] == [(6, 2), (6, 1), (6, 3)]
    assert nb.equal(nb.cat(parts, 1), nb.eye(6))
