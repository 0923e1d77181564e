"""Hooks of tensors, of nodes and of accumulation: when they run, what they see and may return.

Only public names are used, and ``torch`` in place of ``numbagrad`` passes the same tests.
"""

from __future__ import annotations

import pytest
from engine_tools import Undefined, leaf, values

import numbagrad as nb


def test_a_tensor_hook_replaces_the_gradient():
    x = leaf(1.0, 2.0)
    y = x * 2
    handle = y.register_hook(lambda grad: grad * 10)
    y.sum().backward(retain_graph=True)
    assert values(x.grad) == [20.0, 20.0]
    handle.remove()
    handle.remove()
    y.sum().backward()
    assert values(x.grad) == [22.0, 22.0]


def test_a_hook_sees_the_whole_gradient_once():
    seen = []
    x = leaf(1.0)
    y = x * 2
    y.register_hook(lambda grad: seen.append(values(grad)))
    x.register_hook(lambda grad: seen.append(values(grad)))
    (y + y * 3 + x).sum().backward()
    assert seen == [[4.0], [9.0]]


def test_a_hook_outlives_its_tensor():
    seen = []
    x = leaf(1.0)
    y = x * 2
    y.register_hook(lambda grad: seen.append(values(grad)))
    z = y * 5
    del y
    z.sum().backward()
    assert seen == [[5.0]]


def test_hooks_run_for_grad_too():
    """As in torch, the gradient of ``y`` is that before its hook if ``x`` is asked for too."""
    x = leaf(1.0)
    x.register_hook(lambda grad: grad * 10)
    y = x * 2
    y.register_hook(lambda grad: grad + 1)
    gx, gy = nb.autograd.grad(y.sum(), [x, y], retain_graph=True)
    assert (values(gx), values(gy)) == ([40.0], [1.0])
    (gy,) = nb.autograd.grad(y.sum(), [y])
    assert values(gy) == [2.0]


def test_hooks_see_undefined_gradients():
    seen = []
    x = leaf(1.0)
    y = x * 2
    y.register_hook(seen.append)
    x.register_hook(seen.append)
    Undefined.apply(y).sum().backward()
    assert seen == [None, None]


def test_retain_grad():
    x = leaf(1.0, 2.0)
    y = x * 2
    assert not y.retains_grad
    y.retain_grad()
    y.retain_grad()
    assert y.retains_grad
    y.register_hook(lambda grad: grad * 3)
    (y * y).sum().backward(retain_graph=True)
    assert values(y.grad) == [12.0, 24.0]
    (y * y).sum().backward()
    assert values(y.grad) == [24.0, 48.0]


def test_post_accumulate_grad_hook():
    seen = []
    x = leaf(1.0)
    handle = x.register_post_accumulate_grad_hook(lambda tensor: seen.append(values(tensor.grad)))
    (x * 2).sum().backward()
    (x * 2).sum().backward()
    handle.remove()
    (x * 2).sum().backward()
    assert seen == [[2.0], [4.0]]


def test_node_hooks():
    seen = []
    x = leaf(1.0)
    y = x * 3
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 2,))
    y.grad_fn.register_hook(
        lambda inputs, outputs: seen.append((values(inputs[0]), values(outputs[0])))
    )
    y.sum().backward()
    assert seen == [([6.0], [2.0])]
    assert values(x.grad) == [6.0]


def test_hooks_of_the_accumulation():
    seen = []
    x = leaf(1.0)
    y = x * 3
    accumulate = y.grad_fn.next_functions[0][0]
    accumulate.register_hook(
        lambda inputs, outputs: seen.append((inputs, values(outputs[0]), values(x.grad)))
    )
    y.sum().backward()
    assert seen == [((), [3.0], [3.0])]


@pytest.mark.parametrize(
    ("hook", "error", "message"),
    [
        (lambda grad: 3, TypeError, "expected Variable, but hook returned 'int'"),
        (lambda grad: grad[:1], RuntimeError, "has changed the size of value"),
        (
            lambda grad: grad.to(nb.float64),
            RuntimeError,
            r"has changed the type of value \(was torch.FloatTensor got torch.DoubleTensor\)",
        ),
    ],
)
def test_bad_results_of_tensor_hooks(hook, error, message):
    y = leaf(1.0, 2.0) * 2
    y.register_hook(hook)
    with pytest.raises(error, match=message):
        y.sum().backward()


@pytest.mark.parametrize(
    ("result", "error", "message"),
    [
        (3, TypeError, "expected tuple, but hook returned 'int'"),
        ((), RuntimeError, r"incorrect number of values \(got 0, but expected 1\)"),
    ],
)
def test_bad_results_of_node_hooks(result, error, message):
    y = leaf(1.0, 2.0) * 2
    y.grad_fn.register_prehook(lambda grads: result)
    with pytest.raises(error, match=message):
        y.sum().backward()


@pytest.mark.parametrize(
    ("register", "message"),
    [
        (
            lambda: nb.ones(3).register_hook(print),
            "cannot register a hook on a tensor that doesn't require gradient",
        ),
        (
            lambda: nb.ones(3).register_post_accumulate_grad_hook(print),
            "cannot register a hook on a tensor that doesn't require gradient",
        ),
        (
            lambda: (leaf(1.0) * 2).register_post_accumulate_grad_hook(print),
            "post accumulate grad hooks cannot be registered on non-leaf tensors",
        ),
        (
            lambda: nb.ones(3).retain_grad(),
            "can't retain_grad on Tensor that has requires_grad=False",
        ),
    ],
)
def test_refused_hooks(register, message):
    with pytest.raises(RuntimeError, match=message):
        register()
