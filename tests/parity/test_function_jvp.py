"""Custom Functions in forward mode, beside torch: what ``jvp`` is given and what it may return."""

import importlib

import pytest
from parity_tools import both, message


def _forward_ad(library):
    return importlib.import_module(f"{library.__name__}.autograd.forward_ad")


def of(forward, jvp):
    """What makes, for a library, the Function of a forward and a jvp."""

    def make(library):
        methods = {"forward": staticmethod(forward), "jvp": staticmethod(jvp)}
        return type("Custom", (library.autograd.Function,), methods)

    return make


def saving(**methods):
    """A forward that doubles its input after calling methods of ``ctx`` with it."""

    def forward(ctx, a, *rest):
        for name in methods:
            getattr(ctx, name)(a)
        return a * 2

    return forward


def in_place(ctx, a):
    ctx.mark_dirty(a)
    a.mul_(2)
    return a


def second_constant(ctx, a, b):
    first, second = a.clone(), b.clone()
    ctx.mark_non_differentiable(second)
    return first, second


def without_zeros(ctx, a, b):
    ctx.set_materialize_grads(False)
    return a * b


def doubled(ctx, tangent):
    tangent.mul_(2)
    return tangent


#: Functions, and how many of their two tensor arguments are dual.
VALUES = {
    "in place": (of(in_place, doubled), 1),
    "a view": (of(lambda ctx, a: a.view_as(a), lambda ctx, t: t.view_as(t)), 1),
    "as it is": (of(lambda ctx, a: a, lambda ctx, t: t.view_as(t)), 1),
    "not differentiable": (of(second_constant, lambda ctx, t, u: (t * 2, None)), 2),
    "kept for backward": (
        of(saving(save_for_backward=1), lambda ctx, t: t * len(ctx.saved_tensors)), 1
    ),
    "kept for forward": (
        of(saving(save_for_forward=1), lambda ctx, t: t * ctx.saved_tensors[0]), 1
    ),
    "zeros": (of(lambda ctx, a, b: a * b, lambda ctx, t, u: t + u), -1),
    "no zeros": (of(without_zeros, lambda ctx, t, u: t * (7 if u is None else 1)), -1),
}  # fmt: skip

ERRORS = {
    "in place, tangent apart": (of(in_place, lambda ctx, t: t * 2), 1),
    "a view, tangent none": (of(lambda ctx, a: a.view_as(a), lambda ctx, t: t * 1), 1),
    "as it is, tangent as it is": (of(lambda ctx, a: a, lambda ctx, t: t), 1),
    "tangent of a constant": (of(second_constant, lambda ctx, t, u: (t, u)), 2),
    "too many": (of(lambda ctx, a, b: a * b, lambda ctx, t, u: (t, u)), 2),
    "too few": (of(lambda ctx, a, b: (a * b, a + b), lambda ctx, t, u: t), 2),
    "a number": (of(lambda ctx, a: a * 2, lambda ctx, t: 3.0), 1),
    "another shape": (of(lambda ctx, a: a * 2, lambda ctx, t: t[:1].expand(5)), 1),
}


def run(library, make, duals):
    """Values and tangents of what the Function returns for dual tensors."""
    forward_ad = _forward_ad(library)
    function = make(library)
    with forward_ad.dual_level():
        values = [library.tensor([1.0, 2.0]), library.tensor([5.0, 6.0])]
        tangents = [library.tensor([3.0, 4.0]), library.tensor([7.0, 8.0])]
        if duals == -1:
            arguments = [forward_ad.make_dual(values[0], tangents[0]), values[1]]
        else:
            pairs = list(zip(values, tangents, strict=True))[:duals]
            arguments = [forward_ad.make_dual(*pair) for pair in pairs]
        made = function.apply(*arguments)
        parts = [forward_ad.unpack_dual(x) for x in (made if isinstance(made, tuple) else (made,))]
        return [(p.tolist(), None if t is None else t.tolist()) for p, t in parts]


@pytest.mark.parametrize("name", VALUES)
def test_values(name):
    ours, theirs = both(lambda library: run(library, *VALUES[name]))
    assert ours == theirs


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    ours, theirs = both(
        lambda library: message(library, lambda library: run(library, *ERRORS[name]))
    )
    assert ours == theirs
