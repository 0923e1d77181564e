"""Views made again of other bases, bases made again of views, and what else views hand on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import numbagrad as torch

Build = Callable[[Any], Any]

VIEWS: dict[str, tuple[tuple[int, ...], Build]] = {
    "as_strided": ((2, 2), lambda x: x.as_strided((2, 3), (1, 0))),
    "chunk": ((2, 4), lambda x: x.chunk(2, -1)[1]),
    "diagonal": ((4, 4), lambda x: x.diagonal(1)),
    "expand": ((4, 1), lambda x: x.expand(-1, 3)),
    "index": ((3, 4), lambda x: x[1:, 2]),
    "permute": ((2, 3, 4), lambda x: x.permute(1, 0, 2)),
    "split": ((2, 4), lambda x: x.split([1, 3], 1)[1]),
    "squeeze": ((2, 1, 4), lambda x: x.squeeze(1)),
    "unbind": ((2, 5), lambda x: x.unbind()[1]),
    "unfold": ((1, 5), lambda x: x.unfold(1, 3, 2)),
    "chain": ((2, 3, 4), lambda x: x.chunk(2, -1)[0].transpose(0, 1).unsqueeze(-1)),
    "complex numbers": ((3, 2), lambda x: torch.view_as_complex(x)[1:]),
}


def layout(x: Any) -> tuple[Any, ...]:
    return x.shape, x.stride(), x.storage_offset(), x.dtype


@pytest.mark.parametrize("tracked", [True, False])
@pytest.mark.parametrize("name", VIEWS)
def test_a_view_is_made_again_of_another_base(name: str, tracked: bool) -> None:
    shape, build = VIEWS[name]
    base, other = torch.rand(shape), torch.rand(shape)
    with torch.autograd._force_original_view_tracking(tracked):
        view = build(base)
    made = view._view_func(other)
    assert made._base is other and layout(made) == layout(view)
    assert torch.equal(made, build(other))
    again = view._rev_view_func_unsafe(view.detach())
    assert layout(again) == layout(base) and torch.equal(again, base)


def test_it_has_the_gradient_of_the_view() -> None:
    base = torch.rand(3, 4)
    other = torch.rand(3, 4, requires_grad=True)
    with torch.autograd._force_original_view_tracking(True):
        view = base[1:].t()
        made = view._view_func(other)
    assert type(made.grad_fn).__name__ == "TBackward0"
    (made * made).sum().backward()
    assert torch.equal(other.grad[1:], 2 * other.detach()[1:])
    assert other.grad[0].tolist() == [0, 0, 0, 0]


def test_a_real_part_is_made_again_of_complex_numbers() -> None:
    base = torch.rand(4, dtype=torch.complex64)
    other = torch.rand(4, dtype=torch.complex64)
    view = base.imag[1:]
    assert torch.equal(view._view_func(other), other.imag[1:])
    assert torch.equal(view._rev_view_func_unsafe(view.detach()), base)


def test_numbers_that_made_a_view_may_be_changed() -> None:
    base, other = torch.rand(3, 4, 5), torch.rand(3, 4, 5)
    with torch.autograd._force_original_view_tracking(True):
        view = base.select(1, 2)
    made = view._view_func(other, symint_visitor_fn=lambda number: number + 1)
    assert torch.equal(made, other.select(1, 3))
    assert torch.equal(view._view_func(other), other.select(1, 2))


def test_other_memory_or_no_view_at_all() -> None:
    base = torch.rand(4, 3)
    view = base[1:]
    assert base._view_func(base) is None and base._view_func_unsafe(base) is None
    assert view._view_func(torch.rand(3, 3)) is None
    with pytest.raises(RuntimeError, match="reaches beyond the memory"):
        view._view_func_unsafe(torch.rand(3, 3))
    with pytest.raises(RuntimeError, match="reaches beyond the memory"):
        view._rev_view_func_unsafe(torch.rand(3, 3))
    with pytest.raises(RuntimeError, match="No _rev_view_func"):
        base._rev_view_func_unsafe(view)


def test_positions_in_the_memory_of_complex_numbers_count_real_numbers() -> None:
    x = torch.arange(6).to(torch.complex64) * (1 + 2j)
    assert x.imag.as_strided((3,), (2,), 3).tolist() == [2, 4, 6]
    assert x.imag[1:].as_strided((2,), (2,)).tolist() == [2, 4]
    with pytest.raises(RuntimeError, match="out of bounds"):
        x.real.as_strided((13,), (1,))


def test_a_tensor_copied_onto_itself_is_written() -> None:
    x = torch.rand(3, requires_grad=True)
    y = x * 2
    before = y._version
    assert y.copy_(y) is y and y._version == before + 1
    (y * y).sum().backward()
    assert torch.equal(x.grad, 8 * x.detach())
    row = torch.ones(1).expand(3)
    assert row.copy_(row).tolist() == [1, 1, 1]
    saved = (x * 2).exp()
    saved.copy_(saved)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        saved.sum().backward()


def test_a_view_requires_grad_as_its_base_does_from_then_on() -> None:
    x = torch.rand(3)
    view, pieces = x[1:], x.split(1)
    assert not view.requires_grad
    x.requires_grad_()
    assert view.requires_grad and pieces[0].requires_grad
    assert not x.detach()[1:].requires_grad


def test_pieces_that_a_write_left_without_a_history_still_say_what_made_them() -> None:
    x = torch.rand(3, requires_grad=True) * 2
    first, second = x.split([1, 2])
    x.mul_(3)
    for _ in range(2):  # the second write finds them as the first left them
        with pytest.raises(RuntimeError, match="^Output 1 of SplitWithSizes is a view"):
            second.add_(1)
        x.mul_(3)
    with pytest.raises(RuntimeError, match="^Output 0 of SplitWithSizes is a view"):
        _ = first.grad_fn
