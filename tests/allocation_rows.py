"""Allocations that fail in every operator, layer and optimizer: what goes through Python as well.

By hand ``tests/allocation_rows.py`` checks all calls, in processes of its own, and prints counts;
``tests/allocation_rows.py 40/3`` every 40th of them from the third on, and behind that the number
of allocations of each call that fail may be given. Each row of the operator table is called alone,
with its gradients, in place, compiled, under ``vmap`` and in forward mode. The n-th allocation of a
call fails, for every n (of long calls for some of them): MemoryError comes through, or the result
is right, and so is that of the next call. ``allocation_cases.py`` has the launchers one by one,
where nothing but a MemoryError will do, and counts what is lost: here CPython loses some itself, as
3.11 the items of a tuple that it has no memory for. CPython and NumPy also end processes: where
that happens in a function of theirs, it is counted apart.
"""

from __future__ import annotations

import faulthandler
import functools
import gc
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np
from allocation_faults import Faults, described, say
from operator_entry import Entry
from operator_table import ENTRIES
from test_compile_operators import inputs_of, step_of

import numbagrad as torch
from numbagrad.executor.cache import deferred
from numbagrad.nn import functional as F

#: Allocations of one call that fail, one at a time, unless the command says another number.
MOST = 100
#: Calls before: until everything is compiled, recorded and learnt.
WARM = 12
#: Seconds after which a call hangs.
PATIENCE = 120
#: What CPython says where a function in C of its own or of NumPy failed and lost the exception, and
#: what NumPy says if it has no memory for an index of one of its scalars.
LOST = (
    "without exception set", "without setting an exception", "NULL object passed",
    "invalid index to scalar variable",
)  # fmt: skip

Call = Callable[[], Any]


# --- calls of the rows of the table ---------------------------------------------------------------


def calls_of_row(entry: Entry) -> Iterator[tuple[str, Callable[[], Call]]]:
    """Ways to call a row, and what prepares each."""
    yield "alone", lambda: _prepared(entry, False, _plain)
    yield "in place", lambda: _prepared(entry, False, _plain, in_place=True)
    yield "compiled", lambda: _prepared(entry, False, torch.compile)
    yield "vmap", lambda: _batched(entry)
    if entry.differentiable and entry.admits("float64"):
        yield "gradients", lambda: _prepared(entry, True, _plain)
        yield "compiled gradients", lambda: _prepared(entry, True, torch.compile)
        yield "forward mode", lambda: _with_tangents(entry)


def _plain(function: Any) -> Any:
    return function


def _dtype_of(entry: Entry) -> str:
    return next(x for x in ("float32", "float64", "int64", "bool") if entry.admits(x))


def _prepared(
    entry: Entry, differentiate: bool, wrap: Callable[[Any], Any], in_place: bool = False
) -> Call:
    given = inputs_of(entry, _dtype_of(entry), 0, differentiate)
    step = wrap(step_of(entry, differentiate, in_place))
    return lambda: step(*given)


def _batched(entry: Entry) -> Call:
    made, *inputs = inputs_of(entry, _dtype_of(entry), 0, False)
    batches = [torch.stack([x, x]) for x in inputs]
    step = step_of(entry, False)
    mapped = torch.vmap(lambda *given: _tensors(step(made, *given)))
    return lambda: mapped(*batches)


def _tensors(found: Any) -> tuple[Any, ...]:
    return tuple([x for x in found if isinstance(x, torch.Tensor)])


def _with_tangents(entry: Entry) -> Call:
    made, *inputs = inputs_of(entry, "float64", 0, False)
    tangents = [torch.ones_like(x) for x in inputs]
    floats = [k for k, x in enumerate(inputs) if x.is_floating_point()]
    step = step_of(entry, False)

    def varied(*given: Any) -> Any:
        whole = list(inputs)
        for k, each in zip(floats, given, strict=True):
            whole[k] = each
        return _tensors(step(made, *whole))

    primals, along = tuple(inputs[k] for k in floats), tuple(tangents[k] for k in floats)
    return lambda: torch.func.jvp(varied, primals, along)


# --- layers, optimizers, and what users write -----------------------------------------------------


def _trained(module: Any, *inputs: Any, wrap: Callable[[Any], Any] = _plain) -> Call:
    """Forward and backward of a layer."""
    weights = list(module.parameters())

    def step() -> Any:
        found = module(*inputs)
        found = found[0] if isinstance(found, tuple) else found
        torch.autograd.grad((found * found).sum(), weights)
        return found.detach()

    return wrap(step)


def _optimized(kind: Any, **options: Any) -> Call:
    """Steps of an optimizer, each from the same beginning."""
    weights = [torch.ones(4, 4, requires_grad=True), torch.ones(3, requires_grad=True)]
    optimizer = kind(weights, **options)

    def step() -> Any:
        with torch.no_grad():
            for weight in weights:
                weight.fill_(1.0)
                weight.grad = torch.ones_like(weight)
        optimizer.state.clear()
        optimizer.step()
        return [weight.detach().clone() for weight in weights]

    return step


class _Squared(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 2 * ctx.saved_tensors[0]


def _of_function() -> Call:
    x = torch.ones(3, 4, requires_grad=True)
    return lambda: torch.autograd.grad(_Squared.apply(x).sum(), x)


@numba.njit
def _double(x: Any, y: Any) -> None:
    for i in range(x.size):
        y[i] = 2 * x[i]


@numba.njit
def _double_backward(grad_y: Any, grad_x: Any) -> None:
    for i in range(grad_y.size):
        grad_x[i] = 2 * grad_y[i]


def _of_user_kernel(compiled: bool) -> Call:
    doubled = torch.kernel(_double, _double_backward)
    x = torch.ones(12, requires_grad=True)

    def step() -> Any:
        return torch.autograd.grad((doubled(x) * x).sum(), x)

    return torch.compile(step) if compiled else step


def _of_hooks() -> Call:
    x = torch.ones(3, requires_grad=True)

    def step() -> Any:
        y = x * 2
        y.register_hook(_twice)
        with torch.autograd.graph.saved_tensors_hooks(_plain, _plain):
            return torch.autograd.grad((y * y).sum(), x)

    return step


def _twice(grad: Any) -> Any:
    return grad * 2


def _of_second_order() -> Call:
    x = torch.ones(3, requires_grad=True)

    def step() -> Any:
        (first,) = torch.autograd.grad((x.exp() * x).sum(), x, create_graph=True)
        return torch.autograd.grad(first.sum(), x)

    return step


def _of_views() -> Call:
    def step() -> Any:
        x = torch.ones(4, 6, requires_grad=True)
        y = x * 2
        y[1:3, ::2].mul_(3)
        y.t()[0].zero_()
        return torch.autograd.grad(y.sum(), x)

    return step


def _of_accumulation() -> Call:
    w = torch.ones(3, 4, requires_grad=True)

    def step() -> Any:
        w.grad = None
        for _ in range(3):
            (w * w).sum().backward()
        return w.grad

    return step


def _of_checkpoint() -> Call:
    from numbagrad.utils.checkpoint import checkpoint

    x = torch.ones(3, 4, requires_grad=True)
    return lambda: torch.autograd.grad(checkpoint(torch.sin, x, use_reentrant=False).sum(), x)


def _of_loss(loss: Callable[..., Any], *shape: int, target: Any) -> Call:
    x = torch.ones(*shape, requires_grad=True)
    return lambda: torch.autograd.grad(loss(x, target), x)


def other_calls() -> Iterator[tuple[str, Callable[[], Call]]]:
    """Layers, losses, optimizers, and functions of users."""
    from numbagrad import nn, optim

    image, sequence = torch.ones(2, 3, 6, 6), torch.ones(5, 2, 4)
    for wrap, kind in ((_plain, ""), (torch.compile, "compiled ")):
        for name, module, inputs in (
            ("linear", nn.Linear(4, 3), (sequence,)),
            ("conv2d", nn.Conv2d(3, 4, 3, padding=1), (image,)),
            ("grouped conv2d", nn.Conv2d(3, 3, 3, groups=3), (image,)),
            ("conv_transpose2d", nn.ConvTranspose2d(3, 2, 2, stride=2), (image,)),
            ("conv1d", nn.Conv1d(2, 3, 2), (sequence,)),
            ("lstm", nn.LSTM(4, 3, 2, bidirectional=True), (sequence,)),
            ("gru", nn.GRU(4, 3), (sequence,)),
            ("rnn", nn.RNN(4, 3), (sequence,)),
            ("lstm cell", nn.LSTMCell(4, 3), (sequence[0],)),
            ("batch norm", nn.BatchNorm2d(3), (image,)),
            ("layer norm", nn.LayerNorm(4), (sequence,)),
            ("group norm", nn.GroupNorm(3, 3), (image,)),
            ("embedding", nn.Embedding(5, 3), (torch.tensor([[1, 2], [0, 4]]),)),
            ("embedding bag", nn.EmbeddingBag(5, 3), (torch.tensor([[1, 2], [0, 4]]),)),
            ("attention", nn.MultiheadAttention(4, 2), (sequence, sequence, sequence)),
            ("transformer", nn.TransformerEncoderLayer(4, 2, 8, 0.0), (sequence,)),
            ("prelu", nn.Sequential(nn.Linear(4, 4), nn.PReLU(), nn.MaxPool1d(2)), (sequence,)),
        ):  # fmt: skip
            prepare = functools.partial(_trained, module, *inputs, wrap=wrap)
            yield f"{kind}{name}", prepare
    for optimizer, options in (
        (optim.SGD, {"lr": 0.1, "momentum": 0.9}), (optim.Adam, {}), (optim.AdamW, {}),
        (optim.RMSprop, {}), (optim.Adagrad, {}), (optim.Adadelta, {}), (optim.NAdam, {}),
        (optim.RAdam, {}), (optim.Adamax, {}), (optim.Rprop, {}), (optim.ASGD, {}),
    ):  # fmt: skip
        yield optimizer.__name__, functools.partial(_optimized, optimizer, **options)
    classes = torch.tensor([1, 0, 3])
    yield "cross entropy", lambda: _of_loss(F.cross_entropy, 3, 4, target=classes)
    yield "nll loss", lambda: _of_loss(F.nll_loss, 3, 4, target=classes)
    yield "mse loss", lambda: _of_loss(F.mse_loss, 3, 4, target=torch.zeros(3, 4))
    yield "interpolate", lambda: _of_loss(_resized, 1, 1, 4, 4, target=None)
    yield "pooling", lambda: _of_loss(_pooled, 1, 1, 4, 4, target=None)
    yield "function", _of_function
    yield "kernel", lambda: _of_user_kernel(False)
    yield "compiled kernel", lambda: _of_user_kernel(True)
    yield "hooks", _of_hooks
    yield "second order", _of_second_order
    yield "views", _of_views
    yield "accumulation", _of_accumulation
    yield "checkpoint", _of_checkpoint


def _resized(x: Any, target: Any) -> Any:
    return F.interpolate(x, scale_factor=2, mode="bilinear").sum()


def _pooled(x: Any, target: Any) -> Any:
    return (F.max_pool2d(x, 2) + F.avg_pool2d(x, 2)).sum()


def all_calls() -> list[tuple[str, Callable[[], Call]]]:
    """Every call, by a name of its own."""
    found = list(other_calls())
    for entry in ENTRIES:
        found += [(f"{entry.name}, {way}", prepare) for way, prepare in calls_of_row(entry)]
    return found


# --- what is checked ------------------------------------------------------------------------------


def is_memory_error(error: BaseException | None) -> bool:
    """Whether an exception is a MemoryError, or comes of one."""
    while error is not None:
        if isinstance(error, MemoryError):
            return True
        lost = isinstance(error, (SystemError, IndexError))
        if lost and any([text in str(error) for text in LOST]):
            return True
        error = error.__cause__ or error.__context__
    return False


class Counts:
    """How the calls with a failing allocation ended."""

    def __init__(self) -> None:
        self.raised = self.right = 0
        self.wrong: list[str] = []


class Rounds:
    """Calls of one kind, each with another allocation that fails."""

    def __init__(self, faults: Faults, run: Call, counts: Counts, most: int):
        self.faults, self.counts = faults, counts
        self.call = lambda: _seeded(run)
        for _ in range(WARM):
            self.call()
        self.expected = described(self.call())
        self.arrays = _arrays(self.call())
        faults.attempt(self.call, 1 << 60, 1 << 60)
        total = faults.state[1]
        self.positions = range(1, total + 1, 1 + total // most)

    def check(self, name: str) -> None:
        """Have each allocation fail, and compare what is there afterwards."""
        counts = self.counts
        for position in self.positions:
            found = self.attempt(position)
            if isinstance(found, BaseException):
                if not is_memory_error(found):
                    causes = f"{found!r}, of {found.__cause__!r}, {found.__context__!r}"
                    counts.wrong.append(f"{name}, allocation {position}: {causes}")
                counts.raised += 1
            elif not self.is_right(found, name):
                counts.wrong.append(f"{name}, allocation {position}: a wrong result")
            else:
                counts.right += 1
            found = None
            try:
                if described(self.call()) != self.expected:
                    counts.wrong.append(f"{name}, after allocation {position}: a wrong result")
            except Exception as error:
                counts.wrong.append(f"{name}, after allocation {position}: {error!r}")
            if len(counts.wrong) > 20:
                return

    def is_right(self, found: Any, name: str) -> bool:
        """Whether a result is right: of a program, for which its function was called, nearly."""
        if described(found) == self.expected:
            return True
        pairs = zip(_arrays(found), self.arrays, strict=True)
        return "compiled" in name and all([np.allclose(a, b, rtol=1e-5) for a, b in pairs])

    def attempt(self, position: int) -> Any:
        state = self.faults.state
        state[1], state[2], state[3] = 0, position, position + 1
        state[0] = 1
        try:
            found: Any = self.call()
        except BaseException as error:
            state[0] = 0
            found = error.with_traceback(None)
        state[0] = 0
        return found


def _arrays(found: Any) -> list[np.ndarray]:
    """The elements of the tensors of a result."""
    items = found if isinstance(found, (list, tuple)) else [found]
    return [x.detach().numpy().copy() for x in items if isinstance(x, torch.Tensor)]


def _seeded(run: Call) -> Any:
    torch.manual_seed(0)
    return run()


def check_calls(most: int, names: list[str]) -> int:
    """Check calls in this process; the exit code is 1 if something is wrong."""
    faulthandler.enable()
    deferred.CALLS_WORTH_COMPILING = 0
    known = dict(all_calls())
    faults = Faults()
    gc.disable()
    wrong = 0
    for name in names:
        say("at", name)
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        counts = Counts()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                run = known[name]()
                run()
            except Exception as error:  # a row that has no such form
                say("none", name, "|", type(error).__name__, str(error)[:60].replace("\n", " "))
                continue
            gc.collect()
            gc.freeze()
            Rounds(faults, run, counts, most).check(name)
        for line in counts.wrong:
            say("WRONG", line)
        wrong += bool(counts.wrong)
        say("done", counts.raised, counts.right, name)
        faulthandler.cancel_dump_traceback_later()
    return 1 if wrong else 0


def ended_elsewhere(report: str) -> bool:
    """Whether a process ended in a function that is not of this package."""
    innermost = re.search(r"most recent call first\):\n  File \"([^\"]*)\"", report)
    return innermost is not None and os.path.dirname(torch.__file__) not in innermost[1]


def main(part: str, most: int) -> int:
    """Check a share of all calls, in processes that are replaced when one ends."""
    every, _, first = part.partition("/")
    names = [name for name, _ in all_calls()][int(first or 0) :: int(every)]
    raised = right = done = none = 0
    wrong: list[str] = []
    elsewhere: list[str] = []
    while names:
        child = subprocess.run(
            [sys.executable, __file__, "--calls", str(most), *names], capture_output=True,
            text=True, errors="replace",
        )  # fmt: skip
        at = ""
        for line in child.stdout.splitlines():
            word, _, rest = line.partition(" ")
            if word == "at":
                at = rest
                names = names[names.index(rest) + 1 :]
            elif word == "WRONG":
                wrong.append(rest)
            elif word == "none":
                none += 1
            elif word == "done":
                counted = rest.split(" ", 2)
                raised, right, done = raised + int(counted[0]), right + int(counted[1]), done + 1
        if child.returncode not in (0, 1) and ended_elsewhere(child.stderr):
            elsewhere.append(at)
        elif child.returncode not in (0, 1):
            wrong.append(f"{at}: ended with {child.returncode}\n{child.stderr[-2500:]}")
        elif names:  # it never came so far
            wrong.append(f"{child.stderr[-2500:]}")
            break
    for line in wrong:
        print("WRONG", line)
    print(
        f"{done} calls ({none} names without such a form): {raised} times MemoryError, "
        f"{right} times the result, {len(wrong)} wrong, {len(elsewhere)} ended in functions of "
        f"CPython or NumPy: {elsewhere}"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--calls"]:
        os._exit(
            check_calls(int(sys.argv[2]), sys.argv[3:])
        )  # at once: the allocators are still those of ``Faults``
    part, most, *_ = [*sys.argv[1:], *["1", str(MOST)][len(sys.argv) - 1 :]]
    sys.exit(main(part, int(most)))
