"""Modes that see operators below autograd: torch's names, its counts of arithmetic, its results."""

import contextlib
import importlib

import numpy as np
import pytest

import numbagrad as ng

torch = pytest.importorskip("torch")
BOTH = [ng, torch]


def dispatch_of(T):
    return importlib.import_module(f"{T.__name__}.utils._python_dispatch").TorchDispatchMode


def counter_of(T, **options):
    return importlib.import_module(f"{T.__name__}.utils.flop_counter").FlopCounterMode(
        display=False, **options
    )


def seeing(T, handle):
    """A mode that calls ``handle(func, args, kwargs)``."""

    class Mode(dispatch_of(T)):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return handle(func, args, kwargs or {})

    return Mode()


#: A function of T, and the shapes of what it is given.
COUNTED = {
    "mm": (lambda T, a, b: a @ b, (3, 4), (4, 5)),
    "addmm": (lambda T, c, a, b: T.addmm(c, a, b), (5,), (3, 4), (4, 5)),
    "bmm": (lambda T, a, b: T.bmm(a, b), (2, 3, 4), (2, 4, 5)),
    "baddbmm": (lambda T, c, a, b: T.baddbmm(c, a, b), (2, 3, 5), (2, 3, 4), (2, 4, 5)),
    "stack by matrix": (lambda T, a, b: a @ b, (2, 3, 4), (4, 5)),
    "stack by stack": (lambda T, a, b: a @ b, (2, 2, 3, 4), (2, 2, 4, 5)),
    "stacks that broadcast": (lambda T, a, b: a @ b, (2, 2, 3, 4), (2, 4, 5)),
    "vector by stack": (lambda T, a, b: a @ b, (4,), (2, 4, 5)),
    "stack by vector": (lambda T, a, b: a @ b, (2, 3, 4), (4,)),
    "mv": (lambda T, a, b: T.mv(a, b), (3, 4), (4,)),
    "matrix_power": (lambda T, a: T.matrix_power(a, 3), (3, 3)),
    "linear": (lambda T, *x: T.nn.functional.linear(*x), (3, 4), (5, 4), (5,)),
    "linear without bias": (lambda T, *x: T.nn.functional.linear(*x), (3, 4), (5, 4)),
    "linear of stacks": (lambda T, *x: T.nn.functional.linear(*x), (2, 3, 4), (5, 4), (5,)),
    "linear of a vector": (lambda T, *x: T.nn.functional.linear(*x), (4,), (5, 4), (5,)),
    "conv1d": (lambda T, *x: T.nn.functional.conv1d(*x), (2, 3, 8), (4, 3, 3), (4,)),
    "conv2d": (lambda T, *x: T.nn.functional.conv2d(*x), (2, 3, 8, 8), (4, 3, 3, 3), (4,)),
    "conv2d of one": (lambda T, *x: T.nn.functional.conv2d(*x), (3, 8, 8), (4, 3, 3, 3)),
    "conv2d in groups": (
        lambda T, *x: T.nn.functional.conv2d(*x, stride=2, padding=1, groups=2),
        (2, 4, 8, 8), (6, 2, 3, 3), (6,),
    ),
    "conv3d": (lambda T, *x: T.nn.functional.conv3d(*x), (2, 3, 8, 6, 5), (4, 3, 3, 3, 3)),
    "conv_transpose2d": (
        lambda T, *x: T.nn.functional.conv_transpose2d(*x), (2, 3, 8, 8), (3, 4, 3, 3), (4,),
    ),
    "conv_transpose2d in groups": (
        lambda T, *x: T.nn.functional.conv_transpose2d(*x, stride=2, groups=2),
        (2, 4, 8, 8), (4, 3, 3, 3), (6,),
    ),
    "attention by a kernel": (
        lambda T, *x: T.nn.functional.scaled_dot_product_attention(*x, is_causal=True),
        (2, 2, 5, 4), (2, 2, 6, 4), (2, 2, 6, 4),
    ),
    "attention in steps": (
        lambda T, *x: T.nn.functional.scaled_dot_product_attention(*x), (2, 5, 4), (2, 6, 4),
        (2, 6, 4),
    ),
    "attention with dropout": (
        lambda T, *x: T.nn.functional.scaled_dot_product_attention(*x, dropout_p=0.5),
        (2, 2, 5, 4), (2, 2, 6, 4), (2, 2, 6, 4),
    ),
    "einsum of stacks": (lambda T, *x: T.einsum("bij,bjk->bik", *x), (2, 3, 4), (2, 4, 5)),
    "layer_norm": (lambda T, x, y: T.nn.functional.layer_norm(x, (4,), y) @ x.t(), (3, 4), (4,)),
}  # fmt: skip


def leaves(T, shapes):
    numbers = np.random.default_rng(0)
    return [
        T.tensor(numbers.normal(size=shape).astype(np.float32), requires_grad=True)
        for shape in shapes
    ]


def counts(T, function, shapes):
    with counter_of(T) as counter:
        out = function(T, *leaves(T, shapes))
        forward = counter.get_total_flops()
        (out * 1).sum().backward()
    found = counter.get_flop_counts()
    return forward, {
        name: {str(k): n for k, n in of_module.items()} for name, of_module in found.items()
    }


@pytest.mark.parametrize("name", COUNTED)
def test_arithmetic_is_counted_as_by_torch(name):
    function, *shapes = COUNTED[name]
    ours, theirs = [counts(T, function, shapes) for T in BOTH]
    assert ours == theirs


@pytest.mark.parametrize("name", ["GRU", "RNN", "LSTM"])
def test_recurrent_layers_are_counted_as_by_torch(name):
    def function(T, x):
        return getattr(T.nn, name)(4, 5)(x)[0] * 2

    ours, theirs = [counts(T, function, [(3, 2, 4)])[1]["Global"] for T in BOTH]
    assert ours == theirs


def test_modules_are_counted_as_by_torch():
    def count(T):
        nn = T.nn
        inner = nn.Sequential(nn.Linear(128, 16), nn.Tanh(), nn.Linear(16, 10))
        net = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), inner,
        )  # fmt: skip
        (x,) = leaves(T, [(2, 3, 8, 8)])
        with counter_of(T, depth=3) as counter:
            for _ in range(2):
                T.nn.functional.cross_entropy(net(x), T.tensor([1, 2])).backward()
        return counter.get_flop_counts(), counter.get_table(), counter.get_table(1)

    (ours, *tables), (theirs, *their_tables) = count(ng), count(torch)
    named = [
        {name: {str(k): n for k, n in of.items()} for name, of in found.items()}
        for found in (ours, theirs)
    ]
    assert named[0] == named[1]
    assert len(named[0]) == 6
    assert [sorted(t.split("\n")) for t in tables] == [sorted(t.split("\n")) for t in their_tables]


def test_formulas_may_be_added():
    def count(T):
        mapping = {T.ops.aten.exp: lambda shape, out_shape=None: 7 * shape[0]}
        with counter_of(T, custom_mapping=mapping) as counter:
            (x,) = leaves(T, [(3,)])
            (x.exp() * 2).sum()
        return counter.get_total_flops()

    assert count(ng) == count(torch) == 21


NAMED = {
    "pointwise": (lambda T, x, y: (x.relu() * y + x / y).exp().sum(), (3, 4), (3, 4)),
    "linear": (lambda T, x, y, z: T.nn.functional.linear(x, y, z), (3, 4), (5, 4), (5,)),
    "reductions": (lambda T, x: x.sum(1) + x.mean((0, 1)) + x.amax(1) + x.var(1), (3, 4)),
    "softmax": (lambda T, x: x.softmax(1), (3, 4)),
    "convolution": (
        lambda T, *x: T.nn.functional.conv2d(*x, stride=2, padding=1),
        (1, 2, 5, 5),
        (3, 2, 3, 3),
        (3,),
    ),
    "in place": (lambda T, x: x.clone().add_(1).mul_(2), (3, 4)),
}
#: What comes past our modes, or is done in another way: views, gradients that are copied.
SILENT = ("detach", "t.", "view", "expand", "unsqueeze", "squeeze", "transpose", "zeros", "clone",
          "copy_", "new_empty", "empty", "ones_like", "lift_fresh")  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
def test_operators_and_arguments_are_those_of_torch(name):
    function, *shapes = NAMED[name]

    def described(value):
        if hasattr(value, "shape"):
            return tuple(value.shape)
        return [described(x) for x in value] if isinstance(value, (list, tuple)) else value

    def calls(T):
        found = []

        def handle(func, args, kwargs):
            found.append((str(func), described(args)))
            return func(*args, **kwargs)

        inputs = leaves(T, shapes)
        with seeing(T, handle):
            function(T, *inputs)
        silent = tuple([f"aten.{each}" for each in SILENT])
        return [call for call in found if not call[0].startswith(silent)]

    ours, theirs = calls(ng), calls(torch)
    assert ours == theirs


@pytest.mark.parametrize("name", COUNTED)
def test_results_and_gradients_are_the_same_in_a_mode(name):
    function, *shapes = COUNTED[name]
    outcomes = []
    for context in (
        contextlib.nullcontext(), seeing(ng, lambda func, args, kwargs: func(*args, **kwargs))
    ):  # fmt: skip
        ng.manual_seed(0)
        inputs = leaves(ng, shapes)
        with context:
            out = function(ng, *inputs)
            (out * out).sum().backward()
        outcomes.append([out.detach().numpy(), *[x.grad.numpy() for x in inputs]])
    for plain, seen in zip(*outcomes, strict=True):
        np.testing.assert_allclose(plain, seen, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("T", BOTH)
def test_a_mode_may_answer_itself_or_compute_something_else(T):
    aten = T.ops.aten

    def handle(func, args, kwargs):
        if func is aten.exp.default:
            return aten.sin.default(*args)
        if func is aten.mm.default:
            return T.full((len(args[0]), args[1].shape[1]), 3.0)
        return func(*args, **kwargs)

    x, y = leaves(T, [(2, 3), (3, 2)])
    with seeing(T, handle):
        a, b = x.exp(), x @ y
    assert np.array_equal(a.detach().numpy(), x.sin().detach().numpy())
    assert (b == 3).all() and b.requires_grad


@pytest.mark.parametrize("T", BOTH)
def test_modes_are_asked_from_the_inside_out_and_not_about_themselves(T):
    asked, other = [], T.ones(2)

    def named(name):
        def handle(func, args, kwargs):
            asked.append((name, str(func)))
            if "exp" in str(func):
                other.cos()
            return func(*args, **kwargs)

        return seeing(T, handle)

    (x,) = leaves(T, [(3,)])
    with named("outer"), named("inner"):
        x.exp()
    shown = [call for call in asked if "detach" not in call[1]]
    assert shown == [
        ("inner", "aten.exp.default"), ("outer", "aten.cos.default"), ("outer", "aten.exp.default")
    ]  # fmt: skip
    x.sin()
    assert "aten.sin.default" not in [func for _, func in asked]


@pytest.mark.parametrize("T", BOTH)
def test_a_mode_that_knows_no_answer_raises(T):
    (x,) = leaves(T, [(3,)])
    with seeing(T, lambda func, args, kwargs: NotImplemented):
        with pytest.raises(TypeError, match="Multiple dispatch failed"):
            x.exp()
    assert x.exp().shape == (3,)


def test_compiled_functions_are_counted_as_others():
    compiled = ng.compile(lambda x, y: (x @ y).sum())
    x, y = leaves(ng, [(3, 4), (4, 5)])
    for _ in range(3):
        compiled(x, y)
    with counter_of(ng) as counter:
        compiled(x, y).backward()
    assert counter.get_total_flops() == 360


def test_a_backward_in_a_mode_may_be_the_first_of_its_form():
    """Programs of gradients are made while the mode is open; it sees nothing of that."""
    names = []

    def handle(func, args, kwargs):
        names.append(str(func))
        return func(*args, **kwargs)

    (x,) = leaves(ng, [(7, 13)])
    with seeing(ng, handle):
        ng.nn.functional.layer_norm(x, (13,)).square().sum().backward()
    assert [name for name in names if "norm" in name] == [
        "aten.native_layer_norm.default", "aten.native_layer_norm_backward.default"
    ]  # fmt: skip
    assert not any(["rsqrt" in name for name in names])
