"""Ctrl-C at random moments: programs that catch it and go on end with the right numbers.

By hand, ``tests/interrupted_programs.py 150`` has every program interrupted so often and prints
counts; ``test_interrupts.py`` interrupts at every instruction of Python instead. A helper process
sends the signals, so that they come between any two instructions and inside of compiled code. A
program that was interrupted in a step does what ``docs/design.md`` says: it goes on where the
optimizer's count of steps says that it is, or from the state it had before the step.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

#: Seconds after which a process hangs.
PATIENCE = 300
#: What the helper process runs: it reads seconds, waits so long, and interrupts its parent.
HELPER = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
parent = os.getppid()
for line in sys.stdin:
    time.sleep(float(line))
    os.kill(parent, signal.SIGINT)
"""


class Helper:
    """A process that interrupts this one."""

    def __init__(self) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self.process = subprocess.Popen(
            [sys.executable, "-c", HELPER], stdin=subprocess.PIPE, bufsize=0,
            start_new_session=True,
        )  # fmt: skip

    def interrupt_in(self, seconds: float) -> None:
        """Have a signal come so much later."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{seconds}\n".encode())

    def during(self, seconds: float, run: Callable[[], Any]) -> None:
        """Run something in which a signal comes, or right after it."""
        came = False
        try:
            self.interrupt_in(seconds)
            run()
        except KeyboardInterrupt:
            came = True
        while not came:
            try:
                time.sleep(1)
            except KeyboardInterrupt:
                came = True

    def stop(self) -> None:
        """No more signals come."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def training(kind: str) -> tuple[Callable[[], Any], Callable[[], Any], Any]:
    """A step of training, the state that it writes, and the optimizer."""
    import numbagrad as torch
    from numbagrad import nn, optim

    torch.manual_seed(0)
    wide = 400 if "wide" in kind else 8
    rate = 0.5 if "dropout" in kind else 0.0
    net = nn.Sequential(nn.Linear(4, wide), nn.Dropout(rate), nn.Tanh(), nn.Linear(wide, 1))
    optimizer = optim.Adam(net.parameters(), lr=0.01)
    x = torch.arange(8.0 * wide).reshape(-1, 4) / wide

    def step() -> Any:
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    def state() -> Any:
        moments = [x for each in optimizer.state.values() for x in each.values()]
        tensors = [*net.parameters(), *moments, torch.get_rng_state()]
        return [x.detach().clone() for x in tensors]

    step_in_use = torch.compile(step) if "compiled" in kind else step
    for _ in range(8):
        step_in_use()
    return step_in_use, state, optimizer


def steps_done(optimizer: Any) -> list[int]:
    """How many steps each parameter has seen."""
    return [int(each["step"]) for each in optimizer.state.values()]


def whole_steps(kind: str, count: int) -> dict[str, int]:
    """A compiled step is done or has not begun: the program goes on, and repeats what was not."""
    import numbagrad as torch

    step, state, optimizer = training(kind)
    expected = [state()]
    start = time.perf_counter()
    total = 100
    for _ in range(total):
        step()
        expected.append(state())
    each = (time.perf_counter() - start) / total
    step, state, optimizer = training(kind)
    first = steps_done(optimizer)[0]
    helper = Helper()
    found = {"interrupted": 0, "done": 0, "not begun": 0, "wrong": 0}
    generator = random.Random(1)
    begin = state()
    while found["interrupted"] < count:
        with torch.no_grad():
            for tensor, value in zip(_tensors(optimizer), begin, strict=False):
                tensor.copy_(value)
        torch.set_rng_state(begin[-1])
        begun = [0]

        def run(step: Any = step, optimizer: Any = optimizer, begun: list[int] = begun) -> None:
            for _ in range(total):
                begun[0] = steps_done(optimizer)[0] - first
                step()

        helper.during(generator.uniform(0, total * each / 2), run)
        now = set(steps_done(optimizer))
        at = now.pop() - first
        found["interrupted"] += 1
        found["done" if at > begun[0] else "not begun"] += 1
        if now or not _equal(state(), expected[at]):
            found["wrong"] += 1
            continue
        for k in range(at, min(at + 3, total)):
            step()
            if not _equal(state(), expected[k + 1]):
                found["wrong"] += 1
                break
    helper.stop()
    return found


def _tensors(optimizer: Any) -> list[Any]:
    weights = [x for group in optimizer.param_groups for x in group["params"]]
    return [*weights, *[x for each in optimizer.state.values() for x in each.values()]]


def _equal(found: list[Any], expected: list[Any]) -> bool:
    return all([a.equal(b) for a, b in zip(found, expected, strict=True)])


def repeated_steps(kind: str, count: int) -> dict[str, int]:
    """A step that is not compiled, or is recorded, is repeated from the state before it."""
    import numbagrad as torch

    step, state, optimizer = training(kind)
    step()
    expected = state()
    helper = Helper()
    found = {"interrupted": 0, "wrong": 0}
    generator = random.Random(2)
    step, state, optimizer = training(kind)
    begin = state()
    start = time.perf_counter()
    for _ in range(20):
        step()
    each = (time.perf_counter() - start) / 20

    def restart() -> None:
        with torch.no_grad():
            for tensor, value in zip(_tensors(optimizer), begin, strict=False):
                tensor.copy_(value)
        torch.set_rng_state(begin[-1])

    while found["interrupted"] < count:
        restart()
        helper.during(generator.uniform(0, 3 * each), lambda: [step() for _ in range(10)])
        found["interrupted"] += 1
        restart()
        step()
        found["wrong"] += not _equal(state(), expected)
    helper.stop()
    return found


def recordings(count: int) -> dict[str, int]:
    """Calls that record, and compile kernels from the cache, are interrupted; later ones work."""
    import numbagrad as torch

    helper = Helper()
    generator = random.Random(3)
    found = {"interrupted": 0, "wrong": 0}
    x = torch.linspace(0.1, 1.0, 12).requires_grad_()
    weight = torch.ones(12, requires_grad=True)

    def step() -> Any:
        loss = ((x * weight).tanh() * x.exp()).sum()
        return torch.autograd.grad(loss, (x, weight))

    expected = torch.compile(step)()
    while found["interrupted"] < count:
        compiled = torch.compile(step)
        helper.during(
            generator.uniform(0, 0.1),
            lambda compiled=compiled: [compiled() for _ in range(6)],  # type: ignore[misc]
        )
        found["interrupted"] += 1
        for _ in range(5):
            close = [bool(torch.allclose(a, b)) for a, b in zip(compiled(), expected, strict=True)]
        found["wrong"] += not all(close)
    helper.stop()
    return found


#: What is compiled in an empty folder: chains of these, each of which is a kernel of its own.
FUNCTIONS = ("sin", "cos", "tanh", "exp", "arctan", "sqrt", "abs", "square", "expm1", "log1p")
LENGTH = 4


def emptied_folder(count: int) -> dict[str, int]:
    """Kernels are compiled and stored in a folder that was emptied; it never holds half of one.

    The compiler is there already, so that this takes a hundredth of a process with an empty cache.
    """
    import numpy as np

    import numbagrad as torch
    from numbagrad.executor.cache import library

    helper = Helper()
    generator = random.Random(5)
    found = {"interrupted": 0, "before": 0, "wrong": 0, "entries": 0}
    x = torch.linspace(0.1, 0.9, 12)
    spent = 0.0
    with tempfile.TemporaryDirectory() as folder:
        library.cache().directory = pathlib.Path(folder)
        for number in range(-3, count):  # the first ones import the compiler
            names = generator.sample(FUNCTIONS, LENGTH)
            expected = x.numpy().astype(float)
            for name in names:
                expected = getattr(np, name)(expected)
            compiled = torch.compile(_chain(names))
            if number < 0:
                start = time.perf_counter()
                compiled()
                compiled()
                spent = time.perf_counter() - start
                continue
            done: list[Any] = []
            helper.during(
                generator.uniform(0, spent / 2),
                lambda compiled=compiled, done=done: [  # type: ignore[misc]
                    done.append(compiled()) for _ in range(2)
                ],
            )
            found["before" if len(done) == 2 else "interrupted"] += 1
            for _ in range(3):
                result = compiled().numpy()
                found["wrong"] += not np.allclose(result, expected, rtol=1e-4)
            for path in pathlib.Path(folder).iterdir():
                whole = path.suffix == ".py" or library.cache().read(path.stem) is not None
                found["wrong"] += not whole
                found["entries"] += 1
                path.unlink()
    helper.stop()
    return found


def _chain(names: list[str]) -> Callable[[], Any]:
    import numbagrad as torch

    x = torch.linspace(0.1, 0.9, 12)

    def step() -> Any:
        y = x
        for name in names:
            y = getattr(torch, name)(y)
        return y

    return step


def in_children(count: int, cold: bool) -> dict[str, int]:
    """First computations, with a kernel cache or an empty one, each in a process of its own.

    What is interrupted are imports of llvmlite and, with an empty cache, Numba and the compiler.
    """
    import numbagrad as torch

    found = {"interrupted": 0, "before": 0, "wrong": 0}
    generator = random.Random(4)
    expected = _first_numbers(torch) if not cold else None
    for _ in range(count):
        seconds = generator.uniform(0, 6.0 if cold else 0.4)
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ}
            if cold:
                environment["NUMBAGRAD_CACHE_DIR"] = folder
            done = subprocess.run(
                [sys.executable, __file__, "--child", str(seconds)], env=environment,
                capture_output=True, text=True, timeout=PATIENCE,
            )  # fmt: skip
            words = done.stdout.split("\n", 1)
            if done.returncode or done.stderr or len(words) != 2:
                found["wrong"] += 1
                print(done.returncode, done.stdout, done.stderr, file=sys.stderr)
                continue
            found["interrupted" if words[0] == "interrupted" else "before"] += 1
            expected = words[1] if expected is None else expected
            if words[1].strip() != str(expected).strip():
                found["wrong"] += 1
                print("numbers", words[1], expected, file=sys.stderr)
    return found


def _first_numbers(torch: Any) -> str:
    x = torch.linspace(0.1, 1.0, 12).requires_grad_()
    (x.exp() * x).sum().backward()
    return str([*x.grad.tolist(), (x @ x).item()])


def child(seconds: float) -> None:
    """The first computation of a process, interrupted, and done again."""
    import numbagrad as torch

    faulthandler.dump_traceback_later(PATIENCE / 2, exit=True)
    helper = Helper()
    word = "before"
    try:
        helper.interrupt_in(seconds)
        numbers = _first_numbers(torch)
        time.sleep(0)
    except KeyboardInterrupt:
        word = "interrupted"
    else:
        with contextlib.suppress(KeyboardInterrupt):
            time.sleep(PATIENCE)
    helper.stop()
    numbers = _first_numbers(torch)
    print(word)
    print(numbers)


def main(count: int, only: list[str]) -> int:
    """Run all programs; the exit code is 1 if something is wrong."""
    faulthandler.enable()
    wrong = 0
    programs: dict[str, Callable[[], dict[str, int]]] = {
        "compiled": lambda: whole_steps("compiled", count),
        "compiled dropout": lambda: whole_steps("compiled dropout", count),
        "compiled wide": lambda: whole_steps("compiled wide", count),
        "eager": lambda: repeated_steps("eager", count),
        "eager dropout": lambda: repeated_steps("eager dropout", count),
        "recordings": lambda: recordings(count),
        "emptied folder": lambda: emptied_folder(count),
        "imports": lambda: in_children(count, cold=False),
        "empty cache": lambda: in_children(count, cold=True),
    }
    for name, run in programs.items():
        if only and name not in only:
            continue
        start = time.perf_counter()
        found = run()
        wrong += found["wrong"]
        print(f"{name}: {found}, {time.perf_counter() - start:.0f} s", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        sys.exit(child(float(sys.argv[2])))
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
