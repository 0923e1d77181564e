"""Bad indices, classes and probabilities: nobody waits for the check, and no failure is lost."""

from __future__ import annotations

import pytest

import numbagrad as torch
from numbagrad.cuda.driver import driver
from numbagrad.errors import AcceleratorError

F = torch.nn.functional


def cuda(data, dtype=None):
    return torch.tensor(data, dtype=dtype, device="cuda")


def scores():
    return torch.arange(12.0, device="cuda").reshape(3, 4)


#: Calls with values that no operator takes, and what their error is about.
BAD = {
    "gather": (lambda x: x.gather(0, cuda([[1, 0, -1, 0]])), r"gather\(\): an index"),
    "gather-inside": (lambda x: x.gather(1, cuda([[4]])), "dimension of size 4"),
    "index_select": (lambda x: x.index_select(0, cuda([2, 3])), r"index_select\(\): an index"),
    "take_along_dim": (lambda x: torch.take_along_dim(x, cuda([[9]]), 0), r"gather\(\): an index"),
    "getitem": (lambda x: x[cuda([3])], "indexing: an index .* size 3"),
    "getitem-negative": (lambda x: x[cuda([-4])], "indexing: an index .* size 3"),
    "getitem-two": (lambda x: x[cuda([2]), cuda([9])], "indexing: an index .* size 4"),
    "setitem": (lambda x: x.__setitem__(cuda([7]), 1.0), "indexing: an index .* size 3"),
    "take": (lambda x: x.take(cuda([12])), "size 12"),
    "embedding": (lambda x: F.embedding(cuda([0, 3]), x), r"embedding\(\): an index"),
    "embedding_bag": (lambda x: F.embedding_bag(cuda([[0, -1]]), x), r"embedding_bag\(\)"),
    "scatter": (lambda x: x.scatter(0, cuda([[3]]), 1.0), r"scatter\(\): an index"),
    "scatter_add": (lambda x: x.scatter_add(1, cuda([[-1]]), x), r"scatter.*\(\): an index"),
    "index_add": (lambda x: x.index_add(0, cuda([5]), x[:1]), r"index_add_\(\): an index"),
    "index_copy": (lambda x: x.index_copy(0, cuda([5]), x[:1]), r"index_copy_\(\): an index"),
    "index_fill": (lambda x: x.index_fill(0, cuda([5]), 1.0), "an index .* size 3"),
    "nll_loss": (lambda x: F.cross_entropy(x, cuda([0, 4, 1])), r"nll_loss\(\): a target"),
    "nll_loss-weights": (
        lambda x: F.nll_loss(x, cuda([-1, 3, 1]), torch.ones(4, device="cuda")),
        r"nll_loss\(\): a target",
    ),
    "multi_margin_loss": (lambda x: F.multi_margin_loss(x, cuda([0, 4, 1])), "multi_margin_loss"),
    "one_hot": (lambda x: F.one_hot(cuda([0, 2]), 2), r"one_hot\(\): a class"),
    "max_unpool": (
        lambda x: F.max_unpool1d(x[:, :2], cuda([[0, 9]] * 3), 2), r"max_unpool1d\(\): an index",
    ),
    "binary_cross_entropy": (
        lambda x: F.binary_cross_entropy(x, x.detach() * 0), r"an element of input is not in",
    ),
    "gaussian_nll_loss": (lambda x: F.gaussian_nll_loss(x, x, -x), "an element of var is negative"),
    "bernoulli": (torch.bernoulli, r"bernoulli\(\): an element of p"),
    "normal": (lambda x: torch.normal(x, -x), r"normal\(\): an element of std is negative"),
    "quantile": (lambda x: x.quantile(cuda([0.5, 1.5])), r"quantile\(\): an element of q"),
    "masked_scatter": (lambda x: x.masked_scatter(x > 3, x[:1]), r"masked_scatter\(\)"),
    "cov": (
        lambda x: torch.cov(x, aweights=cuda([1.0, -1.0, 1.0, 1.0])), "aweights is negative",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_value_is_told_of_where_values_are_read(name):
    call, text = BAD[name]
    x = scores()
    before = driver().waits
    call(x)
    assert driver().waits == before, "the call waited"
    with pytest.raises(AcceleratorError, match=f"device-side assert triggered: .*{text}"):
        x.sum().item()
    assert x.shape == (3, 4) and torch.ones(2, device="cuda").tolist() == [1.0, 1.0]


@pytest.mark.parametrize("wait", ["item", "synchronize", "stream", "event", "tolist", "bool"])
def test_every_synchronisation_looks(wait):
    x = scores()
    x.index_select(0, cuda([9]))
    event = torch.cuda.Event()
    event.record()
    waits = {
        "item": lambda: x[0, 0].item(),
        "synchronize": torch.cuda.synchronize,
        "stream": torch.cuda.current_stream().synchronize,
        "event": event.synchronize,
        "tolist": x.tolist,
        "bool": lambda: bool(x[0, 0] > 3),
    }
    with pytest.raises(AcceleratorError, match="index_select"):
        waits[wait]()


def test_memory_beside_is_not_touched():
    whole = torch.zeros(5, 4, device="cuda")
    part = whole[1:4]
    part.index_add_(0, cuda([-1, 3, 1]), torch.ones(3, 4, device="cuda"))
    part.scatter_(0, cuda([[4, -1, 2, 0]]), torch.full((1, 4), 7.0, device="cuda"))
    part.index_copy_(0, cuda([3]), torch.ones(1, 4, device="cuda"))
    part[cuda([3])] = 5.0
    with pytest.raises(AcceleratorError):
        torch.cuda.synchronize()
    expected = [[0.0] * 4, [0, 0, 0, 7], [1, 1, 1, 1], [0, 0, 7, 0], [0.0] * 4]
    assert whole.tolist() == expected


def test_the_call_itself_raises_if_launches_block(monkeypatch):
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    x = scores()
    with pytest.raises(AcceleratorError, match="gather"):
        x.gather(0, cuda([[3]]))


@pytest.mark.filterwarnings("error")
def test_programs_check_at_each_run():
    x = scores()
    step = torch.compile(lambda x, y: F.cross_entropy(x, y) + x[y].sum())
    for _ in range(4):
        assert step(x, cuda([0, 1, 2])).item() == pytest.approx(
            (F.cross_entropy(x, cuda([0, 1, 2])) + x[cuda([0, 1, 2])].sum()).item()
        )
    bad = cuda([0, 5, 2])
    before = driver().waits
    step(x, bad)
    assert driver().waits == before
    with pytest.raises(AcceleratorError, match="out of bounds"):
        torch.cuda.synchronize()


def test_shapes_are_still_checked_at_once():
    x = scores()
    with pytest.raises(RuntimeError, match="same number of dimensions"):
        x.gather(0, cuda([1]))
    with pytest.raises(RuntimeError, match="size 0"):
        x[:, :0].index_select(1, cuda([0]))
    with pytest.raises(RuntimeError, match="scalar or 1D"):
        x.quantile(cuda([[0.5]]))
    with pytest.raises(RuntimeError, match="in the range"):
        x.quantile(1.5)
