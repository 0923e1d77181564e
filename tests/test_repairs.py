"""Launchers whose misses are repaired: no call goes on for ever, and no error leaves cycles."""

import gc

import numpy as np
import pytest

import numbagrad as ng
from numbagrad.executor import builtin
from numbagrad.executor.builtin import LaunchMiss, Repairs
from numbagrad.executor.cache import library
from numbagrad.executor.families import matmul, reduction, rowwise
from numbagrad.executor.families.pointwise import PointwiseProgram
from numbagrad.executor.families.reduction import Reduction, ReductionProgram
from numbagrad.executor.families.rowwise import RowDefinition
from numbagrad.formula import trace
from numbagrad.native import layout
from numbagrad.ops.operators.definition import POINTWISE
from numbagrad.ops.operators.pointwise_operator import pointwise

F = ng.nn.functional


# --- a miss that comes back -----------------------------------------------------------------------


class Stuck:
    """A launcher that misses for one reason whatever is done about it; counts its calls."""

    def __init__(self, code):
        self.code = code
        self.calls = 0

    def __call__(self, *arguments):
        self.calls += 1
        assert self.calls < 10, "the launcher is called for ever"
        raise LaunchMiss(self.code)


def pointwise_program():
    """A program over a formula whose launchers are set up."""
    program = PointwiseProgram("product", lambda: trace(lambda x, y: x * y), "same", 16)
    program.prepare()
    program.table()
    return program


X = np.ones((3, 2), np.float32)
KEY = 0x1234


@pytest.mark.parametrize(
    ("code", "operands"),
    [
        (layout.MISS_GENERAL, (X, X)),
        (layout.MISS_OPERAND, (X, np.float32(2))),
        (layout.MISS_OVERLAP, (X, X, X.copy())),
    ],
)
def test_pointwise(code, operands):
    program = pointwise_program()
    into = len(operands) == 3
    stuck = Stuck(code)
    program.launch = program.launch_into = stuck
    with pytest.raises(
        RuntimeError, match=r"product: internal error.*MISS_.*ndarray\(shape=\(3, 2"
    ):
        program.resolve(LaunchMiss(code), operands, into)
    assert stuck.calls == 1


def test_pointwise_kernels(monkeypatch):
    program = pointwise_program()
    monkeypatch.setattr(PointwiseProgram, "_compile", lambda self, key, into: None)
    program.launch = Stuck(KEY)
    with pytest.raises(RuntimeError, match="the kernel of signature 0x1234 again"):
        program.resolve(LaunchMiss(KEY), (X, 2.5))


def test_reductions(monkeypatch):
    program = ReductionProgram(Reduction("total", "add"))
    monkeypatch.setattr(reduction.ReductionProgram, "_compile", lambda self, key, array: None)
    program.launch = Stuck(KEY)
    with pytest.raises(RuntimeError, match=r"total: internal error.*dtype=float32\), 3, False"):
        program.run(X, 3, False)


def test_rows(monkeypatch):
    program = RowDefinition("rows", lambda x, dim: x - x.amax(dim, keepdim=True))
    monkeypatch.setattr(rowwise.RowwiseProgram, "_compile", lambda self, key, stored: None)
    for code in (KEY, rowwise.rowwise.MISS_CONTIGUOUS):
        program.launch = Stuck(code)
        with pytest.raises(RuntimeError, match="rows: internal error"):
            program.run(0, X)


def test_products(monkeypatch):
    stuck = Stuck(5)
    monkeypatch.setattr(matmul, "_made", [])
    monkeypatch.setattr(matmul, "_launcher", lambda: (stuck, layout.MatmulTable()))
    monkeypatch.setattr(matmul, "_launcher_with_tangent", lambda: stuck)
    monkeypatch.setattr(matmul, "kernel_of", lambda method, dtype: 0)
    with pytest.raises(RuntimeError, match="matmul: internal error"):
        matmul.matmul(X, X.T)
    stuck.calls = 0
    with pytest.raises(RuntimeError, match="matmul_and_tangent: internal error"):
        matmul.matmul_and_tangent(X, X.T, X, None)


def test_kernels_that_were_forgotten_in_between_are_compiled_again():
    repairs = Repairs("name")
    repairs.add(KEY, ())
    library.forget_lookups()
    repairs.add(KEY, ())
    with pytest.raises(RuntimeError, match="name: internal error"):
        repairs.add(KEY, ())


def test_every_reason_has_a_name():
    reasons = [getattr(layout, name) for name in dir(layout) if name.startswith("MISS_")]
    assert len(set(reasons)) == len(reasons)
    assert all(builtin._reason(code).startswith("MISS_") for code in reasons)


# --- operands none of which is a tensor -----------------------------------------------------------

NUMBERS = [1.5, 2, True, 1j, np.float32(2), np.int64(3)]


@pytest.mark.parametrize("name", POINTWISE)
def test_operators_of_numbers_alone(name):
    operator = pointwise(name)
    count = len(operator.formula.inputs)
    for number in NUMBERS:
        operands = (number,) * count
        if operator.definition.takes_numbers and number not in (1j, True):
            assert operator(*operands).shape == ()
        elif not operator.definition.takes_numbers:
            with pytest.raises(TypeError, match="must be Tensor, not"):
                operator(*operands)


# --- errors leave nothing behind ------------------------------------------------------------------

SQUARE, WIDE = ng.ones(2, 3), ng.ones(4, 5)
ERRORS = [
    lambda: ng.ones(3) + ng.ones(4),
    lambda: ng.ones(3, requires_grad=True) * ng.ones(4),
    lambda: ng.ones(3).add_(ng.ones(4)),
    lambda: ng.ones(3).copy_(ng.ones(4)),
    lambda: ng.ones(2, dtype=ng.uint8).add_(1.5),
    lambda: ng.ones(3).expand(4),
    lambda: ng.exp(1.5),
    lambda: ng.exp("text"),
    lambda: ng.where(ng.ones(3) > 0, ng.ones(4), 1),
    lambda: SQUARE @ WIDE,
    lambda: ng.mm(SQUARE, WIDE),
    lambda: ng.bmm(ng.ones(1, 2, 3), ng.ones(1, 4, 5)),
    lambda: ng.linalg.multi_dot([SQUARE, WIDE, SQUARE]),
    lambda: ng.linalg.inv(SQUARE),
    lambda: ng.linalg.cholesky(-ng.eye(2)),
    lambda: ng.einsum("ij,jk->ik", SQUARE, WIDE),
    lambda: ng.cat([SQUARE, WIDE]),
    lambda: ng.stack([SQUARE, WIDE]),
    lambda: SQUARE.view(5),
    lambda: SQUARE[7],
    lambda: SQUARE[ng.tensor([7])],
    lambda: SQUARE.sum(5),
    lambda: SQUARE.cumsum(5),
    lambda: SQUARE.max(5),
    lambda: ng.zeros(0).max(),
    lambda: SQUARE.gather(0, SQUARE),
    lambda: SQUARE.index_select(0, ng.tensor([9])),
    lambda: SQUARE.softmax(7),
    lambda: F.linear(SQUARE, WIDE),
    lambda: F.conv2d(SQUARE, WIDE),
    lambda: F.layer_norm(SQUARE, (4,)),
    lambda: F.cross_entropy(SQUARE, ng.tensor([5, 1])),
    lambda: F.binary_cross_entropy(SQUARE, WIDE),
    lambda: F.embedding(ng.tensor([9]), SQUARE),
    lambda: F.pad(SQUARE, (-9, 0)),
    lambda: ng.nn.Linear(3, 4)(WIDE),
    lambda: ng.nn.LSTM(3, 4)(WIDE),
    lambda: ng.ones(3, requires_grad=True).backward(),
    lambda: (ng.ones(3, requires_grad=True) * 2).sum().backward(ng.ones(4)),
]


def fail(rounds):
    """Let every call fail, a number of times."""
    for _ in range(rounds):
        for call in ERRORS:
            with pytest.raises((RuntimeError, TypeError, IndexError, ValueError)):
                call()


@pytest.mark.usefixtures("traced_at_once")
def test_errors_are_freed_without_the_collector():
    fail(2)  # what is compiled and imported stays
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        fail(60)
        grown = len(gc.get_objects()) - before
        found = gc.collect()
    finally:
        gc.enable()
    assert (grown < 60, found) == (True, 0), (grown, found)
