"""Views of leaves that were made under ``no_grad``, against torch: writes, attributes, errors."""

import copy

import pytest
import torch

import numbagrad

VIEWS = {
    "view": lambda x: x.view(6),
    "slice": lambda x: x[0],
    "unbind": lambda x: x.unbind(0)[0],
    "split": lambda x: x.split(1)[0],
    "transpose": lambda x: x.t(),
    "view of a view": lambda x: x.view(6)[1:3],
    "expand": lambda x: x[0].expand(2, 3),
    "diagonal": lambda x: x.diagonal(),
    "alias": lambda x: x[...],
    "as_strided": lambda x: x.as_strided((2,), (1,)),
    "reshape": lambda x: x.reshape(6),
    "detach": lambda x: x.detach(),
    "same dtype": lambda x: x.to(x.dtype),
}


def _about(tensor):
    return tensor.requires_grad, tensor.grad_fn is None, tensor.is_leaf


def _written(t, leaf, view):
    view.mul_(2)
    return _about(view), _about(leaf)


def _set(t, leaf, view):
    view[0] = 3.0
    return _about(view)


def _written_without_recording(t, leaf, view):
    with t.no_grad():
        view.mul_(2)
    return leaf.tolist(), _about(view)


def _looked_at(t, leaf, view):
    return _about(view), view._is_view(), view._base is leaf, view._version


def _view_written(t, leaf, view):
    view.view(-1).mul_(2)


def _leaf_written(t, leaf, view):
    with t.no_grad():
        leaf.mul_(2)
    return view.tolist(), _about(view)


def _both_written(t, leaf, view):
    with t.no_grad():
        leaf.mul_(2)
    view.mul_(3)


def _required(t, leaf, view):
    view.requires_grad_()
    return _about(view)


def _required_and_written(t, leaf, view):
    view.requires_grad_()
    view.mul_(2)


def _detached(t, leaf, view):
    view.detach_()
    return _about(view)


def _copied_into(t, leaf, view):
    view.copy_(t.zeros(1))
    return _about(view)


def _multiplied(t, leaf, view):
    view.mul_(t.ones(1, requires_grad=True))
    return _about(view)


def _as_array(t, leaf, view):
    return view.numpy().tolist()


def _used(t, leaf, view):
    made = view * 2
    made.sum().backward()
    edges = [x[0] is None for x in made.grad_fn.next_functions]
    return _about(made)[:2], made.grad_fn.name(), edges, leaf.grad is None, view.grad is None


def _used_with_the_leaf(t, leaf, view):
    (view.sum() * leaf).sum().backward()
    return leaf.grad.tolist(), view.grad is None


def _viewed_again(t, leaf, view):
    again = view[0]
    return _about(again), [x[0] is None for x in again.grad_fn.next_functions]


def _joined(t, leaf, view):
    return t.stack([view, view * 2]).grad_fn.next_functions[0][0] is None


def _compared(t, leaf, view):
    return (view > 1).requires_grad, view.to(t.int64).requires_grad


def _copied(t, leaf, view):
    return view.clone().requires_grad, view.detach().requires_grad, copy.deepcopy(view).is_leaf


def _asked_for_a_gradient(t, leaf, view):
    return t.autograd.grad((view * 2).sum(), view)[0].tolist()


def _allowed_to_have_no_gradient(t, leaf, view):
    found = t.autograd.grad((view * 2).sum(), (view, leaf), allow_unused=True)
    return [x is None for x in found]


def _differentiated(t, leaf, view):
    view.backward(t.ones(view.shape))


def _required_and_used(t, leaf, view):
    (view.requires_grad_() * 3).sum().backward()
    return view.grad.tolist(), leaf.grad is None


def _multiplied_by_itself(t, leaf, view):
    made = (view * view * leaf.sum()).sum()
    made.backward(retain_graph=True)
    made.backward()
    return leaf.grad.tolist()


def _given_to_a_function(t, leaf, view):
    needs = []

    class Tripled(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            needs.append(ctx.needs_input_grad)
            return x * 3

        @staticmethod
        def backward(ctx, grad):
            needs.append("backward")
            return grad * 3

    Tripled.apply(view).sum().backward()
    return needs


def _shown(t, leaf, view):
    return "".join(repr(view).split())


USES = (
    _written, _set, _written_without_recording, _looked_at, _view_written, _leaf_written,
    _both_written, _required, _required_and_written, _detached, _copied_into, _multiplied,
    _as_array, _used, _used_with_the_leaf, _viewed_again, _joined, _compared, _copied,
    _asked_for_a_gradient, _allowed_to_have_no_gradient, _differentiated, _required_and_used,
    _multiplied_by_itself, _given_to_a_function, _shown,
)  # fmt: skip


def found(library, make, use):
    leaf = library.ones(2, 3, requires_grad=True)
    with library.no_grad():
        view = make(leaf)
    try:
        return use(library, leaf, view)
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", VIEWS)
def test_uses_of_views_that_were_not_recorded(name, use):
    assert found(numbagrad, VIEWS[name], use) == found(torch, VIEWS[name], use)
