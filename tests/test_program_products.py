"""Products in programs: pointwise work on their tiles, sums of products, and who may not join."""

from __future__ import annotations

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.executor.cache import library
from numbagrad.executor.mode import NATIVE

pytestmark = pytest.mark.skipif(not NATIVE, reason="compile() runs functions as they are")


def launches(step, *arguments):
    """The operators of each launch of a compiled function."""
    return [row.operators for row in torch.explain(step)(*arguments).forward.rows]


def agree(function, *arguments, calls=3, tolerance=1e-5):
    """A compiled function that returned what the eager one returns, call after call."""
    step = torch.compile(function)
    for _ in range(calls):
        expected, found = function(*arguments), step(*arguments)
        for x, y in zip(expected, found, strict=True):
            assert x.dtype == y.dtype and x.shape == y.shape
            values = x.numpy()[np.isfinite(x.numpy())]
            scale = float(np.abs(values).max(initial=0))
            np.testing.assert_allclose(y.numpy(), x.numpy(), rtol=tolerance, atol=tolerance * scale)
    return step


SIZES = [(64, 100, 33), (1, 7, 5), (5, 3, 1), (13, 600, 40), (3, 1, 700), (40, 9, 1)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("rows, depth, columns", SIZES)
def test_bias_activation_and_residual_run_on_the_tiles(rows, depth, columns, dtype):
    torch.manual_seed(0)
    x, w = torch.randn(rows, depth, dtype=dtype), torch.randn(depth, columns, dtype=dtype)
    bias, residual = torch.randn(columns, dtype=dtype), torch.randn(rows, columns, dtype=dtype)

    def layer(x, w, bias, residual):
        return (torch.tanh(x @ w + bias) + residual,)

    step = agree(layer, x, w, bias, residual)
    assert launches(step, x, w, bias, residual) == [("matmul", "add", "tanh", "add")]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("columns", [1, 2, 7, 10, 16, 17, 22, 33, 63, 100, 127, 129, 600])
def test_short_rows_with_a_bias_are_one_run(columns, dtype):
    torch.manual_seed(21)
    bias, scale = torch.randn(columns, dtype=dtype), torch.randn(1, columns, dtype=dtype)

    def layer(x, w, bias, scale, residual):
        y = x @ w
        return torch.tanh(y + bias) * scale + residual, torch.erf(y * scale)

    for rows, depth in ((1, 3), (2, 3), (64, 22), (67, 5), (300, 40)):
        x, w = torch.randn(rows, depth, dtype=dtype), torch.randn(depth, columns, dtype=dtype)
        residual = torch.randn(rows, columns, dtype=dtype)
        if rows > 1:
            x[1, 0] = float("nan")  # and stays in its row
        step = agree(layer, x, w, bias, scale, residual)
        assert len(launches(step, x, w, bias, scale, residual)) == 1 or columns == 1


def test_short_rows_of_stacks_and_columns_of_a_residual():
    torch.manual_seed(22)
    x, w, bias = torch.randn(3, 9, 5), torch.randn(3, 5, 22), torch.randn(22)
    biases, wide = torch.randn(3, 1, 22), torch.randn(3, 9, 30)
    agree(lambda *x: (torch.tanh(x[0] @ x[1] + x[2]) * x[3],), x, w, bias, biases)
    agree(lambda *x: (torch.tanh(x[0] @ x[1] + x[2]) * x[3],), x, w, bias, wide[..., :22])
    agree(lambda *x: (torch.tanh(x[0] @ x[1] + x[2]) * x[3],), x, w, bias, torch.randn(3, 9, 1))


def test_both_layouts_of_each_factor():
    torch.manual_seed(1)
    a, b = torch.randn(20, 300), torch.randn(300, 24)
    for x in (a, a.T.contiguous().T):
        for y in (b, b.T.contiguous().T):
            step = agree(lambda x, y: ((x @ y).relu() * 2,), x, y)
            assert len(launches(step, x, y)) == 1


def test_stacks_of_matrices_broadcast_also_in_the_epilogue():
    torch.manual_seed(2)
    a, b = torch.randn(3, 1, 5, 17), torch.randn(4, 17, 6)
    scale, shift = torch.randn(3, 1, 1, 6), torch.randn(5, 1)
    step = agree(lambda *x: ((x[0] @ x[1]) * x[2] - x[3],), a, b.unsqueeze(0), scale, shift)
    assert len(launches(step, a, b.unsqueeze(0), scale, shift)) == 1


def test_operands_that_are_not_contiguous():
    torch.manual_seed(3)
    x, w = torch.randn(9, 30)[:, ::2], torch.randn(15, 40)[:, 3:27]
    mask = torch.randn(24, 9).T > 0
    other = torch.randn(9, 48)[:, ::2]
    step = agree(lambda *x: (torch.where(x[2], x[0] @ x[1], x[3]),), x, w, mask, other)
    assert len(launches(step, x, w, mask, other)) == 1


def test_what_reads_the_product_itself_still_finds_it():
    torch.manual_seed(4)
    x, w = torch.randn(30, 8), torch.randn(8, 20)

    def both(x, w):
        product = x @ w
        return product, product.exp(), product.sum(0)

    agree(both, x, w)


def test_nan_and_infinity_go_where_they_go_without_fusion():
    x = torch.tensor([[float("nan"), 1.0], [float("inf"), 2.0], [1.0, 0.0]])
    w = torch.tensor([[1.0, 0.0], [-1.0, 3.0]])

    def layer(x, w):
        y = x @ w
        return torch.where(y > 0, y, 0 * y), y.clamp(min=0)

    agree(layer, x, w)


@pytest.mark.parametrize("shape", [(0, 4, 5), (4, 0, 5), (4, 5, 0)])
def test_sizes_of_zero(shape):
    rows, depth, columns = shape
    x, w, bias = torch.ones(rows, depth), torch.ones(depth, columns), torch.ones(columns)
    agree(lambda x, w, bias: ((x @ w + bias).exp(),), x, w, bias)


def test_other_sizes_are_planned_again_and_compile_nothing():
    def layer(x, w, bias):
        return (torch.sigmoid(x @ w + bias) * 3,)

    step = torch.compile(layer)

    def run(rows, depth, columns):
        torch.manual_seed(rows)
        given = torch.randn(rows, depth), torch.randn(depth, columns), torch.randn(columns)
        for _ in range(3):
            found = step(*given)
        np.testing.assert_allclose(found[0].numpy(), layer(*given)[0].numpy(), 1e-5, 1e-6)

    run(50, 600, 70)
    before = library.stats().compiled
    run(20, 30, 40)
    run(51, 31, 41)
    assert library.stats().compiled == before


def test_layers_of_one_kind_share_their_kernels():
    torch.manual_seed(5)
    weights = [torch.randn(16, 16) for _ in range(6)]

    def deep(x):
        for w in weights:
            x = torch.tanh(x @ w)
        return (x,)

    x = torch.randn(4, 16)
    step = agree(deep, x)
    rows = torch.explain(step)(x).forward.rows
    assert [row.operators for row in rows] == [("matmul", "tanh")] * 6
    assert len({row.kernels for row in rows}) == 1


# --- updates --------------------------------------------------------------------------------------


def test_an_update_runs_on_the_gradient_of_the_weight():
    def make():
        torch.manual_seed(6)
        w = torch.randn(12, 20, requires_grad=True)

        def step(x, y):
            w.grad = None
            loss = (x @ w - y).pow(2).sum()
            loss.backward()
            with torch.no_grad():
                w.sub_(1e-3 * w.grad)
            return loss.detach(), w.detach().clone(), w.grad.clone()

        return step

    x, y = torch.randn(32, 12), torch.randn(32, 20)
    eager, compiled = make(), torch.compile(make())
    for _ in range(5):
        for expected, found in zip(eager(x, y), compiled(x, y), strict=True):
            np.testing.assert_allclose(found.numpy(), expected.numpy(), 2e-5, 1e-5)
    assert any([names[:3] == ("matmul", "mul", "sub") for names in launches(compiled, x, y)])


def test_a_factor_is_not_written_while_the_product_reads_it():
    torch.manual_seed(7)
    x, w = torch.randn(40, 40), torch.randn(40, 40)

    def square(x):
        state = x.clone()
        state -= 0.1 * (state @ state)
        return (state,)

    def turned(x, w):
        product = x @ w
        return (product + product.T,)

    step = agree(square, x)
    assert len(launches(step, x)) > 1
    assert len(launches(agree(turned, x, w), x, w)) == 2


# --- sums of products -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("depth", [1, 16, 90, 700])
def test_products_that_are_added_up_need_no_memory_of_their_own(depth, dtype):
    torch.manual_seed(8)
    pairs = [
        (torch.randn(depth, 37, dtype=dtype), torch.randn(depth, 50, dtype=dtype)) for _ in range(5)
    ]

    def total(*factors):
        result = factors[0].T @ factors[1]
        for a, b in zip(factors[2::2], factors[3::2], strict=True):
            result = result + a.T @ b
        return (result,)

    given = [x for pair in pairs for x in pair]
    step = agree(total, *given, tolerance=1e-4)
    program = torch.explain(step)(*given).forward
    assert all([row.operators == ("matmul",) for row in program.rows])
    assert program.arena_bytes == 0
    if depth == 16:
        assert len(program.rows) == 1
        assert program.rows[0].shape == "5 times 37×16, 16×50 -> 37×50"


def test_a_sum_of_products_has_the_bits_of_one_that_is_added_step_by_step():
    torch.manual_seed(9)
    given = [torch.randn(*shape) for shape in [(30, 16), (16, 70)] * 4]

    def total(*x):
        return (x[0] @ x[1] + x[2] @ x[3] + x[4] @ x[5] + x[6] @ x[7],)

    step = torch.compile(total)
    for _ in range(3):
        found = step(*given)[0]
    assert len(launches(step, *given)) == 1
    np.testing.assert_array_equal(found.numpy(), total(*given)[0].numpy())


def test_a_gradient_that_is_there_is_added_to():
    def make():
        torch.manual_seed(10)
        w = torch.randn(9, 11, requires_grad=True)

        def step(x):
            (x @ w).tanh().sum().backward()
            return (w.grad.clone(),)

        return step

    x = torch.randn(6, 9)
    eager, compiled = make(), torch.compile(make())
    for _ in range(6):
        np.testing.assert_allclose(
            compiled(x)[0].numpy(), eager(x)[0].numpy(), rtol=1e-5, atol=1e-5
        )


def test_a_sum_that_is_read_in_between_is_what_it_is_then():
    torch.manual_seed(11)
    given = [torch.randn(8, 8) for _ in range(6)]

    def sums(a, b, c, d, e, f):
        first = a @ b
        second = first + c @ d
        third = second + e @ f
        return second * 2, third, first.sum()

    agree(sums, *given)


def test_nothing_is_added_to_what_a_forward_kept():
    class Layer(torch.nn.Module):
        def forward(self, x, w):
            y = x.exp()
            return y * y.detach() + (y @ w)

    torch.manual_seed(15)
    x, w = torch.randn(6, 6), torch.randn(6, 6)
    compiled, layer = torch.compile(Layer()), Layer()
    for _ in range(4):
        gradients = []
        for model in (compiled, layer):
            leaf = x.clone().requires_grad_()
            y = model(leaf, w)
            (y * y).sum().backward(retain_graph=True)
            y.sum().backward()
            gradients.append(leaf.grad.numpy())
        np.testing.assert_allclose(*gradients, rtol=1e-4, atol=1e-4)


def test_a_factor_that_changes_between_is_used_as_it_was():
    torch.manual_seed(12)
    a, b = torch.randn(8, 8), torch.randn(8, 8)

    def change(a, b):
        x = a.clone()
        first = x @ b
        x.mul_(2)
        second = first + x @ b
        x.add_(1)
        return second, x @ b

    agree(change, a, b)


def test_a_recurrence_keeps_no_gradients_waiting():
    def make():
        torch.manual_seed(13)
        w = (torch.randn(24, 24) / 5).requires_grad_()

        def step(x):
            w.grad = None
            state = x
            for _ in range(12):
                state = torch.tanh(state @ w)
            loss = state.sum()
            loss.backward()
            return loss.detach(), w.grad.clone()

        return step

    x = torch.randn(8, 24)
    eager, compiled = make(), torch.compile(make())
    for _ in range(4):
        for expected, found in zip(eager(x), compiled(x), strict=True):
            np.testing.assert_allclose(found.numpy(), expected.numpy(), 1e-5, 1e-5)
    found = launches(compiled, x)
    assert not any(["add" in names for names in found])
    assert torch.explain(compiled)(x).forward.arena_bytes < 12 * 8 * 24 * 4 * 3


@pytest.mark.parametrize("threads", [1, 2])
def test_the_bits_do_not_depend_on_the_number_of_threads(threads):
    torch.manual_seed(14)
    x, w, bias = torch.randn(200, 300), torch.randn(300, 500), torch.randn(500)
    before = torch.get_num_threads()
    found = []
    for count in (1, threads):
        torch.set_num_threads(count)
        try:
            step = torch.compile(lambda x, w, bias: (x @ w + bias).tanh())
            for _ in range(3):
                result = step(x, w, bias)
            found.append(result.numpy().copy())
        finally:
            torch.set_num_threads(before)
    np.testing.assert_array_equal(*found)
