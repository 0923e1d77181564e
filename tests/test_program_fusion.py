"""Fusion: which operations of a program become one, and that they compute what they did apart."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.codegen import loader
from numbagrad.codegen.compiler import assembly
from numbagrad.executor.cache import library
from numbagrad.executor.mode import NATIVE
from numbagrad.executor.plan import cost, lowering
from numbagrad.executor.plan.operations import Call, Check, Pointwise
from numbagrad.executor.plan.views import View, numbered_apart, overlap
from numbagrad.kernels.rowwise import rows as kernel_rows
from numbagrad.program import row_stages
from numbagrad.program.trace import Trace

F = torch.nn.functional

pytestmark = pytest.mark.skipif(not NATIVE, reason="compile() runs functions as they are")


def compiled_operations(step, arguments, calls=4, rtol=1e-5):
    """The operations of a step's program, after checking that it computes what the step does."""
    compiled = torch.compile(step)
    for _ in range(calls):
        expected, found = step(*arguments), compiled(*arguments)
        expected = expected if isinstance(expected, tuple) else (expected,)
        found = found if isinstance(found, tuple) else (found,)
        for a, b in zip(expected, found, strict=True):
            np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), rtol=rtol, atol=1e-6)
    (recorded,) = [each for found in compiled._programs.values() for each in found]
    return recorded.program.operations


def test_one_value_copied_to_two_results_reaches_both():
    def step(x):
        """Both factors of the square are given one gradient in the second walk, and add theirs."""
        scaled = x * 1.5
        first = torch.autograd.grad((scaled * scaled).sum(), x, create_graph=True)[0]
        return torch.autograd.grad(first.sum(), x)[0]

    compiled_operations(step, [torch.randn(5, requires_grad=True)])


def test_a_price_and_its_gradients_are_one_loop():
    def cumulative(x):
        return 0.5 * (1 + torch.erf(x * math.sqrt(0.5)))

    def step(spot, volatility, strike, expiry):
        spread = volatility * torch.sqrt(expiry)
        d1 = (torch.log(spot / strike) + 0.03 * expiry) / spread + 0.5 * spread
        discounted = strike * torch.exp(-0.03 * expiry)
        price = spot * cumulative(d1) - discounted * cumulative(d1 - spread)
        delta, vega = torch.autograd.grad(price.sum(), (spot, volatility))
        return price.detach(), delta, vega

    torch.manual_seed(0)
    arguments = [torch.rand(1000) + 0.5 for _ in range(4)]
    for each in arguments[:2]:
        each.requires_grad_()
    (operation,) = compiled_operations(step, arguments, rtol=1e-4)
    assert isinstance(operation, Pointwise)
    assert len(operation.outputs) == 3


@pytest.mark.parametrize(
    "part",
    [
        lambda x: x[:, 1:3], lambda x: x[2], lambda x: x[::2, 0], lambda x: x.narrow(0, 1, 2),
        lambda x: x.select(1, 3), lambda x: x.diagonal(), lambda x: x.diagonal(-1),
        lambda x: x.unbind(1)[2], lambda x: x.split(3, 1)[1], lambda x: x.chunk(2)[0],
    ],
    ids="columns row steps narrow select diagonal below unbind split chunk".split(),
)  # fmt: skip
def test_the_gradient_of_a_part_is_no_call_of_python(part):
    def step(x):
        (gradient,) = torch.autograd.grad(part(x * x).sin().sum(), x)
        return gradient

    x = torch.linspace(-1, 1, 24).reshape(4, 6).requires_grad_()
    operations = compiled_operations(step, (x,))
    assert not any(isinstance(operation, Call) for operation in operations)


def test_what_is_filled_with_a_number_is_that_number():
    def step(x):
        return x * torch.ones(3, 4) + torch.full((4,), 2.5) - torch.full((), 3.0)

    (operation,) = compiled_operations(step, (torch.randn(3, 4),))
    assert [x for x in operation.operands if isinstance(x, View)] == [operation.operands[0]]


def test_a_fill_that_is_written_again_is_no_number():
    def step(x):
        total = torch.zeros(3, 4)
        for k in range(3):
            total += x * k
        total[1] = 7.0
        return total * 2

    compiled_operations(step, (torch.randn(3, 4),))


@pytest.mark.parametrize("dim", [0, 1])
def test_cat_and_stack_are_copies_into_parts(dim):
    def step(x):
        first, second, third = x.chunk(3, dim)
        joined = torch.cat([first * 2, second + 1, third.exp()], dim)
        return joined, torch.stack([first, -second], dim) * 3

    x = torch.randn(6, 9)
    operations = compiled_operations(step, (x,))
    assert all([isinstance(operation, Pointwise) for operation in operations])


def test_the_gradient_of_chunk_is_written_into_its_position():
    def step(x, w):
        a, b, c = (x @ w).chunk(3, 1)
        loss = (torch.sigmoid(a) * torch.tanh(b) + c).pow(2).sum()
        return torch.autograd.grad(loss, (x, w))

    x = torch.randn(5, 4, requires_grad=True)
    w = torch.randn(4, 12, requires_grad=True)
    operations = compiled_operations(step, (x, w), rtol=1e-4)
    assert [type(operation).__name__ for operation in operations].count("Pointwise") == 1


def test_what_is_read_in_parts_is_made_in_the_loops_that_read_it():
    bias = torch.randn(12)

    def step(x, w):
        a, b, c = (x @ w + bias).chunk(3, 1)
        return torch.sigmoid(a) * torch.tanh(b) + c

    product, loop = compiled_operations(step, (torch.randn(5, 4), torch.randn(4, 12)))
    assert loop.outputs[0].shape == (5, 4)


def test_parts_that_overlap_are_not_made_apart():
    def step(x, y):
        total = x + y
        return total[:, :7] * total[:, 4:], total[1:3, 2:5] - total[2:4, 2:5], total[::2, 1] * 2

    compiled_operations(step, (torch.randn(6, 11), torch.randn(6, 11)))


def test_a_convolution_is_followed_by_one_loop():
    """Its bias, a batch norm by running averages and the activation, in one pass."""
    torch.manual_seed(0)
    norm = torch.nn.BatchNorm2d(6)
    norm(torch.randn(8, 6, 4, 4))
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 6, 3), norm, torch.nn.GELU()).eval()

    def step(x):
        with torch.no_grad():
            return net(x)

    operations = compiled_operations(step, (torch.randn(2, 3, 8, 9),))
    loops = [each.name for each in operations if isinstance(each, Pointwise)]
    names = [name for name in loops if name != "copy"]
    assert sorted(names) == ["add_rsqrt_mul", "add_sub_mul_add_gelu"]


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy_runs_without_python(reduction):
    weight = torch.rand(5) + 0.5

    def step(x, target):
        loss = F.cross_entropy(x, target, weight, ignore_index=2, reduction=reduction)
        (gradient,) = torch.autograd.grad(loss.sum(), x)
        return loss.detach(), gradient

    x = torch.randn(7, 5, requires_grad=True)
    target = torch.tensor([0, 1, 2, 3, 4, 2, 1])
    operations = compiled_operations(step, (x, target))
    assert isinstance(operations[0], Check)
    assert not any(isinstance(operation, Call) for operation in operations)


def test_probabilities_are_checked_without_python():
    def step(x, target):
        return F.binary_cross_entropy(x, target)

    of_input, of_target, *rest = compiled_operations(step, (torch.rand(5, 3), torch.ones(5, 3)))
    assert isinstance(of_input, Check) and isinstance(of_target, Check)
    assert not any(isinstance(operation, (Call, Check)) for operation in rest)


def test_classes_are_checked_at_every_run_and_leave_what_the_function_leaves():
    weight = torch.ones(4, 3, requires_grad=True)

    @torch.compile
    def step(x, target):
        with torch.no_grad():
            weight.mul_(0.5)
        loss = F.cross_entropy(x @ weight, target)
        loss.backward()
        return loss

    x = torch.randn(2, 4)
    for _ in range(4):
        step(x, torch.tensor([0, 2]))
    before = weight.detach().numpy().copy()
    with pytest.raises(IndexError, match="Target 3 is out of bounds"):
        step(x, torch.tensor([0, 3]))
    np.testing.assert_array_equal(weight.detach().numpy(), before / 2)


# --- memory ---------------------------------------------------------------------------------------


def test_columns_of_a_matrix_share_nothing():
    trace = Trace()
    matrix = np.zeros((4, 12), np.float32)
    left, middle, right = [trace.view(matrix[:, k : k + 4]) for k in (0, 4, 8)]
    assert not overlap(left, middle)
    assert not overlap(middle, right)
    assert overlap(left, trace.view(matrix[:, 3:7]))
    assert overlap(left, trace.view(matrix))
    assert overlap(left, trace.view(matrix[2]))
    even, odd = trace.view(matrix[:, ::2]), trace.view(matrix[:, 1::2])
    assert not overlap(even, odd)
    assert overlap(even, trace.view(matrix[:, ::3]))


def test_overlap_never_misses_a_shared_element():
    random = np.random.default_rng(0)
    trace = Trace()
    block = np.zeros((6, 5, 7), np.float32)
    for _ in range(500):
        parts = []
        for _ in range(2):
            key = []
            for size in block.shape:
                start = int(random.integers(0, size))
                key.append(slice(start, int(random.integers(start, size)) + 1, None))
            part = block[tuple(key)][:: random.integers(1, 3), :, :: random.integers(1, 4)]
            parts.append(part.transpose(random.permutation(3)))
        views = [trace.view(part) for part in parts]
        if np.shares_memory(*parts):
            assert overlap(*views)
            assert len(set(numbered_apart(views))) == 1


def test_given_memory_at_the_same_address_is_not_apart():
    trace = Trace()
    block = bytearray(64)
    first = trace.view(np.frombuffer(block, np.float32))
    second = trace.view(np.frombuffer(block, np.float32)[4:])
    third = trace.view(np.zeros(16, np.float32))
    assert numbered_apart([first, second, None, third]) == [1, 1, 0, 2]


# --- whole graphs ---------------------------------------------------------------------------------


def random_step(seed, assign=True):
    """A step of random operations: by elements, by rows, by columns, and in place."""
    random = np.random.default_rng(seed)
    recipe = [tuple(random.integers(0, 1000, 4)) for _ in range(18)]

    def step(x, y, row, column):
        known = [x, y, x * 0.5]
        for kind, a, b, part in recipe:
            first, second = known[a % len(known)], known[b % len(known)]
            made = [
                lambda p, q: p + q,
                lambda p, q: p * q - 0.25,
                lambda p, q: torch.tanh(p) * row,
                lambda p, q: torch.exp(-(p * p)) + column,
                lambda p, q: torch.where(p > q, p, q * 0.5),
                lambda p, q: p - q.mean(1, keepdim=True),
                lambda p, q: torch.softmax(p, 1) + q,
                lambda p, q: p / (1 + q.abs().amax(1, keepdim=True).detach()),
                lambda p, q: p * torch.sigmoid(q.sum(0) * 0.01),
                lambda p, q: torch.cat([p[:, :7], q[:, 7:]], 1),
                lambda p, q: torch.sin(p) + q.sum() * 0.001,
                lambda p, q: (p + 0).mul_(0.5).add_(q),
                lambda p, q: (p * 1.5).t().contiguous().t(),
            ][kind % 13](first, second)
            if assign and part % 5 == 0:
                made = made.clone()
                made[:, part % 7 :: 2] = second[:, part % 7 :: 2]
            known.append(made)
        return tuple(known[-4:])

    return step


@pytest.mark.parametrize("seed", range(12))
def test_random_graphs(seed):
    torch.manual_seed(seed)
    arguments = torch.randn(6, 11), torch.randn(6, 11), torch.randn(11), torch.randn(6, 1)
    compiled_operations(random_step(seed), arguments, rtol=1e-4)


@pytest.mark.parametrize("seed", range(8))
def test_gradients_of_random_graphs(seed):
    torch.manual_seed(seed)
    forward = random_step(100 + seed, assign=False)

    def step(*leaves):
        total = sum([each.square().mean() for each in forward(*leaves)])
        gradients = torch.autograd.grad(total, leaves, allow_unused=True)
        return total.detach(), *[g for g in gradients if g is not None]

    shapes = (6, 11), (6, 11), (11,), (6, 1)
    arguments = [torch.randn(*shape, requires_grad=True) for shape in shapes]
    compiled_operations(step, arguments, rtol=1e-3)


def test_elements_that_lie_apart_are_written_in_place():
    def step(x):
        y = x * 1
        y[:, ::2].mul_(3).add_(1)
        y.t()[1:3].mul_(2)
        return y

    compiled_operations(step, (torch.randn(5, 6),))

    def product(a, b):
        made = torch.empty(3, 4).t()
        made.copy_(a @ b)
        return made.add_(1).mul_(2) * torch.empty_like(made).fill_(3)

    compiled_operations(product, (torch.randn(4, 5), torch.randn(5, 3)))


@pytest.mark.parametrize("width", [300, 1024, 1100])
def test_large_results_go_past_the_caches(width, monkeypatch):
    for module in (lowering, row_stages):
        monkeypatch.setattr(module, "stream_bytes", lambda: 1 << 14)

    def step(x, y):
        normed = torch.softmax(x, 1) * y
        return normed, normed.sum(0), (x * 2 + y).exp(), x.t() + y.t()

    x, y = torch.randn(37, width) * 0.1, torch.randn(37, width)
    operations = compiled_operations(step, (x, y))
    assert any(["stream(" in text_of(operation) for operation in operations])


@pytest.mark.parametrize("seed", range(3))
def test_random_graphs_past_the_caches(seed, monkeypatch):
    for module in (lowering, row_stages):
        monkeypatch.setattr(module, "stream_bytes", lambda: 1 << 10)
    torch.manual_seed(seed)
    arguments = torch.randn(6, 301), torch.randn(6, 301), torch.randn(301), torch.randn(6, 1)
    compiled_operations(random_step(200 + seed), arguments, rtol=1e-3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "rows, columns", [(2, 3), (64, 10), (64, 16), (101, 22), (1000, 7), (3000, 10), (5000, 11)]
)
def test_totals_over_short_rows_with_a_bias(rows, columns, dtype):
    torch.manual_seed(31)
    x, y = torch.randn(rows, columns, dtype=dtype), torch.randn(rows, columns, dtype=dtype)
    bias, scale = torch.randn(columns, dtype=dtype), torch.randn(1, columns, dtype=dtype)
    slope, keep = torch.tensor(0.5, dtype=dtype), torch.arange(columns) % 3 > 0

    def loss(x, y, bias, scale, slope, keep):
        made = torch.tanh(x + bias) * scale * slope
        kept = torch.where(keep, made, y)
        return ((kept - y) ** 2).mean(), made.sum(), kept

    def gradients(x, y, bias, scale, slope, keep):
        x = x.detach().requires_grad_()
        total, *_ = loss(x, y, bias, scale, slope, keep)
        return torch.autograd.grad(total, x)[0], total

    given = (x, y, bias, scale, slope, keep)
    operations = compiled_operations(loss, given, rtol=2e-5)
    compiled_operations(gradients, given, rtol=2e-5)
    (loop,) = [each for each in operations if type(each).__name__ == "RowLoop"]
    (launch, *_) = lowering.lower(loop)
    short = columns * dtype.itemsize % (loader.target().vector_bits // 8) != 0
    assert (launch.args[kernel_rows.COLUMNS] > columns) == short


def test_rows_with_values_of_their_own_are_not_one_run():
    torch.manual_seed(32)
    x, bias, each = torch.randn(30, 7), torch.randn(7), torch.randn(30, 1)
    wide = torch.randn(30, 9)[:, :7]
    for other in (each, wide, torch.randn(30, 7).T.contiguous().T):
        compiled_operations(
            lambda x, bias, other: ((torch.tanh(x + bias) * other) ** 2).mean(),
            (x, bias, other), rtol=2e-5,
        )  # fmt: skip
        compiled_operations(
            lambda x, bias, other: (torch.tanh(x + bias).sum(0), (x * other).sum(1)),
            (x, bias, other), rtol=2e-5,
        )  # fmt: skip


def test_values_of_a_row_are_divided_once():
    def step(x, g):
        (gradient,) = torch.autograd.grad(F.gelu(F.softmax(F.layer_norm(x, (300,)), 1)), x, g)
        return gradient

    x, g = torch.randn(9, 300, requires_grad=True), torch.randn(9, 300)
    (operation,) = compiled_operations(step, (x, g))
    text = text_of(operation)
    assert text.count("store_apart(scratch + 0") > 1  # a place that several values take in turn
    assert text.count("/ r3") == 1


def test_the_cost_model_can_be_replaced(monkeypatch):
    def step(x):
        return torch.softmax(torch.exp(x) + 1, 1)

    monkeypatch.setattr(cost, "model", dataclasses.replace(cost.model, keep=1e9))
    (operation,) = compiled_operations(step, (torch.randn(9, 30),))
    assert "scratch + " not in text_of(operation).replace("scratch_start + ", "")


def text_of(operation):
    """The sources of the kernels of an operation."""
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(library, "generated", lambda name, text, **how: found.append(text) or 1)
        lowering.lower(operation)
    return "\n".join(found)


def test_a_loop_over_many_arrays_uses_vectors():
    inputs, outputs = range(6), range(6)
    lines = ["def kernel(args, lo, hi):"]
    lines += [f"    x{k} = load(args, {k}, int64)" for k in inputs]
    lines += [f"    y{k} = load(args, {6 + k}, int64)" for k in outputs]
    lines.append("    for i in range(lo, hi):")
    lines += [f"        a{k} = load_apart(x{k}, i, float32, {k + 1})" for k in inputs]
    lines += [
        f"        store_apart(y{k}, i, a{k} * a{(k + 1) % 6}, float32, {7 + k})" for k in outputs
    ]
    namespace = {}
    exec("from numbagrad.codegen.intrinsics import *\n" + "\n".join(lines), namespace)
    text = assembly(namespace["kernel"], "void(int64, int64, int64)", code="formula")
    assert text.count("mulps") >= 6


@pytest.mark.parametrize("shape", [(1,), (1, 1), (1, 1, 1)])
@pytest.mark.parametrize("name", ["sum", "mean", "amax"])
def test_what_reads_the_total_of_one_element_runs_after_it(name, shape):
    def standardised(x):
        total = getattr(x * 1.5, name)(list(range(x.ndim)), keepdim=True)
        return (x - total) * x.exp() + total

    compiled = torch.compile(standardised)
    for value in (2.0, 3.0, 5.0, -7.0):
        x = torch.full(shape, value)
        assert torch.allclose(compiled(x), standardised(x))


def test_normalisation_of_one_element():
    for value in (2.0, -3.0):
        x = torch.tensor([value], requires_grad=True)
        made = torch.nn.functional.layer_norm(x, (1,))
        assert made.tolist() == [0.0]
        scaled = torch.nn.functional.rms_norm(x.view(1, 1), (1, 1))
        assert scaled.tolist() == [[pytest.approx(value / abs(value))]]
        (gradient,) = torch.autograd.grad(made.sum() + scaled.sum(), x)
        assert abs(gradient.item()) < 1e-5
