"""Views that Functions return: when they may be written, and what follows a write to their base.

``torch`` in place of ``numbagrad`` passes the same tests, but for those that say so.
"""

from __future__ import annotations

import pytest

import numbagrad as nb
from numbagrad.autograd.function import Function


class First(Function):
    """The first two elements, as a view; ``pure`` says that it is nothing but that."""

    calls: list = []

    @staticmethod
    def forward(ctx, x, pure):
        ctx._is_pure_view = pure
        return x[:2]

    @staticmethod
    def backward(ctx, grad):
        First.calls.append(grad)
        return nb.cat([grad, nb.zeros(1)]), None


class FirstAndLast(Function):
    @staticmethod
    def forward(ctx, x, pure=False):
        ctx._is_pure_view = pure
        return x[:2], x[1:]

    @staticmethod
    def backward(ctx, first, last):
        return nb.cat([first, nb.zeros(1)]) + nb.cat([nb.zeros(1), last]), None


@pytest.fixture
def x():
    First.calls.clear()
    return nb.ones(3, requires_grad=True)


def gradient(y, x):
    return nb.autograd.grad(y.sum(), x, retain_graph=True)[0].tolist()


def test_a_pure_view_may_be_written(x):
    base = x.clone()
    view = First.apply(base, True)
    assert view._base is base and view.grad_fn.name() == "FirstBackward"
    view.mul_(3)
    assert gradient(base, x) == [3.0, 3.0, 1.0] and gradient(view, x) == [3.0, 3.0, 0.0]
    assert not First.calls  # it would count the part a second time


def test_a_pure_view_follows_a_write_to_its_base(x):
    base = x.clone()
    view = First.apply(base, True)
    base.mul_(5)
    assert view.tolist() == [5.0, 5.0] and gradient(view, x) == [5.0, 5.0, 0.0]


def test_a_view_of_a_pure_view_may_be_written(x):
    view = First.apply(x.clone(), True)
    view[:1].mul_(3)
    assert gradient(view, x) == [3.0, 1.0, 0.0]


def test_a_pure_view_that_nobody_writes_has_the_gradient_of_its_function(x):
    assert gradient(First.apply(x.clone(), True), x) == [1.0, 1.0, 0.0]
    assert len(First.calls) == 1


def test_a_pure_view_of_what_needs_no_gradient_may_be_written(x):
    base = nb.ones(3)
    First.apply(base, True).mul_(x[:2])
    assert base.grad_fn.name() == "torch::autograd::CopySlices" and gradient(base, x) == [1, 1, 0]


def test_a_pure_view_of_a_leaf_is_not_written(x):
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad is being"):
        First.apply(x, True).mul_(2)


def test_an_input_returned_as_a_pure_view_may_be_written(x):
    class Same(Function):
        @staticmethod
        def forward(ctx, x):
            ctx._is_pure_view = True
            return x

    base = x.clone()
    Same.apply(base).mul_(2)
    assert gradient(base, x) == [2.0, 2.0, 2.0]


def test_a_pure_view_has_one_input_and_one_output(x):
    class OfTwo(Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx._is_pure_view = True
            return x[:2]

    for call in (lambda: OfTwo.apply(x.clone(), x), lambda: FirstAndLast.apply(x.clone(), True)):
        with pytest.raises(RuntimeError, match="can only have one input Tensor and one output"):
            call()


def test_a_view_of_a_function_is_stale_once_its_base_was_written(x):
    base = x.clone()
    view = First.apply(base, False)
    base.mul_(2)
    text = (
        "Output 0 of First is a view and its base or another view of its base has been modified "
        "inplace. This view was created inside a custom Function"
    )
    with pytest.raises(RuntimeError, match=text):
        gradient(view, x)
    base = x.clone()
    view, _ = FirstAndLast.apply(base)
    base.mul_(2)
    text = "has been modified inplace. This view is the output of a function that returns multiple"
    with pytest.raises(RuntimeError, match=text):
        gradient(view, x)


def test_views_of_views_of_a_function_say_where_they_come_from(x):
    text = "Output 0 of Slice is a view and is being modified inplace. This view was created inside"
    with pytest.raises(RuntimeError, match=text):
        First.apply(x.clone(), False)[:1].mul_(3)
    text = "Output 0 of Slice is a view and is being modified inplace. This view is the output of a"
    with pytest.raises(RuntimeError, match=text):
        FirstAndLast.apply(x.clone())[0][:1].mul_(3)
