"""Views and joins: what shares memory, what they compute, their gradients of every order."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.autograd import gradcheck, gradgradcheck

Build = Callable[[Any], Any]

SHAPE = (2, 3, 4)


def array() -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).standard_normal(SHAPE)


#: name: (on a tensor, on an ndarray)
VIEWS: dict[str, tuple[Build, Build]] = {
    "view": (lambda x: x.view(6, 4), lambda a: a.reshape(6, 4)),
    "view -1": (lambda x: x.view(-1, 8), lambda a: a.reshape(3, 8)),
    "reshape": (lambda x: x.reshape(4, 6), lambda a: a.reshape(4, 6)),
    "reshape of a part": (lambda x: x[:, 1:].reshape(2, 2, 2, 2),
                          lambda a: a[:, 1:].reshape(2, 2, 2, 2)),
    "flatten": (lambda x: x.flatten(1), lambda a: a.reshape(2, 12)),
    "unflatten": (lambda x: x.unflatten(-1, (2, 2)), lambda a: a.reshape(2, 3, 2, 2)),
    "t": (lambda x: x[0].t(), lambda a: a[0].T),
    "T": (lambda x: x[1].T, lambda a: a[1].T),
    "mT": (lambda x: x.mT, lambda a: a.swapaxes(1, 2)),
    "transpose": (lambda x: x.transpose(0, -1), lambda a: a.swapaxes(0, 2)),
    "permute": (lambda x: x.permute(2, 0, 1), lambda a: a.transpose(2, 0, 1)),
    "movedim": (lambda x: x.movedim(0, 2), lambda a: np.moveaxis(a, 0, 2)),
    "expand": (lambda x: x.expand(5, -1, 3, 4), lambda a: np.broadcast_to(a, (5, 2, 3, 4))),
    "expand a part": (lambda x: x[:, :1].expand(2, 6, 4),
                      lambda a: np.broadcast_to(a[:, :1], (2, 6, 4))),
    "unsqueeze": (lambda x: x.unsqueeze(-2), lambda a: a[:, :, None]),
    "squeeze": (lambda x: x[:1].squeeze(), lambda a: a[0]),
    "squeeze dims": (lambda x: x[:1, :1].squeeze((0, 1)), lambda a: a[0, 0]),
    "narrow": (lambda x: x.narrow(2, 1, 2), lambda a: a[:, :, 1:3]),
    "select": (lambda x: x.select(1, -1), lambda a: a[:, -1]),
    "diagonal": (lambda x: x.diagonal(1, 0, 2), lambda a: a.diagonal(1, 0, 2)),
    "unfold": (lambda x: x.unfold(2, 3, 1),
               lambda a: np.lib.stride_tricks.sliding_window_view(a, 3, 2)),
    "as_strided": (lambda x: x.as_strided((3, 3), (4, 1), 2),
                   lambda a: np.array([a.flat[i : i + 3] for i in (2, 6, 10)])),
    "as_strided overlapping": (lambda x: x.as_strided((3, 3), (1, 1)),
                               lambda a: np.array([a.flat[i : i + 3] for i in range(3)])),
    "unbind": (lambda x: x.unbind(1)[2], lambda a: a[:, 2]),
    "split": (lambda x: x.split([1, 3], 2)[1], lambda a: a[:, :, 1:]),
    "chunk": (lambda x: x.chunk(2, 1)[1], lambda a: a[:, 2:]),
    "tensor_split": (lambda x: x.tensor_split(3, 2)[0], lambda a: a[:, :, :2]),
}  # fmt: skip

COPIES: dict[str, tuple[Build, Build]] = {
    "clone": (lambda x: x.clone(), lambda a: a),
    "contiguous": (lambda x: x.mT.contiguous(), lambda a: a.swapaxes(1, 2)),
    "reshape": (lambda x: x.mT.reshape(-1), lambda a: a.swapaxes(1, 2).reshape(-1)),
    "flip": (lambda x: x.flip(0, 2), lambda a: a[::-1, :, ::-1]),
    "roll": (lambda x: x.roll((1, -1), (0, 2)), lambda a: np.roll(a, (1, -1), (0, 2))),
    "roll all": (lambda x: x.roll(5), lambda a: np.roll(a, 5)),
    "rot90": (lambda x: x.rot90(1, (1, 2)), lambda a: np.rot90(a, 1, (1, 2))),
    "repeat": (lambda x: x.repeat(2, 1, 2, 1), lambda a: np.tile(a, (2, 1, 2, 1))),
    "tile": (lambda x: x.tile(2), lambda a: np.tile(a, 2)),
    "repeat_interleave": (lambda x: x.repeat_interleave(2, 1), lambda a: np.repeat(a, 2, 1)),
    "repeat_interleave each": (lambda x: x.repeat_interleave(torch.tensor([0, 3]), 0),
                               lambda a: np.repeat(a, [0, 3], 0)),
    "tril": (lambda x: x.tril(-1), lambda a: np.tril(a, -1)),
    "triu": (lambda x: x.triu(1), lambda a: np.triu(a, 1)),
    "diag": (lambda x: x[0, 0].diag(-1), lambda a: np.diag(a[0, 0], -1)),
    "diag of a matrix": (lambda x: x[0].diag(1), lambda a: np.diag(a[0], 1)),
    "cat": (lambda x: torch.cat([x, x[:, :1] * 2], 1),
            lambda a: np.concatenate([a, a[:, :1] * 2], 1)),
    "cat of three": (lambda x: torch.cat((x, torch.zeros(0, dtype=torch.float64), x), -1),
                     lambda a: np.concatenate([a, a], -1)),
    "stack": (lambda x: torch.stack([x, x * x], 1), lambda a: np.stack([a, a * a], 1)),
    "hstack": (lambda x: torch.hstack([x[0], x[1]]), lambda a: np.hstack([a[0], a[1]])),
    "vstack": (lambda x: torch.vstack([x[0, 0], x[1, 0]]), lambda a: np.vstack([a[0, 0], a[1, 0]])),
    "dstack": (lambda x: torch.dstack([x[0], x[1]]), lambda a: np.dstack([a[0], a[1]])),
    "block_diag": (lambda x: torch.block_diag(x[0], x[1, 0]),
                   lambda a: np.block([[a[0], np.zeros((3, 4))], [np.zeros((1, 4)), a[1, :1]]])),
    "meshgrid": (lambda x: torch.stack(torch.meshgrid(x[0, 0], x[0, :, 0], indexing="xy")),
                 lambda a: np.stack(np.meshgrid(a[0, 0], a[0, :, 0]))),
    "some of several": (lambda x: torch.stack(x.unbind(2)[1:3]),
                        lambda a: np.stack([a[:, :, 1], a[:, :, 2]])),
    "sum_to_size": (lambda x: x.sum_to_size(3, 1), lambda a: a.sum((0, 2))[:, None]),
}  # fmt: skip


@pytest.mark.parametrize("name", VIEWS)
def test_views_share_memory(name: str) -> None:
    build, reference = VIEWS[name]
    base = torch.from_numpy(array())
    view = build(base)
    assert np.array_equal(view.numpy(), reference(array()))
    assert np.shares_memory(view.numpy(), base.numpy())
    assert view._is_view() and view._base is base
    base.add_(1)
    assert np.array_equal(view.numpy(), reference(array() + 1))
    assert view._version == base._version == 1


@pytest.mark.parametrize("name", COPIES)
def test_copies_do_not(name: str) -> None:
    build, reference = COPIES[name]
    base = torch.from_numpy(array())
    copy = build(base)
    np.testing.assert_allclose(copy.numpy(), reference(array()), rtol=1e-15)
    assert not np.shares_memory(copy.numpy(), base.numpy())


@pytest.mark.parametrize("name", [*VIEWS, *[f"copy: {name}" for name in COPIES]])
def test_gradients_of_every_order(name: str) -> None:
    build = COPIES[name[6:]][0] if name.startswith("copy: ") else VIEWS[name][0]
    x = torch.from_numpy(array()).requires_grad_()

    def squared(x: Any) -> Any:
        made = build(x)
        return made * made

    assert gradcheck(squared, (x,))
    assert gradgradcheck(squared, (x,))


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda x: x.view(24), "ViewBackward0"),
        (lambda x: x.reshape(24), "ViewBackward0"),
        (lambda x: x.mT.reshape(24), "UnsafeViewBackward0"),
        (lambda x: x[0].t(), "TBackward0"),
        (lambda x: x.mT, "TransposeBackward0"),
        (lambda x: x.permute(0, 2, 1), "PermuteBackward0"),
        (lambda x: x.expand(2, 2, 3, 4), "ExpandBackward0"),
        (lambda x: x.squeeze(), "SqueezeBackward0"),
        (lambda x: x.squeeze(0), "SqueezeBackward1"),
        (lambda x: x.squeeze((0, 1)), "SqueezeBackward2"),
        (lambda x: x.unsqueeze(0), "UnsqueezeBackward0"),
        (lambda x: x[0], "SelectBackward0"),
        (lambda x: x[1:], "SliceBackward0"),
        (lambda x: x.narrow(0, 0, 1), "SliceBackward0"),
        (lambda x: x.chunk(2)[0], "SplitBackward0"),
        (lambda x: x.unbind()[1], "UnbindBackward0"),
        (lambda x: torch.cat([x, x]), "CatBackward0"),
        (lambda x: torch.stack([x, x]), "StackBackward0"),
        (lambda x: x.clone(), "CloneBackward0"),
    ],
)
def test_nodes_are_named_as_in_torch(build: Build, name: str) -> None:
    made = build(torch.zeros(SHAPE, requires_grad=True))
    assert made.grad_fn.name() == name


def test_a_view_of_a_view_has_the_root_as_base() -> None:
    x = torch.zeros(4, 4)
    assert x[1:].t()[0]._base is x


def test_contiguous_tensors_are_their_own_copies() -> None:
    x = torch.zeros(2, 3)
    assert x.contiguous() is x
    assert x.flatten(0, 0) is x
    assert x.t().contiguous().is_contiguous()


def test_a_clone_keeps_the_order_of_dimensions() -> None:
    x = torch.zeros(2, 3).t()
    assert x.clone().stride() == (1, 3)
    assert torch.zeros(3, 1).expand(3, 4).clone().stride() == (4, 1)


def test_strides_of_new_dimensions() -> None:
    x = torch.zeros(3, 4)
    assert x.unsqueeze(0).stride() == (12, 4, 1)
    assert x[None].stride() == (12, 4, 1)
    assert x.unsqueeze(2).stride() == (4, 1, 1)
    assert x.expand(2, 3, 4).stride() == (0, 4, 1)
    assert x.t().expand(2, 4, 3).stride() == (0, 1, 4)


def test_bytes_can_be_viewed_as_another_dtype() -> None:
    x = torch.tensor([1.0, -2.0])
    assert x.view(torch.int32).tolist() == [0x3F800000, -0x40000000]
    assert x.view(torch.uint8).shape == (8,)
    x.view(torch.int32)[0] = 0
    assert x.tolist() == [0, -2] and x._version == 1
    with pytest.raises(RuntimeError, match=r"self.size\(-1\) must be divisible by 2"):
        torch.zeros(3).view(torch.float64)


def test_cat_promotes() -> None:
    made = torch.cat([torch.tensor([1]), torch.tensor([2.5]), torch.tensor([True])])
    assert made.dtype is torch.float32 and made.tolist() == [1, 2.5, 1]


def test_unused_outputs_get_zeros() -> None:
    x = torch.arange(4.0, requires_grad=True)
    x.split(2)[1].sum().backward()
    assert x.grad.tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("build", "kind", "text"),
    [
        (lambda x: x.view(5), RuntimeError, "shape '[5]' is invalid for input of size 24"),
        (
            lambda x: x.mT.view(24),
            RuntimeError,
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead.",
        ),
        (lambda x: x.reshape(-1, -1), RuntimeError, "only one dimension can be inferred"),
        (
            lambda x: x.t(),
            RuntimeError,
            "t() expects a tensor with <= 2 dimensions, but self is 3D",
        ),
        (
            lambda x: x.transpose(0, 3),
            IndexError,
            "Dimension out of range (expected to be in range of [-3, 2], but got 3)",
        ),
        (
            lambda x: x.expand(2, 3, 5),
            RuntimeError,
            "The expanded size of the tensor (5) must match the existing size (4) at non-singleton "
            "dimension 2.  Target sizes: [2, 3, 5].  Tensor sizes: [2, 3, 4]",
        ),
        (
            lambda x: x.narrow(0, 1, 2),
            RuntimeError,
            "start (1) + length (2) exceeds dimension size (2).",
        ),
        (
            lambda x: x.split([1, 2], 2),
            RuntimeError,
            "split_with_sizes expects split_sizes to sum exactly to 4 (input tensor's size at "
            "dimension 2), but got split_sizes=[1, 2]",
        ),
        (
            lambda x: torch.cat([x, x[:, 1:]]),
            RuntimeError,
            "Sizes of tensors must match except in dimension 0. Expected size 3 but got size 2 for "
            "tensor number 1 in the list.",
        ),
        (
            lambda x: torch.stack([x, x[1:]]),
            RuntimeError,
            "stack expects each tensor to be equal size, but got [2, 3, 4] at entry 0 and "
            "[1, 3, 4] at entry 1",
        ),
        (
            lambda x: x.flip(0, 0),
            RuntimeError,
            "dim 0 appears multiple times in the list of dims",
        ),
    ],
)
def test_errors(build: Build, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as raised:
        build(torch.zeros(SHAPE))
    assert str(raised.value) == text


class TestLayouts:
    """Strides of results, where torch's are not those of NumPy's copies."""

    @pytest.mark.parametrize(
        ("make", "strides"),
        [
            (lambda x: x.t().flip(0), (1, 3)),
            (lambda x: torch.rot90(x), (1, 3)),
            (lambda x: torch.rot90(x.t(), 0), (2, 1)),
            (lambda x: torch.rot90(x, 2), (3, 1)),
            (lambda x: x.t().sort(0).values, (1, 3)),
            (lambda x: x.t().sort(0).indices, (1, 3)),
            (lambda x: torch.cat([x.t(), x.t()]), (2, 1)),
            (lambda x: torch.stack([x.t(), x.t()]), (6, 2, 1)),
            (lambda x: torch.zeros_like(x[0].expand(2, 3)), (3, 1)),
            (lambda x: x[0].expand(2, 3).double(), (3, 1)),
            (lambda x: x[0].expand(2, 3).clone(), (3, 1)),
            (lambda x: torch.softmax(x[0].expand(2, 3), 0), (3, 1)),
            (lambda x: x[..., None, -1], (3, 3)),
            (lambda x: x[:, None], (3, 3, 1)),
        ],
    )
    def test_strides(self, make, strides):
        assert make(torch.arange(6.0).reshape(2, 3)).stride() == strides


def test_as_strided_of_a_detached_view_reaches_its_whole_memory():
    whole = torch.arange(6.0)
    part = whole[2:4].detach()
    assert part._base is None
    assert part.storage_offset() == part[1:].detach().storage_offset() - 1 == 2
    assert torch.equal(part.as_strided((6,), (1,), 0), whole)
    assert part[1:].as_strided((2,), (1,)).tolist() == [3, 4]
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 24"):
        part.as_strided((7,), (1,), 0)


def test_as_strided_of_a_sample_stays_within_it():
    x = torch.arange(12.0).view(3, 4)
    shown = torch.func.vmap(lambda row: row.as_strided((2, 2), (1, 1), 1))(x)
    assert shown[2].tolist() == [[9, 10], [10, 11]]
    for size, offset in [(5, 0), (4, 1)]:
        with pytest.raises(RuntimeError, match="can access memory outside of `tensor`"):
            torch.func.vmap(lambda row, n=size, k=offset: row.as_strided((n,), (1,), k))(x)


def test_as_strided_in_place():
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    y = x.clone()
    assert y.as_strided_((2, 2), (1, 2), 1) is y
    assert y.tolist() == [[1, 3], [2, 4]]
    y.sum().backward()
    assert x.grad.tolist() == [[0, 1, 1], [1, 1, 0]]


def test_resizing_counts_as_a_write_if_the_shape_changes():
    x = torch.rand(1)
    x.resize_((1, 2))
    assert x._version == 1
    x.resize_as_(torch.rand(3))
    assert (x.shape, x._version) == ((3,), 2)
    x.resize_((3,)).resize_as_(torch.rand(3))
    assert x._version == 2


def test_pieces_that_may_be_written():
    x = torch.ones(3, 3, requires_grad=True)
    first, second, _ = (x + x).unsafe_split_with_sizes((1, 1, 1))
    first.mul_(second)
    first.sum().backward()
    assert x.grad.tolist() == [[4] * 3, [4] * 3, [0] * 3]


CONJUGATE = "Consider using x.conj()."
IDENTITY = "This function is the identity in these cases."
BATCHES = "matrices or batches of matrices. Got 1-D tensor."


@pytest.mark.parametrize(
    ("name", "called", "instead", "matrices"),
    [
        ("mT", "Tensor.mT", IDENTITY, BATCHES),
        ("mH", "Tensor.mH", CONJUGATE, BATCHES),
        ("H", "Tensor.H", CONJUGATE, "matrices (2-D tensors). Got 1-D tensor."),
        ("adjoint", "adjoint()", CONJUGATE, BATCHES),
    ],
)
def test_transposes_of_what_is_no_matrix(name, called, instead, matrices):
    def transposed(x: Any) -> Any:
        return x.adjoint() if name == "adjoint" else getattr(x, name)

    assert transposed(torch.ones(2, 3)).shape == (3, 2)
    x = torch.ones(())
    torch.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match=re.escape(f"{called} is deprecated on 0-D tensors. ")):
            assert transposed(x) is x
    finally:
        torch.set_warn_always(False)
    asked = "tensor." + called.removeprefix("Tensor.")
    with pytest.raises(RuntimeError, match=re.escape(f"{asked} is only supported on {matrices}")):
        transposed(torch.ones(3))


def test_h_is_for_single_matrices():
    with pytest.raises(RuntimeError, match="For batches of matrices, consider using tensor.mH"):
        _ = torch.ones(2, 2, 2).H


@pytest.mark.parametrize("shape", [(), (3,), (2, 3, 4)])
def test_t_of_what_is_no_matrix_warns(shape):
    torch.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match="is deprecated"):
            assert torch.ones(shape).T.shape == shape[::-1]
    finally:
        torch.set_warn_always(False)


# --- as_strided of memory in which several indices mean one element -----------------------------


@pytest.mark.parametrize(
    ("make", "size", "stride", "offset"),
    [
        (lambda x: x.expand(5, 5), (5, 5), (0, 1), 0),
        (lambda x: x.expand(5, 5), (5, 5), (1, 0), None),
        (lambda x: x.expand(5, 5), (5,), (1,), 0),
        (lambda x: x.expand(3, 5)[1:], (2, 2), (1, 2), 1),
        (lambda x: x.view(5, 1).expand(5, 3)[1:], (2, 4), (1, 0), 2),
        (lambda x: x.expand(2, 5), (3, 3, 3), (0, 1, 0), 2),
    ],
)
def test_gradients_of_as_strided_of_an_expanded_tensor(make, size, stride, offset):
    def function(x):
        return make(x).as_strided(size, stride, offset)

    x = torch.rand(5, dtype=torch.float64, requires_grad=True)
    weight = torch.arange(1.0, 1 + function(x).numel(), dtype=torch.float64).view(size)
    (gradient,) = torch.autograd.grad((function(x) * weight).sum(), x)
    each = torch.eye(5, dtype=torch.float64)
    expected = [(function(row.clone()) * weight).sum().item() for row in each]  # it is linear
    assert gradient.tolist() == pytest.approx(expected)
    assert torch.autograd.gradcheck(function, x, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(function, x)


def test_broadcast_shapes():
    assert torch.broadcast_shapes((3, 1), (1, 4), (4,)) == torch.Size([3, 4])
    assert torch.broadcast_shapes(5, (2, 1), ()) == (2, 5)
    assert torch.broadcast_shapes((0, 1), (1, 3)) == (0, 3)
    assert torch.broadcast_shapes() == ()
    with pytest.raises(RuntimeError, match="Mismatching argument at index 1 had \\(3,\\)"):
        torch.broadcast_shapes((2, 4), (3,))
    with pytest.raises(ValueError, match="negative length"):
        torch.broadcast_shapes((2, -1))


COPIES_OF_VIEWS: dict[str, tuple[Any, ...]] = {
    "alias": (), "as_strided": ((2, 2), (1, 3), 1), "detach": (), "diagonal": (1, 0, 2),
    "expand": ((2, 2, 3, 4),), "narrow": (1, 1, 2), "permute": ((2, 0, 1),), "select": (2, -1),
    "split": (2, 1), "split_with_sizes": ([1, 3], 2), "squeeze": (), "transpose": (0, 2),
    "unbind": (1,), "unfold": (2, 2, 1), "unsqueeze": (1,), "view": ((6, 4),),
}  # fmt: skip


@pytest.mark.parametrize("name", COPIES_OF_VIEWS)
def test_what_views_show_is_had_in_memory_of_its_own_too(name: str) -> None:
    arguments = COPIES_OF_VIEWS[name]
    x = torch.tensor(array(), requires_grad=name != "detach")
    expected = x[...] if name == "alias" else getattr(x, name)(*arguments)
    made = getattr(torch, f"{name}_copy")(x, *arguments)
    several = isinstance(made, tuple)
    pairs = zip(made, expected, strict=True) if several else [(made, expected)]
    for one, other in pairs:
        assert torch.equal(one, other) and one.is_contiguous() and not one._is_view()
        assert one.data_ptr() != other.data_ptr() and one.requires_grad == x.requires_grad
    targets = [torch.empty_like(each) for each in made] if several else torch.empty_like(made)
    getattr(torch, f"{name}_copy")(x.detach(), *arguments, out=targets)
    assert torch.equal(targets[0], made[0])
    if x.requires_grad:
        (made[0] if several else made).square().sum().backward()
        found, x.grad = x.grad, None
        (expected[0] if several else expected).square().sum().backward()
        assert torch.equal(found, x.grad)


def test_copies_of_slices_and_transposes() -> None:
    x = torch.tensor(array())
    assert torch.equal(torch.slice_copy(x, 2, 1, None, 2), x[:, :, 1::2])
    assert torch.equal(torch.t_copy(x[0]), x[0].t())
    assert torch.equal(x.narrow_copy(0, 1, 1), x[1:])


def test_windows_of_a_number_and_their_gradient() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    windows = x.sum().unfold(0, 1, 1)
    assert windows.tolist() == [3]
    (windows * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_complex_numbers_of_pairs_whatever_the_steps_of_single_ones() -> None:
    x = torch.rand(2, 2, 3)[:1, :1, 1:]
    assert torch.view_as_complex(x).tolist() == [[complex(*x[0, 0].tolist())]]
    z = torch.rand(1, 2, dtype=torch.complex128, requires_grad=True)
    (torch.view_as_real(z * 1).unfold(1, 1, 1) ** 2).sum().backward()
    assert torch.allclose(z.grad, 2 * z.detach())


def test_view_takes_its_argument_by_name():
    x = torch.ones(2, 2)
    assert x.view(dtype=torch.int32).tolist() == [[0x3F800000] * 2] * 2
    assert x.view(size=(4,)).shape == (4,)
