"""Work on several streams: gradients, memory that another stream uses, and steps of optimizers.

On the libcuda of Python (``tests/cuda_library.py``) a stream runs when somebody waits for it, and
memory that was given back is overwritten: what does not wait for what it has to is seen there.
"""

from __future__ import annotations

import gc
import threading

import pytest

import numbagrad as torch


def test_backward_runs_on_the_stream_of_its_root():
    """As in torch, whose nodes run on the streams of their forward; nobody waits in between."""
    x = torch.ones(3, device="cuda", requires_grad=True)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        loss = (x * 3).sigmoid().sum()
    loss.backward()
    assert x.grad.tolist() == pytest.approx([3 * 0.9525741 * 0.0474259] * 3, rel=1e-5)
    with torch.cuda.stream(stream):
        loss = (x * 2).exp().sum()
    (grad,) = torch.autograd.grad(loss, x)
    assert torch.cuda.current_stream() == torch.cuda.default_stream()
    assert grad.tolist() == pytest.approx([14.7781122] * 3, rel=1e-5)


def test_gradients_that_follow_wait_for_those_before():
    """What is queued behind a backward on the current stream reads the gradients."""
    x = torch.ones(3, device="cuda", requires_grad=True)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        loss = x.exp().sum()
    loss.backward(torch.tensor(2.0, device="cuda"))
    doubled = x.grad * 2
    assert doubled.tolist() == pytest.approx([4 * 2.7182818] * 3, rel=1e-6)


def test_memory_waits_for_streams_that_were_recorded():
    x = torch.ones(500, device="cuda")
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        y = x * 2
    x.record_stream(stream)
    x[::2].record_stream(torch.cuda.default_stream())
    del x
    gc.collect()
    torch.cuda.default_stream().synchronize()  # gives the memory back
    with torch.cuda.stream(stream):
        assert y.tolist() == [2.0] * 500
    with pytest.raises(NotImplementedError, match="aten::record_stream"):
        torch.ones(2).record_stream(stream)


def test_steps_of_optimizers_on_two_streams():
    parameters = [torch.nn.Parameter(torch.ones(20, device="cuda")) for _ in range(3)]
    optimizer = torch.optim.SGD(parameters, 0.5)
    for p in parameters:
        p.grad = torch.ones_like(p)
    streams = [torch.cuda.Stream() for _ in range(2)]
    before = torch.cuda.current_stream()
    for stream in streams:
        stream.wait_stream(before)
        with torch.cuda.stream(stream):
            optimizer.step()
        before = stream
    torch.cuda.current_stream().wait_stream(before)
    assert all([p.tolist() == [0.0] * 20 for p in parameters])


def test_a_thread_that_has_done_nothing_else_waits_for_events():
    """A thread has no context of CUDA's until it is given one."""
    events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
    for event in events:
        event.record()
    found = []

    def wait():
        events[1].query()
        events[1].synchronize()
        found.append(events[0].elapsed_time(events[1]))

    thread = threading.Thread(target=wait)
    thread.start()
    thread.join()
    assert found[0] >= 0
