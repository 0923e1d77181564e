"""Convolutions, transposed ones and their gradients against sums written out, place by place."""

import itertools
import math

import numpy as np
import pytest
from compile_checks import needs_programs

import numbagrad as torch
from numbagrad.executor.families import convolution as executor
from numbagrad.executor.plan.windows import Form, product_plan, weights_plan
from numbagrad.kernels.convolution import layout
from numbagrad.nn import functional as F

TOLERANCE = {"float32": 2e-4, "float64": 1e-12}


def positions(form):
    """For each place of a kernel, the source elements that it meets, and in which windows."""
    for position in itertools.product(*map(range, form.kernel)):
        elements, windows = [], []
        for k, size, count, s, p, d in zip(
            position,
            form.source,
            form.result,
            form.stride,
            form.padding,
            form.dilation,
            strict=True,
        ):
            inside = [o for o in range(count) if 0 <= o * s - p + k * d < size]
            first, end = (inside[0], inside[-1] + 1) if inside else (0, 0)
            windows.append(slice(first, end))
            begin = first * s - p + k * d
            elements.append(
                slice(begin, begin + (end - first - 1) * s + 1, s) if inside else slice(0)
            )
        yield (..., *position), (..., *elements), (..., *windows)


def grouped(form, array, sizes):
    """(N, groups, channels of a group, ...)."""
    return array.reshape(form.batch, form.groups, -1, *sizes)


def convolved(form, source, weights):
    """The convolution that a form describes: sums over the elements that windows have inside."""
    images = grouped(form, source, form.source)
    matrices = weights.reshape(form.groups, form.rows, form.channels, *form.kernel)
    total = np.zeros((form.batch, form.groups, form.rows, *form.result))
    for position, elements, windows in positions(form):
        total[windows] += np.einsum("goc,ngc...->ngo...", matrices[position], images[elements])
    return total.reshape(form.batch, -1, *form.result)


def gradients(form, source, weights, grad):
    """Gradients of the source and of the weights."""
    images = grouped(form, source, form.source)
    matrices = weights.reshape(form.groups, form.rows, form.channels, *form.kernel)
    of_result = grouped(form, grad, form.result)
    of_source, of_weights = np.zeros(images.shape), np.zeros(matrices.shape)
    for position, elements, windows in positions(form):
        given = of_result[windows]
        of_source[elements] += np.einsum("goc,ngo...->ngc...", matrices[position], given)
        axes = "xyz"[: len(form.kernel)]
        rule = f"ngo{axes},ngc{axes}->goc"
        of_weights[position] = np.einsum(rule, given, images[elements])
    return of_source.reshape(source.shape), of_weights.reshape(weights.shape)


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


def agree(found, expected, dtype):
    """Of a shape and a dtype; NaN and infinities in the same places, all else close."""
    assert found.dtype == dtype and found.shape == expected.shape
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(found[~finite], expected[~finite].astype(dtype))
    found, expected = found[finite], expected[finite]
    scale = max(1.0, np.abs(expected).max(initial=0))
    assert np.isfinite(found).all()
    assert np.abs(found - expected).max(initial=0) <= TOLERANCE[dtype] * scale


def skipped_sizes(form):
    """What the options skip at the end of each dimension of the source: ``output_padding``."""
    return tuple([
        n - ((r - 1) * s - 2 * p + d * (k - 1) + 1)
        for n, r, k, s, p, d in zip(
            form.source, form.result, form.kernel, form.stride, form.padding, form.dilation,
            strict=True,
        )
    ])  # fmt: skip


def check(form, dtype, given=None):
    """A convolution, its gradients, and its transpose, by the public functions."""
    source, weights, grad = given or operands(form, dtype)
    with np.errstate(invalid="ignore"):
        wide = [x.astype(np.float64) for x in (source, weights, grad)]
        expected = [convolved(form, *wide[:2]), *gradients(form, *wide)]
    rank = len(form.source)
    options = dict(
        stride=form.stride, padding=form.padding, dilation=form.dilation, groups=form.groups
    )
    x, w = [torch.tensor(each, requires_grad=True) for each in (source, weights)]
    y = getattr(F, f"conv{rank}d")(x, w, **options)
    y.backward(torch.tensor(grad))
    for found, reference in zip((y.detach(), x.grad, w.grad), expected, strict=True):
        agree(found.numpy(), reference, dtype)
    # The transpose maps the result's side to the source's; sizes that a stride skips are added.
    more = skipped_sizes(form)
    if all([m < max(s, d) for m, s, d in zip(more, form.stride, form.dilation, strict=True)]):
        bias = np.arange(form.groups * form.channels).astype(dtype)
        made = getattr(F, f"conv_transpose{rank}d")(
            torch.tensor(grad), w, torch.tensor(bias), output_padding=more, **options
        )
        agree(made.detach().numpy(), expected[1] + bias.reshape(-1, *[1] * rank), dtype)


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
        form_of(90, 1, 3, 4, (6, 6), (3, 3), 1, 1, 1),  # images together, and parts
        form_of(20, 2, 40, 14, (2, 3), (3, 3), 1, 1, 1),  # small images beside each other
        form_of(37, 1, 9, 23, (4, 5), (4, 4), 2, 1, 1),
        form_of(40, 1, 20, 9, (3,), (3,), 1, 1, 1),
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
    many = words(form_of(90, 1, 3, 4, (6, 6), (3, 3), 1, 1, 1), weights_plan)
    assert many[layout.IMAGES] > 1 and many[layout.PARTS] > 1
    small = form_of(37, 1, 9, 23, (4, 5), (4, 4), 2, 1, 1)
    for plan in (product_plan, weights_plan):
        assert words(small, plan)[layout.POSITIONS + 2] == small.batch


SPOILT = [
    form_of(2, 1, 2, 3, (7,), (3,), 1, 0, 1),
    form_of(2, 2, 2, 3, (9,), (3,), 2, 2, 2),
    form_of(2, 1, 3, 13, (6, 7), (3, 3), 1, 0, 1),
    form_of(2, 2, 2, 2, (6, 7), (3, 2), 1, 1, 1),
    form_of(2, 4, 1, 1, (6, 7), (3, 3), 1, 1, 1),  # depthwise
    form_of(2, 1, 3, 4, (8, 9), (3, 3), 2, 1, 1),
    form_of(3, 1, 2, 3, (9, 8), (2, 3), (3, 1), (0, 2), (1, 2)),
    form_of(1, 1, 3, 2, (4, 5, 4), (2, 3, 2), 1, 1, 1),
    form_of(2, 2, 1, 2, (5, 4, 5), (3, 2, 2), 2, 1, 1),
    form_of(1, 1, 30, 20, (70, 80), (3, 3), 1, 1, 1),  # blocks of lines
    form_of(18, 2, 5, 14, (2, 3), (3, 3), 1, 1, 1),  # small images beside each other
]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("form", SPOILT, ids=str)
@pytest.mark.parametrize("number", range(3), ids=["source", "weights", "grad"])
def test_infinity_and_nan_reach_only_what_they_meet(number, form, dtype):
    """One at a time in every corner, on every edge and inside, in each of the three operands."""
    sizes = (form.source, form.kernel, form.result)[number]
    rng = np.random.default_rng(number)
    corners = [sorted({0, size // 2, size - 1}) for size in sizes]
    spots = [*itertools.product(*corners)]
    for spot in spots[:: max(1, len(spots) // 9)]:
        given = operands(form, dtype)
        plane = tuple([rng.integers(count) for count in given[number].shape[:2]])
        given[number][(*plane, *spot)] = rng.choice([np.inf, -np.inf, np.nan])
        check(form, dtype, given)


@pytest.mark.parametrize("form", SPOILT, ids=str)
def test_infinity_and_nan_in_many_positions(form):
    given = operands(form, "float32")
    rng = np.random.default_rng(1)
    for array in given:
        positions = rng.integers(array.size, size=3)
        array.ravel()[positions] = rng.choice([np.inf, -np.inf, np.nan], size=3)
    check(form, "float32", given)


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


@pytest.mark.parametrize("name", ["conv1d", "conv2d", "conv3d"])
@pytest.mark.parametrize("transposed", [False, True])
def test_biases_that_are_not_contiguous(name, transposed):
    rank = int(name[4])
    input = torch.randn(2, 3, *[5] * rank)
    weight = torch.randn(3, 3, *[2] * rank)
    bias = torch.full((6,), math.nan)[::2]
    bias.copy_(torch.randn(3))
    function = getattr(F, name.replace("conv", "conv_transpose") if transposed else name)
    assert function(input, weight, bias).equal(function(input, weight, bias.clone()))


@needs_programs
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
