"""What a recording computes without launchers has the bits, and the strides, that these return.

``program/run_single.py`` runs one operation at once where eager execution has no launcher yet.
"""

import numpy as np
import pytest
from operator_entry import as_tuple
from operator_table import ENTRIES, POINTWISE_ENTRIES

import numbagrad as torch
from numbagrad.executor.cache import library
from numbagrad.executor.mode import NATIVE
from numbagrad.program import run_single
from numbagrad.program.trace import Trace

pytestmark = pytest.mark.skipif(not NATIVE, reason="nothing is recorded")

#: Functions of ``program/run_single.py`` that the tests below are about.
KINDS = "pointwise", "reduce", "rowwise", "product"


@pytest.fixture
def computed(monkeypatch):
    """Count the calls that ran alone, by kind."""
    counts = dict.fromkeys(KINDS, 0)
    for kind in KINDS:
        monkeypatch.setattr(run_single, kind, counting(getattr(run_single, kind), kind, counts))
    return counts


def counting(function, kind, counts):
    def call(*arguments):
        made = function(*arguments)
        counts[kind] += made is not None
        return made

    return call


def arrays_of(function, monkeypatch, launchers):
    """What a call of a function makes inside of a recording, with or without launchers."""
    return recorded(function, monkeypatch, launchers)[0]


def recorded(function, monkeypatch, launchers):
    """The arrays that a call makes; the operations of the trace, and which memory they made."""
    monkeypatch.setattr(run_single, "_uses_launcher", lambda *name: launchers)
    torch.manual_seed(0)
    with Trace().capturing() as trace:
        results = as_tuple(function())
        arrays = [x._array if isinstance(x, torch.Tensor) else x for x in results]
    memory = [(x.array.shape, x.array.dtype, x.made) for x in trace.memories.values()]
    return arrays, ([(type(each), each.name) for each in trace.operations], memory)


def check(function, monkeypatch):
    expected, expected_trace = recorded(function, monkeypatch, launchers=True)
    found, found_trace = recorded(function, monkeypatch, launchers=False)
    assert found_trace == expected_trace
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        if not isinstance(b, np.ndarray):
            assert a == b
            continue
        assert (a.dtype, a.shape, a.strides) == (b.dtype, b.shape, b.strides)
        assert a.tobytes() == b.tobytes() or np.array_equal(a, b, a.dtype.kind in "fc")


def arrays_for(entry):
    return entry.draw(next(x for x in ("float32", "float64", "int64", "bool") if entry.admits(x)))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_operators_of_the_table(entry, monkeypatch):
    check(lambda: entry.call(torch, *map(torch.from_numpy, arrays_for(entry))), monkeypatch)


@pytest.mark.parametrize("entry", POINTWISE_ENTRIES, ids=lambda entry: entry.name)
def test_operators_of_transposed_matrices(entry, monkeypatch):
    def call():
        arrays = [np.array(x, order="F") for x in arrays_for(entry)]
        return entry.call(torch, *map(torch.from_numpy, arrays))

    check(call, monkeypatch)


def draw(*shape, dtype=np.float32):
    return torch.from_numpy(np.random.default_rng(len(shape)).normal(size=shape).astype(dtype))


def into(x, *rest):
    """A copy of ``x`` after a sum was written into it, and what that may have changed."""
    x = x.clone()
    x.add_(*rest)
    return x


def half_linear():
    """A layer large enough that its sums are of float32 where the CPU multiplies bfloat16."""
    x, weight, bias = (draw(*shape).to(torch.bfloat16) for shape in ((64, 784), (256, 784), (256,)))
    return torch.nn.functional.linear(x, weight, bias)


def gradients(function, *inputs):
    inputs = [x.requires_grad_() for x in inputs]
    return torch.autograd.grad(function(*inputs), inputs, torch.ones(3, 4))


CALLS = {
    "numbers": (lambda: draw(3, 4) * 2 + True - 0.5, "pointwise"),
    "infinity": (lambda: draw(3, 4).masked_fill(draw(3, 4) > 0, -np.inf), "pointwise"),
    "integers and a number": (lambda: draw(3, 4).to(torch.int32) + 3, "pointwise"),
    "conversion": (lambda: draw(3, 4).to(torch.bfloat16), "pointwise"),
    "half": (lambda: draw(3, 4, dtype=np.float16).exp() * 1.5, "pointwise"),
    "a half product": (lambda: half_linear().relu(), "pointwise"),
    "no dimensions": (lambda: draw(3, 4) * draw(4).sum(), "pointwise"),
    "broadcast": (lambda: draw(3, 1, 4) * draw(5, 1), "pointwise"),
    "transposed": (lambda: draw(3, 4).t() * draw(4, 3), "pointwise"),
    "permuted": (lambda: draw(2, 3, 4).permute(2, 0, 1).exp(), "pointwise"),
    "strided": (lambda: draw(6, 8)[::2, 1::3] + draw(3, 3), "pointwise"),
    "expanded": (lambda: draw(3, 1).expand(3, 4) + draw(3, 1).expand(3, 4), "pointwise"),
    "into": (lambda: into(draw(3, 4), draw(4)), "pointwise"),
    "into itself": (lambda: (lambda x: x.mul_(x))(draw(3, 4).clone()), "pointwise"),
    "two outputs": (lambda: gradients(torch.mul, draw(3, 4), draw(3, 4)), "pointwise"),
    "large": (lambda: draw(300, 400).tanh(), "pointwise"),
    "sum": (lambda: draw(300, 400).sum(), "reduce"),
    "sum of columns": (lambda: draw(300, 400).sum(0, keepdim=True), "reduce"),
    "variance": (lambda: draw(30, 40).var(1), "reduce"),
    "norm": (lambda: torch.linalg.vector_norm(draw(30, 40), 3.0), "reduce"),
    "softmax": (lambda: draw(30, 40).softmax(0), "rowwise"),
    "product": (lambda: draw(30, 40) @ draw(40, 20), "product"),
    "transposed product": (lambda: draw(40, 30).t() @ draw(20, 40).t(), "product"),
    "stacks": (lambda: draw(2, 1, 30, 40) @ draw(1, 3, 40, 1), "product"),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name, monkeypatch, computed):
    call, kind = CALLS[name]
    check(call, monkeypatch)
    assert computed[kind]


REFUSED = {
    "shapes": lambda: draw(3, 4) + draw(3, 5),
    "shape of the output": lambda: draw(4).add_(draw(3, 4)),
    "an output that repeats": lambda: draw(3, 1).expand(3, 4).add_(1),
    "a cast": lambda: draw(3, 4).to(torch.int64).add_(0.5),
    "a dtype": lambda: draw(3, 4).bitwise_and(draw(3, 4)),
    "division by zero": lambda: draw(3).to(torch.int64) // (draw(3) * 0).to(torch.int64),
}


@pytest.mark.parametrize("name", REFUSED)
def test_errors_are_those_of_launchers(name, monkeypatch):
    texts = []
    for launchers in (True, False):
        with pytest.raises((RuntimeError, NotImplementedError)) as caught:
            arrays_of(REFUSED[name], monkeypatch, launchers)
        texts.append((type(caught.value), str(caught.value)))
    assert texts[0] == texts[1]


def test_launchers_are_compiled_when_many_calls_did_without(monkeypatch, computed):
    monkeypatch.setattr(run_single, "_is_there", lambda *name: False)
    monkeypatch.setattr(run_single, "_calls", {})
    monkeypatch.setattr(run_single, "CALLS_WORTH_COMPILING", 3)
    x = draw(3, 4)
    with Trace().capturing() as trace:
        for _ in range(5):
            x.sin()
    assert computed["pointwise"] == 3
    assert len(trace.operations) == 5


def test_launchers_find_the_kernels_compiled_without_them(monkeypatch):
    def call():
        x = draw(3, 4)
        return (x * 2.5).tanh(), x.clone().mul_(draw(3, 4)), x.sum(0), x.softmax(1), x @ x.t()

    arrays_of(call, monkeypatch, launchers=False)
    compiled = library.stats().compiled
    monkeypatch.setattr(library, "_load", lambda key, symbol: None)
    library.forget_lookups()
    arrays_of(call, monkeypatch, launchers=True)
    assert library.stats().compiled == compiled


def test_memory_that_overlaps_is_read_before_it_is_written(monkeypatch):
    def shifted():
        x = draw(10, 10).clone()
        x[1:, :5].add_(x[:-1, :5])  # of views without gaps it is refused
        return x

    check(shifted, monkeypatch)
