"""Views, joins and copies against live torch: values, strides, nodes, gradients, error texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import numbagrad

Build = Callable[[Any, Any], Any]  # from a tensor and the namespace it belongs to

SHAPE = (3, 4, 5)

VIEWS: dict[str, Build] = {
    "view": lambda x, t: x.view(12, 5),
    "view -1": lambda x, t: x.view(-1, 2),
    "view_as": lambda x, t: x.view_as(t.zeros(60)),
    "reshape": lambda x, t: x.reshape(5, 12),
    "reshape tuple": lambda x, t: x.reshape((4, 15)),
    "reshape transposed": lambda x, t: x.transpose(0, 1).reshape(-1),
    "flatten": lambda x, t: x.flatten(),
    "flatten some": lambda x, t: x.flatten(1),
    "flatten first": lambda x, t: x.flatten(0, 1),
    "ravel": lambda x, t: x.ravel(),
    "unflatten": lambda x, t: x.unflatten(1, (2, -1)),
    "T": lambda x, t: x[0].T,
    "mT": lambda x, t: x.mT,
    "t": lambda x, t: x[0].t(),
    "t of a vector": lambda x, t: x[0, 0].t(),
    "transpose": lambda x, t: x.transpose(0, -1),
    "swapaxes": lambda x, t: x.swapaxes(1, 2),
    "permute": lambda x, t: x.permute(2, 0, 1),
    "permute list": lambda x, t: x.permute([1, -1, 0]),
    "movedim": lambda x, t: x.movedim(0, -1),
    "movedim several": lambda x, t: t.movedim(x, (0, 1), (2, 0)),
    "expand": lambda x, t: x.expand(2, -1, 4, 5),
    "expand ones": lambda x, t: x[:, :1].expand(3, 6, 5),
    "expand transposed": lambda x, t: x.transpose(0, 1).expand(2, 4, 3, 5),
    "broadcast_to": lambda x, t: t.broadcast_to(x, (2, 3, 4, 5)),
    "unsqueeze": lambda x, t: x.unsqueeze(1),
    "unsqueeze last": lambda x, t: x.unsqueeze(-1),
    "squeeze": lambda x, t: x[:1, :, :1].squeeze(),
    "squeeze dim": lambda x, t: x[:1].squeeze(0),
    "squeeze not": lambda x, t: x.squeeze(0),
    "squeeze dims": lambda x, t: x[:1, :, :1].squeeze((0, 2)),
    "narrow": lambda x, t: x.narrow(1, 1, 2),
    "narrow from the end": lambda x, t: x.narrow(1, -2, 1),
    "select": lambda x, t: x.select(1, -1),
    "diagonal": lambda x, t: x.diagonal(),
    "diagonal offset": lambda x, t: x.diagonal(-1, 2, 1),
    "unfold": lambda x, t: x.unfold(2, 3, 1),
    "unfold step": lambda x, t: x.unfold(1, 2, 2),
    "as_strided": lambda x, t: x.as_strided((2, 3), (7, 2), 4),
    "as_strided overlapping": lambda x, t: x.as_strided((4, 4), (1, 1)),
    "unbind": lambda x, t: x.unbind(1)[2],
    "split": lambda x, t: x.split(2, 1)[1],
    "split sizes": lambda x, t: x.split([1, 3], 1)[1],
    "chunk": lambda x, t: x.chunk(2, -1)[1],
    "tensor_split": lambda x, t: x.tensor_split(3, 1)[1],
    "tensor_split at": lambda x, t: x.tensor_split((1, 3), 2)[1],
    "hsplit": lambda x, t: x.hsplit(2)[1],
    "vsplit": lambda x, t: x.vsplit(3)[1],
}

COPIES: dict[str, Build] = {
    "clone": lambda x, t: x.clone(),
    "contiguous": lambda x, t: x.transpose(0, 1).contiguous(),
    "flip": lambda x, t: x.flip(0, 2),
    "fliplr": lambda x, t: x.fliplr(),
    "flipud": lambda x, t: x.flipud(),
    "roll": lambda x, t: x.roll(2, 1),
    "roll several": lambda x, t: x.roll((1, -1), (0, 2)),
    "rot90": lambda x, t: x.rot90(1, (0, 2)),
    "rot90 back": lambda x, t: x.rot90(-1, (1, 2)),
    "repeat": lambda x, t: x.repeat(2, 1, 3, 1),
    "tile": lambda x, t: x.tile(2),
    "repeat_interleave each": lambda x, t: x.repeat_interleave(t.tensor([1, 0, 2]), 0),
    "tril": lambda x, t: x.tril(),
    "triu": lambda x, t: x.triu(1),
    "diag": lambda x, t: x[0, 0].diag(1),
    "diag_embed": lambda x, t: x.diag_embed(1, 0, 2),
    "cat": lambda x, t: t.cat([x, x[:, 1:]], 1),
    "cat empty": lambda x, t: t.cat([t.zeros(0, dtype=t.float64), x]),
    "stack": lambda x, t: t.stack([x, x * 2], -1),
    "hstack": lambda x, t: t.hstack([x, x]),
    "vstack": lambda x, t: t.vstack([x[0], x[1]]),
    "dstack": lambda x, t: t.dstack([x[0], x[1]]),
    "meshgrid": lambda x, t: t.stack(t.meshgrid(x[0, 0], x[0, :, 0], indexing="ij")),
    "meshgrid xy": lambda x, t: t.stack(t.meshgrid(x[0, 0], x[0, :, 0], indexing="xy")),
    "split and joined": lambda x, t: t.cat([part * k for k, part in enumerate(x.split(2, 2))], 2),
    "unbound and stacked": lambda x, t: t.stack(x.unbind(1)[1:]),
}


def both(shape: tuple[int, ...] = SHAPE) -> tuple[Any, Any]:
    values = np.random.default_rng(0).standard_normal(shape)
    ours = numbagrad.from_numpy(values.copy()).requires_grad_()
    return ours, torch.from_numpy(values.copy()).requires_grad_()


@pytest.mark.parametrize("name", [*VIEWS, *COPIES])
def test_same_as_torch(name: str) -> None:
    build = VIEWS.get(name) or COPIES[name]
    x, reference = both()
    made, expected = build(x, numbagrad), build(reference, torch)
    assert tuple(made.shape) == tuple(expected.shape)
    assert np.array_equal(made.detach().numpy(), expected.detach().numpy())
    assert made.grad_fn.name() == expected.grad_fn.name().removeprefix("torch::autograd::")
    weights = np.random.default_rng(1).standard_normal(expected.shape)
    (made * made * numbagrad.from_numpy(weights)).sum().backward()
    (expected * expected * torch.from_numpy(weights)).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), reference.grad.numpy(), rtol=1e-12)


@pytest.mark.parametrize("name", VIEWS)
def test_views_share_memory_with_torchs_strides(name: str) -> None:
    x, reference = both()
    made, expected = VIEWS[name](x.detach(), numbagrad), VIEWS[name](reference.detach(), torch)
    assert made.stride() == expected.stride()
    assert made.storage_offset() == expected.storage_offset()
    assert np.shares_memory(made.numpy(), x.detach().numpy()) == (
        expected.untyped_storage().data_ptr() == reference.untyped_storage().data_ptr()
    )
    assert made._is_view() == expected._is_view()


ERRORS: dict[str, Build] = {
    "view": lambda x, t: x.view(7),
    "view strides": lambda x, t: x.transpose(0, 1).view(60),
    "two unknown": lambda x, t: x.reshape(-1, -1),
    "negative": lambda x, t: x.reshape(-2, 3),
    "t": lambda x, t: x.t(),
    "dim": lambda x, t: x.transpose(0, 3),
    "permute twice": lambda x, t: x.permute(0, 0, 1),
    "expand size": lambda x, t: x.expand(3, 4, 6),
    "expand leading": lambda x, t: x.expand(-1, 3, 4, 5),
    "squeeze": lambda x, t: x.squeeze(3),
    "unsqueeze": lambda x, t: x.unsqueeze(5),
    "narrow": lambda x, t: x.narrow(0, 2, 4),
    "narrow length": lambda x, t: x.narrow(0, 0, -1),
    "narrow start": lambda x, t: x.narrow(0, 9, 1),
    "select": lambda x, t: x.select(0, 3),
    "diagonal": lambda x, t: x.diagonal(0, 1, 1),
    "unfold size": lambda x, t: x.unfold(0, 4, 1),
    "unfold step": lambda x, t: x.unfold(0, 2, 0),
    "as_strided": lambda x, t: x.as_strided((10, 10), (10, 1)),
    "as_strided length": lambda x, t: x.as_strided((10, 10), (1,)),
    "split": lambda x, t: x.split(-1),
    "split sizes": lambda x, t: x.split([1, 1]),
    "chunk": lambda x, t: x.chunk(0),
    "cat sizes": lambda x, t: t.cat([x, x[:, 1:]], 0),
    "cat ranks": lambda x, t: t.cat([x, x[0]], 0),
    "cat scalar": lambda x, t: t.cat([x[0, 0, 0]], 0),
    "cat nothing": lambda x, t: t.cat([]),
    "stack": lambda x, t: t.stack([x, x[1:]]),
    "stack nothing": lambda x, t: t.stack([]),
    "flip": lambda x, t: x.flip(0, 0),
    "roll": lambda x, t: x.roll((1, 2), (0,)),
    "repeat": lambda x, t: x.repeat(2),
    "rot90": lambda x, t: x.rot90(1, (0, 0)),
    "diag": lambda x, t: x.diag(),
    "flatten": lambda x, t: x.flatten(2, 0),
    "hsplit": lambda x, t: x.hsplit(3),
    "repeats": lambda x, t: x.repeat_interleave(t.tensor([1, 2]), 0),
    "movedim": lambda x, t: x.movedim((0, 0), (1, 2)),
    "broadcast": lambda x, t: t.broadcast_tensors(x, x[:, 1:]),
}


@pytest.mark.parametrize("name", ERRORS)
def test_same_errors(name: str) -> None:
    x, reference = both()
    with pytest.raises(Exception) as expected:  # noqa: PT011 - torch says which
        ERRORS[name](reference, torch)
    with pytest.raises(expected.type) as raised:
        ERRORS[name](x, numbagrad)
    assert str(raised.value) == str(expected.value).splitlines()[0]
