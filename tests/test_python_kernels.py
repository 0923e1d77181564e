"""Every family of kernels runs both ways: as machine code, and as the Python functions that it is.

Rows of the operator table are computed operation by operation, and each operation is run once more
as Python, on copies of what it read and wrote. What differs is rounding: LLVM contracts and
reorders where kernels allow it, and vectors estimate quotients where Python divides.
"""

import ctypes
import dataclasses

import numpy as np
import pytest
from operator_table import ENTRIES

import numbagrad as torch
from numbagrad.codegen import addresses
from numbagrad.executor.hand_written import HandWrittenKernel
from numbagrad.executor.mode import NATIVE
from numbagrad.executor.plan import cost
from numbagrad.half_precision import readable
from numbagrad.nn import functional as F
from numbagrad.program import run_single
from numbagrad.program.program import Program
from numbagrad.program.python_run import run_as_python
from numbagrad.program.trace import Trace

pytestmark = pytest.mark.skipif(not NATIVE, reason="there is one way then")

#: Units in the last place of the largest element that reductions may differ by.
UNITS = 64


def check_same(found, expected, what, scale=0.0):
    """Check that two arrays are equal but for rounding; ``scale`` is that of what was added up."""
    x, y = readable(found), readable(expected)
    if x.dtype.kind not in "fc":
        assert np.array_equal(x, y), what
        return
    eps = np.finfo(x.dtype).eps
    if found.dtype.itemsize == 2:  # computed in float32, and rounded once
        eps = 2.0**-7 if found.dtype.kind == "V" else 2.0**-10
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(x, y, rtol=UNITS * eps, atol=UNITS * eps * scale, err_msg=what)


def largest(arrays):
    """The magnitude of the largest finite element of all arrays of floats."""
    floats = [readable(x) for x in arrays if isinstance(x, np.ndarray) and x.dtype.kind in "fcV"]
    return max([float(np.abs(x[np.isfinite(x)]).max(initial=0)) for x in floats], default=0.0)


def in_other_memory(array):
    """A copy of an array and of what lies between its elements, of the same strides."""
    low, high = np.lib.array_utils.byte_bounds(array)
    memory = np.frombuffer(bytearray(ctypes.string_at(low, high - low)), np.uint8)
    made = np.ndarray(array.shape, array.dtype, memory, array.ctypes.data - low, array.strides)
    return made if array.size else array.copy()


class BothWays:
    """Runs what a trace runs by itself as Python too; ``ran`` has the kinds, and the kernels."""

    def __init__(self):
        self.ran = set()

    def run(self, trace, operation):
        """In the place of ``run_single._run``."""
        blocks = {view.memory: view.memory.array for view in (*operation.reads, *operation.writes)}
        given, arrays = [trace.view(x) for x in blocks.values()], [*blocks.values()]
        copies = [x.copy(order="K") for x in arrays]
        Program([operation], given, []).run(arrays)
        program = Program([operation], given, [])
        run_as_python(program)
        program.run(copies)
        for copy, array in zip(copies, arrays, strict=True):
            check_same(copy, array, operation.name, largest(arrays))
        self.ran.add(type(operation).__name__)

    def launch(self, kernel, total, grain, *words):
        """In the place of ``HandWrittenKernel.launch``."""
        # An array that is read and written is one array in the copies, too.
        copied = {id(x): in_other_memory(x) for x in words if isinstance(x, np.ndarray)}
        copies = [copied.get(id(x), x) for x in words]
        _launch(kernel, total, grain, *words)
        packed = np.array(
            [x.ctypes.data if isinstance(x, np.ndarray) else x for x in copies], dtype=np.int64
        )
        addresses.run_kernel(kernel.address, packed.ctypes.data, 0, total)
        for copy, array in zip(copies, words, strict=True):
            if isinstance(array, np.ndarray):
                check_same(copy, array, kernel.name, largest(words))
        self.ran.add(kernel.module)


_launch = HandWrittenKernel.launch


@pytest.fixture
def both_ways(monkeypatch):
    made = BothWays()
    monkeypatch.setattr(run_single, "_uses_launcher", lambda *name: False)
    monkeypatch.setattr(run_single, "_run", made.run)
    monkeypatch.setattr(HandWrittenKernel, "launch", lambda self, *rest: made.launch(self, *rest))
    return made


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_operator(entry, both_ways):
    dtype = next(x for x in ("float32", "float64", "int64", "bool") if entry.admits(x))
    inputs = [torch.from_numpy(array) for array in entry.draw(dtype, 0)]
    if entry.differentiable and dtype.startswith("float"):
        for tensor, drawn in zip(inputs, entry.inputs, strict=True):
            tensor.requires_grad_(not drawn.fixed and tensor.is_floating_point())
    torch.manual_seed(0)
    with Trace().capturing():
        results = entry.call(torch, *inputs)
        results = results if isinstance(results, (tuple, list)) else (results,)
        loss = [x.sum() for x in results if isinstance(x, torch.Tensor) and x.requires_grad]
        if loss:
            sum(loss).backward()


# --- functions that have no row in the table ------------------------------------------------------


def numbers(*shape, dtype=None):
    count = int(np.prod(shape))
    made = torch.arange(count, dtype=dtype or torch.float32).reshape(shape)
    return (made * 0.37).sin() if dtype is None else made


def loss_of_classes():
    scores = numbers(4, 3).requires_grad_()
    F.cross_entropy(scores, torch.tensor([0, 2, -100, 1]), label_smoothing=0.1).backward()
    F.nll_loss(scores.log_softmax(1), torch.tensor([0, 2, 1, 1]), numbers(3).abs()).backward()


def loss_of_sequences():
    scores = numbers(6, 2, 4).requires_grad_()
    targets, lengths = torch.tensor([[1, 2, 2], [3, 1, 1]]), torch.tensor([3, 2])
    F.ctc_loss(scores.log_softmax(2), targets, torch.tensor([6, 5]), lengths).backward()


def largest_in_windows():
    images = numbers(1, 2, 5, 5).requires_grad_()
    F.max_pool2d(images, 2, padding=1).sum().backward()
    F.adaptive_max_pool2d(images, 3)


def nearest_elements():
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        x = numbers(2, 2, 3, 5).to(dtype).requires_grad_()
        torch.nn.functional.interpolate(x, scale_factor=(2, 1.7)).sum().backward()


def weighted_neighbours():
    for dtype, mode in ((torch.float32, "bilinear"), (torch.float64, "bicubic")):
        x = numbers(2, 2, 3, 5).to(dtype).requires_grad_()
        for size in ((5, 2), (6, 9)):
            F.interpolate(x, size, mode=mode).sum().backward()


def sparse_products():
    for dtype in (torch.float32, torch.int64):
        places = torch.tensor([[0, 1, 1, 2], [2, 0, 0, 1]])
        values = numbers(4).mul(9).to(dtype)
        values.requires_grad_(dtype is torch.float32)
        dense = numbers(3, 5).mul(9).to(dtype)
        made = torch.sparse_coo_tensor(places, values, (3, 3)) @ dense
        if dtype is torch.float32:
            made.sum().backward()


def samples_of_a_grid():
    for dtype, mode in ((torch.float32, "bilinear"), (torch.float64, "nearest")):
        x, grid = numbers(2, 2, 3, 5).to(dtype), 2 * numbers(2, 3, 2, 2).to(dtype)
        x.requires_grad_(), grid.requires_grad_()
        F.grid_sample(x, grid, mode, "reflection", False).sum().backward()


def checks():
    F.binary_cross_entropy(numbers(4).abs(), torch.ones(4))
    torch.bernoulli(numbers(4).abs())
    torch.poisson(numbers(4).abs()) if hasattr(torch, "poisson") else None
    torch.multinomial(numbers(4).abs(), 2)


def half_precision():
    for dtype in (torch.float16, torch.bfloat16):
        x, y = numbers(2, 5).to(dtype).requires_grad_(), numbers(5, 3).to(dtype)
        (torch.softmax(x @ y, 1) * x.exp().sum()).sum().backward()
        x.cumsum(1), x.amax(1), x[torch.tensor([1, 0])], x.float().to(dtype) > 0.5


def many_units():
    """Sizes that kernels cut into blocks, tiles and rows that are left over."""
    a, b = numbers(17, 40), numbers(40, 21)
    a @ b, a.t().contiguous().t() @ b, a @ b.t().contiguous().t(), a[0] @ b, a @ b[:, 0]
    torch.stack([a, a + 1]) @ b
    (
        numbers(3, 700).sum(0),
        numbers(700, 3).sum(0),
        numbers(2000).sum(),
        numbers(70, 3, 2).sum((0, 2)),
    )
    numbers(2, 700).softmax(1), numbers(3, 50, 2).log_softmax(1), numbers(2, 90).cumsum(1)


@pytest.mark.parametrize(
    "function, expected",
    [
        (loss_of_classes, {"kernels.losses.nll_loss", "kernels.losses.checks", "Rowwise"}),
        (loss_of_sequences, {"kernels.losses.ctc_loss"}),
        (largest_in_windows, {"kernels.pooling.windows"}),
        (nearest_elements, {"kernels.interpolation.nearest"}),
        (weighted_neighbours, {"kernels.interpolation.weighted"}),
        (sparse_products, {"kernels.sparse.product"}),
        (samples_of_a_grid, {"kernels.interpolation.sampling"}),
        (checks, {"kernels.losses.checks"}),
        (half_precision, {"Pointwise", "Reduce", "Rowwise", "kernels.indexing.reads"}),
        (many_units, {"Product", "Reduce", "Rowwise"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_function(function, expected, both_ways):
    torch.manual_seed(0)
    with Trace().capturing():
        function()
    assert expected <= both_ways.ran


# --- programs -------------------------------------------------------------------------------------


def kinds_of(operation):
    """The kind of an operation, and of those that it consists of."""
    yield type(operation).__name__
    if getattr(operation, "epilogue", None) is not None:
        yield "epilogue"
    for member in getattr(operation, "members", ()):
        yield from kinds_of(member)


@pytest.fixture
def programs_both_ways(monkeypatch):
    """Programs of small tiles, each of which runs as Python as well when it is checked."""
    model = dataclasses.replace(
        cost.model,
        tile=3,
        least_tile=1,
        chain_saves=-(1 << 30),
        partial_bytes=1 << 20,
        group_bytes=1,
        group_flops=1,
    )
    monkeypatch.setattr(cost, "model", model)
    run = Program._run

    ran = set()

    def both(self, given, made, drawn):
        arrays = [*given, *made]
        copies = [x.copy(order="K") for x in arrays]
        assert [x.strides for x in copies] == [x.strides for x in arrays]
        run(self, given, made, drawn)
        run_as_python(self)
        run(self, copies[: len(given)], copies[len(given) :], self.drawn)
        for copy, array in zip(copies, arrays, strict=True):
            check_same(copy, array, str(self.operations), largest(arrays))
        for operation in self.operations:
            ran.update(kinds_of(operation))
        return made

    monkeypatch.setattr(Program, "_run", both)
    return ran


def training(optimizer):
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Linear(5, 6), torch.nn.LayerNorm(6), torch.nn.GELU(), torch.nn.Linear(6, 3)
    )
    updates = optimizer(net.parameters(), 0.01)

    def step(x, y):
        updates.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        updates.step()
        return loss.detach()

    return step, (numbers(7, 5), torch.arange(7) % 3)


def updates_of_many():
    parameters = [numbers(6, 5).requires_grad_() for _ in range(12)]
    for parameter in parameters:
        parameter.grad = numbers(6, 5)
    update = torch.optim.SGD(parameters, 0.1).step
    return lambda: update(), ()


def attention():
    def step(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True).sum(1)

    return step, tuple([numbers(2, 5, 4) + k for k in range(3)])


@pytest.mark.parametrize(
    "make, expected",
    [
        (lambda: training(torch.optim.SGD), {"Chain", "RowLoop", "Check", "epilogue"}),
        (lambda: training(torch.optim.Adam), {"Chain", "RowLoop", "Check", "epilogue"}),
        (updates_of_many, {"Group"}),
        (attention, {"Group", "Rowwise", "epilogue"}),
    ],
    ids=["sgd", "adam", "many", "attention"],
)
def test_program(make, expected, programs_both_ways):
    step, arguments = make()
    compiled = torch.compile(step)
    for _ in range(4):
        compiled(*arguments)
    assert compiled._programs
    assert expected <= programs_both_ways
