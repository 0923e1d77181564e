"""Tensors that several processes see: ``share_memory_``, and what ``multiprocessing`` sends."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

import numbagrad as ng
from numbagrad.shared_memory import block_of

PROGRAM = """
import sys
import torch
import torch.multiprocessing as mp


def work(rank, model, results, plain, view, queue, answers):
    assert torch.__version__.endswith("numbagrad") and isinstance(sys.argv[1:], list)
    assert sys.argv[1:] == ["argument"]
    assert model[0].weight is model[2].weight and model[0].weight.is_shared()
    assert isinstance(model[0].bias, torch.nn.Parameter) and model[0].bias.requires_grad
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += rank + 1
    results[rank] = 10.0 + rank
    plain[rank, 0] += 5
    view += 1
    received = queue.get()
    assert received.is_shared() and received.stride() == (1, 2)
    received[1, rank] = 7
    answers.put((rank, received[1].clone(), received))
    queue.get()  # stay until everything has been received


if __name__ == "__main__":
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 2))
    model[2].weight = model[0].weight
    model.share_memory()
    before = [p.clone() for p in model.parameters()]
    shared, results, plain = torch.zeros(3, 2).share_memory_().t(), torch.zeros(2), torch.ones(2, 3)
    whole = torch.zeros(4)
    results.share_memory_()
    context = mp.get_context(sys.argv[1] if len(sys.argv) > 2 else "spawn")
    sys.argv[1:] = ["argument"]
    queues, answers = [context.Queue() for _ in range(2)], context.Queue()
    processes = [
        context.Process(target=work, args=(i, model, results, plain, whole[1:], queues[i], answers))
        for i in range(2)
    ]
    for process, queue in zip(processes, queues):
        process.start()
        queue.put(shared)
    for _ in processes:
        rank, row, received = answers.get()
        assert row[rank].item() == 7
        assert received.data_ptr() == shared.data_ptr()  # mapped once
    for queue in queues:
        queue.put(None)
    for process in processes:
        process.join()
        assert process.exitcode == 0
    assert all(torch.allclose(p, b + 3) for p, b in zip(model.parameters(), before))
    assert results.tolist() == [10.0, 11.0] and shared[1, :2].tolist() == [7.0, 7.0]
    assert plain.is_shared() == (context.get_start_method() == "spawn")
    assert plain.tolist() == [[6.0 if plain.is_shared() else 1.0, 1.0, 1.0]] * 2
    assert whole.tolist() == [0.0] * 4  # whose views cannot follow it
    print("done")
"""


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_processes_share_memory(tmp_path, method):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    arguments = [] if method == "spawn" else ["fork", "more"]
    command = [sys.executable, "-m", "numbagrad", str(script), *arguments]
    made = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert made.returncode == 0 and made.stdout == "done\n", made.stdout + made.stderr
    assert ("torch shares it" in made.stderr) == (method == "spawn")


def test_the_tensor_stays_itself():
    x = ng.arange(6.0).reshape(2, 3).clone().requires_grad_()
    assert not x.is_shared() and not x.untyped_storage().is_shared()
    assert x.share_memory_() is x and x.is_shared() and x.share_memory_() is x
    assert x.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]] and x.requires_grad and x.is_leaf
    (x * x).sum().backward()
    assert x.grad.tolist() == (2 * x).tolist() and not x.grad.is_shared()
    assert x[0].is_shared() and x.detach().untyped_storage().is_shared() and not (x + 1).is_shared()
    y = ng.ones(2, 3, dtype=ng.bfloat16).t().contiguous().share_memory_()
    assert y.tolist() == [[1.0, 1.0]] * 3 and y.dtype is ng.bfloat16
    assert ng.ones(0, 2).share_memory_().shape == (0, 2)
    copy = pickle.loads(pickle.dumps(x))
    assert not copy.is_shared() and copy.tolist() == x.tolist()


def test_memory_that_something_else_uses_is_not_left_behind():
    x, array = ng.zeros(3), np.zeros(3)
    users = [lambda: x[1:], lambda: x.detach(), lambda: x.numpy()]
    for user in users:
        made = user()
        with pytest.raises(RuntimeError, match="another tensor or array uses the memory"):
            x.share_memory_()
        del made
    with pytest.raises(RuntimeError, match="another tensor or array uses the memory"):
        ng.from_numpy(array).share_memory_()
    assert x.share_memory_().is_shared()
    with pytest.raises(RuntimeError, match="not inside of vmap"):
        ng.vmap(lambda t: t.share_memory_())(ng.zeros(2, 2))


def test_modules_and_optimizers():
    net = ng.nn.Sequential(ng.nn.Conv2d(1, 2, 3), ng.nn.BatchNorm2d(2), ng.nn.LSTM(3, 4, 2))
    optimizer = ng.optim.SGD(net.parameters(), 0.1, momentum=0.9)
    assert net.share_memory() is net
    assert all(x.is_shared() for x in (*net.parameters(), *net.buffers()))
    blocks = [block_of(x._array) for x in net.parameters()]
    net[:2](ng.ones(1, 1, 4, 4)).sum().backward()
    optimizer.step()
    assert blocks == [block_of(x._array) for x in net.parameters()]
    other = ng.optim.Adagrad([ng.ones(2, requires_grad=True)])
    other.share_memory()
    assert all(state["sum"].is_shared() for state in other.state.values())


def test_memory_is_given_back():
    import gc
    import os

    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        ng.ones(1000).share_memory_()
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before + 1
