"""What Functions let go of early: gradients in one list, saved tensors that are read once.

``torch`` in place of ``numbagrad`` passes the same tests, but for those under ``vmap``.
"""

from __future__ import annotations

import weakref

import pytest

import numbagrad as nb
from numbagrad.autograd.function import Function


class TwiceAndThrice(Function):
    """Two outputs, whose gradients ``backward`` takes as one list."""

    boxed_grads_call = True
    seen: list = []

    @staticmethod
    def forward(ctx, x):
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, grads):
        TwiceAndThrice.seen.append(grads)
        twice, thrice = grads
        return twice * 2 + thrice * 3


@pytest.fixture
def seen():
    TwiceAndThrice.seen.clear()
    return TwiceAndThrice.seen


def test_backward_may_take_one_list_of_gradients(seen):
    x = nb.ones(2, requires_grad=True)
    twice, thrice = TwiceAndThrice.apply(x)
    (twice.sum() + thrice.sum()).backward()
    assert type(seen[0]) is list and len(seen[0]) == 2
    assert x.grad.tolist() == [5.0, 5.0]


def test_the_list_has_zeros_for_outputs_that_were_not_used(seen):
    x = nb.ones(2, requires_grad=True)
    TwiceAndThrice.apply(x)[1].sum().backward()
    assert seen[0][0].tolist() == [0.0, 0.0]
    assert x.grad.tolist() == [3.0, 3.0]


def test_the_list_has_none_where_gradients_are_not_materialized():
    class Second(TwiceAndThrice):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, grads):
            assert grads[0] is None
            return grads[1] * 3

    x = nb.ones(2, requires_grad=True)
    Second.apply(x)[1].sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


@pytest.mark.parametrize("inputs", [False, True])
def test_a_gradient_taken_out_of_the_list_is_freed(inputs):
    freed = []

    class Frees(Function):
        boxed_grads_call = True

        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grads):
            gradient = grads.pop()
            result = gradient * 2
            alive = weakref.ref(gradient)
            del gradient
            freed.append(alive() is None)
            return result

    x = nb.ones(3, requires_grad=True)
    (Frees.apply(Frees.apply(x) * 5) * 7).sum().backward(inputs=[x] if inputs else None)
    assert freed == [True, True]
    assert x.grad.tolist() == [140.0] * 3


def test_hooks_see_the_gradients_of_a_list_that_was_emptied():
    class Empties(Function):
        boxed_grads_call = True

        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grads):
            return grads.pop() * 2

    x = nb.ones(2, requires_grad=True)
    y = Empties.apply(x)
    calls = []
    y.register_hook(lambda grad: grad * 10)
    y.grad_fn.register_prehook(lambda grads: (grads[0] + 1,))
    y.grad_fn.register_hook(lambda inputs, outputs: calls.append((inputs, outputs)))
    y.sum().backward()
    ((inputs, outputs),) = calls
    assert outputs[0].tolist() == [11.0, 11.0] and inputs[0].tolist() == [22.0, 22.0]
    assert x.grad.tolist() == [22.0, 22.0]


def test_gradients_of_gradients_of_a_list():
    class Cube(Function):
        boxed_grads_call = True

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, grads):
            (x,) = ctx.saved_tensors
            return grads[0] * 3 * x**2

    x = nb.tensor([2.0], dtype=nb.float64, requires_grad=True)
    (first,) = nb.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)
    first.sum().backward()
    assert (first.item(), x.grad.item()) == (12.0, 12.0)
    assert nb.autograd.gradgradcheck(Cube.apply, (x,))


def test_results_of_a_list_are_checked():
    class Bad(TwiceAndThrice):
        @staticmethod
        def backward(ctx, grads):
            return nb.ones(7)

    x = nb.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"returned an invalid gradient at index 0 - got \[7\]"):
        Bad.apply(x)[0].sum().backward()


def test_apply_of_a_node_calls_what_the_user_wrote(seen):
    x = nb.ones(2, requires_grad=True)
    node = TwiceAndThrice.apply(x)[0].grad_fn
    assert node.apply(nb.ones(2), nb.ones(2) * 2).tolist() == [8.0, 8.0]
    assert type(seen[0]) is list
    given = [nb.ones(2), nb.ones(2)]
    with pytest.raises(ValueError, match="not enough values"):
        node.apply(given)
    assert seen[1][0] is given

    class Plain(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def vjp(ctx, grad):
            return grad, "anything"

    assert Plain.apply(x).grad_fn.apply("grad") == ("grad", "anything")


def test_a_list_of_gradients_under_vmap():
    class Scale(Function):
        boxed_grads_call = True
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x * 4

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, grads):
            assert type(grads) is list
            return grads[0] * 4

    gradient = nb.func.grad(lambda x: Scale.apply(x).sum())
    assert nb.func.vmap(gradient)(nb.ones(3, 2)).tolist() == [[4.0, 4.0]] * 3
    assert gradient(nb.ones(2)).tolist() == [4.0, 4.0]


class ReadsOnce(Function):
    clear_saved_tensors_on_access = True

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        alive = weakref.ref(x)
        del x
        assert alive() is None
        return grad


def test_saved_tensors_that_are_read_once_are_freed():
    x = nb.ones(3, requires_grad=True)
    ReadsOnce.apply(x * 2).sum().backward()
    assert x.grad.tolist() == [2.0] * 3


def test_saved_tensors_that_are_read_once_cannot_be_read_twice():
    y = ReadsOnce.apply(nb.ones(3, requires_grad=True) * 2)
    y.sum().backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="saved_tensors can only be accessed once when"):
        y.sum().backward()
    with pytest.raises(RuntimeError, match="saved_tensors can only be accessed once when"):
        _ = y.grad_fn.saved_tensors
