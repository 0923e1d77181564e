"""Tools at torch's paths that measure, load and start things, for which torch is no oracle."""

import os
import subprocess
import sys

import numpy as np
import pytest

import numbagrad as torch


def test_profile_lists_launches_and_marked_blocks(tmp_path):
    from numbagrad.profiler import ProfilerActivity, profile, record_function

    with profile(activities=[ProfilerActivity.CPU]) as found:
        with record_function("block"):
            (torch.ones(40, 40) @ torch.ones(40, 40)).sum()
    rows = {row.key: row for row in found.key_averages()}
    assert rows["block"].count == 1 and {"matmul", "sum"} <= set(rows)
    assert rows["block"].self_cpu_time_total < rows["block"].cpu_time_total
    assert "block" in found.key_averages().table(sort_by="cpu_time_total", row_limit=3)
    found.export_chrome_trace(str(tmp_path / "trace.json"))
    assert "block" in (tmp_path / "trace.json").read_text()


def test_a_schedule_says_which_steps_are_profiled():
    from numbagrad.profiler import profile, record_function, schedule

    ready = []
    plan = schedule(wait=1, warmup=1, active=2, repeat=1)
    with profile(schedule=plan, on_trace_ready=ready.append) as found:
        for step in range(6):
            with record_function(f"step {step}"):
                torch.ones(2).sum()
            if step < 4:
                found.step()
    assert ready == [found]
    keys = {row.key for row in found.key_averages()}
    assert {"step 2", "step 3"} <= keys and not {"step 1", "step 4"} & keys


def test_the_old_profiler():
    with torch.autograd.profiler.profile() as found:
        torch.ones(3).exp()
    assert "exp" in str(found.key_averages()) and found.self_cpu_time_total > 0


def test_benchmarks():
    from numbagrad.utils.benchmark import Compare, Timer

    timer = Timer("x + x", globals={"x": torch.ones(3)}, label="sum", description="ones")
    measured = timer.blocked_autorange(min_run_time=0.01)
    assert 0 < measured.median < 0.1 and "Median" in repr(measured)
    assert timer.timeit(10).number_per_run == 10
    assert "ones" in str(Compare([measured, measured])) and "sum" in str(Compare([measured]))
    with pytest.raises(NotImplementedError):
        timer.collect_callgrind()


def test_scripts_are_the_functions_themselves():
    @torch.jit.script
    def twice(x):
        return 2 * x

    assert twice(3) == 6 and not torch.jit.is_scripting()
    layer = torch.nn.Linear(2, 2)
    assert torch.jit.trace(layer, torch.ones(1, 2)) is layer
    with pytest.raises(RuntimeError, match="eval mode"):
        torch.jit.freeze(layer)
    assert torch.jit.freeze(layer.eval()) is layer

    class Net(torch.jit.ScriptModule):
        @torch.jit.script_method
        def forward(self, x):
            return torch.jit.annotate(int, x)

    assert Net()(5) == 5


def test_hub_loads_from_a_folder(tmp_path):
    (tmp_path / "helper.py").write_text("number = 3\n")
    (tmp_path / "hubconf.py").write_text(
        "from helper import number\ndef model(more=0):\n    'A model.'\n    return number + more\n"
    )
    assert torch.hub.load(str(tmp_path), "model", source="local", more=2) == 5
    assert torch.hub.list(str(tmp_path)) == ["model"]
    assert torch.hub.help(str(tmp_path), "model") == "A model."
    assert str(tmp_path) not in sys.path
    with pytest.raises(RuntimeError, match="Cannot find callable other"):
        torch.hub.load(str(tmp_path), "other", source="local")


PROCESSES = """
import os, signal, sys
import numbagrad as torch
from numbagrad.multiprocessing.spawn import ProcessException

def write(index, folder):
    open(os.path.join(folder, str(index)), "w").close()

def fail(index):
    raise ValueError("the reason")

def interrupted(index):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
    signal.raise_signal(signal.SIGINT)

start = torch.multiprocessing.start_processes
start(write, (sys.argv[1],), nprocs=2, start_method="fork")
context = start(write, (sys.argv[1],), nprocs=2, start_method="fork", join=False)
for process in context.processes:
    process.join()
assert context.join()  # of processes that have all ended
for function, count in ((fail, 1), (os._exit, 2), (interrupted, 1)):
    try:
        start(function, nprocs=count, start_method="fork")
    except ProcessException as error:
        print(type(error).__name__, "the reason" in str(error), "exit code 1" in str(error))
        print(getattr(error, "signal_name", None))
"""


def test_processes(tmp_path):
    command = [sys.executable, "-c", PROCESSES, str(tmp_path)]  # pytest's workers must not fork
    found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=200)
    assert sorted(os.listdir(tmp_path)) == ["0", "1"]
    raised, _, exited, _, _, interrupted = found.stdout.splitlines()
    assert raised.startswith("ProcessRaisedException True")
    assert exited == "ProcessExitedException False True"
    assert interrupted == "SIGINT"  # it has not succeeded


def test_futures():
    future = torch.futures.Future()
    doubled = future.then(lambda done: 2 * done.value())
    failed = future.then(lambda done: 1 / 0)
    assert not doubled.done()
    future.set_result(4)
    assert doubled.wait() == 8 and torch.futures.wait_all([future, doubled]) == [4, 8]
    assert torch.futures.collect_all([future]).wait() == [future]
    with pytest.raises(ZeroDivisionError):
        failed.wait()
    with pytest.raises(RuntimeError, match="only be marked completed once"):
        future.set_result(1)


def test_memory_is_shared_by_dlpack():
    from numbagrad.utils.dlpack import from_dlpack, to_dlpack

    x = torch.arange(6.0).reshape(2, 3)
    from_dlpack(to_dlpack(x.T))[0, 1] = 9
    assert x[1, 0] == 9
    array = np.ones(3)
    torch.from_dlpack(array)[0] = 5
    assert array[0] == 5
    assert torch.utils.dlpack.from_dlpack(array, copy=True).data_ptr() != array.ctypes.data


def test_tensors_as_keys():
    from numbagrad.utils.weak import WeakIdKeyDictionary

    table = WeakIdKeyDictionary()
    x, y = torch.ones(2), torch.ones(2)
    table[x], table[y] = 1, 2
    assert table[x] == 1 and table[y] == 2 and len(table) == 2
    del y
    assert len(table) == 1 and x in table


def test_functions_that_are_not_compiled():
    @torch.compiler.disable
    def apart(x):
        assert not torch.compiler.is_compiling()
        return x + 1

    @torch.compile
    def step(x):
        return apart(x * 2) * 3

    for _ in range(4):
        assert step(torch.ones(2)).tolist() == [9.0, 9.0]


def test_synchronized_batch_norm_is_batch_norm_in_one_process():
    net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2))
    x = torch.randn(3, 1, 5, 5)
    expected = net(x)
    made = torch.nn.SyncBatchNorm.convert_sync_batchnorm(net)
    assert isinstance(made[1], torch.nn.SyncBatchNorm)
    assert torch.allclose(made(x), expected)


def test_wrapped_models_keep_their_names():
    from numbagrad.nn.modules.utils import _pair, consume_prefix_in_state_dict_if_present

    wrapped = torch.nn.parallel.DataParallel(torch.nn.Linear(2, 2))
    state = wrapped.state_dict()
    consume_prefix_in_state_dict_if_present(state, "module.")
    torch.nn.Linear(2, 2).load_state_dict(state)
    assert _pair(3) == (3, 3) and _pair((1, 2)) == (1, 2)
