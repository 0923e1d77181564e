"""Writes in place and memory: what a write costs, elements that share it, views that are kept."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from inplace_tools import leaf

import numbagrad as torch


def test_all_views_count_the_same_writes() -> None:
    x = torch.zeros(2, 2)
    view, transposed, detached = x[0], x.t(), x.detach()
    view.add_(1)
    transposed.fill_(3)
    detached[1, 1] = 4
    assert x._version == view._version == transposed._version == detached._version == 3
    assert x.tolist() == [[3, 3], [3, 4]]


def test_many_views_of_one_tensor_leave_nothing_behind() -> None:
    x = torch.zeros(4)
    for _ in range(5000):
        x[1:]
    assert len(x._version_cell) < 200


def test_written_views_close_no_reference_cycle() -> None:
    gc.collect()
    gc.disable()
    try:
        x = leaf(1, 2, 3)
        y = x * 1
        view = y[0]
        view.mul_(x[1])
        y.add_(1)
        references = [weakref.ref(tensor) for tensor in (x, y, view)]
        del x, y, view
        assert [reference() for reference in references] == [None, None, None]
    finally:
        gc.enable()


# --- memory that several elements share -----------------------------------------------------------

POSITIONS = torch.tensor([0, 1])
ZEROS = torch.zeros(2, 3, dtype=torch.int64)
SHARED = {
    "round": lambda x: x.round_(),
    "nan_to_num": lambda x: x.nan_to_num_(),
    "logit": lambda x: x.logit_(),
    "cumsum": lambda x: x.cumsum_(0),
    "scatter": lambda x: x.scatter_(0, ZEROS, 1.0),
    "scatter_add": lambda x: x.scatter_add_(0, ZEROS, torch.ones(2, 3)),
    "scatter_reduce": lambda x: x.scatter_reduce_(0, ZEROS, torch.ones(2, 3), "sum"),
    "index_add": lambda x: x.index_add_(0, POSITIONS, torch.ones(2, 3)),
    "index_reduce": lambda x: x.index_reduce_(0, POSITIONS, torch.ones(2, 3), "amax"),
    "index_copy": lambda x: x.index_copy_(0, POSITIONS, torch.ones(2, 3)),
    "masked_scatter": lambda x: x.masked_scatter_(torch.ones(3, 3).bool(), torch.ones(9)),
    "addmm": lambda x: x.addmm_(torch.ones(3, 3), torch.ones(3, 3)),
    "out": lambda x: torch.mm(torch.ones(3, 3), torch.ones(3, 3), out=x),
}


@pytest.mark.parametrize("name", SHARED)
def test_memory_that_elements_share_is_not_written(name: str) -> None:
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        SHARED[name](torch.full((1, 3), 0.5).expand(3, 3))


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.fill_(0),
        lambda x: x.zero_(),
        lambda x: x.index_fill_(0, torch.arange(3), 0),
        lambda x: x.tril_().triu_().fill_(0),
    ],
)
def test_unless_every_element_gets_the_same(write: Callable[[Any], Any]) -> None:
    base = torch.ones(1, 3)
    write(base.expand(3, 3))
    assert base.tolist() == [[0, 0, 0]]


def test_a_result_that_the_dtype_cannot_hold() -> None:
    with pytest.raises(RuntimeError, match="result type Float can't be cast to .* Long"):
        torch.ones(2, dtype=torch.int64).logit_()


@pytest.mark.parametrize(
    ("dtype", "value", "wanted"),
    [("uint8", -2, 254), ("int8", -2, -2), ("int64", 1.7, 1), ("bool", 0.5, True)],
)
def test_numbers_are_written_as_torch_converts_them(dtype: str, value: float, wanted: Any) -> None:
    kind = getattr(torch, dtype)
    positions = torch.tensor([0])
    for x in (
        torch.ones(1, dtype=kind).fill_(value),
        torch.ones(1, dtype=kind).index_fill(0, positions, value),
        torch.ones(1, dtype=kind).scatter(0, positions, value),
    ):
        assert x.item() == wanted


@pytest.mark.parametrize(
    ("dtype", "value"),
    [("int64", float("inf")), ("int32", float("nan")), ("uint8", -0.5), ("int8", 300),
     ("uint8", -300), ("int64", 1e30)],
)  # fmt: skip
def test_numbers_that_do_not_fit(dtype: str, value: float) -> None:
    x = torch.ones(1, dtype=getattr(torch, dtype))
    for write in (
        lambda: x.fill_(value),
        lambda: x.index_fill_(0, torch.tensor([0]), value),
        lambda: x.scatter_(0, torch.tensor([0]), value),
    ):
        with pytest.raises(RuntimeError, match="cannot be converted .* without overflow"):
            write()


def test_diagonals_are_filled() -> None:
    x = leaf(1, 2, 3, 4)
    y = (x * 1).reshape(2, 2) * 1
    y.fill_diagonal_(5)
    assert y.tolist() == [[5, 2], [3, 5]]
    y.sum().backward()
    assert x.grad.tolist() == [0, 1, 1, 0]
    assert torch.zeros(5, 2).fill_diagonal_(1, wrap=True).tolist() == [
        [1, 0], [0, 1], [0, 0], [1, 0], [0, 1]
    ]  # fmt: skip
    with pytest.raises(RuntimeError, match="larger than 1"):
        torch.zeros(3).fill_diagonal_(1)


def test_the_input_of_a_reciprocal_may_be_written() -> None:
    x = leaf(1, 2, 4)
    y = x * 1
    z = 8 / y
    with torch.no_grad():
        y.zero_()
        z.zero_()
    z.sum().backward()
    assert x.grad.tolist() == [-8, -2, -0.5]


# --- views that keep the operators that made them ------------------------------------------------


def names_behind(tensor):
    """The names of the nodes behind a tensor, along the first input of each."""
    node, names = tensor.grad_fn, []
    while node is not None and node.next_functions:
        names.append(type(node).__name__)
        node = node.next_functions[0][0]
    return names


def test_a_written_view_is_a_strided_one_or_is_made_again():
    replay = torch.autograd._force_original_view_tracking

    def names(x):
        view = x.clone().view(-1)[1:]
        view.mul_(2)
        gradient = torch.autograd.grad(view.sum(), x)[0]
        assert gradient.tolist() == [[0, 2], [2, 2]]
        return names_behind(view)

    x = torch.ones(2, 2, requires_grad=True)
    assert names(x) == ["AsStridedBackward0", "CopySlices", "CloneBackward0"]
    with replay(True):
        assert torch.autograd.is_view_replay_enabled()
        assert names(x) == ["SliceBackward0", "ViewBackward0", "CopySlices", "CloneBackward0"]
    assert not torch.autograd.is_view_replay_enabled()
    assert names(x) == ["AsStridedBackward0", "CopySlices", "CloneBackward0"]
    made_again = replay(True)(names)
    assert not torch.autograd.is_view_replay_enabled()
    assert made_again(x)[0] == "SliceBackward0"


def test_it_is_the_making_of_a_view_that_decides_how_it_is_made_again():
    x = torch.ones(4, requires_grad=True)
    base = x * 1
    with torch.autograd._force_original_view_tracking(True):
        kept = base.view(2, 2)
    strided = base.view(2, 2)
    for factor in (2, 3):
        base.mul_(factor)
        assert kept.grad_fn.name() == "ViewBackward0"
        assert strided.grad_fn.name() == "AsStridedBackward0"
    assert torch.autograd.grad((kept * kept).sum(), x)[0].tolist() == [72] * 4
