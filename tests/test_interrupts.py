"""Ctrl-C while Numba or llvmlite is imported or compiles: that is finished, then it is raised."""

import contextlib
import itertools
import os
import pathlib
import signal
import subprocess
import sys
import threading

import pytest

import numbagrad as ng
from numbagrad import nn, optim
from numbagrad.codegen import loader
from numbagrad.interrupts import uninterrupted
from numbagrad.program.program import Program


@pytest.fixture(autouse=True)
def _interrupts_raise():
    """Also in a process that was started to ignore them, as shells start jobs behind."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


#: Interrupts itself at an import of Numba's or llvmlite's, compiles, and says what happened.
PROGRAM = """
import signal, sys
import numbagrad
from numbagrad.executor.cache import library

SOURCE = '''from numbagrad.codegen.intrinsics import *


def kernel(args, lo, hi):
    store(args, 0, 42, int64)
'''
place, seen = int(sys.argv[1]), 0
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells start jobs that ignore it


def hear(event, arguments):
    global seen
    if event == "import" and arguments[0].split(".")[0] in ("numba", "llvmlite"):
        seen += 1
        if seen == place:
            signal.raise_signal(signal.SIGINT)


assert "numba" not in sys.modules and "llvmlite" not in sys.modules
sys.addaudithook(hear)
try:
    library.generated("answer", SOURCE)
except KeyboardInterrupt:
    restored = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    # Importing llvmlite comes first and is one thing, importing Numba and compiling another.
    print("interrupted", restored, library.stats().compiled == ("numba" in sys.modules))
assert library.generated("answer", SOURCE)
from numba import njit
assert njit(lambda x: x + 1)(1) == 2
print("works", seen)
"""


def run(cache, *arguments):
    """What another process of this package prints, with kernels of its own."""
    done = subprocess.run(
        [sys.executable, *arguments],
        env={
            **os.environ,
            "NUMBAGRAD_CACHE_DIR": str(cache),
            "PYTHONPATH": str(pathlib.Path(ng.__file__).parents[1]),
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("position", [1, 2, 30, 100, 200, 10**6])
def test_an_interrupted_import_is_finished(position, tmp_path):
    *interrupted, works = run(tmp_path, "-c", PROGRAM, str(position)).splitlines()
    assert interrupted == ([] if position == 10**6 else ["interrupted True True"])
    assert works.startswith("works") and int(works.split()[1]) > 200


@pytest.mark.parametrize(
    "where", ["files", *(f"package {i}" for i in range(33_000, 103_000, 23_000))]
)
def test_an_import_of_this_package_that_was_interrupted_begins_anew(where, tmp_path):
    program = pathlib.Path(__file__).with_name("interrupted_imports.py")
    run(tmp_path, program, *where.split())


def test_a_kernel_is_loaded_whole(monkeypatch):
    """llvmlite's lock would stay held, and what it frees would lose the interrupt."""
    done = []

    def loaded(data, symbol):
        signal.raise_signal(signal.SIGINT)
        done.append(symbol)
        return 1

    monkeypatch.setattr(loader, "_loaded", loaded)
    with pytest.raises(KeyboardInterrupt):
        loader.load(b"", "symbol")
    assert done == ["symbol"]


@pytest.fixture
def handler():
    """A handler of the program's, which notes its calls."""
    calls = []

    def note(number, frame):
        calls.append(number)

    note.calls = calls
    before = signal.signal(signal.SIGINT, note)
    yield note
    signal.signal(signal.SIGINT, before)


def test_the_handler_of_the_program_is_called_afterwards(handler):
    with uninterrupted():
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        assert handler.calls == []
    assert handler.calls == [signal.SIGINT] * 2
    assert signal.getsignal(signal.SIGINT) is handler
    with uninterrupted():
        pass
    assert len(handler.calls) == 2


def test_an_interrupt_is_raised_even_after_an_error():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt) as raised:
            with uninterrupted():
                signal.raise_signal(signal.SIGINT)
                raise ValueError("broken")
        assert isinstance(raised.value.__context__, ValueError)
        with pytest.raises(ValueError, match="broken"):
            with uninterrupted():
                raise ValueError("broken")
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("action", [signal.SIG_IGN, signal.SIG_DFL])
def test_other_actions_stay_in_place(action):
    before = signal.signal(signal.SIGINT, action)
    try:
        with uninterrupted():
            assert signal.getsignal(signal.SIGINT) == action
        assert signal.getsignal(signal.SIGINT) == action
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_handler_that_is_set_within_stays(handler):
    def other(number, frame):
        handler.calls.append("other")

    with uninterrupted():
        signal.raise_signal(signal.SIGINT)
        signal.signal(signal.SIGINT, other)
    assert signal.getsignal(signal.SIGINT) is other and handler.calls == [signal.SIGINT]


def test_other_threads_change_nothing(handler):
    found = []

    def work():
        with uninterrupted():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [handler]


#: Steps that draw from a generator; steps whose writes autograd is not told of.
KINDS = ["plain", "dropout", "hidden"]


def _training(kind):
    """A compiled step of training on a batch, and what returns the tensors that it writes."""
    ng.manual_seed(0)
    probability = 0.5 if kind == "dropout" else 0.0
    net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(probability), nn.Linear(8, 1))
    optimizer = optim.Adam(net.parameters(), lr=0.01)
    hiding = contextlib.nullcontext()
    if kind == "hidden":
        for parameter in net.parameters():
            parameter.grad = ng.zeros_like(parameter)
        optimizer.step()
        moments = [x for state in optimizer.state.values() for x in state.values()]
        hiding = ng.autograd._unsafe_preserve_version_counter((*net.parameters(), *moments))

    @ng.compile
    def step(x):
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        with hiding:
            optimizer.step()
        return loss

    def tensors():
        kept = [entry for each in optimizer.state.values() for entry in each.values()]
        return [*net.parameters(), *kept]

    return step, tensors


def _hides(step):
    """Whether the last program counts steps, and no writes."""
    recorded = [each for programs in step._programs.values() for each in programs][-1]
    return bool(recorded._counts) and not recorded._effects.versions


def _interrupt():
    signal.raise_signal(signal.SIGINT)


def _no_memory():
    raise MemoryError


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("when", [6, 12])
@pytest.mark.parametrize(
    "problem, error", [(_interrupt, KeyboardInterrupt), (_no_memory, MemoryError)]
)
def test_an_interrupted_compiled_step_is_whole(monkeypatch, kind, when, problem, error):
    """The interrupt comes when the numbers of the run are there, and nothing else is."""
    x = ng.arange(8.0).reshape(2, 4)

    def state():
        return [each.tolist() for each in (*tensors(), ng.get_rng_state())]

    step, tensors = _training(kind)
    expected = []
    for _ in range(16):
        step(x)
        expected.append(state())
    step, tensors = _training(kind)
    for _ in range(when):
        step(x)
    assert state() == expected[when - 1]
    draw, interrupts = Program.draw_numbers, [0]

    def interrupted(self, numbers=None):
        draw(self, numbers)
        interrupts[0] += 1
        problem()

    monkeypatch.setattr(Program, "draw_numbers", interrupted)
    # Where an operation of a program may raise, the function is called instead of it.
    calls_function = kind == "dropout" and error is MemoryError
    with contextlib.nullcontext() if calls_function else pytest.raises(error):
        step(x)
    monkeypatch.undo()
    assert interrupts == [1]
    done = state() == expected[when]
    assert done or not calls_function
    assert done or state() == expected[when - 1]
    for k in range(when + done, 16):
        step(x)
        assert state() == expected[k]


class AtInstruction:
    """A trace that interrupts before instruction ``number`` of Python, counted from 0.

    CPython 3.12 and later prepare a function for events of instructions when it is first traced,
    and report none of that call: what is to be interrupted runs under ``NOWHERE`` before.
    """

    NOWHERE = -1

    def __init__(self, number):
        self.number, self.left = number, number

    def __call__(self, frame, event, argument):
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            self.left -= 1
            if self.left == -1:
                signal.raise_signal(signal.SIGINT)
        return self

    def run(self, function, *arguments):
        """Whether the function was interrupted."""
        sys.settrace(self)
        try:
            function(*arguments)
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(None)
        return False


@pytest.mark.parametrize("kind", KINDS)
def test_a_compiled_step_is_done_or_has_not_begun_wherever_it_is_interrupted(kind):
    x = ng.arange(8.0).reshape(2, 4)
    step, tensors = _training(kind)
    for _ in range(8):
        step(x)
    assert _hides(step) == (kind == "hidden")
    start, generator = [each.clone() for each in tensors()], ng.get_rng_state()

    def restart():
        ng.set_rng_state(generator)
        with ng.no_grad():
            for each, value in zip(tensors(), start, strict=True):
                each.copy_(value)

    def state():
        return [each.tolist() for each in (*tensors(), ng.get_rng_state())]

    restart()
    before = state()
    assert not AtInstruction(AtInstruction.NOWHERE).run(step, x)
    after = state()
    found = set()
    for number in itertools.count():
        restart()
        interrupted = AtInstruction(number).run(step, x)
        now = state()
        assert now in (before, after), number
        found.add((interrupted, now == after))
        if not interrupted:
            break
    assert found == {(True, False), (True, True), (False, True)}
