"""compile(): where no words in the heads of objects are found, Python compares at every call."""

from __future__ import annotations

import gc
import threading
import time
import warnings

import pytest
from compile_checks import assert_compiled

import numbagrad as torch
from numbagrad.compiling import call_events, walk
from numbagrad.executor import capture
from numbagrad.executor.mode import NATIVE


class Rate:
    value = 2.0

    def read(self):
        return self.value


class Doubled(Rate):
    def read(self):
        return 2 * self.value


def helper():
    return 2.0


def other_helper():
    return 5.0


def _class(rate):
    rate.__class__ = Doubled


def _dictionary(rate):
    rate.__dict__ = {"value": 7.0}


def _attribute(rate):
    rate.value = 3.0


@pytest.mark.parametrize("change", [_class, _dictionary, _attribute])
@pytest.mark.parametrize("in_python", [False, True])
def test_an_object_changes(change, in_python, monkeypatch):
    if in_python:
        monkeypatch.setattr(walk, "words_for", lambda value, find: None)
    rate = Rate()

    @torch.compile
    def step(x):
        return x * rate.read()

    for _ in range(4):
        assert step(torch.ones(1)).item() == 2.0
    if in_python and NATIVE:
        ((recorded,),) = step._programs.values()
        assert recorded.reachable._rest  # what compiled code cannot look at
    change(rate)
    for _ in range(4):
        assert step(torch.ones(1)).item() == rate.read()


@pytest.mark.parametrize("in_python", [False, True])
def test_a_function_is_given_other_code(in_python, monkeypatch):
    if in_python:
        monkeypatch.setattr(walk, "words_for", lambda value, find: None)
    step = torch.compile(lambda x: x * helper())
    before = helper.__code__
    try:
        for _ in range(4):
            assert step(torch.ones(1)).item() == 2.0
        helper.__code__ = other_helper.__code__
        assert step(torch.ones(1)).item() == 5.0
    finally:
        helper.__code__ = before


def test_who_is_called_when_garbage_is_collected_is_no_part_of_the_call():
    """Tools that measure the collector read a clock, at any moment."""
    seen = []

    def measure(phase, info):
        seen.append(time.perf_counter())

    def step(x):
        for _ in range(3):
            x = (x @ x).relu() + 1
        return x.sum()

    compiled = torch.compile(step)
    before = gc.get_threshold()
    gc.callbacks.append(measure)
    gc.set_threshold(5)
    try:
        for _ in range(4):
            assert compiled(torch.eye(2)).item() == step(torch.eye(2)).item()
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(measure)
    assert seen
    assert_compiled(compiled)


def test_no_callback_of_the_collector_is_a_function_of_python():
    """Ctrl-C in one is lost, and with it, for the rest of the call, the end of the collection."""
    found = []

    def step(x):
        found.extend(gc.callbacks)
        return x.exp() + 1

    before = [*gc.callbacks]
    torch.compile(step)(torch.ones(2))
    assert gc.callbacks == before
    mine = [each for each in found if each not in before]
    assert mine and not [each for each in mine if hasattr(each, "__code__")]


def test_what_another_thread_collects_is_no_part_of_a_call():
    """The thread that is captured goes on meanwhile, and what it does counts."""
    began, goes_on = threading.Event(), threading.Event()

    class Garbage:
        def __del__(self):
            began.set()
            goes_on.wait()

    def collect():
        made = Garbage()
        made.itself = made
        del made
        gc.collect()

    thread = threading.Thread(target=collect)
    collections = call_events.Collections()
    collections.watch()
    try:
        assert not collections.run_here()
        thread.start()
        began.wait()
        assert not collections.run_here()
        goes_on.set()
        thread.join()
        ran = []
        gc.callbacks.insert(
            len(gc.callbacks) - 1, lambda *given: ran.append(collections.run_here())
        )
        gc.collect()
        del gc.callbacks[-2]
        assert ran == [True, True] and not collections.run_here()
    finally:
        collections.forget()


@pytest.mark.parametrize(
    "function",
    [
        lambda x, stop: (x.relu(), stop(), x.exp())[-1],
        lambda x, stop: (x.sum(), stop(), x.sum(0))[-1],
        lambda x, stop: (x @ x, stop(), x @ x)[-1],
        lambda x, stop: (x.softmax(0), stop(), x.softmax(0))[-1],
    ],
    ids=["pointwise", "reduce", "product", "rowwise"],
)
def test_a_recording_that_ends_between_two_steps_of_a_launch(function, monkeypatch):
    """A launcher leaves a call to the trace, which has given up when it is asked."""
    ends = []
    hand_over = capture.hand_over

    def ending(method, *arguments):
        if ends:
            ends.pop()
            capture.current_trace().fail("something")
        return hand_over(method, *arguments)

    monkeypatch.setattr(capture, "hand_over", ending)
    x = torch.eye(2)
    expected = function(x, lambda: None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = torch.compile(lambda x: function(x, lambda: ends.append(1)))
        found = compiled(x)
    assert (found == expected).all()
