"""Process groups without MPI: a process by itself is a group of one."""

from __future__ import annotations

import concurrent.futures
import pathlib
import sys

import numpy as np
import pytest

import numbagrad as torch
from numbagrad import distributed as dist
from numbagrad import nn
from numbagrad.distributed import exchange, failure, process_group, run, shared_sums
from numbagrad.distributed.reducer import buckets_of
from numbagrad.executor import capture


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """No launcher started this process, whatever started the tests."""
    for name in (*process_group._OF_LAUNCHERS, "WORLD_SIZE", "RANK"):
        monkeypatch.delenv(name, raising=False)
    yield
    if dist.is_initialized():
        dist.destroy_process_group()


@pytest.fixture
def world(alone):
    dist.init_process_group()


def test_a_process_by_itself_is_a_group_of_one():
    assert dist.is_available() and not dist.is_initialized() and dist.group.WORLD is None
    with pytest.raises(ValueError, match="has not been initialized"):
        dist.all_reduce(torch.ones(1))
    dist.init_process_group("gloo")
    assert (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (0, 1, "mpi")
    assert dist.group.WORLD is dist.GroupMember.WORLD is not None
    with pytest.raises(ValueError, match="twice"):
        dist.init_process_group()
    dist.destroy_process_group()
    assert not dist.is_initialized() and "mpi4py" not in sys.modules


@pytest.mark.parametrize(
    "arguments, kind, message",
    [
        ({"backend": "nccl"}, RuntimeError, "doesn't have NCCL"),
        ({"backend": "cpu:gloo,cuda:nccl"}, RuntimeError, "doesn't have NCCL"),
        ({"backend": "other"}, ValueError, "Invalid backend"),
        ({"world_size": 2, "rank": 0}, RuntimeError, "belongs to no MPI job; start the processes"),
        ({"rank": 3}, ValueError, "MPI numbers this process 0"),
        ({"store": object()}, NotImplementedError, "leave out store="),
    ],
)
def test_groups_that_cannot_be(arguments, kind, message):
    with pytest.raises(kind, match=message):
        dist.init_process_group(**arguments)
    assert not dist.is_initialized()


def test_what_torchrun_says_has_to_be_so(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "4")
    with pytest.raises(RuntimeError, match="a group of 4 processes was asked for"):
        dist.init_process_group()
    monkeypatch.setenv("WORLD_SIZE", "four")
    with pytest.raises(ValueError, match="WORLD_SIZE is no number: 'four'"):
        dist.init_process_group()


def test_a_job_without_mpi4py(monkeypatch):
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    monkeypatch.delitem(sys.modules, "numbagrad.distributed.mpi", raising=False)
    with pytest.raises(ImportError, match=r"pip install 'numbagrad\[mpi\]'"):
        dist.init_process_group()


def test_collectives_of_one(world):
    x = torch.arange(4.0)
    dist.all_reduce(x), dist.broadcast(x, 0), dist.reduce(x, 0, dist.ReduceOp.AVG), dist.barrier()
    assert x.tolist() == [0, 1, 2, 3]
    made = torch.zeros(4)
    for write in (
        lambda: dist.all_gather([made], x),
        lambda: dist.all_gather_into_tensor(made, x),
        lambda: dist.gather(x, [made]),
        lambda: dist.scatter(made, [x]),
        lambda: dist.reduce_scatter(made, [x]),
        lambda: dist.reduce_scatter_tensor(made, x),
        lambda: dist.all_to_all_single(made, x),
        lambda: dist.all_to_all([made], [x]),
    ):
        made.zero_()
        assert write() is None and torch.equal(made, x)
    work = dist.irecv(made, 0)
    assert not work.is_completed()
    dist.isend(2 * x, 0).wait()
    assert work.wait() and torch.equal(made, 2 * x)
    with pytest.raises(RuntimeError, match="nothing was sent with its tag"):
        dist.irecv(made, 0, tag=3).wait()
    found = [None]
    dist.all_gather_object(found, "x")
    assert found == ["x"]
    sampler = torch.utils.data.DistributedSampler(range(5), shuffle=False)
    assert list(sampler) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("compiled", [False, True])
def test_a_data_parallel_module_of_one_rank_is_the_module(world, compiled):
    torch.manual_seed(0)
    model, plain = nn.Linear(3, 2), nn.Linear(3, 2)
    plain.load_state_dict(model.state_dict())
    parallel = nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    assert set(parallel.state_dict()) == {"module.weight", "module.bias"}

    def backward(x):
        parallel.zero_grad()
        parallel(x).pow(2).sum().backward()

    own = torch.compile(backward) if compiled else backward
    for k in range(5):
        x = torch.full((4, 3), float(k))
        own(x)
    plain(x).pow(2).sum().backward()
    assert torch.allclose(model.weight.grad, plain.weight.grad)
    assert torch.allclose(model.bias.grad, plain.bias.grad)


def test_gradients_of_collectives(world):
    x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    F = dist.nn.functional
    for function in (F.all_reduce, lambda y: F.all_gather(y)[0], lambda y: F.scatter([y])):
        assert torch.autograd.gradcheck(function, x)


def test_a_rehearsal_repeats_what_came_of_an_exchange():
    """Of a sum the other input shows; of all else only that it is another one."""
    source, outcome = torch.ones(2).numpy(), 3 * torch.ones(2).numpy()
    moved = source + 0.5
    assert exchange.changed_outcome(source, source.copy(), outcome, None) is outcome
    assert exchange.changed_outcome(source, moved, outcome, 1.0).tolist() == [3.5, 3.5]
    assert exchange.changed_outcome(source, moved, outcome, 0.5).tolist() == [3.25, 3.25]
    assert torch.from_numpy(exchange.changed_outcome(source, moved, outcome, None)).isnan().all()
    near = source * (1 + 1e-6)
    assert exchange.changed_outcome(source, near, outcome, None) is outcome
    whole = exchange.changed_outcome(source.astype(int), moved.astype(int) + 1, outcome, None)
    assert whole.tolist() != outcome.tolist()
    assert not capture.rehearsal.active and capture.rehearsal.recalls


def test_buckets_hold_the_last_parameters_first():
    """In bytes: 40, 4000, 200, 1200, 400 from the last to the first."""
    parameters = [torch.zeros(size) for size in (100, 300, 50, 1000, 10)]
    assert buckets_of(parameters, 2000, 400) == [[4], [3], [2, 1, 0]]


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.complex128])
@pytest.mark.parametrize("size", [2, 3])
def test_ranks_of_one_machine_add_up_in_memory_that_they_share(tmp_path, monkeypatch, size, kind):
    """Again and again, each rank with the same bits; here the ranks are threads.

    What all but the first give counts half.
    """
    monkeypatch.setattr(shared_sums, "FOLDER", tmp_path)
    forms = [(5, np.dtype(kind)), (300_000, np.dtype(kind))]
    path = shared_sums.make_file(shared_sums.size_of(forms, size))
    assert path is not None

    def rank_of(rank):
        sums = shared_sums.SharedSums(shared_sums.map_file(path), rank, size, forms)
        found = []
        for step in range(4):
            under_way = []
            for each in sums.sums:
                given = each.memory
                given[:] = np.arange(len(given)) % 13 + rank + step
                under_way += each.start(given, 0.5 if rank else 1.0)
            for request in under_way:
                request.wait()
            found.append([each.memory.copy() for each in sums.sums])
        sums.free()
        return found

    with concurrent.futures.ThreadPoolExecutor(size) as pool:
        results = list(pool.map(rank_of, range(size)))
    for step in range(4):
        for k, (count, _) in enumerate(forms):
            parts = [np.arange(count) % 13 + rank + step for rank in range(size)]
            expected = parts[0] + 0.5 * sum(parts[1:])
            for found in results:
                assert np.array_equal(found[step][k], expected.astype(kind))
    assert not shared_sums._STATES


def test_a_large_file_is_the_same_memory_wherever_it_is_mapped(tmp_path, monkeypatch):
    """It begins where a huge page can, and goes when nobody refers to it."""
    monkeypatch.setattr(shared_sums, "FOLDER", tmp_path)
    size = shared_sums.size_of([(1_500_000, np.dtype("float32"))], 2)
    path = shared_sums.make_file(size)
    first, second = [np.frombuffer(shared_sums.map_file(path), np.uint8) for _ in range(2)]
    assert len(first) == size and first.ctypes.data % shared_sums._HUGE_PAGE == 0
    first[[0, -1]] = 3, 5
    assert second[[0, -1]].tolist() == [3, 5] and not second[1:-1].any()
    if sys.platform == "linux":
        maps = pathlib.Path("/proc/self/maps")
        assert path in maps.read_text()
        del first, second
        assert path not in maps.read_text()


def test_without_room_in_memory_nothing_is_shared(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(shared_sums, "FOLDER", tmp_path / "absent")
    assert shared_sums.make_file(100) is None
    monkeypatch.setattr(shared_sums, "FOLDER", tmp_path)
    assert shared_sums.make_file(1 << 60) is None and not list(tmp_path.iterdir())
    assert f"{tmp_path} has no room for {1 << 60} bytes" in caplog.text
    assert shared_sums.map_file(str(tmp_path / "absent")) is None


def test_an_error_ends_the_job(monkeypatch, capsys):
    ended = []
    monkeypatch.setattr(failure, "end_job", lambda rank, code=1: ended.append(rank))
    monkeypatch.setattr(failure, "_installed", False)
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    failure.end_job_on_error(2)
    sys.excepthook(ValueError, ValueError("on purpose"), None)
    assert ended == [2] and "rank 2: ValueError: on purpose" in capsys.readouterr().err


def test_command_lines_of_the_launcher():
    options = run.parse(["--nproc-per-node", "4", "train.py", "--lr", "0.1"])
    line, extra = run.command(options, "/bin/mpiexec", open_mpi=True)
    assert line[:3] == ["/bin/mpiexec", "-n", "4"] and line[-3:] == ["train.py", "--lr", "0.1"]
    assert "numbagrad.distributed.worker" in line
    with pytest.raises(SystemExit):
        run.parse(["--nnodes", "2", "train.py"])
