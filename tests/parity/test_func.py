"""torch.func and torch.autograd.forward_ad, beside numbagrad's of the same names."""

import importlib

import numpy as np
import pytest
from parity_tools import both, close, message

SHAPES = ((5, 8), (8, 3), (6, 5))


def network(library):
    """Two weights, inputs, and a function of them, in float64."""
    generator = np.random.default_rng(0)
    tensors = [library.from_numpy(generator.normal(size=shape)) for shape in SHAPES]

    def loss(first, second, x):
        return ((x @ first).tanh() @ second).tanh().pow(2).sum()

    return tensors, loss


def flat(value):
    """The tensors of nested containers, in order."""
    if isinstance(value, dict):
        return [x for each in value.values() for x in flat(each)]
    if isinstance(value, (tuple, list)):
        return [x for each in value for x in flat(each)]
    return [value]


def same(function):
    """Check what a function of a library returns in both."""
    ours, theirs = [flat(result) for result in both(function)]
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        close(a, b, rtol=1e-9, atol=1e-10)
        if hasattr(b, "requires_grad"):
            assert a.requires_grad == b.requires_grad


OF_NETWORK = {
    "grad": lambda f, loss, x: f.grad(loss)(*x),
    "grad of two": lambda f, loss, x: f.grad(loss, (0, 1))(*x),
    "grad of the last": lambda f, loss, x: f.grad(loss, -1)(*x),
    "grad_and_value": lambda f, loss, x: f.grad_and_value(loss, (2, 0))(*x),
    "aux": lambda f, loss, x: f.grad_and_value(lambda *a: (loss(*a), a[0] * 2), has_aux=True)(*x),
    "vjp": lambda f, loss, x: f.vjp(loss, *x)[1](x[0].sum()),
    "jvp": lambda f, loss, x: f.jvp(loss, tuple(x), tuple([a * 2 for a in x])),
    "linearize": lambda f, loss, x: f.linearize(loss, *x)[1](*[a * 2 for a in x]),
    "jacrev": lambda f, loss, x: f.jacrev(lambda a, b, c: (c @ a).sin() @ b, (0, 1))(*x),
    "jacrev, chunks": lambda f, loss, x: f.jacrev(lambda a: a.sin(), chunk_size=3)(x[0]),
    "jacfwd": lambda f, loss, x: f.jacfwd(lambda a, b, c: (c @ a).sin() @ b, (0, 1))(*x),
    "hessian": lambda f, loss, x: f.hessian(loss, (0, 1))(*x),
    "jacrev of jacrev": lambda f, loss, x: f.jacrev(f.jacrev(loss))(*x),
    "jacfwd of jacfwd": lambda f, loss, x: f.jacfwd(f.jacfwd(loss))(*x),
    "jacrev of jacfwd": lambda f, loss, x: f.jacrev(f.jacfwd(loss))(*x),
    "vmap of grad": lambda f, loss, x: f.vmap(f.grad(loss, (0, 1)), (None, None, 0))(*x),
    "grad of vmap": lambda f, loss, x: f.grad(
        lambda a: f.vmap(loss, (None, None, 0))(a, *x[1:]).sum()
    )(x[0]),
    "vmap of hessian": lambda f, loss, x: f.vmap(f.hessian(loss), (None, None, 0))(*x),
    "vmap of jvp": lambda f, loss, x: f.vmap(
        lambda row: f.jvp(lambda r: loss(x[0], x[1], r), (row,), (row * 2,))
    )(x[2]),
    "jvp of vmap": lambda f, loss, x: f.jvp(
        lambda a: f.vmap(loss, (None, None, 0))(a, *x[1:]), (x[0],), (x[0],)
    ),
    "grad of grad": lambda f, loss, x: f.grad(
        lambda a: f.grad(lambda b: (b**2).sum() * a.sum())(a).sum()
    )(x[0]),
    "dicts": lambda f, loss, x: f.grad(lambda p: loss(p["a"], p["b"][0], x[2]))(
        {"a": x[0], "b": [x[1]]}
    ),
    "no dependence": lambda f, loss, x: f.grad(lambda a, b: b.sum(), 0)(x[0], x[1]),
}


@pytest.mark.parametrize("name", OF_NETWORK)
def test_of_a_network(name):
    def run(library):
        tensors, loss = network(library)
        return OF_NETWORK[name](library.func, loss, tensors)

    same(run)


def test_gradients_outside_go_through_those_inside():
    def run(library):
        tensors, loss = network(library)
        weight = tensors[0].requires_grad_()
        each = library.func.vmap(library.func.grad(loss), (None, None, 0))(weight, *tensors[1:])
        (each**2).sum().backward()
        return weight.grad

    same(run)


def test_captured_tensors_are_followed():
    def run(library):
        x = library.arange(4.0, dtype=library.float64).requires_grad_()
        gradient = library.func.grad(lambda y: (y * y * x).sum())(x.detach() + 1)
        gradient.sum().backward()
        return x.grad

    same(run)


def test_a_module_called_with_other_parameters():
    def run(library):
        model = library.nn.Sequential(library.nn.Linear(3, 4), library.nn.Tanh())
        parameters = {name: p.detach() * 2 for name, p in model.named_parameters()}
        x = library.randn(5, 3)

        def loss(parameters):
            return library.func.functional_call(model, parameters, (x,)).pow(2).sum()

        return [model(x).detach(), library.func.grad(loss)(parameters)]

    ours, theirs = [flat(result) for result in both(run)]
    for a, b in zip(ours, theirs, strict=True):
        close(a, b)


def test_an_ensemble_of_modules():
    def run(library):
        models = [library.nn.Linear(3, 2) for _ in range(4)]
        parameters, buffers = library.func.stack_module_state(models)
        x = library.randn(5, 3)

        def call(parameters, buffers, x):
            return library.func.functional_call(models[0], (parameters, buffers), (x,))

        made = library.func.vmap(call, in_dims=(0, 0, None))(parameters, buffers, x)
        made.sum().backward()
        return [made.detach(), parameters["weight"].grad]

    ours, theirs = [flat(result) for result in both(run)]
    for a, b in zip(ours, theirs, strict=True):
        close(a, b)


def test_an_ensemble_with_batch_norm():
    def run(library):
        models = [library.nn.BatchNorm1d(3) for _ in range(4)]
        for model in models:
            assert library.func.replace_all_batch_norm_modules_(model) is model
            assert model.running_mean is None and not model.track_running_stats
        parameters, buffers = library.func.stack_module_state(models)
        x = library.randn(4, 5, 3)

        def call(parameters, x):
            return library.func.functional_call(models[0], parameters, (x,))

        return [library.func.vmap(call)(parameters, x).detach(), len(buffers)]

    (ours, none), (theirs, nothing) = both(run)
    close(ours, theirs)
    assert none == nothing == 0


ERRORS = {
    "no scalar": lambda t: t.func.grad(lambda x: x)(t.ones(3)),
    "grad of integers": lambda t: t.func.grad(lambda x: x.sum())(t.arange(3)),
    "jacrev of bools": lambda t: t.func.jacrev(lambda x: x)(t.ones(2, dtype=t.bool)),
    "functionalize": lambda t: t.func.functionalize(lambda x: x, remove="views")(t.ones(2)),
    "no tensor": lambda t: t.func.grad(lambda x: 3)(t.ones(3)),
    "argnums too large": lambda t: t.func.grad(lambda x: x.sum(), 2)(t.ones(3)),
    "argnums twice": lambda t: t.func.grad(lambda x, y: x.sum(), (0, 0))(t.ones(3), t.ones(3)),
    "argnums empty": lambda t: t.func.grad(lambda x: x.sum(), ())(t.ones(3)),
    "argnums float": lambda t: t.func.grad(lambda x: x.sum(), 0.0)(t.ones(3)),
    "no aux": lambda t: t.func.grad(lambda x: x.sum(), has_aux=True)(t.ones(3)),
    "jvp of no tuple": lambda t: t.func.jvp(lambda x: x, t.ones(3), (t.ones(3),)),
    "jvp without tensors": lambda t: t.func.jvp(lambda x: x, (), ()),
    "jvp strict": lambda t: t.func.jvp(
        lambda x: t.ones(2), (t.ones(3),), (t.ones(3),), strict=True
    ),
    "jvp of shapes": lambda t: t.func.jvp(lambda x: x, (t.ones(3),), (t.ones(2),)),
    "jvp of integers": lambda t: t.func.jvp(lambda x: x, (t.arange(3),), (t.arange(3),)),
    "jvp along integers": lambda t: t.func.jvp(lambda x: x, (t.ones(3),), (t.arange(3),)),
    "vjp of integers": lambda t: t.func.vjp(lambda x: x.long(), t.ones(3)),
    "vjp of a number": lambda t: t.func.vjp(lambda x: 3.0, t.ones(3)),
    "chunk size": lambda t: t.func.jacrev(lambda x: x, chunk_size=0),
    "strict": lambda t: t.func.functional_call(
        t.nn.Linear(2, 2), {"weight": t.ones(2, 2)}, (t.ones(2),), strict=True
    ),
    "twice given": lambda t: t.func.functional_call(
        t.nn.Linear(2, 2), ({"weight": t.ones(2, 2)}, {"weight": t.ones(2, 2)}), (t.ones(2),)
    ),
    "no models": lambda t: t.func.stack_module_state([]),
    "two classes": lambda t: t.func.stack_module_state([t.nn.Linear(2, 2), t.nn.Tanh()]),
    "no level": lambda t: _forward_ad(t).make_dual(t.ones(2), t.ones(2)),
    "exit without enter": lambda t: _forward_ad(t).exit_dual_level(),
}


def _forward_ad(library):
    return importlib.import_module(f"{library.__name__}.autograd.forward_ad")


@pytest.mark.parametrize("name", ERRORS)
def test_error(name):
    both_messages = [message(library, ERRORS[name]) for library in _libraries()]
    (ours, our_text), (theirs, their_text) = both_messages
    assert ours is theirs
    assert our_text.replace("numbagrad.tensor.Tensor", "torch.Tensor") == their_text


def _libraries():
    return [importlib.import_module(name) for name in ("numbagrad", "torch")]


IN_A_LEVEL = {
    "detach": lambda t, f, d: f.unpack_dual(d.detach()).tangent,
    "view": lambda t, f, d: f.unpack_dual(d.view(-1)).tangent,
    "text": lambda t, f, d: repr(d),
    "clone": lambda t, f, d: f.unpack_dual(d.clone()).tangent,
    "in place": lambda t, f, d: f.unpack_dual(t.zeros(2, 2).add_(d)).tangent,
    "in place, a view": lambda t, f, d: f.unpack_dual(t.zeros(2, 2)[0].copy_(d[1])).tangent,
    "index": lambda t, f, d: f.unpack_dual(d[t.tensor([1, 0])]).tangent,
    "where": lambda t, f, d: f.unpack_dual(t.where(d > 2, d, d * 2)).tangent,
    "cat": lambda t, f, d: f.unpack_dual(t.cat([d, t.ones(1, 2)])).tangent,
    "cast": lambda t, f, d: f.unpack_dual(d.double()).tangent,
    "layer_norm": lambda t, f, d: f.unpack_dual(t.nn.functional.layer_norm(d, (2,))).tangent.round(
        decimals=3
    ),
    "item": lambda t, f, d: d.sum().item(),
    "bool": lambda t, f, d: bool(d.sum() > 3),
    "argmax": lambda t, f, d: f.unpack_dual(d.argmax()).tangent,
    "copy": lambda t, f, d: f.unpack_dual(__import__("copy").deepcopy(d)).tangent,
    "zeros_like": lambda t, f, d: f.unpack_dual(t.zeros_like(d)).tangent,
}


@pytest.mark.parametrize("name", IN_A_LEVEL)
def test_dual(name):
    def run(library):
        forward_ad = _forward_ad(library)
        with forward_ad.dual_level():
            values = library.arange(4.0).reshape(2, 2) + 1
            dual = forward_ad.make_dual(values, values * 3)
            made = IN_A_LEVEL[name](library, forward_ad, dual)
            return made.tolist() if hasattr(made, "tolist") else made

    ours, theirs = both(run)
    assert ours == theirs


IN_A_LEVEL_ERRORS = {
    "out": lambda t, f, d: t.add(d, d, out=t.zeros(2, 2)),
    "dual again": lambda t, f, d: f.make_dual(d, t.ones(2, 2)),
    "dual tangent": lambda t, f, d: f.make_dual(t.ones(2, 2), d),
    "integers": lambda t, f, d: f.make_dual(t.arange(3), t.ones(3)),
    "integer tangent": lambda t, f, d: f.make_dual(t.ones(3), t.arange(3)),
    "shapes": lambda t, f, d: f.make_dual(t.ones(3), t.ones(4)),
    "nested": lambda t, f, d: f.enter_dual_level(),
}


@pytest.mark.parametrize("name", IN_A_LEVEL_ERRORS)
def test_dual_error(name):
    def run(library):
        forward_ad = _forward_ad(library)
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(library.ones(2, 2), library.ones(2, 2))
            wrong = IN_A_LEVEL_ERRORS[name]
            return message(library, lambda library: wrong(library, forward_ad, dual))

    (ours, our_text), (theirs, their_text) = both(run)
    assert ours is theirs
    assert our_text == their_text.splitlines()[0]
