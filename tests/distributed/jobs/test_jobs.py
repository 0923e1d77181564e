"""Jobs of several processes, started from outside: the launcher, failures, checkpoints."""

from __future__ import annotations

import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

from numbagrad.distributed import run

ROOT = pathlib.Path(__file__).parents[3]
MPIEXEC = run.find_mpiexec()
LAUNCHER = [sys.executable, "-m", "numbagrad.distributed.run", "--nproc-per-node"]
PLAIN = [MPIEXEC, "-n"]
ENVIRONMENT = {
    **os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1", "NUMBAGRAD_NUM_THREADS": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}  # fmt: skip

#: Seconds that only a job that hangs takes, even on a busy machine; pytest ends a test after 600.
HANGS = 500


def start(folder, line, **keywords):
    return subprocess.Popen(
        line, cwd=folder, env=ENVIRONMENT, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, **keywords,
    )  # fmt: skip


def job(folder, count, text, *arguments, by=LAUNCHER, limit=HANGS):
    """Run a script on so many ranks; returns the exit status, and what it printed."""
    script = folder / "script.py"
    script.write_text(text)
    python = [] if by is LAUNCHER else [sys.executable]
    process = start(folder, [*by, str(count), *python, str(script), *arguments])
    out, error = process.communicate(timeout=limit)
    return process.returncode, out, error


@pytest.mark.parametrize("by", [LAUNCHER, PLAIN], ids=["launcher", "mpiexec"])
def test_a_script_starts_in_several_processes(tmp_path, by):
    text = """
import os, sys
import numbagrad as torch, numbagrad.distributed as dist
dist.init_process_group("gloo")
rank = dist.get_rank()
tensor = torch.tensor([rank])
dist.all_reduce(tensor)
local = [None] * dist.get_world_size()
dist.all_gather_object(local, dist.get_node_local_rank())
assert sorted(local) == list(range(dist.get_world_size()))
print(f"{rank} of {dist.get_world_size()}: {tensor.item()} {sys.argv[1:]}", flush=True)
"""
    status, out, error = job(tmp_path, 3, text, "--lr", "0.1", by=by)
    assert status == 0, error
    assert sorted(out.splitlines()) == [f"{k} of 3: 3 ['--lr', '0.1']" for k in range(3)]


def test_processes_get_the_variables_of_torchrun(tmp_path):
    text = """
import os
names = "RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE GROUP_RANK".split()
print(*[os.environ[name] for name in names], "MASTER_ADDR" in os.environ, flush=True)
"""
    status, out, error = job(tmp_path, 2, text)
    assert status == 0, error
    assert sorted(out.splitlines()) == ["0 2 0 2 0 True", "1 2 1 2 0 True"]


@pytest.mark.parametrize("by", [LAUNCHER, PLAIN], ids=["launcher", "mpiexec"])
def test_a_rank_that_fails_ends_the_job_with_its_traceback(tmp_path, by):
    text = """
import numbagrad as torch, numbagrad.distributed as dist
dist.init_process_group()
def broken():
    raise ValueError("on purpose")
if dist.get_rank() == 1:
    broken()
dist.all_reduce(torch.ones(1))
print("never")
"""
    status, out, error = job(tmp_path, 3, text, by=by, limit=60)
    assert status != 0 and "never" not in out
    assert "rank 1: Traceback" in error and "in broken" in error
    assert "ValueError: on purpose" in error


@pytest.mark.parametrize(
    "how", ["os.kill(os.getpid(), signal.SIGKILL)", "sys.exit(3)", "sys.exit('no data')"]
)
def test_a_rank_that_is_gone_ends_the_job(tmp_path, how):
    text = f"""
import os, signal, sys
import numbagrad as torch, numbagrad.distributed as dist
dist.init_process_group()
if dist.get_rank() == 1:
    {how}
dist.all_reduce(torch.ones(1))
print("never")
"""
    status, out, error = job(tmp_path, 2, text, limit=60)
    assert status != 0 and "never" not in out
    assert "no data" not in how or "no data" in error


def test_ranks_do_not_outlive_a_launcher_that_is_killed(tmp_path):
    """Nobody is left to end them, so the ranks themselves see that they wait in vain."""
    script = tmp_path / "script.py"
    script.write_text("""
import os
import numbagrad as torch, numbagrad.distributed as dist
from numbagrad import nn
dist.init_process_group()
model = nn.parallel.DistributedDataParallel(nn.Linear(300, 300))
print(os.getpid(), flush=True)
while True:
    model(torch.ones(8, 300)).sum().backward()
""")
    process = start(tmp_path, [*LAUNCHER, "2", str(script)], start_new_session=True)
    ranks = [int(process.stdout.readline()) for _ in range(2)]
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    end = time.monotonic() + 20
    while running := [rank for rank in ranks if pathlib.Path(f"/proc/{rank}").exists()]:
        assert time.monotonic() < end, f"ranks {running} of {ranks} go on"
        time.sleep(0.05)


def test_ranks_that_disagree(tmp_path):
    text = """
import numbagrad as torch, numbagrad.distributed as dist
dist.init_process_group()
dist.all_reduce(torch.ones(2 + dist.get_rank()))
"""
    status, _, error = job(tmp_path, 2, text, limit=60)
    assert status != 0
    texts = [f"rank {k} calls all_reduce(float32[{k + 2}], SUM)" for k in range(2)]
    assert f"{texts[0]}, {texts[1]}" in error or f"{texts[1]}, {texts[0]}" in error


TRAINING = """
import os, sys
import numbagrad as torch, numbagrad.distributed as dist
from numbagrad import nn
dist.init_process_group()
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 20), nn.Tanh(), nn.Linear(20, 1))
model = nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
first = 0
if os.path.exists("checkpoint.pt"):
    state = torch.load("checkpoint.pt")
    model.load_state_dict(state["model"]), optimizer.load_state_dict(state["optimizer"])
    first = state["step"]
def step(x):
    optimizer.zero_grad()
    loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
    loss.backward()
    optimizer.step()
    return loss
if sys.argv[2] == "compiled":
    step = torch.compile(step)
for k in range(first, int(sys.argv[1])):
    x = torch.randn(24, 6, generator=torch.Generator().manual_seed(k))
    step(x[rank::size])
if rank == 0:
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": k + 1},
               "checkpoint.pt")
    print(repr([p.sum().item() for p in model.parameters()]))
dist.barrier()
"""


@pytest.mark.parametrize("form", ["eager", "compiled"])
def test_a_checkpoint_goes_on_with_another_number_of_ranks(tmp_path, form):
    found = []
    for counts in ([(1, 20)], [(2, 8), (3, 14), (1, 20)]):
        folder = tmp_path / str(len(counts))
        folder.mkdir()
        for count, steps in counts:
            status, out, error = job(folder, count, TRAINING, str(steps), form)
            assert status == 0, error
        found.append(eval(out))
    assert found[1] == pytest.approx(found[0], rel=1e-3, abs=1e-4)


def test_without_a_job_a_process_is_a_group_of_one(tmp_path):
    text = """
import sys
import numbagrad as torch, numbagrad.distributed as dist
dist.init_process_group("mpi")
assert dist.get_world_size() == 1 and "mpi4py" not in sys.modules
tensor, made = torch.ones(2), [torch.zeros(2)]
dist.all_reduce(tensor), dist.all_gather(made, tensor), dist.barrier(), dist.broadcast(tensor, 0)
assert made[0].tolist() == [1, 1]
found = [None]
dist.all_gather_object(found, "x")
assert found == ["x"]
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
model(tensor).sum().backward()
assert model.module.weight.grad.tolist() == [[1, 1]]
work = dist.irecv(made[0], 0)
dist.isend(tensor * 2, 0).wait(), work.wait()
assert made[0].tolist() == [2, 2]
dist.destroy_process_group()
assert not dist.is_initialized()
for arguments, name in ((dict(backend="nccl"), "NCCL"), (dict(world_size=2), "no MPI job")):
    try:
        dist.init_process_group(**arguments)
    except RuntimeError as error:
        assert name in str(error), error
    else:
        raise AssertionError(name)
"""
    script = tmp_path / "script.py"
    script.write_text(text)
    subprocess.run([sys.executable, str(script)], check=True, timeout=HANGS)


@pytest.mark.parametrize(
    "options, message",
    [
        (["--nproc-per-node", "gpu", "x.py"], "on the CPU"),
        (["--nproc-per-node", "1:4", "x.py"], "have to be numbers"),
        (["--nnodes", "2", "x.py"], "name the machines"),
        (["--max-restarts", "3", "x.py"], "start it again from its checkpoint"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, message, capsys):
    with pytest.raises(SystemExit):
        run.parse(options)
    assert message in capsys.readouterr().err


def test_command_lines():
    options = run.parse(
        ["--nproc-per-node", "4", "--nnodes=2", "--hosts=a,b", "-m", "x", "--y", "3"]
    )
    line, _ = run.command(options, "mpiexec", open_mpi=True)
    assert line[:3] == ["mpiexec", "-n", "8"] and "a:4,b:4" in line
    assert line[-4:] == ["-m", "x", "--y", "3"]
    line, _ = run.command(options, "mpiexec", open_mpi=False)
    assert line[:7] == ["mpiexec", "-n", "8", "-ppn", "4", "-hosts", "a,b"]


def test_the_example_survives_being_killed(tmp_path):
    """Killed in the midst of an epoch and started again, it ends with the bits of a whole run."""
    outcomes = []
    example = str(ROOT / "examples" / "digits_parallel.py")
    for kills in (0, 2):
        folder = tmp_path / str(kills)
        folder.mkdir()
        line = [*LAUNCHER, "2", example, "--epochs", "6"]
        for _ in range(kills):
            process = start(folder, line, start_new_session=True)
            checkpoint, end = folder / "digits_parallel.pt", time.monotonic() + HANGS
            before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
            while not checkpoint.exists() or checkpoint.stat().st_mtime_ns == before:
                assert process.poll() is None and time.monotonic() < end, process.stderr.read()
                time.sleep(0.01)
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        process = start(folder, line)
        out, error = process.communicate(timeout=HANGS)
        assert process.returncode == 0, error
        assert not kills or "going on from" in out
        assert (folder / "digits_parallel.png").stat().st_size > 10_000
        outcomes.append(re.search(r"training loss (\S+)", out)[1])
    assert outcomes[0] == outcomes[1]
