"""Sparse tensors beside the dense ones that they stand for, and writes of their parts."""

import pytest

import numbagrad as torch
from numbagrad.autograd import gradcheck, gradgradcheck

INDICES = torch.tensor([[0, 1, 1, 0], [2, 0, 2, 2]])


def values():
    return torch.tensor([3.0, 4, 5, -1], dtype=torch.float64, requires_grad=True)


def matrix(given):
    return torch.sparse_coo_tensor(INDICES, given, (2, 3))


@pytest.mark.parametrize("transposed", [False, True])
def test_products_are_those_of_the_dense_matrix(transposed):
    dense = torch.arange(12.0, dtype=torch.float64).reshape(3, 4)[: 2 if transposed else 3]
    sparse = matrix(values())
    sparse = sparse.t() if transposed else sparse
    assert torch.equal(sparse @ dense, sparse.to_dense() @ dense)


def test_gradients_of_every_order_are_those_of_values_and_factor():
    factor = torch.rand(3, 2, dtype=torch.float64, requires_grad=True)
    product = lambda given, dense: (matrix(given) @ dense).sin()  # noqa: E731
    assert gradcheck(product, (values(), factor))
    assert gradgradcheck(product, (values(), factor))


@pytest.mark.parametrize("read", ["values", "_values"])
def test_a_write_of_values_that_a_backward_needs_is_noticed(read):
    sparse = matrix(values().detach()).coalesce()
    dense = torch.ones(3, 2, dtype=torch.float64, requires_grad=True)
    product = (sparse @ dense).sum()
    getattr(sparse, read)().mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()


def test_a_write_of_the_tensor_that_values_came_from_is_noticed():
    given = values().detach()
    sparse = matrix(given)
    dense = torch.ones(3, 2, dtype=torch.float64, requires_grad=True)
    product = (sparse @ dense).sum()
    given.zero_()
    assert not sparse.to_dense().any()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()


def test_values_that_are_recorded_may_not_be_written():
    sparse = matrix(values() * 1).coalesce()
    with pytest.raises(RuntimeError, match="values of a sparse tensor"):
        sparse.values().mul_(2)
    leaf = matrix(values().detach()).coalesce().requires_grad_()
    with pytest.raises(RuntimeError, match="values of a sparse tensor"):
        leaf.values().mul_(2)
    with torch.no_grad():
        leaf.values().mul_(2)
    assert leaf.to_dense().tolist() == [[0, 0, 4], [8, 0, 10]]


def test_written_indices_change_no_tensor():
    sparse = matrix(values().detach()).coalesce()
    before = sparse.to_dense()
    dense = torch.rand(3, 2, dtype=torch.float64)
    for read in (sparse.indices, sparse._indices):
        read().fill_(7)
    assert torch.equal(sparse.to_dense(), before)
    assert torch.equal(sparse @ dense, before @ dense)
    assert torch.equal((sparse * 2).to_dense(), before * 2)


def test_transposes_have_memory_of_their_own():
    sparse = matrix(values().detach()).coalesce()
    before = sparse.to_dense()
    sparse.t()._values().zero_()
    assert torch.equal(sparse.to_dense(), before)


def test_sparse_gradients_of_an_embedding_are_the_dense_ones():
    indices = torch.tensor([[1, 1, 3], [0, 1, 4]])
    weights = [torch.arange(10.0).reshape(5, 2).requires_grad_() for _ in range(2)]
    for weight, sparse in zip(weights, (True, False), strict=True):
        torch.nn.functional.embedding(
            indices, weight, padding_idx=4, sparse=sparse
        ).sin().sum().backward()
    assert weights[0].grad.is_sparse
    assert torch.allclose(weights[0].grad.to_dense(), weights[1].grad)


DENSE_ONLY = ("exp", "flatten", "sort", "argmax", "Tensor.tolist", "Tensor.numpy")


@pytest.mark.parametrize("name", DENSE_ONLY)
def test_what_knows_dense_tensors_alone_raises(name):
    home, _, method = name.rpartition(".")
    function = getattr(torch.Tensor if home else torch, method)
    with pytest.raises(NotImplementedError, match="SparseCPU"):
        function(matrix(values().detach()))
