"""autograd.functional gives torch's values, layouts and errors, for every choice of its options."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

import numbagrad

RANDOM = np.random.default_rng(0).random

#: Functions by name: made for a library, and the shapes of their inputs.
FUNCTIONS = {
    "rows": (lambda t: lambda x: x.exp().sum(dim=1), [(4, 4)]),
    "copy": (lambda t: lambda x: x.clone(), [(4,)]),
    "half of it linear": (lambda t: lambda x, y: (x + y.exp()).sum(dim=1), [(4, 4), (4, 4)]),
    "three outputs": (
        lambda t: lambda x, y: ((x * x) @ y, x @ (x.sum(1) * y), y.sum()),
        [(5, 3), (3, 5)],
    ),
    "unrelated": (lambda t: lambda x, y: (x, y, x, y), [(2,), (3,)]),
    "cut": (lambda t: lambda x: x.detach(), [(4,)]),
    "another leaf": (lambda t: lambda x: x.long().double().requires_grad_().clone(), [(4,)]),
    "of a number": (lambda t: lambda x: t.stack([x, x, x]), [()]),
    "sum": (lambda t: lambda x: x.sum(), [(4, 4)]),
    "cubes": (lambda t: lambda x, y: (x + y).pow(3).sum(), [(2, 2), (2, 2)]),
    "part": (lambda t: lambda x: 3 * x.narrow(0, 0, 3).exp().sum(), [(4,)]),
    "products": (
        lambda t: lambda x, y, z: ((x.relu() * x) @ y.sin() @ z).sum(),
        [(2, 3), (3, 5), (5, 5)],
    ),
    "one unused": (lambda t: lambda x, y: x.exp().sum(), [(2,), (3,)]),
    "constant": (lambda t: lambda x, y: t.ones([]), [(2,), (3,)]),
    "three dimensions": (lambda t: lambda x: x.exp().sum().view(1, 1, 1), [(3,)]),
}
INPUTS = {name: [RANDOM(shape) for shape in shapes] for name, (_, shapes) in FUNCTIONS.items()}
CHOICES = list(itertools.product([False, True], [False, True], [False, True]))


def leaves(results):
    if isinstance(results, (tuple, list)):
        return [leaf for result in results for leaf in leaves(result)]
    return [results]


def structure(results):
    return tuple(map(structure, results)) if isinstance(results, (tuple, list)) else "tensor"


def one_or_tuple(values):
    return values[0] if len(values) == 1 else tuple(values)


def call(library, api, name, requires_grad, **options):
    """Structure, values and whether they require grad, or the error."""
    function = FUNCTIONS[name][0](library)
    inputs = [library.tensor(x, requires_grad=requires_grad) for x in INPUTS[name]]
    arguments = []
    if api in ("jvp", "hvp", "vhp"):
        arguments = [one_or_tuple([library.tensor(np.cos(x)) for x in INPUTS[name]])]
    elif api == "vjp":
        outputs = leaves(function(*inputs))
        arguments = [one_or_tuple([library.ones_like(y).detach() for y in outputs])]
    try:
        results = getattr(library.autograd.functional, api)(
            function, one_or_tuple(inputs), *arguments, **options
        )
    except (RuntimeError, TypeError) as error:
        return type(error), str(error), []
    found = leaves(results)
    return (
        structure(results),
        [result.requires_grad for result in found],
        [result.detach().numpy() for result in found],
    )


def compare(api, name, requires_grad, **options):
    expected = call(torch, api, name, requires_grad, **options)
    actual = call(numbagrad, api, name, requires_grad, **options)
    assert actual[:2] == expected[:2], options
    for ours, theirs in zip(actual[2], expected[2], strict=True):
        assert ours.shape == theirs.shape, options
        assert ours.dtype == theirs.dtype, options
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("api", ["vjp", "jvp", "vhp", "hvp"])
def test_products(api, name):
    for create_graph, strict, requires_grad in CHOICES:
        compare(api, name, requires_grad, create_graph=create_graph, strict=strict)


def values(library, api, name, **options):
    function = FUNCTIONS[name][0](library)
    inputs = one_or_tuple([library.tensor(x) for x in INPUTS[name]])
    results = getattr(library.autograd.functional, api)(function, inputs, vectorize=True, **options)
    return [result.detach().numpy() for result in leaves(results)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_forward_mode(name):
    # torch returns lists, and Hessians that require grad, which nobody asked for.
    every = [("jacobian", "strategy")]
    outputs = leaves(FUNCTIONS[name][0](numbagrad)(*map(numbagrad.tensor, INPUTS[name])))
    if len(outputs) == 1 and outputs[0].numel() == 1:
        every.append(("hessian", "outer_jacobian_strategy"))
    for api, option in every:
        ours, theirs = [
            values(library, api, name, **{option: "forward-mode"}) for library in (numbagrad, torch)
        ]
        assert [x.shape for x in ours] == [x.shape for x in theirs]
        for x, y in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("api", ["jacobian", "hessian"])
def test_whole_derivatives(api, name):
    for create_graph, strict, requires_grad in CHOICES:
        for vectorize in (False, True):
            compare(
                api, name, requires_grad,
                create_graph=create_graph, strict=strict, vectorize=vectorize,
            )  # fmt: skip


@pytest.mark.parametrize(
    "transformed",
    [
        lambda t, f: lambda x: t.func.jvp(f, (x,), (t.ones(3),))[1],
        lambda t, f: t.func.grad(lambda x: t.func.vmap(f)(x).sum()),
        lambda t, f: t.func.vmap(t.func.grad(f)),
        lambda t, f: lambda x: t.func.vmap(lambda v: t.func.jvp(f, (x,), (v,))[1])(t.eye(3)),
        lambda t, f: lambda x: t.func.jvp(t.func.vmap(f), (x,), (t.ones(3),))[1],
    ],
)
def test_detach_cuts_every_transformation(transformed):
    results = []
    for library in (numbagrad, torch):
        x = library.tensor([1.0, 2.0, 3.0])
        results.append(transformed(library, lambda a: a.detach() * a.sin())(x).numpy())
    np.testing.assert_allclose(*results, rtol=1e-6)
