"""Hooks of tensors, of nodes and of leaves: what they see, in which order, and what they may do."""

import gc
import threading
import weakref
from collections import OrderedDict

import pytest

import numbagrad as nb
from numbagrad.autograd import Function
from numbagrad.autograd.graph import register_multi_grad_hook


def leaf(*values):
    return nb.tensor(list(values), requires_grad=True)


class Identity(Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad


class Failing(Identity):
    @staticmethod
    def backward(ctx, grad):
        raise ValueError("no gradient today")


# --- order ----------------------------------------------------------------------------------------


def test_hooks_of_tensors_come_before_those_of_nodes():
    log = []
    x = nb.tensor(1.0, requires_grad=True)
    y = x.clone()
    y.grad_fn.register_prehook(lambda g: log.append("node"))
    y.register_hook(lambda g: log.append("tensor"))
    accumulator = y.grad_fn.next_functions[0][0]
    accumulator.register_prehook(lambda g: log.append("leaf node"))
    x.register_hook(lambda g: log.append("leaf"))
    y.backward(retain_graph=True)
    assert log == ["tensor", "node", "leaf", "leaf node"]
    log.clear()
    nb.autograd.grad(y, (x,), retain_graph=True)
    assert log == ["tensor", "node", "leaf"]  # the grad of the leaf is not added to
    log.clear()
    y.backward(inputs=(y,))
    assert log == ["tensor", "node"]


def test_hooks_of_a_leaf_surround_the_addition():
    x = leaf(1.0, 1.0)
    accumulator = x.view_as(x).grad_fn.next_functions[0][0]
    x.register_hook(lambda grad: grad - 2)
    accumulator.register_prehook(lambda grads: (grads[0] / 5,))

    def after(tensor):
        tensor.grad.add_(0.5)

    def last(grad_inputs, grad_outputs):
        assert grad_inputs == ()
        x.grad = grad_outputs[0] * 10

    x.register_post_accumulate_grad_hook(after)
    accumulator.register_hook(last)
    x.sum().backward()
    assert x.grad.tolist() == pytest.approx([3.0, 3.0])


def test_a_leaf_is_finished_as_soon_as_its_gradient_is_known():
    order = []
    x, weight = leaf(1.0), leaf(2.0)
    hidden = Identity.apply(x)
    hidden.register_hook(lambda g: order.append("hidden"))
    x.register_post_accumulate_grad_hook(lambda t: order.append("x"))
    weight.register_post_accumulate_grad_hook(lambda t: order.append("weight"))
    (hidden * weight).sum().backward()
    assert order == ["weight", "hidden", "x"]


def test_leaves_that_one_node_completes_run_their_hooks_in_the_order_of_its_inputs():
    """Many of them, so that an order by address or hash would show."""
    order = []
    leaves = [nb.ones(1, requires_grad=True) for _ in range(100)]
    for k in (*range(1, 100, 2), *range(0, 100, 2)):
        leaves[k].register_post_accumulate_grad_hook(lambda t, k=k: order.append(k))
    nb.cat(leaves).sum().backward()
    assert order == list(range(100))


def test_a_leaf_with_hooks_waits_for_all_its_gradients():
    seen = []
    x = leaf(2.0)
    x.register_hook(lambda grad: seen.append(grad.item()))
    late = x.exp().log()
    ((x * 3) + (late * 5)).sum().backward()
    assert seen == pytest.approx([8.0])
    assert x.grad.item() == pytest.approx(8.0)


def test_a_leaf_with_hooks_keeps_its_gradient_when_another_node_fails():
    """As in torch: without hooks nothing would have been written."""
    x, y = leaf(1.0), leaf(1.0)
    x.register_post_accumulate_grad_hook(lambda t: None)
    out = Failing.apply(y) + x * 2
    with pytest.raises(ValueError, match="no gradient today"):
        out.sum().backward()
    assert (x.grad.tolist(), y.grad) == ([2.0], None)


# --- replacing gradients --------------------------------------------------------------------------


@pytest.mark.parametrize("multiply", [lambda x: x * 2, lambda x: Identity.apply(x) * 2])
def test_hooks_of_nodes_replace_gradients(multiply):
    x = leaf(1.0)
    y = multiply(x)
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 2,))
    handle = y.grad_fn.register_prehook(lambda grads: (grads[0] * 100,))
    handle.remove()
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 5, *inputs[1:]))
    y.sum().backward()
    assert x.grad.tolist() == [20.0]


def test_hooks_that_a_node_gets_while_it_runs():
    """An unpack hook may ask for the node that runs; hooks after that see no outer gradients."""
    seen = []

    def unpack(tensor):
        node = nb._C._current_autograd_node()
        seen.append(node)
        node.register_hook(hook)
        return tensor

    def hook(inner, outer):
        seen.append(outer)
        return tuple([None if grad is None else grad * 10 for grad in inner])

    x = leaf(1.0)
    with nb.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, unpack):
        y = x.square()
    y.backward()
    assert seen == [y.grad_fn, (None,)]
    assert x.grad.tolist() == [20.0]
    assert nb._C._current_autograd_node() is None


def test_hooks_of_nodes_return_tuples():
    y = leaf(1.0) * 2
    y.grad_fn.register_prehook(lambda grads: grads[0])
    with pytest.raises(TypeError, match="expected tuple, but hook returned 'Tensor'"):
        y.backward()
    y = leaf(1.0) * 2
    y.grad_fn.register_hook(lambda inputs, outputs: (None,) * 3)
    with pytest.raises(RuntimeError, match=r"incorrect number of values \(got 3, but expected 2\)"):
        y.backward()


def test_post_accumulate_hooks_return_nothing():
    x = leaf(1.0)
    x.register_post_accumulate_grad_hook(lambda tensor: tensor)
    with pytest.raises(RuntimeError, match="hooks should return None"):
        x.sum().backward()


def test_an_optimizer_step_in_backward():
    x = leaf(1.0, 2.0)
    optimizer = nb.optim.SGD([x], lr=0.5)

    def step(parameter):
        optimizer.step()
        optimizer.zero_grad()

    handle = x.register_post_accumulate_grad_hook(step)
    (x * 2).sum().backward()
    assert (x.tolist(), x.grad) == ([0.0, 1.0], None)
    handle.remove()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


# --- in-place -------------------------------------------------------------------------------------


def test_hooks_stay_with_the_value_they_were_registered_for():
    x = leaf(1.0)
    y = x.clone()
    seen = []
    y.register_hook(lambda grad: seen.append(("old", grad.item())))
    y.mul_(2)
    y.register_hook(lambda grad: seen.append(("new", grad.item())))
    y.sum().backward()
    assert seen == [("new", 1.0), ("old", 2.0)]


@pytest.mark.parametrize("depth", [1, 2])
def test_hooks_of_a_view_see_nothing_of_later_writes(depth):
    base = leaf(1.0, 2.0).clone()
    first = base[:]
    view, seen = first, []
    for _ in range(depth - 1):
        view = view.view(2)
    first.register_hook(lambda grad: seen.append(grad.tolist()))
    before = first * 5
    view.mul_(3)
    (base.sum() + before.sum()).backward()
    assert seen == [[5.0, 5.0]]


def test_retained_gradients_are_those_of_the_latest_value():
    base = leaf(1.0).clone()
    base.retain_grad()
    view = base[:]
    view.retain_grad()
    view.mul_(2)
    base.mul_(2)
    base.sum().backward()
    assert base.grad.tolist() == [1.0]


# --- several tensors ------------------------------------------------------------------------------


def test_a_hook_of_all_gradients():
    calls = []
    a, b = leaf(1.0), leaf(2.0)
    c, d = a * b, a + b
    handle = register_multi_grad_hook((a, b, c, d), lambda grads: calls.append(grads))
    c.sum().backward(retain_graph=True)
    c.sum().backward(inputs=(a,), retain_graph=True)
    (c + d).sum().backward(retain_graph=True)
    known = [[grad is not None for grad in grads] for grads in calls]
    assert known == [[True, True, True, False], [True, False, True, False], [True] * 4]
    handle.remove()
    c.sum().backward()
    assert len(calls) == 3


def test_a_hook_of_the_first_gradient():
    calls = []
    a, b = leaf(1.0), leaf(2.0)
    c = a * b
    register_multi_grad_hook((a, b, c), lambda grad: calls.append(grad.item()), mode="any")
    c.sum().backward(retain_graph=True)
    c.sum().backward()
    assert calls == [1.0, 1.0]
    with pytest.raises(ValueError, match="Expects mode to be one of"):
        register_multi_grad_hook((a,), print, mode="some")


def test_a_hook_of_all_gradients_in_several_threads():
    calls = []
    a = leaf(1.0)
    b = a.exp()
    register_multi_grad_hook((a, b), lambda grads: calls.append(len(grads)))
    threads = [
        threading.Thread(target=lambda: b.sum().backward(retain_graph=True)) for _ in range(5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls == [2] * 5


# --- the dictionary and the handle ----------------------------------------------------------------


def test_the_dictionary_of_hooks():
    x = leaf(1.0)
    assert x._backward_hooks is None
    handle = x.register_hook(lambda grad: None)
    assert list(x._backward_hooks) == [handle.id]
    with pytest.raises(RuntimeError, match="Deletion of _backwards_hooks not allowed!"):
        del x._backward_hooks
    plain = nb.ones(1)
    plain._backward_hooks = OrderedDict(test=lambda grad: 1 / 0)
    (x * plain).sum().backward()


def test_hooks_live_as_long_as_their_tensor():
    class Marker:
        def __call__(self, tensor):
            return None

    marker = Marker()
    reference = weakref.ref(marker)
    x = leaf(1.0)
    x.register_post_accumulate_grad_hook(marker)
    del marker
    x.sum().backward()
    assert reference() is not None
    del x
    gc.collect()
    assert reference() is None


# --- the end of a walk, and walks in walks --------------------------------------------------------


def test_callbacks_at_the_end_of_a_backward():
    engine = nb.autograd.Variable._execution_engine
    x = leaf(1.0)
    seen = []

    def finish():
        seen.append(x.grad.item())
        engine.queue_callback(lambda: seen.append("again"))

    y = x * 2
    y.register_hook(lambda grad: seen and None or engine.queue_callback(finish))
    y.sum().backward()
    assert seen == [2.0, "again"]
    with pytest.raises(RuntimeError, match="can only be installed during backward pass"):
        engine.queue_callback(finish)


def test_backwards_may_be_nested_deeper_than_the_stack():
    class Deep(Function):
        @staticmethod
        def forward(ctx, x):
            with nb.enable_grad():
                ctx.x = x.detach().requires_grad_() - 1
            return ctx.x.detach()

        @staticmethod
        def backward(ctx, grad):
            if ctx.x.item() >= 0:
                with nb.enable_grad():
                    Deep.apply(ctx.x).sum().backward()
            return grad

    x = nb.tensor(1000.0, requires_grad=True)
    Deep.apply(x).sum().backward()
    assert x.grad.item() == 1.0


def test_an_error_comes_out_of_a_thread_of_nested_backwards():
    class Deep(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.depth = x.item()
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            if ctx.depth > 100:
                raise ValueError("too deep")
            with nb.enable_grad():
                Deep.apply(nb.tensor(ctx.depth + 1.0, requires_grad=True)).backward()
            return grad

    with pytest.raises(ValueError, match="too deep"):
        Deep.apply(nb.tensor(0.0, requires_grad=True)).backward()
    assert nb.is_grad_enabled()


def test_create_graph_warns_of_the_cycle():
    nb.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match=r"Using backward\(\) with create_graph=True"):
            (leaf(1.0) ** 2).sum().backward(create_graph=True)
    finally:
        nb.set_warn_always(False)
