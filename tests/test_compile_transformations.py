"""Functions of ``numbagrad.func`` inside ``compile``: one program, the values of eager calls."""

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, vjp, vmap


def loss(first, second, x):
    return ((x @ first).tanh() @ second).tanh().pow(2).sum()


def shifted(x):
    y = x * 1
    y[1:].add_(x[:-1])
    return y


FUNCTIONS = {
    "grad": grad(loss, (0, 1)),
    "vjp": lambda *a: vjp(loss, *a)[1](a[0].sum()),
    "jvp": lambda *a: jvp(loss, a, tuple([x * 2 for x in a])),
    "vmap": vmap(loss, (None, None, 0)),
    "vmap of grad": vmap(grad(loss, (0, 1)), (None, None, 0)),
    "hessian": hessian(loss),
    "jacrev": jacrev(lambda a, b, c: (c @ a).sin() @ b, 1),
    "jacfwd": jacfwd(lambda a, b, c: (c @ a).sin() @ b, 1),
    "jvp of grad": lambda *a: jvp(grad(loss), a, tuple([x * 2 for x in a])),
    "vmap of writes": lambda a, b, c: vmap(grad(lambda x: shifted(x).pow(3).sum()))(c),
    "jvp of writes": lambda a, b, c: jvp(shifted, (c,), (c * 2,)),
}


def leaves(value):
    return [x for each in value for x in leaves(each)] if isinstance(value, tuple) else [value]


def drawn(seed):
    torch.manual_seed(seed)
    return torch.randn(5, 8), torch.randn(8, 3), torch.randn(6, 5)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_compiled_call_gives_what_the_function_gives(name):
    function = FUNCTIONS[name]
    compiled = torch.compile(function, fullgraph=True)
    for seed in (0, 0, 0, 1, 2):
        arguments = drawn(seed)
        for made, expected in zip(
            leaves(compiled(*arguments)), leaves(function(*arguments)), strict=True
        ):
            np.testing.assert_allclose(made.numpy(), expected.numpy(), rtol=1e-5, atol=1e-5)


def test_a_step_with_gradients_of_samples_is_one_program():
    model = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    names = [name for name, _ in model.named_parameters()]

    def of_sample(values, x):
        parameters = dict(zip(names, values, strict=True))
        return functional_call(model, parameters, (x,)).pow(2).sum()

    def clipped(x):
        values = tuple([parameter.detach() for parameter in model.parameters()])
        each = vmap(grad(of_sample), (None, 0))(values, x)
        return tuple([g.clamp(-1, 1).mean(0) for g in each])

    compiled = torch.compile(clipped)
    for seed in range(4):
        torch.manual_seed(seed)
        x = torch.randn(7, 5)
        for made, expected in zip(compiled(x), clipped(x), strict=True):
            np.testing.assert_allclose(made.numpy(), expected.numpy(), rtol=1e-5, atol=1e-6)


def test_a_program_of_ordinary_tensors_is_not_run_on_samples_and_duals():
    def function(x):
        return (x * x + x).sum()

    compiled = torch.compile(function)
    for scale in range(4):  # from then on compiled code looks at the arguments
        x = torch.arange(3.0) * scale
        assert compiled(x).item() == function(x).item()
    x = torch.tensor([[1.0, 2.0, 3.0], [0.0, 1.0, 4.0]])
    assert torch.vmap(compiled)(x).tolist() == [20, 22]
    value, tangent = torch.func.jvp(compiled, (x[0],), (torch.ones(3),))
    assert (value.item(), tangent.item()) == (20, 15)
    assert torch.vmap(torch.func.grad(compiled))(x).tolist() == (2 * x + 1).tolist()
