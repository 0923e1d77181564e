"""Gradients of collectives are those of the same function of all ranks' tensors in one process."""

from __future__ import annotations

import copy

import pytest

import numbagrad as torch
from numbagrad import distributed as dist
from numbagrad.distributed.nn import functional as F

SUM, AVG = dist.ReduceOp.SUM, dist.ReduceOp.AVG


def given(rank):
    """What a rank gives: two rows for each rank, in double precision."""
    size = dist.get_world_size()
    generator = torch.Generator().manual_seed(rank)
    return torch.randn(2 * size, 3, generator=generator, dtype=torch.float64)


def parts(tensor):
    return list(tensor.split(2))


#: On one rank, by what all ranks give: the function of the library, and the same in one process.
CASES = {
    "all_reduce": (
        lambda x, r, n: F.all_reduce(x.sin()),
        lambda all, r, n: sum(map(torch.sin, all)),
    ),
    "average": (lambda x, r, n: F.all_reduce(x, AVG), lambda all, r, n: sum(all) / n),
    "broadcast": (lambda x, r, n: F.broadcast(x, 1), lambda all, r, n: all[1] * 1),
    "all_gather": (
        lambda x, r, n: torch.cat([(k + 1) * y for k, y in enumerate(F.all_gather(x))]),
        lambda all, r, n: torch.cat([(k + 1) * y for k, y in enumerate(all)]),
    ),
    "gather": (
        lambda x, r, n: torch.cat(F.gather(x, 1)),
        lambda all, r, n: torch.cat(all) * float(r == 1),
    ),
    "scatter": (lambda x, r, n: F.scatter(parts(x), 1), lambda all, r, n: parts(all[1])[r] * 1),
    "reduce_scatter": (
        lambda x, r, n: F.reduce_scatter(torch.empty(2, 3), parts(x)),
        lambda all, r, n: sum([parts(x)[r] for x in all]),
    ),
    "all_to_all": (
        lambda x, r, n: torch.cat(F.all_to_all([torch.empty(2, 3)] * n, parts(x))),
        lambda all, r, n: torch.cat([parts(x)[r] for x in all]),
    ),
    "all_to_all_single": (
        lambda x, r, n: F.all_to_all_single(torch.empty(2 * n, 3, dtype=x.dtype), x),
        lambda all, r, n: torch.cat([parts(x)[r] for x in all]),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_one_process(world, name):
    """Every rank's loss counts: the gradient is that of the sum of the losses of all ranks."""
    rank, size = world
    own, alone = CASES[name]
    x = given(rank).requires_grad_()
    value = own(x, rank, size)
    weights = torch.linspace(1, 2, value.numel(), dtype=x.dtype).view(value.shape) * (rank + 1)
    (value.pow(2) * weights).sum().backward()
    everything = [given(k).requires_grad_() for k in range(size)]
    expected = [alone(everything, k, size) for k in range(size)]
    for k, each in enumerate(expected):
        weights = torch.linspace(1, 2, each.numel(), dtype=x.dtype).view(each.shape) * (k + 1)
        (each.pow(2) * weights).sum().backward(retain_graph=True)
    assert torch.allclose(value, expected[rank])
    unused = torch.zeros_like(x)
    assert torch.allclose(
        x.grad, unused if everything[rank].grad is None else everything[rank].grad
    )


def test_a_reduction_to_one_rank(world):
    rank, size = world
    x = given(rank).requires_grad_()
    value = F.reduce(x, 1)
    (value.pow(2).sum() if rank == 1 else value.sum() * 0).backward()
    total = sum([given(k) for k in range(size)])
    assert torch.allclose(x.grad, 2 * total)


def test_gradients_of_gradients(world):
    rank, size = world
    x = given(rank).requires_grad_()
    (first,) = torch.autograd.grad(F.all_reduce(x.pow(3)).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert torch.allclose(first, 3 * size * x.pow(2)) and torch.allclose(second, 6 * size * x)


def test_what_has_no_gradient_says_so(world):
    with pytest.raises(NotImplementedError, match="use SUM or AVG"):
        F.all_reduce(torch.ones(2, requires_grad=True), dist.ReduceOp.MAX)


@pytest.mark.parametrize("momentum", [0.1, None])
@pytest.mark.parametrize("shape", [(6, 4), (6, 4, 3), (6, 4, 3, 2)])
def test_batch_norm_of_all_ranks_is_that_of_the_whole_batch(world, shape, momentum):
    rank, size = world
    nn = torch.nn
    plain = [nn.BatchNorm1d, nn.BatchNorm1d, nn.BatchNorm2d][len(shape) - 2](4, momentum=momentum)
    plain = plain.double()
    shared = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(copy.deepcopy(plain)))[0]
    for step in range(2):
        batches = [torch.randn(shape[0] + k, *shape[1:], dtype=torch.float64,
                               generator=torch.Generator().manual_seed(10 * step + k)) * (k + 1) + k
                   for k in range(size)]  # fmt: skip
        whole = torch.cat(batches).requires_grad_()
        values = plain(whole)
        values.sin().sum().backward()
        own = batches[rank].clone().requires_grad_()
        made = shared(own)
        made.sin().sum().backward()
    start = sum([len(each) for each in batches[:rank]])
    assert torch.allclose(made, values[start : start + len(own)], atol=1e-9)
    assert torch.allclose(own.grad, whole.grad[start : start + len(own)], atol=1e-9)
    dist.all_reduce(shared.weight.grad)
    assert torch.allclose(shared.weight.grad, plain.weight.grad)
    plain(whole), shared(own)
    plain.eval(), shared.eval()
    assert torch.allclose(shared(own), plain(own))
