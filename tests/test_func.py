"""Derivatives of functions: against closed forms and each other, nested, and with the engine."""

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.func import (
    functional_call,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    stack_module_state,
    vjp,
    vmap,
)


@pytest.fixture
def matrix():
    return torch.randn(4, 4, dtype=torch.float64)


@pytest.fixture
def x():
    return torch.rand(4, dtype=torch.float64) + 0.5


def equal(result, expected, tolerance=1e-10):
    np.testing.assert_allclose(
        result.detach().numpy(), expected.detach().numpy(), rtol=tolerance, atol=tolerance
    )


class TestDerivatives:
    def test_a_quadratic_form(self, matrix, x):
        def form(x):
            return x @ matrix @ x

        both = matrix + matrix.T
        equal(grad(form)(x), both @ x)
        for second in (hessian(form), jacrev(jacrev(form)), jacfwd(jacfwd(form)),
                       jacrev(jacfwd(form))):  # fmt: skip
            equal(second(x), both)

    def test_third_derivatives(self, x):
        third = jacfwd(jacrev(jacfwd(lambda x: (x**4).sum())))(x)
        expected = torch.zeros(4, 4, 4, dtype=torch.float64)
        for position in range(4):
            expected[position, position, position] = 24 * x[position]
        equal(third, expected)

    def test_a_jacobian_has_the_shapes_of_output_and_input(self):
        made = jacrev(lambda a, b: {"sum": a.sum(0), "product": a @ b}, (0, 1))(
            torch.randn(2, 3), torch.randn(3, 5)
        )
        assert made["sum"][0].shape == (3, 2, 3)
        assert made["product"][1].shape == (2, 5, 3, 5)
        assert torch.equal(made["sum"][1], torch.zeros(3, 3, 5))

    def test_products_agree_with_the_jacobian(self, matrix, x):
        def function(x):
            return (matrix @ x).sin()

        jacobian = jacfwd(function)(x)
        vector = torch.randn(4, dtype=torch.float64)
        value, along = jvp(function, (x,), (vector,))
        equal(along, jacobian @ vector)
        again, pullback = vjp(function, x)
        equal(pullback(vector)[0], vector @ jacobian)
        equal(linearize(function, x)[1](vector), jacobian @ vector)
        equal(value, again)

    def test_chunks_of_a_jacobian(self, matrix, x):
        def function(x):
            return (matrix @ x).exp()

        for size in (1, 3, 4, 100):
            equal(jacrev(function, chunk_size=size)(x), jacrev(function)(x))


class TestHistories:
    def test_results_have_none_of_their_own(self, x):
        for made in (
            grad(lambda x: x.exp().sum())(x),
            grad_and_value(lambda x: x.exp().sum())(x)[1],
            jvp(lambda x: x.exp(), (x,), (x,))[1],
            hessian(lambda x: x.exp().sum())(x),
        ):
            assert not made.requires_grad

    def test_the_engine_follows_arguments_that_require_grad(self, x):
        x.requires_grad_()
        grad(lambda x: (x**3).sum())(x).sum().backward()
        equal(x.grad, 6 * x)

    def test_the_engine_follows_captured_tensors(self, x):
        scale = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
        grad(lambda x: (scale * x * x).sum())(x).sum().backward()
        equal(scale.grad, 2 * x.sum())

    def test_a_captured_sample_is_followed(self, x):
        x.requires_grad_()
        made = vmap(lambda a: grad(lambda b: b * b * a)(torch.ones((), dtype=torch.float64)))(x)
        made.sum().backward()
        equal(x.grad, torch.full((4,), 2.0, dtype=torch.float64))

    def test_the_tangent_of_a_captured_tensor_is_followed(self, x):
        tangent = torch.ones(4, dtype=torch.float64, requires_grad=True)
        one = torch.ones(4, dtype=torch.float64)
        _, along = jvp(lambda a: grad(lambda b: (b * b * a).sum())(one), (x,), (tangent,))
        along.sum().backward()
        equal(tangent.grad, 2 * one)

    def test_without_recording_outside(self, x):
        x.requires_grad_()
        with torch.no_grad():
            made = grad(lambda x: (x**2).sum())(x)
        equal(made, 2 * x)
        assert not made.requires_grad

    def test_arguments_are_left_as_they_were(self, x):
        grad(lambda x: x.sum())(x)
        assert not x.requires_grad
        assert x.grad is None

    def test_inner_and_outer_variables_are_not_confused(self, x):
        def outer(x):
            return (x * grad(lambda y: (x.detach() * 0 + y).sum())(x)).sum()

        equal(grad(outer)(x), torch.ones(4, dtype=torch.float64))
        product = jvp(lambda x: x * jvp(lambda y: x + y, (x,), (x * 0 + 1,))[1], (x,), (x * 0 + 1,))
        equal(product[1], torch.ones(4, dtype=torch.float64))


class TestModules:
    def test_a_call_leaves_the_module_alone(self):
        model = torch.nn.Linear(3, 2)
        weight = model.weight
        before = weight.detach().clone()
        made = functional_call(model, {"weight": torch.zeros(2, 3)}, (torch.ones(3),))
        equal(made, model.bias)
        assert model.weight is weight
        assert torch.equal(model.weight, before)

    def test_a_call_that_raises_leaves_the_module_alone(self):
        model = torch.nn.Linear(3, 2)
        weight = model.weight
        with pytest.raises(RuntimeError):
            functional_call(model, {"weight": torch.zeros(2, 3)}, (torch.ones(7),))
        assert model.weight is weight

    def test_tied_parameters_are_given_once(self):
        model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))
        model[1].weight = model[0].weight
        values = {"0.weight": torch.eye(3), "0.bias": torch.zeros(3), "1.bias": torch.zeros(3)}
        equal(functional_call(model, values, (torch.ones(3),)), torch.ones(3))
        with pytest.raises(ValueError, match="multiple values for keys"):
            functional_call(model, {**values, "1.weight": torch.ones(3, 3)}, (torch.ones(3),))

    def test_batch_norm_refuses_to_share_its_averages_among_samples(self):
        layer, x = torch.nn.BatchNorm1d(3), torch.randn(4, 5, 3)
        with pytest.raises(RuntimeError, match="replace_all_batch_norm_modules_"):
            vmap(layer)(x)
        each = torch.stack([layer(sample) for sample in x])
        equal(vmap(torch.func.replace_all_batch_norm_modules_(layer))(x), each, 1e-6)

    def test_stacked_modules(self):
        models = [torch.nn.Linear(3, 2) for _ in range(4)]
        parameters, buffers = stack_module_state(models)
        assert parameters["weight"].shape == (4, 2, 3)
        assert parameters["weight"].requires_grad
        assert buffers == {}
        x = torch.randn(5, 3)
        made = vmap(lambda p: functional_call(models[0], p, (x,)))(parameters)
        for number, model in enumerate(models):
            equal(made[number], model(x), 1e-6)


# --- modes and modules around derivatives ---------------------------------------------------------


def test_jvp_computes_tangents_where_they_are_left_out_of_account():
    x = torch.tensor([0.5, 1.0])
    switch = torch.autograd.forward_ad._set_fwd_grad_enabled
    with switch(False):
        _, along = torch.func.jvp(torch.sin, (x,), (torch.ones(2),))
        jacobian = torch.func.jacfwd(torch.sin)(x)
        assert not torch.autograd.forward_ad._is_fwd_grad_enabled()
    assert torch.equal(along, x.cos()) and torch.equal(jacobian, x.cos().diag())

    def partly(x):
        with switch(False):
            fixed = x**2
        return x**2 - fixed

    _, along = torch.func.jvp(partly, (x,), (torch.ones(2),))
    assert torch.equal(along, 2 * x)


def test_what_a_transformed_tensor_stands_for():
    x, seen = torch.arange(3.0), []

    def look(x):
        seen.append(x)
        for recurse in (True, False):
            seen.append(torch.func.debug_unwrap(x, recurse=recurse))
        return x * x

    vmap(grad(look))(x)
    inside, everything, one_level = seen
    assert inside.shape == () and one_level.shape == ()
    equal(everything, x)
    assert torch.func.debug_unwrap(x) is x
    with pytest.raises(TypeError, match="debug_unwrap: expected a Tensor, got int"):
        torch.func.debug_unwrap(3)


@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
def test_a_function_that_writes_in_place_is_functional_already(remove):
    double = torch.func.functionalize(lambda x: x.clone().mul_(2).view(-1), remove=remove)
    x = torch.arange(4.0).reshape(2, 2)
    equal(double(x), 2 * x.view(-1))
    equal(jacrev(double)(x), 2 * torch.eye(4).reshape(4, 2, 2))
    with pytest.raises(RuntimeError, match="received invalid argument for remove=views"):
        torch.func.functionalize(double, remove="views")(x)


def test_vjp_of_a_value_that_is_not_recorded_follows_its_input():
    x = torch.tensor(3.0, requires_grad=True)
    with torch.no_grad():
        value, vjp_fn = torch.func.vjp(lambda x: x**2, x)
    (gradient,) = vjp_fn(torch.tensor(1.0))
    assert not value.requires_grad and gradient.item() == 6.0
    (second,) = torch.autograd.grad(gradient, x)
    assert second.item() == 2.0
    with torch.no_grad():
        (gradient,) = vjp_fn(torch.tensor(1.0))
    assert not gradient.requires_grad


def test_stacked_modules_agree_on_what_is_trained():
    models = [torch.nn.Linear(2, 2) for _ in range(2)]
    models[0].weight.requires_grad_(False)
    with pytest.raises(RuntimeError, match="Expected weight from each model to have the same"):
        torch.func.stack_module_state(models)


# --- complex values -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "pulled"),
    [
        (lambda x: x * x, lambda x, v: v * (2 * x).conj()),
        (lambda x: x.exp(), lambda x, v: v * x.exp().conj()),
        (lambda x: x.conj() * x, lambda x, v: 2 * v.real * x),
        (lambda x: x * (1 + 2j), lambda x, v: v * (1 - 2j)),
    ],
)
def test_vjp_of_complex_outputs(function, pulled):
    x = torch.tensor([1 + 2j, 3 - 1j], dtype=torch.complex128)
    v = torch.tensor([1 - 1j, 2j], dtype=torch.complex128)
    value, vjp_fn = vjp(function, x)
    assert torch.equal(value, function(x))
    assert torch.allclose(vjp_fn(v)[0], pulled(x, v))
    each = vmap(lambda v: vjp(function, x)[1](v)[0])(torch.stack([v, 2 * v]))
    assert torch.allclose(each, torch.stack([pulled(x, v), 2 * pulled(x, v)]))
    y = x.detach().requires_grad_()
    (gradient,) = torch.autograd.grad(function(y), y, v)
    assert torch.allclose(vjp_fn(v)[0], gradient)


def test_vjp_of_a_complex_output_of_a_real_input():
    x = torch.tensor([1.0, 2.0], dtype=torch.float64)
    v = torch.tensor([1 - 1j, 2j], dtype=torch.complex128)
    _, vjp_fn = vjp(lambda x: x * (1 + 2j), x)
    assert torch.allclose(vjp_fn(v)[0], (v * (1 - 2j)).real)
    with pytest.raises(RuntimeError, match="jacrev: Expected all outputs to be real"):
        jacrev(lambda x: x * 0.5j)(x)


def test_rows_of_a_jacobian_one_at_a_time_need_no_batches():
    class Watched(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 3

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, grad):
            assert grad.nonzero().shape == (1, 1)  # as many as there are values
            return grad * 3

    x = torch.arange(3.0)
    made = jacrev(Watched.apply, chunk_size=1)(x)
    assert torch.equal(made, 3 * torch.eye(3))
    pair = jacrev(lambda x, y: (x * y, x.sum()), argnums=(0, 1), chunk_size=1)(x, x + 1)
    whole = jacrev(lambda x, y: (x * y, x.sum()), argnums=(0, 1))(x, x + 1)
    for one, other in zip(pair, whole, strict=True):
        assert all(map(torch.equal, one, other))
