"""Convolution, pooling and resampling without torch: naive loops, adjoints, gradients, shapes."""

import itertools

import numpy as np
import pytest

import numbagrad as ng
from numbagrad import nn
from numbagrad.autograd import gradcheck, gradgradcheck
from numbagrad.nn import functional as F
from numbagrad.nn.functional import pooling
from numbagrad.nn.functional.windows import Windows


def double(*shape):
    return ng.randn(*shape, dtype=ng.float64, requires_grad=True)


def naive_conv2d(x, weight, stride, padding, dilation, groups):
    """Convolution as its definition says, one number after the other."""
    x = np.pad(x, [(0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2])
    n, channels, height, width = x.shape
    outputs, inputs, kh, kw = weight.shape
    rows = (height - dilation[0] * (kh - 1) - 1) // stride[0] + 1
    columns = (width - dilation[1] * (kw - 1) - 1) // stride[1] + 1
    made = np.zeros((n, outputs, rows, columns))
    for i, o, r, c in np.ndindex(made.shape):
        first = o // (outputs // groups) * inputs
        for k, a, b in np.ndindex(inputs, kh, kw):
            row, column = r * stride[0] + a * dilation[0], c * stride[1] + b * dilation[1]
            made[i, o, r, c] += x[i, first + k, row, column] * weight[o, k, a, b]
    return made


@pytest.mark.parametrize("stride, padding, dilation, groups", [
    ((1, 1), (0, 0), (1, 1), 1),
    ((2, 1), (1, 2), (1, 1), 2),
    ((1, 3), (2, 0), (2, 1), 4),
])  # fmt: skip
def test_convolution_by_its_definition(stride, padding, dilation, groups):
    ng.manual_seed(0)
    x, weight = double(2, 4, 6, 7), double(8, 4 // groups, 3, 2)
    made = F.conv2d(x, weight, None, stride, padding, dilation, groups)
    expected = naive_conv2d(
        x.detach().numpy(), weight.detach().numpy(), stride, padding, dilation, groups
    )
    np.testing.assert_allclose(made.detach().numpy(), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("options", [
    {}, {"stride": 2, "padding": 1}, {"dilation": 2}, {"groups": 2}, {"padding": "same"},
])  # fmt: skip
def test_gradients_of_convolution(options):
    ng.manual_seed(0)
    groups = options.get("groups", 1)
    inputs = (double(2, 2, 5, 6), double(4, 2 // groups, 2, 3), double(4))
    assert gradcheck(lambda *given: F.conv2d(*given, **options), inputs)
    assert gradgradcheck(lambda *given: F.conv2d(*given, **options), inputs)


def test_gradients_of_transposed_convolution():
    ng.manual_seed(0)
    inputs = (double(1, 2, 3, 2), double(2, 2, 2, 3), double(4))
    options = {"stride": 2, "padding": 1, "output_padding": 1, "groups": 2}
    assert gradcheck(lambda *given: F.conv_transpose2d(*given, **options), inputs)
    assert gradgradcheck(lambda *given: F.conv_transpose2d(*given, **options), inputs)


def test_a_transposed_convolution_is_the_adjoint():
    ng.manual_seed(0)
    x, weight = double(2, 3, 7), double(4, 3, 3)
    made = F.conv1d(x, weight, stride=2, padding=1)
    y = double(*made.shape)
    back = F.conv_transpose1d(y, weight, stride=2, padding=1)
    assert (made * y).sum().item() == pytest.approx((x * back).sum().item())


def test_columns_and_back():
    ng.manual_seed(0)
    x = double(2, 3, 5, 6)
    columns = F.unfold(x, (2, 3), padding=1, stride=2)
    by_columns = nn.Conv2d(3, 4, (2, 3), padding=1, stride=2, bias=False).double()
    product = by_columns.weight.view(4, -1) @ columns
    np.testing.assert_allclose(
        product.detach().numpy(), by_columns(x).flatten(2).detach().numpy(), rtol=1e-10
    )
    counts = F.fold(ng.ones_like(columns), (5, 6), (2, 3), padding=1, stride=2)
    folded = F.fold(columns, (5, 6), (2, 3), padding=1, stride=2)
    np.testing.assert_allclose(folded.detach().numpy(), (x * counts).detach().numpy())


# --- pooling --------------------------------------------------------------------------------------


def windows_of(x, kernel, stride):
    rows = (x.shape[0] - kernel) // stride + 1
    columns = (x.shape[1] - kernel) // stride + 1
    for r, c in itertools.product(range(rows), range(columns)):
        yield x[r * stride : r * stride + kernel, c * stride : c * stride + kernel]


@pytest.mark.parametrize("function, reference", [
    (F.max_pool2d, np.max), (F.avg_pool2d, np.mean),
    (lambda x, k, s: F.lp_pool2d(x, 2, k, s), lambda w: np.sqrt((w * w).sum())),
])  # fmt: skip
def test_pooling_by_its_definition(function, reference):
    ng.manual_seed(0)
    x = ng.randn(1, 7, 8, dtype=ng.float64)
    made = function(x, 3, 2).flatten().tolist()
    assert made == pytest.approx([reference(w) for w in windows_of(x[0].numpy(), 3, 2)])


@pytest.mark.parametrize("function", [
    lambda x: F.max_pool2d(x, 2, 1, 1), lambda x: F.avg_pool2d(x, 3, 2, 1, True, False),
    lambda x: F.adaptive_avg_pool2d(x, (2, 3)), lambda x: F.adaptive_max_pool2d(x, 2),
    lambda x: F.interpolate(x, scale_factor=1.5, mode="bilinear"),
    lambda x: F.interpolate(x, size=(3, 7)), lambda x: F.pixel_unshuffle(x[..., :4, :4], 2),
    lambda x: F.local_response_norm(x, 2), lambda x: F.instance_norm(x),
])  # fmt: skip
def test_gradients(function):
    ng.manual_seed(0)
    x = double(2, 2, 5, 4)
    assert gradcheck(function, (x,))
    assert gradgradcheck(function, (x,))


def test_the_first_of_equal_elements_is_the_largest():
    _, indices = F.max_pool2d(ng.ones(1, 4, 4), 2, return_indices=True)
    assert indices.tolist() == [[[0, 2], [8, 10]]]
    x = ng.tensor([[1.0, float("nan"), 3.0, 2.0]])
    values, indices = F.max_pool1d(x, 2, return_indices=True)
    assert indices.tolist() == [[1, 2]] and np.isnan(values[0, 0].item())


def test_shapes_of_layers():
    x = ng.randn(2, 3, 11, 13)
    for layer, shape in [
        (nn.Conv2d(3, 4, 3, padding="same"), (2, 4, 11, 13)),
        (nn.Conv2d(3, 6, (3, 5), (2, 1), groups=3), (2, 6, 5, 9)),
        (nn.ConvTranspose2d(3, 5, 2, 2), (2, 5, 22, 26)),
        (nn.MaxPool2d(2), (2, 3, 5, 6)), (nn.MaxPool2d(2, ceil_mode=True), (2, 3, 6, 7)),
        (nn.AvgPool2d(3, 2), (2, 3, 5, 6)), (nn.AdaptiveAvgPool2d((None, 4)), (2, 3, 11, 4)),
        (nn.Upsample(scale_factor=2), (2, 3, 22, 26)), (nn.ZeroPad2d((1, 2, 3, 4)), (2, 3, 18, 16)),
    ]:  # fmt: skip
        assert layer(x).shape == shape


def test_a_small_convolutional_network_learns():
    ng.manual_seed(0)
    images = ng.randn(32, 1, 8, 8)
    classes = (images[:, 0, :4].mean((1, 2)) > images[:, 0, 4:].mean((1, 2))).long()
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 2)
    )
    optimizer = ng.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(40):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), classes)
        loss.backward()
        optimizer.step()
    assert (model(images).argmax(1) == classes).all()


def _first_inside(windows, counts):
    """Along each dimension, the first element of every window that is not padding."""
    found = []
    for count, s, p, d in zip(
        counts, windows.stride, windows.padding, windows.dilation, strict=True
    ):
        start = np.arange(count) * s - p
        found.append(np.where(start < 0, start + -(start // d) * d, start))
    return found


def largest_by_numpy(array, counts, windows):
    """Where in the flattened spatial dimensions the largest element of every window is.

    The first of equal ones; NaN is larger than all numbers.
    """
    lowest = -np.inf if array.dtype.kind in "fV" else np.iinfo(array.dtype).min
    padded = windows.padded(array, counts, lowest)
    best = np.full((*array.shape[:2], *counts), lowest, array.dtype)
    # The number of the place in the kernel, and none where nothing was larger than the lowest.
    chosen = np.full(best.shape, -1, np.int16)
    for number, (_, index) in enumerate(windows.positions(counts)):
        values = padded[index]
        larger = values > best
        if array.dtype.kind in "fV":
            larger |= np.isnan(values)
        np.copyto(best, values, where=larger)
        np.copyto(chosen, number, where=larger)
    return _flat_positions(chosen, windows, array.shape[2:])


def _flat_positions(chosen, windows, sizes):
    """Indices in the flattened spatial dimensions, from numbers of places in the kernel."""
    counts = chosen.shape[2:]
    steps = np.cumprod([1, *sizes[:0:-1]])[::-1]
    starts, offsets = np.zeros((), np.int64), np.zeros((), np.int64)
    for count, step, k, s, p, d in zip(counts, steps, *windows, strict=True):
        starts = np.add.outer(starts, (np.arange(count) * s - p) * step)
        offsets = np.add.outer(offsets, np.arange(k) * d * step)
    where = offsets.reshape(-1)[chosen] + starts
    if chosen.min(initial=0) < 0:
        grid = np.broadcast_arrays(*np.ix_(*_first_inside(windows, counts)))
        first = np.ravel_multi_index(grid, sizes, mode="clip")
        where = np.where(chosen < 0, first, where)
    return where


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64", "uint8"])
@pytest.mark.parametrize("options", [
    ((2, 2), (2, 2), (0, 0), (1, 1)),
    ((3, 2), (1, 3), (1, 1), (1, 1)),
    ((2, 3), (2, 1), (1, 2), (2, 2)),
])  # fmt: skip
def test_the_kernel_of_max_pooling_finds_what_numpy_finds(options, dtype):
    random = np.random.default_rng(0)
    array = random.integers(0, 4, (2, 3, 7, 6)).astype(dtype)
    if array.dtype.kind == "f":
        array[random.random(array.shape) < 0.1] = np.nan
        array[random.random(array.shape) < 0.3] = -np.inf
    windows = Windows(*options)
    counts = windows.counts(array.shape[2:])
    expected = largest_by_numpy(array, counts, windows)
    np.testing.assert_array_equal(pooling._largest(array, counts, windows), expected)


@pytest.mark.parametrize("dtype, tolerance", [("float32", 1e-5), ("float64", 1e-12)])
@pytest.mark.parametrize("mode, size, options", [
    ("bilinear", (60, 71), {}),
    ("bilinear", (2, 3), {}),  # elements that no sum has
    ("bilinear", (23, 1), {"align_corners": True}),
    ("bicubic", (60, 9), {}),
    ("bilinear", (5, 7), {"antialias": True}),
])  # fmt: skip
def test_resampling_is_a_product_along_each_dimension(mode, size, options, dtype, tolerance):
    """Of an array with gaps, in one thread or two, and with gradients that are its adjoint."""
    x = np.random.default_rng(0).standard_normal((2, 9, 23, 62)).astype(dtype)[:, ::2, :, ::2]
    rows, columns = [
        F.interpolate(
            ng.eye(n, dtype=ng.float64)[:, None, :, None].expand(n, 1, n, 2),
            (count, 2), mode=mode, **options,
        )[:, 0, :, 0].numpy()
        for n, count in zip(x.shape[2:], size, strict=True)
    ]  # fmt: skip
    given = ng.from_numpy(x).requires_grad_()
    made = F.interpolate(given, size, mode=mode, **options)
    expected = np.einsum("nchw,hi,wj->ncij", x, rows, columns)
    np.testing.assert_allclose(made.detach().numpy(), expected, atol=tolerance)
    made.backward(ng.ones_like(made))
    expected = np.broadcast_to(np.outer(rows.sum(1), columns.sum(1)), x.shape)
    np.testing.assert_allclose(given.grad.numpy(), expected, atol=10 * tolerance)
    before = ng.get_num_threads()
    try:
        for threads in (1, 2):
            ng.set_num_threads(threads)
            assert F.interpolate(given, size, mode=mode, **options).equal(made)
    finally:
        ng.set_num_threads(before)


def test_infinity_stays_where_linear_interpolation_reads_it():
    x = ng.zeros(1, 1, 6)
    x[0, 0, 5] = float("inf")
    made = F.interpolate(x, 12, mode="linear")[0, 0]
    assert made[:9].eq(0).all() and made[9:].isinf().all()
