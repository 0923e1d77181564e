"""``torch.masked``: elements under a mask do not count, in results and in gradients."""

from __future__ import annotations

import math

import numpy as np
import pytest

import numbagrad as torch
from numbagrad import masked
from numbagrad.autograd import gradcheck

INPUT = np.array([[1.0, -2.0, 4.0], [3.0, 5.0, 0.5]])
MASK = np.array([[True, False, True], [True, True, False]])


def tensors():
    return torch.tensor(INPUT), torch.tensor(MASK)


#: By function: what it is of the elements of a row that count.
REDUCTIONS = {
    "sum": np.sum,
    "prod": np.prod,
    "amax": np.max,
    "amin": np.min,
    "mean": np.mean,
    "median": lambda row: np.sort(row)[(len(row) - 1) // 2],
    "var": lambda row: np.var(row, ddof=1),
    "std": lambda row: np.std(row, ddof=1),
    "norm": lambda row: np.sqrt(np.sum(row**2)),
    "logsumexp": lambda row: np.log(np.sum(np.exp(row))),
}


def call(name, x, **options):
    arguments = (2.0,) if name == "norm" else ()
    return getattr(masked, name)(x, *arguments, **options)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name):
    x, mask = tensors()
    expected = [REDUCTIONS[name](row[kept]) for row, kept in zip(INPUT, MASK, strict=True)]
    np.testing.assert_allclose(call(name, x, dim=-1, mask=mask), expected)
    x.requires_grad_()
    assert gradcheck(lambda x: call(name, x, dim=-1, mask=mask), (x,))
    found = torch.autograd.grad(call(name, x, dim=-1, mask=mask).sum(), x)[0]
    assert not found[~mask].any()


@pytest.mark.parametrize(
    ("name", "value"),
    [("sum", 0), ("prod", 1), ("amax", -math.inf), ("amin", math.inf), ("mean", math.nan),
     ("median", math.nan), ("var", math.nan), ("norm", 0), ("logsumexp", -math.inf)],
)  # fmt: skip
def test_of_no_element(name, value):
    x, mask = tensors()
    found = call(name, x, dim=-1, mask=torch.zeros_like(mask))
    np.testing.assert_array_equal(found, [value, value])


def test_normalisations():
    x, mask = tensors()
    for name in ("softmax", "softmin"):
        made = getattr(masked, name)(x, -1, mask=mask)
        assert not made[~mask].any()
        np.testing.assert_allclose(made.sum(-1), [1, 1])
    made = masked.normalize(x, 2.0, -1, mask=mask)
    assert not made[~mask].any()
    np.testing.assert_allclose(made.square().sum(-1), [1, 1])
    assert masked.log_softmax(x, -1, mask=mask)[0, 1] == -math.inf


def test_positions_and_running_sums():
    x, mask = tensors()
    assert masked.argmax(x, -1, mask=mask, dtype=torch.int64).tolist() == [2, 1]
    assert masked.argmin(x, -1, mask=mask, dtype=torch.int64).tolist() == [0, 0]
    assert masked.cumsum(x, 1, mask=mask).tolist() == [[1, 1, 5], [3, 8, 8]]
    assert masked.cumprod(x, 1, mask=mask).tolist() == [[1, 1, 4], [3, 15, 15]]


def test_masks_broadcast_and_are_checked():
    x, _ = tensors()
    assert masked.sum(x, mask=torch.tensor([1, 0, 2])).item() == 8.5
    with pytest.raises(ValueError, match="2 dimensions|3 dimensions"):
        masked.sum(x, mask=torch.ones(1, 2, 3, dtype=torch.bool))
    with pytest.raises(TypeError, match="mask must be a Tensor"):
        masked.sum(x, mask=True)
    with pytest.raises(RuntimeError, match="multiple times"):
        masked.sum(x, (0, -2))
    with pytest.raises(NotImplementedError, match="bool"):
        masked.amax(x > 0, mask=x > 0)
    with pytest.raises(NotImplementedError, match="masked_fill"):
        masked.masked_tensor(x, x > 0)
