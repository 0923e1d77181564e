"""Convolutions, transposed ones and their gradients against sums written out, place by place."""

import itertools
import math

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.executor import convolution as executor
from numbagrad.executor.plan.windows import Form, product_plan, weights_plan
from numbagrad.kernels.convolution import layout
from numbagrad.nn import functional as F

TOLERANCE = {"float32": 2e-4, "float64": 1e-12}


def places(form):
    """For each place of a kernel, slices of the padded source that its windows have there."""
    for place in itertools.product(*map(range, form.kernel)):
        slices = [
            slice(k * d, k * d + (n - 1) * s + 1, s)
            for k, d, s, n in zip(place, form.dilation, form.stride, form.result, strict=True)
        ]
        yield (..., *place), (..., *slices)


def padded(form, source):
    return np.pad(source, [(0, 0), (0, 0), *[(p, p) for p in form.padding]])


def grouped(form, array, sizes):
    """(N, groups, channels of a group, ...)."""
    return array.reshape(form.batch, form.groups, -1, *sizes)


def convolved(form, source, weights):
    """The convolution that a form describes."""
    wide = padded(form, source)
    wide = grouped(form, wide, wide.shape[2:])
    matrices = weights.reshape(form.groups, form.rows, form.channels, *form.kernel)
    total = np.zeros((form.batch, form.groups, form.rows, *form.result))
    for place, windows in places(form):
        total += np.einsum("goc,ngc...->ngo...", matrices[place], wide[windows])
    return total.reshape(form.batch, -1, *form.result)


def gradients(form, source, weights, grad):
    """Gradients of the source and of the weights."""
    wide = padded(form, source)
    sizes = wide.shape[2:]
    wide = grouped(form, wide, sizes)
    matrices = weights.reshape(form.groups, form.rows, form.channels, *form.kernel)
    of_result = grouped(form, grad, form.result)
    of_source, of_weights = np.zeros(wide.shape), np.zeros(matrices.shape)
    for place, windows in places(form):
        of_source[windows] += np.einsum("goc,ngo...->ngc...", matrices[place], of_result)
        axes = "xyz"[: len(form.kernel)]
        rule = f"ngo{axes},ngc{axes}->goc"
        of_weights[place] = np.einsum(rule, of_result, wide[windows])
    inside = [slice(p, p + n) for p, n in zip(form.padding, form.source, strict=True)]
    of_source = of_source.reshape(form.batch, -1, *sizes)[(..., *inside)]
    return of_source, of_weights.reshape(weights.shape)


def form_of(batch, groups, channels, rows, source, kernel, stride, padding, dilation):
    rank = len(source)
    options = [(x,) * rank if isinstance(x, int) else x for x in (stride, padding, dilation)]
    result = tuple([
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(source, kernel, *options, strict=True)
    ])  # fmt: skip
    return Form(batch, groups, channels, rows, source, result, kernel, *options, False)


def operands(form, dtype, seed=0):
    rng = np.random.default_rng(seed)
    shapes = (
        (form.batch, form.groups * form.channels, *form.source),
        (form.groups * form.rows, form.channels, *form.kernel),
        (form.batch, form.groups * form.rows, *form.result),
    )
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def check(form, dtype):
    """A convolution, its gradients, and its transpose, by the public functions."""
    source, weights, grad = operands(form, dtype)
    wide = [x.astype(np.float64) for x in (source, weights, grad)]
    expected = [convolved(form, *wide[:2]), *gradients(form, *wide)]
    rank = len(form.source)
    options = dict(
        stride=form.stride, padding=form.padding, dilation=form.dilation, groups=form.groups
    )
    x, w = [torch.tensor(each, requires_grad=True) for each in (source, weights)]
    y = getattr(F, f"conv{rank}d")(x, w, **options)
    y.backward(torch.tensor(grad))
    found = [y.detach().numpy(), x.grad.numpy(), w.grad.numpy()]
    for mine, reference in zip(found, expected, strict=True):
        assert mine.dtype == dtype and mine.shape == reference.shape
        scale = max(1.0, np.abs(reference).max())
        assert np.abs(mine - reference).max() <= TOLERANCE[dtype] * scale
    # The transpose maps the result's side to the source's; sizes that a stride skips are added.
    more = tuple([
        n - ((r - 1) * s - 2 * p + d * (k - 1) + 1)
        for n, r, k, s, p, d in zip(
            form.source, form.result, form.kernel, form.stride, form.padding, form.dilation,
            strict=True,
        )
    ])  # fmt: skip
    if all([m < max(s, d) for m, s, d in zip(more, form.stride, form.dilation, strict=True)]):
        bias = np.arange(form.groups * form.channels).astype(dtype)
        made = getattr(F, f"conv_transpose{rank}d")(
            torch.tensor(grad), w, torch.tensor(bias), output_padding=more, **options
        )
        reference = expected[1] + bias.reshape(-1, *[1] * rank)
        scale = max(1.0, np.abs(reference).max())
        assert np.abs(made.detach().numpy() - reference).max() <= TOLERANCE[dtype] * scale


OPTIONS = [*itertools.product((1, 2, 3), (0, 1, 3), (1, 2), (1, 3))]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("stride, padding, dilation, groups", OPTIONS, ids=str)
def test_images(stride, padding, dilation, groups, dtype):
    number = OPTIONS.index((stride, padding, dilation, groups))
    kernel, source = (1 + number % 4, 1 + number // 4 % 3), (9 + number % 5, 21 - number % 7)
    rows, channels = 1 + number % 17, 1 + number % 3
    check(form_of(2, groups, channels, rows, source, kernel, stride, padding, dilation), dtype)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(
    "form",
    [
        form_of(2, 1, 3, 5, (40,), (5,), 1, 2, 1),
        form_of(2, 2, 2, 3, (41,), (4,), 3, 1, 2),
        form_of(1, 1, 2, 3, (4, 5, 6), (2, 3, 2), 1, 1, 1),
        form_of(2, 2, 1, 2, (5, 4, 7), (3, 1, 2), 2, 1, 1),
        form_of(3, 5, 1, 1, (8, 9), (3, 3), 1, 1, 1),  # channel by channel
        form_of(3, 5, 1, 2, (8, 9), (3, 3), 2, 1, 1),
        form_of(2, 1, 4, 6, (7, 6), (1, 1), 1, 0, 1),  # a product
        form_of(2, 1, 4, 6, (7, 6), (1, 1), 2, 1, 1),
        form_of(1, 1, 2, 3, (5, 5), (5, 5), 1, 0, 1),  # one window
        form_of(2, 1, 1, 13, (6, 40), (2, 2), (2, 1), (1, 0), (1, 3)),
    ],
    ids=str,
)
def test_other_shapes(form, dtype):
    check(form, dtype)


@pytest.mark.parametrize(
    "form",
    [
        form_of(1, 1, 30, 20, (70, 80), (3, 3), 1, 1, 1),  # blocks of lines
        form_of(1, 1, 8, 4, (9000,), (5,), 1, 2, 1),  # blocks of a line
        form_of(1, 1, 120, 40, (12, 12), (3, 3), 1, 1, 1),  # blocks of channels, and of rows
        form_of(30, 1, 3, 4, (6, 6), (3, 3), 1, 1, 1),  # images together, and parts
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_blocks(form, dtype):
    check(form, dtype)


def test_what_the_plans_of_these_have():
    def words(form, plan=product_plan):
        return plan(form).words

    lines = words(form_of(1, 1, 30, 20, (70, 80), (3, 3), 1, 1, 1))
    assert lines[layout.BLOCKS + 1] > 1 and lines[layout.BLOCKS + 2] == 1
    assert words(form_of(1, 1, 8, 4, (9000,), (5,), 1, 2, 1))[layout.BLOCKS + 2] > 1
    deep = words(form_of(1, 1, 120, 40, (12, 12), (3, 3), 1, 1, 1))
    assert deep[layout.DEPTH_CHANNELS] < 120 and deep[layout.ROW_BLOCKS] > 1
    many = words(form_of(30, 1, 3, 4, (6, 6), (3, 3), 1, 1, 1), weights_plan)
    assert many[layout.IMAGES] > 1 and many[layout.PARTS] > 1


def test_windows_without_room_for_a_copy_are_columns():
    form = form_of(1, 1, 900, 2, (60, 60), (4, 4), 1, 0, 18)
    assert product_plan(form) is None and weights_plan(form) is None
    check(form, "float64")


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("transposed", [False, True])
def test_kernels_both_ways(transposed, dtype):
    """The machine code, and the Python functions that it is made of."""
    from numbagrad.kernels.convolution.product import arrange, convolve
    from numbagrad.kernels.convolution.weights import correlate, join

    form = form_of(2, 2, 3, 5, (5, 6), (2, 3), (2, 1), 1, (1, 2))
    source, weights, grad = operands(form, dtype)
    bias = np.arange(10).astype(dtype)
    if transposed:
        form = form._replace(
            channels=5, rows=3, source=form.result, result=form.source, transposed=True
        )
        source, bias = grad, bias[:6]
    expected = executor.convolve(form, source, weights, bias)
    plan = product_plan(form)
    arranged = weights
    if transposed:
        arranged = np.empty_like(weights.ravel())
        kernel = arrange[dtype]
        kernel.py_func(kernel.pack(arranged, weights, plan.words), 0, 6)
    result = np.full_like(expected, np.nan)
    kernel = convolve[dtype]
    packed = kernel.pack(result, source, arranged, bias, plan.words)
    kernel.py_func(packed, 0, plan.units)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)
    if transposed:
        return
    expected = executor.correlate(form, source, grad, weights.shape)
    plan = weights_plan(form)
    sums, result = np.empty((plan.parts, *weights.shape), dtype), np.empty_like(weights)
    kernel = correlate[dtype]
    kernel.py_func(kernel.pack(sums, source, grad, plan.words), 0, plan.units)
    kernel = join[dtype]
    kernel.py_func(kernel.pack(result, sums, plan.parts, result.size), 0, result.size)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


def test_bits_do_not_depend_on_threads():
    form = form_of(4, 1, 24, 30, (20, 20), (3, 3), 1, 1, 1)
    source, weights, grad = operands(form, "float32")
    made = []
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            x = torch.tensor(source, requires_grad=True)
            w = torch.tensor(weights, requires_grad=True)
            y = F.conv2d(x, w, padding=1)
            y.backward(torch.tensor(grad))
            made.append([y.detach().numpy(), x.grad.numpy(), w.grad.numpy()])
    finally:
        torch.set_num_threads(before)
    for others in made[1:]:
        for mine, first in zip(others, made[0], strict=True):
            assert np.array_equal(mine, first)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_rounded_once(dtype):
    form = form_of(2, 1, 3, 4, (8, 9), (3, 3), 1, 1, 1)
    source, weights, _ = operands(form, "float32")
    kind = getattr(torch, dtype)
    x, w = [torch.tensor(each).to(kind) for each in (source, weights)]
    made = F.conv2d(x, w, padding=1)
    reference = F.conv2d(x.float(), w.float(), padding=1).to(kind)
    assert made.dtype == kind and torch.equal(made, reference)


def test_operands_that_are_not_contiguous():
    form = form_of(2, 1, 3, 4, (8, 9), (3, 3), 1, 1, 1)
    source, weights, _ = operands(form, "float64")
    x = torch.tensor(source.transpose(3, 2, 1, 0).copy()).permute(3, 2, 1, 0)
    w = torch.tensor(np.repeat(weights, 2, 0))[::2]
    made = F.conv2d(x, w, padding=1).numpy()
    np.testing.assert_allclose(made, convolved(form, source, weights), rtol=1e-10, atol=1e-10)


def test_a_program_holds_the_kernels():
    """A compiled training step runs convolutions as launches: nothing of them is Python."""
    layer = torch.nn.Conv2d(3, 4, 3, padding=1)
    x = torch.randn(2, 3, 8, 8, requires_grad=True)

    def step(x):
        return torch.autograd.grad(layer(x).relu().square().sum(), [x, layer.weight, layer.bias])

    compiled = torch.compile(step)
    for _ in range(4):
        found = compiled(x)
    for mine, reference in zip(found, step(x), strict=True):
        assert torch.allclose(mine, reference, atol=1e-5)
    text = str(torch.explain(compiled)(x))
    assert all([f"{name}_float32" in text for name in ("convolve", "arrange", "correlate")])
    assert math.prod(found[1].shape) == 108


def test_nothing_is_written_where_there_is_nothing():
    empty = F.conv2d(torch.zeros(0, 3, 5, 5), torch.ones(4, 3, 3, 3), torch.ones(4))
    assert empty.shape == (0, 4, 3, 3)
    w = torch.ones(4, 3, 3, 3, requires_grad=True)
    F.conv2d(torch.zeros(0, 3, 5, 5), w).sum().backward()
    assert not w.grad.any()
