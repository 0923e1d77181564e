"""The memory behind tensors: storage() and set_; and what is asked of complex tensors."""

from __future__ import annotations

import pytest

import numbagrad as torch


def test_a_storage_is_shared_by_views():
    x = torch.arange(6.0).reshape(2, 3)
    storage = x[1].storage()
    assert len(storage) == storage.size() == 6
    assert storage.tolist() == [0, 1, 2, 3, 4, 5]
    assert storage.data_ptr() == x.data_ptr() == x.storage().data_ptr()
    assert (storage.nbytes(), storage.element_size()) == (24, 4)
    assert storage.dtype is torch.float32
    storage[4] = 9
    assert x[1, 1].item() == storage[4] == 9
    assert storage.untyped().nbytes() == 24


def test_set_refers_to_other_memory():
    source = torch.arange(6.0)
    x = torch.empty(0).set_(source)
    x[0] = 7
    assert source[0].item() == 7 and source._version == x._version
    x.set_(source.storage(), 1, (2, 2), (1, 2))
    assert x.tolist() == [[1, 3], [2, 4]]
    assert x.set_(source.storage(), 2, (2, 2)).tolist() == [[2, 3], [4, 5]]
    assert x.set_().shape == (0,)


def test_set_refuses():
    with pytest.raises(RuntimeError, match="dtype"):
        torch.empty(0).set_(torch.arange(3))
    with pytest.raises(RuntimeError, match="beyond the 3 elements"):
        torch.empty(0).set_(torch.ones(3).storage(), 0, (2, 2))
    with pytest.raises(RuntimeError, match="leaf Variable"):
        torch.ones(1, requires_grad=True).set_(torch.ones(1))


def test_real_tensors_are_their_own_conjugates():
    x = torch.ones(2)
    for name in ("conj", "conj_physical", "resolve_conj", "resolve_neg"):
        assert getattr(torch, name)(x) is x and getattr(x, name)() is x
    assert torch.real(x) is x and x.real is x
    assert not x.is_conj() and not x.is_neg()
    assert torch.isreal(x).tolist() == [True, True]
    assert not torch.detach(torch.ones(1, requires_grad=True)).requires_grad
    for get in (torch.imag, lambda x: x.imag):
        with pytest.raises(RuntimeError, match="imag is not implemented for tensors with non-comp"):
            get(x)


def test_a_leaf_that_refers_to_other_memory_has_another_node_in_graphs():
    x = torch.ones(1, 1, requires_grad=True)
    before = (x * 1).grad_fn.next_functions[0][0]
    with torch.no_grad():
        x.set_(torch.ones(2, 2))
    after = (x * 1).grad_fn.next_functions[0][0]
    assert before is not after and before.variable is x and after.variable is x
    (x * 3).sum().backward()
    assert x.grad.tolist() == [[3, 3], [3, 3]]
