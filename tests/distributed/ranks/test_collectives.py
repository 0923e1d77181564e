"""Collectives give on every rank what one process computes from what all ranks gave."""

from __future__ import annotations

import datetime

import numpy as np
import pytest

import numbagrad as torch
from numbagrad import distributed as dist

OPS = dist.ReduceOp


def given(rank, shape=(3, 4), dtype="float32"):
    """What a rank gives; every rank can compute that of any other."""
    numbers = np.random.default_rng(rank).integers(1, 4, shape)
    return torch.from_numpy(numbers).to(getattr(torch, dtype))


DTYPES = (
    "float32 float64 float16 bfloat16 int8 uint8 int16 int32 int64 complex64 complex128".split()
)
NUMPY = {
    OPS.SUM: np.add, OPS.PRODUCT: np.multiply, OPS.MIN: np.minimum, OPS.MAX: np.maximum,
    OPS.BAND: np.bitwise_and, OPS.BOR: np.bitwise_or, OPS.BXOR: np.bitwise_xor,
}  # fmt: skip


def possible(op, dtype):
    if op in (OPS.BAND, OPS.BOR, OPS.BXOR):
        return "int" in dtype
    if op in (OPS.MIN, OPS.MAX):
        return "complex" not in dtype
    return True


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", list(NUMPY), ids=lambda op: op.name)
def test_all_reduce(world, op, dtype, asynchronous):
    rank, size = world
    tensor = given(rank, dtype=dtype)
    if not possible(op, dtype):
        with pytest.raises(RuntimeError, match=r"all_reduce\(\)"):
            dist.all_reduce(tensor, op)
        return
    wide = {"float16": "float32", "bfloat16": "float32"}.get(dtype, dtype)
    expected = NUMPY[op].reduce([given(k, dtype=wide).numpy() for k in range(size)])
    version = tensor._version
    work = dist.all_reduce(tensor, op, async_op=asynchronous)
    if asynchronous:
        assert work.wait() and work.is_completed() and work.is_success()
        assert work.get_future().wait()[0] is tensor and work.result()[0] is tensor
    assert work is None or asynchronous
    assert tensor._version == version + 1
    np.testing.assert_array_equal(tensor.to(getattr(torch, wide)).numpy(), expected)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "complex64"])
def test_averages(world, dtype):
    rank, size = world
    tensor = torch.full((5,), 2.0 * rank).to(getattr(torch, dtype))
    dist.all_reduce(tensor, OPS.AVG)
    assert torch.equal(tensor, torch.full((5,), size - 1.0).to(tensor.dtype))
    with pytest.raises(RuntimeError, match="use SUM, and divide"):
        dist.all_reduce(torch.ones(2, dtype=torch.int64), OPS.AVG)


def test_bool(world):
    rank, size = world
    tensor = torch.tensor([rank == 0, True, False])
    dist.all_reduce(tensor)
    assert tensor.tolist() == [True, True, False]
    tensor = torch.tensor([rank == 0, True, False])
    dist.all_reduce(tensor, OPS.PRODUCT)
    assert tensor.tolist() == [False, True, False]


def test_strided_memory(world):
    rank, size = world
    base = torch.zeros(4, 6)
    view = base[:, ::2].t()
    view.fill_(rank + 1.0)
    dist.all_reduce(view)
    total = size * (size + 1) / 2
    assert torch.equal(base[:, ::2], torch.full((4, 3), total)) and not base[:, 1::2].any()
    dist.broadcast(view, size - 1)
    work = dist.all_reduce(view, async_op=True)
    work.wait()
    assert torch.equal(view, torch.full((3, 4), total * size))


@pytest.mark.parametrize("asynchronous", [False, True])
def test_broadcast_and_reduce(world, asynchronous):
    rank, size = world
    for root in range(size):
        tensor = given(rank)
        work = dist.broadcast(tensor, root, async_op=asynchronous)
        assert work is None or work.wait()
        assert torch.equal(tensor, given(root))
        tensor = given(rank)
        work = dist.reduce(tensor, root, OPS.AVG, async_op=asynchronous)
        assert work is None or work.wait()
        mean = sum([given(k) for k in range(size)]) / size
        assert torch.allclose(tensor, mean if rank == root else given(rank))


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "bool"])
def test_gathering_and_scattering(world, asynchronous, dtype):
    rank, size = world
    everything = [given(k, dtype=dtype) for k in range(size)]

    def done(work):
        assert work is None or work.wait()

    made = [torch.zeros_like(everything[0]) for _ in range(size)]
    done(dist.all_gather(made, everything[rank], async_op=asynchronous))
    assert all(map(torch.equal, made, everything))
    stacked = torch.zeros(size, 3, 4, dtype=everything[0].dtype)
    done(dist.all_gather_into_tensor(stacked, everything[rank], async_op=asynchronous))
    assert torch.equal(stacked, torch.stack(everything))
    joined = torch.zeros(3 * size, 4, dtype=everything[0].dtype)
    done(dist.all_gather_into_tensor(joined, everything[rank], async_op=asynchronous))
    assert torch.equal(joined, torch.cat(everything))
    made = [torch.zeros_like(everything[0]) for _ in range(size)] if rank == 1 else None
    done(dist.gather(everything[rank], made, dst=1, async_op=asynchronous))
    assert rank != 1 or all(map(torch.equal, made, everything))
    part = torch.zeros_like(everything[0])
    done(dist.scatter(part, everything if rank == 1 else None, src=1, async_op=asynchronous))
    assert torch.equal(part, everything[rank])


@pytest.mark.parametrize("asynchronous", [False, True])
def test_reduce_scatter(world, asynchronous):
    rank, size = world
    lists = [[given(10 * k + j) for j in range(size)] for k in range(size)]
    expected = sum([lists[k][rank] for k in range(size)])
    made = torch.zeros(3, 4)
    work = dist.reduce_scatter(made, lists[rank], async_op=asynchronous)
    assert (work is None or work.wait()) and torch.equal(made, expected)
    made = torch.zeros(3, 4)
    work = dist.reduce_scatter_tensor(made, torch.cat(lists[rank]), OPS.AVG, async_op=asynchronous)
    assert (work is None or work.wait()) and torch.allclose(made, expected / size)


def test_all_to_all(world):
    rank, size = world
    made = torch.zeros(size)
    dist.all_to_all_single(made, torch.arange(float(size)) + 10 * rank)
    assert made.tolist() == [10.0 * k + rank for k in range(size)]
    sent = [torch.full((rank + 1, j + 1), float(rank)) for j in range(size)]
    made = [torch.zeros(k + 1, rank + 1) for k in range(size)]
    dist.all_to_all(made, sent)
    for k, each in enumerate(made):
        assert torch.equal(each, torch.full((k + 1, rank + 1), float(k)))
    rows = [rank + 1] * size
    output = torch.zeros(sum(range(1, size + 1)), 2)
    dist.all_to_all_single(
        output, torch.full((sum(rows), 2), float(rank)), list(range(1, size + 1)), rows
    )
    assert output[:, 0].tolist() == [float(k) for k in range(size) for _ in range(k + 1)]


def test_coalesced(world):
    rank, size = world
    tensors = [torch.full((2,), float(rank)), torch.full((3, 1), 1.0)]
    dist.all_reduce_coalesced(tensors)
    assert tensors[0].tolist() == [sum(range(size))] * 2 and tensors[1].tolist() == [[size]] * 3
    made = [[torch.zeros(2), torch.zeros(3)] for _ in range(size)]
    dist.all_gather_coalesced(made, [torch.full((2,), float(rank)), torch.full((3,), 7.0)])
    assert [pair[0][0].item() for pair in made] == list(range(size))


def test_messages(world):
    rank, size = world
    after, before = (rank + 1) % size, (rank - 1) % size
    tensor = torch.zeros(3)
    works = dist.batch_isend_irecv(
        [
            dist.P2POp(dist.isend, torch.full((3,), float(rank)), after),
            dist.P2POp(dist.irecv, tensor, before),
        ]
    )
    for work in works:
        work.wait()
    assert tensor.tolist() == [before] * 3
    if rank == 0:
        dist.send(torch.ones(2, dtype=torch.bfloat16), 1, tag=5)
        received = torch.zeros(2)
        sources = {dist.recv(received) for _ in range(size - 1)}
        assert sources == set(range(1, size))
    else:
        if rank == 1:
            tensor = torch.zeros(2, dtype=torch.bfloat16)
            work = dist.irecv(tensor, 0, tag=5)
            while not work.is_completed():
                pass
            assert tensor.tolist() == [1, 1] and work.source_rank() == 0
        dist.send(torch.full((2,), float(rank)), 0)
    dist.barrier()
    with pytest.raises(ValueError, match="destination rank should not be the same"):
        dist.send(tensor, rank)


def test_a_message_of_another_form_names_both(world):
    rank, size = world
    if rank == 0:
        dist.isend(torch.ones(3), 1)
    elif rank == 1:
        with pytest.raises(RuntimeError, match=r"sent float32\[3\] where int64\[2\]"):
            dist.recv(torch.zeros(2, dtype=torch.int64), 0)
    dist.barrier()


def test_objects(world):
    rank, size = world
    found = [None] * size
    dist.all_gather_object(found, {"rank": rank, "tensor": torch.tensor(rank)})
    assert [(each["rank"], each["tensor"].item()) for each in found] == [
        (k, k) for k in range(size)
    ]
    objects = ["a", rank] if rank == 1 else [None, None]
    dist.broadcast_object_list(objects, src=1)
    assert objects == ["a", 1]
    gathered = [None] * size if rank == 0 else None
    dist.gather_object(rank * 2, gathered)
    assert rank or gathered == [2 * k for k in range(size)]
    own = [None]
    dist.scatter_object_list(own, [f"for {k}" for k in range(size)] if rank == 0 else None)
    assert own == [f"for {rank}"]
    if rank == 0:
        dist.send_object_list([1, {"x": 2}], 1)
    elif rank == 1:
        received = [None, None]
        assert dist.recv_object_list(received, 0) == 0 and received == [1, {"x": 2}]


@pytest.mark.parametrize(
    "call",
    [
        lambda rank: dist.all_reduce(torch.ones(3 + (rank == 1))),
        lambda rank: dist.all_reduce(torch.ones(3).to(torch.int32 if rank == 1 else torch.float32)),
        lambda rank: dist.all_reduce(torch.ones(3), OPS.MAX if rank == 1 else OPS.SUM),
        lambda rank: dist.broadcast(torch.ones(2, 3) if rank == 1 else torch.ones(3, 2), 0),
        lambda rank: dist.broadcast(torch.ones(2), int(rank == 1)),
        lambda rank: dist.all_reduce(torch.ones(3), async_op=rank == 1),
        lambda rank: dist.reduce(torch.ones(1), 0) if rank == 1 else dist.all_reduce(torch.ones(1)),
    ],
)  # fmt: skip
def test_ranks_that_disagree_get_an_error_that_names_both(world, call):
    rank, size = world
    other = 1 if rank != 1 else 0
    with pytest.raises(RuntimeError, match=rf"rank {rank} calls .*, rank {other} calls "):
        call(rank)
    tensor = torch.ones(2)
    dist.all_reduce(tensor)  # the group goes on
    assert tensor.tolist() == [size, size]


def test_rows_that_disagree(world):
    rank, size = world
    rows = [1] * size
    if rank == 0:
        rows[1] = 2
    with pytest.raises(RuntimeError, match="rank 0 sends 2 elements to rank 1, which expects 1"):
        dist.all_to_all_single(torch.zeros(size), torch.zeros(sum(rows)), [1] * size, rows)


def test_wrong_calls(world):
    rank, size = world
    with pytest.raises(TypeError, match="tensor has to be a Tensor, got list"):
        dist.all_reduce([1.0])
    with pytest.raises(TypeError, match="one of torch.distributed.ReduceOp"):
        dist.all_reduce(torch.ones(1), "sum")
    with pytest.raises(ValueError, match="needs"):
        dist.all_gather([torch.zeros(1)] * (size + 1), torch.zeros(1))
    with pytest.raises(ValueError, match="has to hold"):
        dist.all_gather_into_tensor(torch.zeros(1), torch.zeros(1))
    with pytest.raises(ValueError, match="is not part of group"):
        dist.broadcast(torch.zeros(1), size)
    with pytest.raises(ValueError, match="not both"):
        dist.broadcast(torch.zeros(1))
    with pytest.raises(ValueError, match="on the destination rank"):
        dist.gather(torch.zeros(1), None if rank == 0 else [torch.zeros(1)] * size)
    with pytest.raises(RuntimeError, match="outside of vmap"):
        torch.vmap(lambda x: dist.all_reduce(x))(torch.ones(2))


def test_groups(world):
    rank, size = world
    evens = dist.new_group(range(0, size, 2))
    if rank % 2:
        assert evens is dist.GroupMember.NON_GROUP_MEMBER
        assert dist.get_rank(evens) == -1 and dist.all_reduce(torch.ones(1), group=evens) is None
    else:
        tensor = torch.ones(1)
        dist.all_reduce(tensor, group=evens)
        assert tensor.item() == (size + 1) // 2 == dist.get_world_size(evens)
        assert dist.get_group_rank(evens, rank) == rank // 2 == dist.get_rank(evens)
        assert dist.get_global_rank(evens, rank // 2) == rank
        dist.broadcast(tensor, 0, group=evens)
        with pytest.raises(ValueError, match="not part of group"):
            dist.broadcast(tensor, 1, group=evens)
        dist.destroy_process_group(evens)
        with pytest.raises(RuntimeError, match="was destroyed"):
            dist.all_reduce(tensor, group=evens)
    own, groups = dist.new_subgroups(2)
    assert dist.get_process_group_ranks(own) == [rank // 2 * 2, rank // 2 * 2 + 1]
    assert len(groups) == size // 2 and own.size() == 2
    half = dist.split_group(dist.group.WORLD, [[0], list(range(1, size))])
    assert half.size() == (1 if rank == 0 else size - 1)
    with pytest.raises(ValueError, match="twice"):
        dist.init_process_group()


def test_limits_of_time(world):
    rank, size = world
    group = dist.new_group(timeout=datetime.timedelta(seconds=60))
    tensor = torch.ones(2)
    dist.all_reduce(tensor, group=group)
    assert tensor.tolist() == [size, size]
    dist.monitored_barrier(timeout=60)
    if rank == 0:
        work = dist.irecv(torch.zeros(1), 1, tag=9)
        with pytest.raises(RuntimeError, match="is not over after 0.05 seconds"):
            work.wait(datetime.timedelta(seconds=0.05))
        dist.barrier()
        assert work.wait()
    else:
        dist.barrier()
        if rank == 1:
            dist.send(torch.ones(1), 0, tag=9)


def test_futures(world):
    rank, size = world
    tensor = torch.ones(3)
    future = dist.all_reduce(tensor, async_op=True).get_future().then(lambda f: f.value()[0] / size)
    assert future.wait().tolist() == [1, 1, 1] and future.done()
    failing = dist.all_reduce(tensor, async_op=True).get_future().then(lambda f: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        failing.wait()


def test_samplers_share_a_dataset(world):
    rank, size = world
    sampler = torch.utils.data.DistributedSampler(range(13))
    sampler.set_epoch(2)
    parts = [None] * size
    dist.all_gather_object(parts, list(sampler))
    assert set().union(*parts) == set(range(13)) and len({len(part) for part in parts}) == 1
