"""Bags of embeddings without torch: sums by hand, gradients, compiled calls, errors."""

import numpy as np
import pytest
from compile_checks import assert_compiled

import numbagrad as ng
from numbagrad import nn
from numbagrad.autograd import gradcheck, gradgradcheck

F = nn.functional
TABLE = ng.arange(12.0).reshape(4, 3)


def test_bags_of_a_vector():
    index, starts = ng.tensor([0, 1, 2, 3, 1]), ng.tensor([0, 2, 2])
    rows = TABLE.numpy()
    parts = [rows[[0, 1]], rows[[]], rows[[2, 3, 1]]]
    for mode, reduce in (("sum", np.sum), ("mean", np.mean), ("max", np.max)):
        expected = [reduce(part, axis=0) if len(part) else np.zeros(3) for part in parts]
        found = F.embedding_bag(index, TABLE, starts, mode=mode)
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_gradients(mode):
    ng.manual_seed(0)
    weight = ng.randn(4, 2, dtype=ng.float64, requires_grad=True)
    index, starts = ng.tensor([0, 1, 2, 3, 1]), ng.tensor([0, 2, 2])

    def run(weight):
        return F.embedding_bag(index, weight, starts, mode=mode, padding_idx=3)

    assert gradcheck(run, (weight,))
    assert gradgradcheck(run, (weight,))


def test_maxima_of_bags_that_are_compiled():
    weight = ng.tensor([[1.0, 5.0], [3.0, 5.0], [2.0, 7.0]], requires_grad=True)
    slope = ng.tensor([[1.0, 2.0], [4.0, 8.0], [16.0, 32.0]])

    def step(index, starts):
        found = F.embedding_bag(index, weight, starts, mode="max", padding_idx=2)
        weight.grad = None
        (found * slope).sum().backward()
        return found.detach()

    compiled = ng.compile(step)
    for starts in ([0, 3, 3], [0, 3, 3], [0, 2, 4], [0, 1, 2]):
        given = ng.tensor([0, 1, 2, 1]), ng.tensor(starts)
        expected, gradient = step(*given), weight.grad.clone()
        assert compiled(*given).equal(expected) and weight.grad.equal(gradient)
    assert_compiled(compiled)
    found = F.embedding_bag(ng.tensor([0, 1, 2, 2]), weight, ng.tensor([0, 3]), mode="max")
    assert found.tolist() == [[3.0, 7.0], [2.0, 7.0]]
    step(ng.tensor([0, 1, 2, 2]), ng.tensor([0, 3, 4]))  # the second bag has nothing but padding
    assert weight.grad.tolist() == [[0.0, 2.0], [1.0, 0.0], [0.0, 0.0]]  # the first of equals


def test_a_batch_of_tables():
    tables = ng.stack([TABLE, TABLE * 2])
    index, starts = ng.tensor([0, 1, 2]), ng.tensor([0, 1])
    found = ng.vmap(lambda table: F.embedding_bag(index, table, starts))(tables)
    single = F.embedding_bag(index, TABLE, starts)
    np.testing.assert_allclose(found.numpy(), np.stack([single.numpy(), single.numpy() * 2]))


def test_a_compiled_call_follows_offsets_and_checks_them():
    layer = nn.EmbeddingBag(4, 3)
    compiled = ng.compile(lambda index, starts: layer(index, starts).exp() * 2)
    index = ng.tensor([0, 1, 2, 3])
    for starts in ([0, 2], [0, 2], [0, 1], [0, 4]):
        given = ng.tensor(starts)
        np.testing.assert_allclose(
            compiled(index, given).detach().numpy(),
            (layer(index, given).exp() * 2).detach().numpy(),
            rtol=1e-6,
        )
    assert_compiled(compiled)
    for starts, problem in (
        ([0, 5], "can not be greater"), ([1, 2], "has to be 0"), ([0, -1], "must not decrease")
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=problem):
            compiled(index, ng.tensor(starts))
        with pytest.raises(RuntimeError, match=problem):
            layer(index, ng.tensor(starts))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_of_nothing_and_no_bags(mode):
    nothing = ng.zeros(0, dtype=ng.int64)
    found = F.embedding_bag(nothing, TABLE, ng.tensor([0, 0]), mode=mode)
    assert found.tolist() == [[0.0] * 3] * 2
    assert F.embedding_bag(ng.tensor([1]), TABLE, nothing, mode=mode).shape == (0, 3)


def test_a_last_offset_is_the_end():
    with pytest.raises(RuntimeError, match="number of indices, 3"):
        F.embedding_bag(ng.tensor([0, 1, 2]), TABLE, ng.tensor([0, 2]), include_last_offset=True)


def test_offsets_that_decrease_are_refused():
    with pytest.raises(RuntimeError, match="must not decrease"):
        F.embedding_bag(ng.tensor([0, 1, 2]), TABLE, ng.tensor([0, 2, 1]))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_a_padding_row_may_hold_anything(mode):
    weight = ng.tensor([[1.0, 2.0], [float("nan"), float("inf")], [3.0, 4.0]])
    bags = ng.nn.functional.embedding_bag
    rows = bags(ng.tensor([[0, 1], [2, 1]]), weight, mode=mode, padding_idx=1)
    split = bags(ng.tensor([0, 1, 2, 1]), weight, ng.tensor([0, 2]), mode=mode, padding_idx=1)
    assert rows.tolist() == split.tolist() == [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize("dtype", [ng.float32, ng.float64])
@pytest.mark.parametrize("padding", [None, 3])
@pytest.mark.parametrize("width", [21, 150])
def test_bags_of_all_sizes(dtype, padding, width):
    ng.manual_seed(0)
    weight = ng.randn(9, width, dtype=dtype, requires_grad=True)
    sizes = np.array([0, 1, 2, 3, 4, 5, 0, 9, 8, 13])
    starts = np.cumsum(sizes) - sizes
    index = ng.randint(0, 9, (int(sizes.sum()),))
    counts = np.ones(index.shape[0]) if padding is None else index.numpy() != padding
    rows = weight.detach().numpy() * 1.0
    expected = np.zeros((sizes.size, width))
    slope = np.zeros((9, width))
    for bag, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        for k in range(start, start + size):
            if counts[k]:
                expected[bag] += rows[index[k].item()]
                slope[index[k].item()] += bag
    made = F.embedding_bag(index, weight, ng.tensor(starts), mode="sum", padding_idx=padding)
    np.testing.assert_allclose(made.detach().numpy(), expected, rtol=1e-5, atol=1e-5)
    assert made.grad_fn.name() == "EmbeddingBagBackward0"
    (made * ng.arange(10.0, dtype=dtype).unsqueeze(1)).sum().backward()
    np.testing.assert_allclose(weight.grad.numpy(), slope, rtol=1e-5)
