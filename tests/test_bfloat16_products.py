"""Products of bfloat16: by pairs where the CPU multiplies them, by float32 elsewhere."""

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.kernels.matmul import pairs
from numbagrad.kernels.matmul.layout import PAIR_COLUMNS, PAIR_ROWS

SHAPES = [
    (64, 64, 64), (13, 1001, 33), (1, 8200, 1), (5, 513, 40), (100, 1, 100), (33, 129, 65),
    (12, 37, 200), (300, 40, 7),
]  # fmt: skip


def operand(rng, rows, columns, layout):
    """A random matrix: rows contiguous (N), columns contiguous (T), or neither (S)."""
    values = torch.from_numpy(rng.standard_normal((rows, columns)).astype("float32")).bfloat16()
    if layout == "T":
        return values.t().contiguous().t()
    if layout == "S":
        wide = torch.zeros(rows, 2 * columns, dtype=torch.bfloat16)
        wide[:, ::2] = values
        return wide[:, ::2]
    return values


def close(found, a, b):
    """Whether a product is rounded once, of sums of float32 in any order."""
    a, b = a.double().numpy(), b.double().numpy()
    expected, scale = a @ b, abs(a) @ abs(b)
    allowed = abs(expected) * 2.0**-8 + scale * 1e-6 * np.sqrt(a.shape[-1])
    return (abs(found.double().numpy() - expected) <= allowed).all()


@pytest.mark.parametrize("layouts", ["NN", "NT", "TN", "TT", "NS", "SN"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_product(shape, layouts):
    rng = np.random.default_rng(0)
    rows, depth, columns = shape
    a, b = operand(rng, rows, depth, layouts[0]), operand(rng, depth, columns, layouts[1])
    assert (a @ b).dtype is torch.bfloat16
    assert close(a @ b, a, b)


def test_stacks():
    rng = np.random.default_rng(1)
    a = operand(rng, 100, 40, "N").view(5, 20, 40)
    b = operand(rng, 200, 50, "N").view(5, 40, 50)
    assert close(torch.bmm(a, b), a, b)
    assert close(a @ b[0], a, b[0])
    assert close(a[0] @ b, a[0], b)
    assert close(a @ b[:1].expand(5, 40, 50), a, b[:1])
    assert close(a.transpose(1, 2) @ a, a.transpose(1, 2), a)
    assert close(a[None] @ b[:, None], a[None], b[:, None])
    assert (a[:0] @ b[:0]).shape == (0, 20, 50)


def test_infinity_and_nan_reach_their_rows_and_columns_alone():
    a, b = torch.ones(50, 70).bfloat16(), torch.ones(70, 60).bfloat16()
    a[3, 69], b[0, 59] = float("nan"), float("inf")
    found = (a @ b).float().numpy()
    expected = np.full((50, 60), 70.0)
    expected[:, 59], expected[3] = np.inf, np.nan
    np.testing.assert_array_equal(found, expected)


def test_bits_do_not_depend_on_threads():
    rng = np.random.default_rng(2)
    a, b = operand(rng, 301, 500, "N"), operand(rng, 500, 270, "T")
    before = torch.get_num_threads()
    try:
        found = []
        for threads in (1, 2, 4):
            torch.set_num_threads(threads)
            found.append((a @ b).view(torch.int16))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(found[0], found[1]) and torch.equal(found[0], found[2])


def test_compiled_step_has_the_bits_of_the_eager_one():
    rng = np.random.default_rng(3)
    x, w = operand(rng, 40, 60, "N"), operand(rng, 50, 60, "N").requires_grad_()
    bias = torch.ones(50, dtype=torch.bfloat16, requires_grad=True)

    def step(x):
        made = torch.nn.functional.linear(x, w, bias).relu().mm(w.detach())
        return made, *torch.autograd.grad(made, (w, bias), torch.ones_like(made))

    compiled = torch.compile(step)
    for _ in range(4):
        for eager, made in zip(step(x), compiled(x), strict=True):
            assert torch.equal(eager, made)
        x = x + x * 0.5


@pytest.mark.parametrize("layout", ["N", "T"])
@pytest.mark.parametrize("depth", [23, 24])
@pytest.mark.parametrize("kind", ["bfloat16", "float32"])
def test_kernels_as_python(kind, depth, layout):
    """The text of the kernels, which runs on any CPU."""
    rng = np.random.default_rng(4)
    rows, columns, count = 14, 37, (depth + 1) // 2
    a, b = operand(rng, rows, depth, layout), operand(rng, depth, columns, layout)
    of_rows, of_columns = ((depth, 1), (columns, 1)) if layout == "N" else ((1, rows), (1, depth))
    packed = []
    for x, number, (across, step), width in (
        (a, rows, of_rows, PAIR_ROWS), (b, columns, of_columns[::-1], PAIR_COLUMNS),
    ):  # fmt: skip
        panels = -(-number // width)
        made = np.zeros((panels, count, width), np.int32)
        memory = x._array if layout == "N" else x._array.T
        kernel = pairs.pack_pairs
        kernel.py_func(kernel.pack(made, memory, number, depth, across, step, 0, width), 0, panels)
        packed.append(made)
    first, second = packed
    ways = [(first, 1, PAIR_ROWS)]
    if layout == "N" and depth % 2 == 0:
        ways.append((a._array.view(np.int32), count, 1))
    kernel = pairs.multiply[kind]
    for given, *steps in ways:
        result = torch.zeros(rows, columns, dtype=getattr(torch, kind))
        words = kernel.pack(result._array, given, second, rows, columns, count, *steps, 0, 0, 1)
        kernel.py_func(words, 0, 4)
        assert close(result, a, b)
