"""What Functions return: several outputs, inputs, and what has no gradient.

``torch`` in place of ``numbagrad`` passes the same tests, but for those that say so.
"""

from __future__ import annotations

import gc
import weakref

import pytest
from engine_tools import leaf, values
from function_tools import function, pass_on

import numbagrad as nb

# Several outputs


def two(ctx, x):
    return x * 2, x * 3


@pytest.mark.parametrize(
    "attribute, value, message",
    [
        ("dirty_tensors", "text", "dirty_tensors attribute is expected to be a tuple but is str"),
        ("dirty_tensors", (2,), "mark_dirty can only accept .*, but argument 0 is of type int"),
        ("non_differentiable", [], "non_differentiable attribute is expected .* but is list"),
        ("non_differentiable", ("x",), "mark_non_differentiable only accepts .*, but got str"),
        ("to_save", "text", "to_save attribute is expected to be a tuple but is str"),
        ("saved_for_forward", 1, "saved_for_forward attribute is expected .* but is int"),
    ],
)  # fmt: skip
def test_what_the_context_was_given_is_checked(attribute, value, message):
    def forward(ctx, x):
        setattr(ctx, attribute, value)
        return x.clone()

    with pytest.raises(RuntimeError, match=message):
        function(forward, pass_on).apply(nb.ones(2, requires_grad=True))


def test_several_outputs():
    x = leaf(1.0, 2.0)
    a, b = function(two, lambda ctx, ga, gb: ga * 2 + gb * 3).apply(x)
    assert a.grad_fn is b.grad_fn
    (a * 10 + b).sum().backward()
    assert values(x.grad) == [23.0, 23.0]


def test_an_unused_output_has_a_gradient_of_zeros():
    seen = []

    def backward(ctx, first, second):
        seen.append((values(first), values(second)))
        return second

    _, b = function(two, backward).apply(leaf(1.0, 2.0))
    b.sum().backward()
    assert seen == [([0.0, 0.0], [1.0, 1.0])]


def test_an_unused_output_without_materialized_gradients():
    seen = []

    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return two(ctx, x)

    def backward(ctx, first, second):
        seen.append(first)
        return second

    _, b = function(forward, backward).apply(leaf(1.0, 2.0))
    b.sum().backward()
    assert seen == [None]


def test_outputs_that_are_not_tensors():
    y, text, nothing = function(lambda ctx, x: (x * 2, "text", None)).apply(leaf(1.0))
    assert y.requires_grad
    assert (text, nothing) == ("text", None)
    assert function(lambda ctx, x: 3).apply(leaf(1.0)) == 3


def test_outputs_without_gradient():
    seen = []

    def forward(ctx, x):
        fixed = x * 3
        ctx.mark_non_differentiable(fixed)
        return x * 2, fixed, (x * 4).to(nb.int32)

    def backward(ctx, *grads):
        seen.extend([values(grad) for grad in grads])
        return grads[0]

    a, fixed, integer = function(forward, backward).apply(leaf(1.0))
    assert a.requires_grad
    assert not fixed.requires_grad
    assert not integer.requires_grad
    a.sum().backward()
    assert seen == [[1.0], [0.0], [0]]


def test_an_unrecorded_view_requires_grad_as_its_base_does():
    first = function(lambda ctx, x: x[:1], pass_on)
    x = leaf(1.0, 2.0)
    with nb.no_grad():
        view, constant = first.apply(x), first.apply(x.detach())
        fresh = function(lambda ctx, x: x, pass_on).apply(x)
    assert view.requires_grad and view.is_leaf and view.grad_fn is None
    assert not constant.requires_grad and not fresh.requires_grad


def test_a_written_view_that_is_saved_closes_no_reference_cycle():
    seen = []

    def forward(ctx, x):
        ctx.mark_dirty(x.mul_(2))
        ctx.save_for_backward(x)
        return x

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        seen.append((values(x), x.grad_fn))
        return grad * x

    base = leaf(1.0, 2.0)
    view = base.clone()[1:]
    y = function(forward, backward).apply(view)
    assert y is view
    y.sum().backward(retain_graph=True)
    assert seen == [([4.0], y.grad_fn)]
    assert values(base.grad) == [0.0, 4.0]
    gc.collect()
    gc.disable()
    try:
        reference = weakref.ref(view)
        del view, y
        assert reference() is None
    finally:
        gc.enable()


# Inputs as outputs


def test_an_input_returned_as_it_is():
    x = leaf(1.0, 2.0)
    y = function(lambda ctx, x: x, lambda ctx, grad: grad * 7).apply(x)
    assert y is not x
    assert x.is_leaf
    assert y.grad_fn.name() == "MyFnBackward"
    y.sum().backward()
    assert values(x.grad) == [7.0, 7.0]


def test_an_input_returned_as_it_is_shares_memory():
    x = nb.ones(2)
    y = function(lambda ctx, x: x).apply(x)
    assert y is not x
    x.add_(1)
    assert values(y) == [2.0, 2.0]


def test_mark_dirty():
    def forward(ctx, x):
        ctx.mark_dirty(x)
        x.add_(1)
        return x

    operation = function(forward, lambda ctx, grad: grad * 3)
    x = leaf(1.0)
    y = x * 2
    z = operation.apply(y)
    assert z is y
    assert z.grad_fn.name() == "MyFnBackward"
    z.sum().backward()
    assert values(x.grad) == [6.0]
    message = "a leaf Variable that requires grad has been used in an in-place operation"
    with pytest.raises(RuntimeError, match=message):
        operation.apply(x)


def test_dirty_inputs_must_be_returned():
    def forward(ctx, x):
        ctx.mark_dirty(x)
        x.add_(1)
        return x.clone()

    with pytest.raises(RuntimeError, match="Some elements marked as dirty during the forward"):
        function(forward, pass_on).apply(leaf(1.0) * 1)


def test_dirty_tensors_that_are_no_inputs_warn():
    def forward(ctx, x):
        y = x.clone()
        ctx.mark_dirty(y)
        return y

    with pytest.warns(UserWarning, match="received a tensor that was not an input"):
        function(forward, pass_on).apply(leaf(1.0))
