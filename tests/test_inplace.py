"""Writing in place: what may be written, what it does to histories, versions and views."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from inplace_tools import leaf, total

import numbagrad as torch
from numbagrad.autograd import gradcheck, gradgradcheck

# --- what may be written --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.add_(1),
        lambda x: x.mul_(x),
        lambda x: x.zero_(),
        lambda x: x.copy_(torch.zeros(3)),
        lambda x: x.t_(),
        lambda x: x.__iadd__(1),
        lambda x: x.clamp_(min=0),
    ],
)
def test_a_leaf_that_requires_grad_cannot_be_written(write: Callable[[Any], Any]) -> None:
    x = leaf(1, 2, 3)
    with pytest.raises(RuntimeError) as raised:
        write(x)
    assert str(raised.value) == (
        "a leaf Variable that requires grad is being used in an in-place operation."
    )
    assert x.tolist() == [1, 2, 3] and x._version == 0


def test_a_view_of_such_a_leaf_cannot_be_written() -> None:
    x = leaf(1, 2, 3)
    writes = (lambda: x[0].add_(1), lambda: x.view(3, 1).zero_(), lambda: x.__setitem__(0, 5.0))
    for write in writes:
        with pytest.raises(RuntimeError, match="^a view of a leaf Variable that requires grad is"):
            write()


def test_a_view_cannot_be_written_once_its_base_requires_grad() -> None:
    base = torch.zeros(3)
    view = base[1:]
    view.add_(1)
    base.requires_grad = True
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        view.add_(1)
    assert base.tolist() == [0, 1, 1]


def test_without_recording_a_leaf_can_be_written() -> None:
    x = leaf(1, 2, 3)
    with torch.no_grad():
        x -= 0.5
        x[0] = 7
        x.mul_(2)
    assert x.tolist() == [14, 3, 5]
    assert x._version == 3 and x.is_leaf and x.requires_grad


@pytest.mark.parametrize("several", ["unbind", "split", "chunk"])
def test_one_of_several_views_cannot_be_written(several: str) -> None:
    x = leaf(1, 2, 3) * 1
    make = {"unbind": x.unbind, "split": lambda: x.split(1), "chunk": lambda: x.chunk(3)}
    views = make[several]()
    with pytest.raises(RuntimeError) as raised:
        views[1].mul_(2)
    name = "Split" if several == "chunk" else several.capitalize()
    assert str(raised.value) == (
        f"Output 1 of {name} is a view and is being modified inplace. This view is the output of a "
        "function that returns multiple views. Such functions do not allow the output views to be "
        "modified inplace. You should replace the inplace operation by an out-of-place one."
    )


def test_one_of_several_views_is_useless_once_the_base_was_written() -> None:
    x = leaf(1, 2, 3) * 1
    first, *_ = x.unbind()
    x.mul_(2)
    with pytest.raises(RuntimeError, match="^Output 0 of .* its base or another view of its base"):
        (first * 2).backward()


def test_a_view_made_without_recording_cannot_be_written_while_recording() -> None:
    x = leaf(1, 2, 3) * 1
    with torch.no_grad():
        view = x[0]
        view.add_(1)
    with pytest.raises(RuntimeError, match="^A view was created in no_grad mode and is being"):
        view.add_(1)
    with pytest.raises(RuntimeError, match="view which was created in no_grad mode and is being"):
        view.view(1).add_(1)


# --- histories ------------------------------------------------------------------------------------


def test_a_write_becomes_part_of_the_history() -> None:
    x = leaf(1, 2, 3)
    y = x * 2
    before = y.grad_fn
    assert y.add_(1) is y
    assert y.grad_fn.name() == "AddBackward0"
    assert y.grad_fn.next_functions[0][0] is before
    total(y, 1, 10, 100)
    assert x.grad.tolist() == [2, 20, 200]


def test_the_old_value_is_kept_where_the_gradient_uses_it() -> None:
    x = leaf(1, 2, 3)
    y = x * 1
    y.mul_(y)
    y.mul_(x)
    total(y, 1, 1, 1)
    assert x.grad.tolist() == [3, 12, 27]


def test_an_operand_in_the_same_memory_is_kept_too() -> None:
    x = leaf(1, 2, 3)
    y = x * 1
    y.mul_(y[:1].expand(3))  # y[0] is refused, as in torch
    total(y, 1, 1, 1)
    assert x.grad.tolist() == [2 + 2 + 3, 1, 1]


def test_a_saved_value_that_was_written_raises_in_backward() -> None:
    x = leaf(1, 2, 3)
    y = x * 1
    z = y * y
    y.add_(1)
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        z.sum().backward()


def test_the_error_names_the_operator_as_torch_does() -> None:
    x = leaf(1.0, 2.0)
    for value, name in ((x + 1, "Add"), (x.sum(dim=0, keepdim=True), "Sum1")):
        product = value * value
        with torch.no_grad():
            value.add_(1)
        with pytest.raises(RuntimeError, match=f"which is output 0 of {name}, is at version 1"):
            product.sum().backward()


def test_a_saved_value_that_was_written_through_a_view_raises_too() -> None:
    x = leaf(1, 2, 3)
    y = x * 1
    z = y.exp() * y
    y[1:].zero_()
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        z.sum().backward()


def test_a_saved_result_that_was_written_raises() -> None:
    y = leaf(1, 2, 3).exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match=r"output 0 of Exp.*is at version 1; expected version 0"):
        y.sum().backward()


def test_a_saved_operand_that_was_detached_raises() -> None:
    for uses in (torch.sin, lambda y: y * y, lambda y: y[:] @ y):
        y = torch.ones(3, requires_grad=True).clone()
        z = uses(y)
        y.detach_()
        with pytest.raises(RuntimeError, match=r"has been detached in-place, i.e. with .detach_"):
            z.sum().backward()


def test_what_is_saved_after_the_tensor_was_detached_is_the_leaf() -> None:
    y = torch.ones(3, requires_grad=True).clone()
    z = y.exp()
    y.detach_().requires_grad_()
    y.sin().sum().backward()
    assert torch.equal(y.grad, y.cos())
    z.sum().backward()  # exp saved its result, not y


def test_a_write_through_a_view_reaches_the_base() -> None:
    x = leaf(1, 2, 3)
    y = x * 1
    view = y.view(3, 1)[1]
    view.mul_(5)
    assert y.tolist() == [1, 10, 3]
    assert y.grad_fn.name() == "torch::autograd::CopySlices"
    assert isinstance(y.grad_fn, torch._C._functions.CopySlices)
    assert "grad_fn=<CopySlices>" in repr(y)
    assert view.grad_fn.name() == "AsStridedBackward0"
    assert y._version == view._version == 1
    total(y * y, 1, 1, 1)
    assert x.grad.tolist() == [2, 100, 6]


def test_the_other_views_of_the_base_see_the_write() -> None:
    x = leaf(1, 2, 3)
    y = x * 1
    pair, last = y[:2], y[2:]
    y.mul_(2)
    pair[1].mul_(3)
    weights = torch.tensor([1.0, 10.0], dtype=torch.float64)
    (gradient,) = torch.autograd.grad(pair, x, weights, retain_graph=True)
    assert pair.tolist() == [2, 12] and gradient.tolist() == [2, 60, 0]
    total(last, 1)
    assert x.grad.tolist() == [0, 0, 2]


def test_a_base_that_was_written_through_a_view_has_the_node_of_the_write() -> None:
    x, w = leaf(1, 2, 3), leaf(5)
    y = x * 1
    before, view = y.grad_fn, y[1:]
    of_view = view.grad_fn
    view.mul_(w)
    node = y.grad_fn
    of_factor = (w * 1).grad_fn.next_functions[0][0]
    assert [edge[0] for edge in node.next_functions] == [before, of_factor]
    written = node._wrapped_node
    assert written.name() == "MulBackward0" and written.next_functions[0][0] is of_view
    assert node._input_metadata[0].shape == [3] and written._input_metadata[0].shape == [2]
    gradients = torch.autograd.grad(y.sum(), (x, w))
    assert [gradient.tolist() for gradient in gradients] == [[1, 5, 5], [5]]
    assert node._wrapped_node is None
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.sum().backward()


def test_the_nodes_between_a_base_and_a_written_view_do_not_run() -> None:
    x = leaf(1, 2, 3)
    y = x * 1
    view = y[1:]
    view.register_hook(lambda grad: pytest.fail("the view as it was got a gradient"))
    view.exp_()
    y.sum().backward()
    assert x.grad.tolist() == [1, *view.tolist()]


@pytest.mark.parametrize("hooks", [False, True])
@pytest.mark.parametrize("name", ["exp_", "sigmoid_", "tanh_", "sqrt_"])
def test_a_result_that_a_written_view_saves_has_the_history_of_the_view(
    name: str, hooks: bool
) -> None:
    def written(x: Any) -> Any:
        y = x * 2
        getattr(y[1:], name)()
        return y * y

    x = leaf(1.25, 0.5, 0.75)
    same = (lambda tensor: tensor,) * 2
    with torch.autograd.graph.saved_tensors_hooks(*same) if hooks else contextlib.nullcontext():
        assert gradcheck(written, x)
        assert gradgradcheck(written, x)
        y = x * 1
        view = y[1:]
        getattr(view, name)()
        (gradient,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        (gradient.sum() + y.sum()).backward()  # all of the graph, once
    z = (x.detach()[1:]).requires_grad_()
    w = getattr(z, name[:-1])()
    (gradient,) = torch.autograd.grad(w.sum(), z, create_graph=True)
    (gradient.sum() + w.sum()).backward()
    assert np.allclose(x.grad[1:], z.grad)


def test_a_tensor_without_history_gets_one_through_its_views() -> None:
    x = leaf(1, 2, 3)
    table = torch.zeros(2, 3, dtype=torch.float64)
    rows = [table[0], table[1]]
    rows[0].copy_(x)
    rows[1][2] = x[0] * 5
    assert table.requires_grad and rows[1].requires_grad
    assert table.tolist() == [[1, 2, 3], [0, 0, 5]]
    (table * table).sum().backward()
    assert x.grad.tolist() == [2 + 50, 4, 6]


def test_overwritten_values_get_no_gradient() -> None:
    x, new = leaf(1, 2, 3), leaf(7, 8)
    y = x * 1
    y[1:] = new
    total(y, 1, 10, 100)
    assert x.grad.tolist() == [1, 0, 0] and new.grad.tolist() == [10, 100]
    x.grad = None
    z = x * 1
    z.zero_()
    total(z, 1, 1, 1)
    assert x.grad.tolist() == [0, 0, 0]


def test_fill_with_a_tensor_gives_it_the_sum() -> None:
    x, value = leaf(1, 2, 3), torch.tensor(4.0, dtype=torch.float64, requires_grad=True)
    y = x * 1
    y.fill_(value)
    total(y, 1, 10, 100)
    assert value.grad.item() == 111 and x.grad.tolist() == [0, 0, 0]


def test_copy_broadcasts_and_casts_and_its_gradient_goes_back() -> None:
    source = torch.tensor([[1.0], [2.0]], requires_grad=True)
    target = torch.zeros(2, 3, dtype=torch.float64)
    target.copy_(source)
    (target * torch.arange(6.0, dtype=torch.float64).reshape(2, 3)).sum().backward()
    assert type(target.grad_fn).__name__ == "CopyBackwards"
    assert target.grad_fn.name() == "torch::autograd::CopyBackwards"
    assert source.grad.tolist() == [[3], [12]] and source.grad.dtype is torch.float32
    with pytest.raises(RuntimeError, match=r"doesn't match the broadcast shape \[2, 2, 3\]"):
        target.copy_(torch.zeros(2, 2, 3))


def test_a_retained_gradient_is_that_of_the_new_value() -> None:
    x = leaf(1, 2, 3)
    y = x * 1
    y.retain_grad()
    y.mul_(2)
    total(y, 1, 1, 1)
    assert y.grad.tolist() == [1, 1, 1] and x.grad.tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    "write",
    [
        lambda y, w: y.mul_(w),
        lambda y, w: y.div_(w),
        lambda y, w: y[1:].mul_(w[1:]),
        lambda y, w: y[0].exp_(),
        lambda y, w: y.addcmul_(w, w),
        lambda y, w: y.view(3, 1).transpose(0, 1)[0, 1:].copy_(w[:2] * w[1:]),
        lambda y, w: y.mul_(w).sigmoid_(),
        lambda y, w: y.pow_(3),
        lambda y, w: y.clamp_(0.5, 1.5).mul_(w),
        lambda y, w: y.__setitem__(torch.tensor([0, 2]), w[:2] * w[1]),
        lambda y, w: y.masked_fill_(y > 1, w[0]),
        lambda y, w: y.lerp_(w, 0.25),
        lambda y, w: y.as_strided((2,), (2,)).mul_(w[:2]),
    ],
)
def test_gradients_of_every_order(write: Callable[[Any, Any], Any]) -> None:
    def written(x: Any, w: Any) -> Any:
        y = x * x
        write(y, w)
        return y * y

    inputs = (leaf(0.9, 1.1, 0.7), leaf(0.8, 1.3, 1.9))
    assert gradcheck(written, inputs)
    assert gradgradcheck(written, inputs)


# --- methods --------------------------------------------------------------------------------------

VALUES = np.array([0.25, 0.5, 0.75])
UNARY = [
    "abs", "acos", "asin", "atan", "atanh", "ceil", "cos", "cosh", "deg2rad", "digamma", "erf",
    "erfc", "erfinv", "exp", "exp2", "expm1", "floor", "frac", "lgamma", "log", "log10", "log1p",
    "log2", "logit", "neg", "negative", "rad2deg", "reciprocal", "relu", "round", "rsqrt",
    "sigmoid", "sign", "sin", "sinc", "sinh", "sqrt", "square", "tan", "tanh", "trunc",
]  # fmt: skip
BINARY = [
    "add", "atan2", "copysign", "div", "eq", "floor_divide", "fmod", "ge", "gt", "hypot", "le",
    "lt", "mul", "ne", "pow", "remainder", "sub", "xlogy", "logical_and", "logical_or",
    "logical_xor",
]  # fmt: skip


#: Those that take no number.
OF_TENSORS = {"atan2", "hypot", "logical_and", "logical_or", "logical_xor"}


@pytest.mark.parametrize("name", UNARY)
def test_unary_methods_write_what_the_function_returns(name: str) -> None:
    x = torch.from_numpy(VALUES.copy())
    expected = getattr(x, name)()
    assert getattr(x, f"{name}_")() is x
    assert np.array_equal(x.numpy(), expected.numpy())
    assert x._version == 1


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("other", [2.0, VALUES[::-1].copy(), np.array([3.0])])
def test_binary_methods_write_what_the_function_returns(name: str, other: Any) -> None:
    x = torch.from_numpy(VALUES.copy())
    operand = torch.from_numpy(other) if isinstance(other, np.ndarray) else other
    if name in OF_TENSORS and not isinstance(operand, torch.Tensor):
        operand = torch.tensor(operand)
    expected = getattr(x, name)(operand)
    assert getattr(x, f"{name}_")(operand) is x
    assert np.array_equal(x.numpy(), expected.numpy().astype(np.float64))


def test_options() -> None:
    x = torch.tensor([1.0, 2.0, 4.0])
    assert x.add_(torch.ones(3), alpha=3).tolist() == [4, 5, 7]
    assert x.sub_(1, alpha=2).tolist() == [2, 3, 5]
    assert x.div_(2, rounding_mode="floor").tolist() == [1, 1, 2]
    assert x.addcdiv_(torch.ones(3), torch.tensor([1.0, 2, 4]), value=4).tolist() == [5, 3, 3]
    assert x.clamp_(max=4).tolist() == [4, 3, 3]
    assert x.clamp_min_(3.5).tolist() == [4, 3.5, 3.5]
    assert x.pow_(2).tolist() == [16, 12.25, 12.25]


def test_python_operators() -> None:
    x = memory = torch.tensor([7.0, 8.0])
    x += 1
    x -= 2
    x *= 3
    x /= 2
    x //= 2
    x %= 3
    x **= 2
    assert x is memory and x.tolist() == [4 % 3 * 1.0, 5 % 3 * 2.0]
    bits = torch.tensor([6, 5])
    bits &= 3
    bits |= 8
    bits ^= 1
    bits <<= 2
    bits >>= 1
    assert bits.tolist() == [22, 16]


def test_a_result_that_the_dtype_cannot_hold_raises() -> None:
    with pytest.raises(RuntimeError, match="result type Float can't be cast to .* type Long"):
        torch.tensor([1, 2]).div_(2)
    x = torch.tensor([1.0])
    assert x.add_(torch.tensor([1.0], dtype=torch.float64)).dtype is torch.float32


def test_an_output_that_would_have_to_grow_raises() -> None:
    with pytest.raises(RuntimeError, match=r"output with shape \[3\] doesn't match"):
        torch.zeros(3).add_(torch.zeros(2, 3))


def test_memory_written_more_than_once_raises() -> None:
    with pytest.raises(RuntimeError, match="^unsupported operation: more than one element"):
        torch.zeros(1).expand(3).add_(1)


def test_operands_that_overlap_are_read_first() -> None:
    x = torch.arange(10.0)
    x[2::2].add_(x[:-2:2])  # without gaps this is refused, as in torch
    assert x[::2].tolist() == [0, 2, 6, 10, 14]


def test_shapes_change_in_place() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    assert x.t_() is x and x.shape == (3, 2) and x.stride() == (1, 3)
    assert x.unsqueeze_(0).shape == (1, 3, 2)
    assert x.transpose_(0, 2).shape == (2, 3, 1)
    assert x.squeeze_().shape == (2, 3)
    assert x.resize_(2, 2).tolist() == [[0, 1], [2, 3]]
    y = leaf(1, 2) * 3
    y.unsqueeze_(1)
    (y * y).sum().backward()
    assert y.grad_fn is not None and y.shape == (2, 1)
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
        y.resize_(3)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("clamp_", (0.0, 1.0)), ("clamp_min_", (0.5,)), ("clamp_max_", (0.5,)), ("fill_", (3.0,)),
        ("zero_", ()), ("round_", ()), ("square_", ()), ("nan_to_num_", ()), ("detach_", ()),
    ],
)  # fmt: skip
def test_methods_that_are_functions_too(name, arguments):
    x, y = torch.tensor([-1.5, 0.25, 2.0]), torch.tensor([-1.5, 0.25, 2.0])
    assert getattr(torch, name)(x, *arguments) is x
    assert torch.equal(x, getattr(y, name)(*arguments))


def test_filling_by_index_leaves_other_entries_of_shared_memory_alone() -> None:
    x = torch.tensor([1.0, 2.0, 4.0])
    x.expand(2, 3).index_fill_(1, torch.tensor([-1]), 3.0)
    assert x.tolist() == [1, 2, 3]
    x.expand(2, 3).index_fill_(0, torch.tensor([0]), 5.0)
    assert x.tolist() == [5, 5, 5]
    source = torch.ones(3, requires_grad=True)
    y = source * 1
    y.expand(2, 3).index_fill_(1, torch.tensor([0]), 3.0)
    y.sum().backward()
    assert source.grad.tolist() == [0, 1, 1]


def test_a_conjugate_in_place_is_a_write_of_real_numbers_too() -> None:
    x = torch.ones(2)
    assert x.conj_physical_() is x and x._version == 1
