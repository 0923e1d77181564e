"""Conjugates and negatives as views: what they share, what is read, what is written."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from complex_table import COMPLEX_ENTRIES, ComplexEntry

import numbagrad as torch
from numbagrad.autograd import forward_ad, gradcheck, gradgradcheck
from numbagrad.func import jvp, vmap

#: Functions that torch refuses for a tensor with a conjugation pending.
REFUSING = ("view_as_real",)
named = pytest.mark.parametrize(
    "entry", [x for x in COMPLEX_ENTRIES if x.name not in REFUSING], ids=lambda entry: entry.name
)


def z(*values: complex) -> Any:
    return torch.tensor(values or (1 + 2j, 3 - 1j), dtype=torch.complex128)


def pending(array: np.ndarray[Any, Any]) -> Any:
    """These elements, read from memory that holds their conjugates."""
    given = torch.tensor(array)
    return torch.tensor(array.conj()).conj() if given.is_complex() else given


def plain(tensor: Any) -> Any:
    return tensor.detach().resolve_conj().resolve_neg().numpy()


class TestViews:
    def test_a_conjugate_shares_memory_and_count_of_writes(self) -> None:
        x = z()
        y = x.conj()
        assert y.is_conj() and y._is_view() and y._base is x and y.data_ptr() == x.data_ptr()
        assert y.tolist() == [1 - 2j, 3 + 1j] and y[0].item() == 1 - 2j
        x.mul_(2)
        assert y.tolist() == [2 - 4j, 6 + 2j] and y._version == 1
        assert not x.is_conj() and not y.conj().is_conj() and y.conj().tolist() == x.tolist()

    def test_views_of_it_are_conjugates_too(self) -> None:
        y = z(1 + 2j, 3 - 1j, 5j, 4).reshape(2, 2).conj()
        for view in (y[1:], y.t(), y.reshape(-1), y.unbind()[0], y.as_strided((1,), (1,), 2),
                     y.detach(), y.data, y.contiguous(), y.T):  # fmt: skip
            assert view.is_conj()
        assert y.t()[0].tolist() == [1 - 2j, -5j]
        assert y.as_strided((1,), (1,), 2).tolist() == [-5j]
        assert z(1j).reshape(1, 1).H.is_conj() and z(1j).reshape(1, 1, 1).mH.is_conj()
        for value in (y * 1, y.clone(), torch.cat([y]), y.resolve_conj(), y[torch.tensor([0])]):
            assert not value.is_conj() and not value._is_view()

    def test_its_imaginary_part_is_a_negative(self) -> None:
        x = z()
        part = x.conj().imag
        assert part.is_neg() and not part.is_conj() and part.tolist() == [-2, 1]
        part.mul_(3)
        assert x.tolist() == [1 + 6j, 3 - 3j]
        assert not x.conj().real.is_neg() and x.conj().real.tolist() == [1, 3]
        assert torch._neg_view(x.conj()).imag.tolist() == [6, -3]
        assert not part.resolve_neg().is_neg() and x.real.resolve_neg().tolist() == [1, 3]
        assert x.resolve_conj() is x

    def test_real_tensors_are_their_own_conjugates(self) -> None:
        x = torch.tensor([1.0])
        assert x.conj() is x and torch._conj(x) is x and torch._conj_physical(x) is x
        assert torch._neg_view(x).is_neg() and torch._neg_view(x).tolist() == [-1]

    def test_the_memory_is_not_handed_out_as_the_elements(self) -> None:
        y = z().conj()
        with pytest.raises(RuntimeError, match=r"conjugate bit set. Use tensor.resolve_conj\(\)"):
            y.numpy()
        with pytest.raises(RuntimeError, match=r"negative bit set. Use tensor.resolve_neg\(\)"):
            y.imag.numpy()
        with pytest.raises(RuntimeError, match="unresolved conjugated tensors"):
            torch.view_as_real(y)
        with pytest.raises(RuntimeError, match="not supported for conjugate view tensors"):
            y.view(torch.float64)
        with pytest.raises(RuntimeError, match="not supported for tensors with negative bit set"):
            y.imag.view(torch.int64)
        with pytest.raises(BufferError, match="conjugate"):
            np.from_dlpack(y)
        assert y.numpy(force=True).tolist() == [1 - 2j, 3 + 1j]
        assert torch.as_tensor(y) is y
        assert torch.tensor([y[0], y[1]]).tolist() == y.tolist()
        assert repr(y) == "tensor([1.-2.j, 3.+1.j], dtype=torch.complex128)"

    def test_copies_and_files_have_the_elements(self) -> None:
        y = z().conj()
        assert copy.deepcopy(y).tolist() == y.tolist() == copy.copy(y).tolist()
        assert pickle.loads(pickle.dumps(y)).tolist() == y.tolist()
        file = io.BytesIO()
        torch.save({"y": y, "part": y.imag}, file)
        file.seek(0)
        loaded = torch.load(file)
        assert loaded["y"].tolist() == y.tolist() and loaded["part"].tolist() == [-2, 1]

    def test_nodes_are_those_of_the_views(self) -> None:
        x = z().requires_grad_() * 1
        y = x.conj()
        assert type(y.grad_fn).__name__ == "ConjBackward0"
        assert type((y * 2).grad_fn.next_functions[0][0]).__name__ == "ConjBackward0"
        assert type(torch._neg_view(x).grad_fn).__name__ == "NegViewBackward0"
        assert type(y.resolve_conj().grad_fn).__name__ == "CloneBackward0"
        x.mul_(2)
        assert type(y.grad_fn).__name__ == "ConjBackward0"
        assert type(y[1:].grad_fn).__name__ == "SliceBackward0"


class TestReading:
    @named
    def test_operators_read_the_elements(self, entry: ComplexEntry) -> None:
        given = entry.draw()
        expected = plain(entry.call(torch, *[torch.tensor(x) for x in given]))
        made = plain(entry.call(torch, *[pending(x) for x in given]))
        np.testing.assert_allclose(made, expected, rtol=1e-12, atol=1e-14)

    @named
    def test_so_do_gradients_and_tangents(self, entry: ComplexEntry) -> None:
        found = []
        for make in (torch.tensor, pending):
            inputs = [make(x).requires_grad_() for x in entry.draw()]
            result = entry.call(torch, *inputs)
            weights = torch.arange(1.0, result.numel() + 1).double().reshape(result.shape)
            (result * weights).abs().square().sum().backward()
            gradients = [plain(x.grad) for x in inputs if x.grad is not None]
            with forward_ad.dual_level():
                directions = [x.detach() * (2 if x.dtype.is_floating_point else 2 - 1j)
                              for x in inputs]  # fmt: skip
                duals = map(forward_ad.make_dual, [x.detach() for x in inputs], directions)
                tangent = forward_ad.unpack_dual(entry.call(torch, *duals)).tangent
            found.append([*gradients, *([] if tangent is None else [plain(tangent)])])
        assert len(found[0]) == len(found[1])
        for one, other in zip(*found, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)

    @pytest.mark.parametrize("of_primal", [torch.detach, torch.conj, torch._neg_view])
    @pytest.mark.parametrize("of_tangent", [torch.detach, torch.conj, torch._neg_view])
    def test_a_tangent_is_pending_as_its_primal_is(self, of_primal: Any, of_tangent: Any) -> None:
        x, direction = of_primal(z()), of_tangent(z(1j, 2 - 3j))
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, direction)
            tangent = forward_ad.unpack_dual(dual).tangent
            assert (tangent is direction) == (of_primal is of_tangent)
            assert tangent.is_conj() == x.is_conj() and tangent.is_neg() == x.is_neg()
            assert tangent.tolist() == direction.tolist()
            for part in (torch.real, torch.imag):
                found = forward_ad.unpack_dual(part(dual)).tangent
                assert found.tolist() == part(direction).tolist()

    def test_batches_of_conjugates_and_conjugates_of_batches(self) -> None:
        x = z(1 + 2j, 3 - 1j, 5j, 4).reshape(2, 2)
        assert vmap(lambda row: row * 2)(x.conj()).tolist() == (x.conj() * 2).tolist()
        assert vmap(lambda row: row.conj())(x).tolist() == x.conj().tolist()
        assert vmap(lambda row: row.imag)(x.conj()).tolist() == (-x.imag).tolist()

        def doubled(row: Any) -> Any:
            copied = row * 1
            copied.conj().imag.mul_(2)
            return copied

        assert vmap(doubled)(x).tolist() == (x.real + 2j * x.imag).tolist()
        value, tangent = jvp(doubled, (x,), (x * 1j,))
        expected = (x * 1j).real + 2j * (x * 1j).imag
        assert tangent.tolist() == expected.tolist() and value.tolist() == doubled(x).tolist()

    def test_gradients_of_every_order(self) -> None:
        x = z().requires_grad_()
        for function in (lambda x: x.conj() * x, lambda x: x.conj().imag.exp(),
                         lambda x: torch._neg_view(x[1:].conj()) ** 2):  # fmt: skip
            gradcheck(function, (x,), check_forward_ad=True, check_batched_grad=True)
            gradgradcheck(function, (x,))

    def test_a_conjugate_may_be_a_leaf_and_a_gradient(self) -> None:
        leaf = z(1 + 2j).conj().requires_grad_()
        (leaf * leaf.conj() * 2).real.sum().backward()
        assert leaf.is_leaf and leaf.grad.tolist() == [4 - 8j]
        x = z(1 + 2j).requires_grad_()
        for _ in range(2):
            (x * 1j).backward(z(1 + 3j).conj())
        assert x.grad.tolist() == [-6 - 2j]
        x.grad = None
        y = x * 2
        y.register_hook(lambda grad: grad.conj())
        (y * (1 + 2j)).sum().abs().backward()
        expected, x.grad = x.grad, None
        y = x * 2
        y.register_hook(lambda grad: torch.conj_physical(grad))
        (y * (1 + 2j)).sum().abs().backward()
        assert x.grad.tolist() == expected.tolist()

    def test_a_function_of_a_user_takes_it_as_it_is(self) -> None:
        class Doubled(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                assert x.is_conj()
                return x * 2

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return (grad * 2j).conj()

        x = z(1 + 2j).requires_grad_()
        y = Doubled.apply(x.conj())
        assert y.tolist() == [2 - 4j]
        y.backward(z(1 + 1j))
        assert x.grad.tolist() == [-2 + 2j]

    def test_a_compiled_function_takes_and_makes_them(self) -> None:
        @torch.compile
        def function(x: Any) -> Any:
            return (torch._neg_view(x) * x + x).sum()

        for scale in (1.0, 2.0, 3.0, 4.0):
            x = torch.arange(3.0) * scale
            assert function(x).item() == -5 * scale**2 + 3 * scale
            assert function(torch._neg_view(x)).item() == -5 * scale**2 - 3 * scale


WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "scaled": lambda y, x: y.mul_(2 + 1j),
    "filled": lambda y, x: y[0].fill_(3j),
    "a part": lambda y, x: y.imag.mul_(2),
    "copied from its memory": lambda y, x: y.copy_(x),
    "copied to its memory": lambda y, x: x.copy_(y),
    "a part from the other": lambda y, x: y.imag.copy_(x.real),
    "added": lambda y, x: y.add_(x),
    "the memory": lambda y, x: x.mul_(1j),
    "negative": lambda y, x: torch._neg_view(y)[1:].mul_(y[0].clone()),
    "by index": lambda y, x: y.__setitem__(1, x[0] * 2),
    "by a number": lambda y, x: y.__setitem__(0, 5 + 5j),
    "by a mask": lambda y, x: y.masked_fill_(torch.tensor([True, False]), 2j),
    "by a formula": lambda y, x: y.sin_(),
    "twice conjugated": lambda y, x: y.conj().mul_(2j),
    "zero": lambda y, x: y.zero_(),
    "onto itself": lambda y, x: y.copy_(y),
}
#: The same, of what has memory of its own: the new values of ``x``.
VALUES: dict[str, Callable[[Any], Any]] = {
    "scaled": lambda x: x * (2 - 1j),
    "filled": lambda x: torch.stack([x[0] * 0 - 3j, x[1]]),
    "a part": lambda x: torch.complex(x.real, 2 * x.imag),
    "copied from its memory": lambda x: torch.conj_physical(x),
    "copied to its memory": lambda x: torch.conj_physical(x),
    "a part from the other": lambda x: torch.complex(x.real, -x.real),
    "added": lambda x: x + torch.conj_physical(x),
    "the memory": lambda x: x * 1j,
    "negative": lambda x: torch.stack([x[0], x[1] * x[0]]),
    "by index": lambda x: torch.stack([x[0], torch.conj_physical(x[0] * 2)]),
    "by a number": lambda x: torch.stack([x[0] * 0 + 5 - 5j, x[1]]),
    "by a mask": lambda x: torch.stack([x[0] * 0 - 2j, x[1]]),
    "by a formula": lambda x: torch.conj_physical(torch.conj_physical(x).sin()),
    "twice conjugated": lambda x: x * 2j,
    "zero": lambda x: x * 0,
    "onto itself": lambda x: x * 1,
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("recorded", [True, False])
def test_writes_reach_the_memory_and_gradients_go_back(name: str, recorded: bool) -> None:
    leaf = z().requires_grad_(recorded)
    x = leaf * 1
    y = x.conj()
    WRITES[name](y, x)
    expected = VALUES[name](leaf)
    assert x._version == y._version == 1
    np.testing.assert_allclose(plain(x), plain(expected), rtol=1e-12)
    np.testing.assert_allclose(plain(y), plain(expected).conj(), rtol=1e-12)
    if recorded:
        weights = z(1 + 1j, 2), z(3, 1 - 2j)
        (x * weights[0] + y * weights[1]).abs().square().sum().backward()
        found, leaf.grad = plain(leaf.grad), None
        again = expected * weights[0] + torch.conj_physical(expected) * weights[1]
        again.abs().square().sum().backward()
        np.testing.assert_allclose(found, plain(leaf.grad), rtol=1e-9, atol=1e-9)


def test_a_number_with_an_imaginary_part_is_written_by_index() -> None:
    x = z()
    x[0] = 5 + 5j
    assert x.tolist() == [5 + 5j, 3 - 1j]
    with pytest.raises(RuntimeError, match="converted to type float without overflow"):
        torch.zeros(2)[0] = 1j


def test_a_view_of_a_conjugate_is_made_again_of_another_base() -> None:
    base, other = z(), z(5j, 1 + 1j)
    view = base.conj()[1:]
    made = view._view_func(other)
    assert made.is_conj() and made._base is other and made.tolist() == [1 - 1j]
    assert view._rev_view_func_unsafe(view.detach()).tolist() == base.tolist()
