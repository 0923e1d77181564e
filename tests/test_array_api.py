"""``numbagrad.array_api``: every function of the standard (2024.12), its signature, and values.

``tests/array_api`` has the libraries that use the namespace; ``make array-api`` runs the standard's
own tests.
"""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest

import numbagrad as torch
from numbagrad import array_api as xp

UNARY = """
    abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag
    isfinite isinf isnan log log1p log2 log10 logical_not negative positive real reciprocal round
    sign signbit sin sinh sqrt square tan tanh trunc nonzero unique_all unique_counts
    unique_inverse unique_values matrix_transpose linalg.det linalg.eigh linalg.eigvalsh
    linalg.inv linalg.slogdet linalg.svdvals linalg.matrix_transpose""".split()
BINARY = """add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor
    copysign divide equal floor_divide greater greater_equal hypot less less_equal logaddexp
    logical_and logical_or logical_xor maximum minimum multiply nextafter not_equal pow remainder
    subtract matmul linalg.matmul linalg.outer linalg.solve""".split()
OTHERS = """
    all(x, /, *, axis=None, keepdims=False)
    any(x, /, *, axis=None, keepdims=False)
    arange(start, /, stop=None, step=1, *, dtype=None, device=None)
    argmax(x, /, *, axis=None, keepdims=False)
    argmin(x, /, *, axis=None, keepdims=False)
    argsort(x, /, *, axis=-1, descending=False, stable=True)
    asarray(obj, /, *, dtype=None, device=None, copy=None)
    astype(x, dtype, /, *, copy=True, device=None)
    broadcast_arrays(*arrays)
    broadcast_to(x, /, shape)
    can_cast(from_, to, /)
    clip(x, /, min=None, max=None)
    concat(arrays, /, *, axis=0)
    count_nonzero(x, /, *, axis=None, keepdims=False)
    cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False)
    cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False)
    diff(x, /, *, axis=-1, n=1, prepend=None, append=None)
    empty(shape, *, dtype=None, device=None)
    empty_like(x, /, *, dtype=None, device=None)
    expand_dims(x, /, axis=0)
    eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)
    fft.fft(x, /, *, n=None, axis=-1, norm='backward')
    fft.fftfreq(n, /, *, d=1.0, dtype=None, device=None)
    fft.fftn(x, /, *, s=None, axes=None, norm='backward')
    fft.fftshift(x, /, *, axes=None)
    fft.hfft(x, /, *, n=None, axis=-1, norm='backward')
    fft.ifft(x, /, *, n=None, axis=-1, norm='backward')
    fft.ifftn(x, /, *, s=None, axes=None, norm='backward')
    fft.ifftshift(x, /, *, axes=None)
    fft.ihfft(x, /, *, n=None, axis=-1, norm='backward')
    fft.irfft(x, /, *, n=None, axis=-1, norm='backward')
    fft.irfftn(x, /, *, s=None, axes=None, norm='backward')
    fft.rfft(x, /, *, n=None, axis=-1, norm='backward')
    fft.rfftfreq(n, /, *, d=1.0, dtype=None, device=None)
    fft.rfftn(x, /, *, s=None, axes=None, norm='backward')
    finfo(type, /)
    flip(x, /, *, axis=None)
    from_dlpack(x, /, *, device=None, copy=None)
    full(shape, fill_value, *, dtype=None, device=None)
    full_like(x, /, fill_value, *, dtype=None, device=None)
    iinfo(type, /)
    isdtype(dtype, kind)
    linalg.cholesky(x, /, *, upper=False)
    linalg.cross(x1, x2, /, *, axis=-1)
    linalg.diagonal(x, /, *, offset=0)
    linalg.matrix_norm(x, /, *, keepdims=False, ord='fro')
    linalg.matrix_power(x, n, /)
    linalg.matrix_rank(x, /, *, rtol=None)
    linalg.pinv(x, /, *, rtol=None)
    linalg.qr(x, /, *, mode='reduced')
    linalg.svd(x, /, *, full_matrices=True)
    linalg.tensordot(x1, x2, /, *, axes=2)
    linalg.trace(x, /, *, offset=0, dtype=None)
    linalg.vecdot(x1, x2, /, *, axis=-1)
    linalg.vector_norm(x, /, *, axis=None, keepdims=False, ord=2)
    linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True)
    max(x, /, *, axis=None, keepdims=False)
    mean(x, /, *, axis=None, keepdims=False)
    meshgrid(*arrays, indexing='xy')
    min(x, /, *, axis=None, keepdims=False)
    moveaxis(x, source, destination, /)
    ones(shape, *, dtype=None, device=None)
    ones_like(x, /, *, dtype=None, device=None)
    permute_dims(x, /, axes)
    prod(x, /, *, axis=None, dtype=None, keepdims=False)
    repeat(x, repeats, /, *, axis=None)
    reshape(x, /, shape, *, copy=None)
    result_type(*arrays_and_dtypes)
    roll(x, /, shift, *, axis=None)
    searchsorted(x1, x2, /, *, side='left', sorter=None)
    sort(x, /, *, axis=-1, descending=False, stable=True)
    squeeze(x, /, axis)
    stack(arrays, /, *, axis=0)
    std(x, /, *, axis=None, correction=0.0, keepdims=False)
    sum(x, /, *, axis=None, dtype=None, keepdims=False)
    take(x, indices, /, *, axis=None)
    take_along_axis(x, indices, /, *, axis=-1)
    tensordot(x1, x2, /, *, axes=2)
    tile(x, repetitions, /)
    tril(x, /, *, k=0)
    triu(x, /, *, k=0)
    unstack(x, /, *, axis=0)
    var(x, /, *, axis=None, correction=0.0, keepdims=False)
    vecdot(x1, x2, /, *, axis=-1)
    where(condition, x1, x2, /)
    zeros(shape, *, dtype=None, device=None)
    zeros_like(x, /, *, dtype=None, device=None)
    __array_namespace_info__()"""
SIGNATURES = {
    **{name: "(x, /)" for name in UNARY},
    **{name: "(x1, x2, /)" for name in BINARY},
    **{
        line.strip().partition("(")[0]: "(" + line.strip().partition("(")[2]
        for line in OTHERS.strip().splitlines()
    },
}


def found(path):
    position = xp
    for name in path.split("."):
        position = getattr(position, name)
    return position


@pytest.mark.parametrize("path", SIGNATURES)
def test_signature(path):
    signature = inspect.signature(found(path))
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    assert str(inspect.Signature(bare)) == SIGNATURES[path]
    assert found(path).__doc__


def test_nothing_else_is_public():
    constants = {"e", "inf", "nan", "newaxis", "pi", "fft", "linalg", "__array_api_version__"}
    dtypes = {"bool", "complex64", "complex128", "float32", "float64", "uint8"}
    dtypes |= {f"int{bits}" for bits in (8, 16, 32, 64)}
    functions = {path for path in SIGNATURES if "." not in path}
    assert set(xp.__all__) == functions | constants | dtypes
    for name in ("fft", "linalg"):
        inside = {path.partition(".")[2] for path in SIGNATURES if path.startswith(name + ".")}
        assert set(getattr(xp, name).__all__) == inside


class TestPromotion:
    def test_arrays_without_dimensions_count(self):
        """In torch the array with dimensions decides alone."""
        small, wide = xp.ones(3, dtype=xp.int8), xp.asarray(1, dtype=xp.int64)
        assert xp.add(small, wide).dtype is xp.int64
        assert (small + wide).dtype is xp.int8
        assert xp.result_type(small, wide) is xp.int64

    def test_numbers_take_the_dtype_of_the_array(self):
        assert xp.multiply(xp.ones(2, dtype=xp.int8), 3).dtype is xp.int8
        assert xp.multiply(2.5, xp.ones(2, dtype=xp.float32)).dtype is xp.float32

    def test_refused(self):
        with pytest.raises(TypeError, match="two Python numbers"):
            xp.add(1, 2)
        with pytest.raises(TypeError, match="list"):
            xp.add(xp.ones(1), [1])


class TestValues:
    def test_creation(self):
        assert xp.arange(5, 0, -2).tolist() == [5, 3, 1]
        assert xp.arange(3, 1).shape == (0,)
        assert xp.linspace(0, 1, 4, endpoint=False).tolist() == [0, 0.25, 0.5, 0.75]
        assert xp.eye(2, 3, k=1).tolist() == [[0, 1, 0], [0, 0, 1]]
        numbers = np.ones(2)
        assert not np.shares_memory(xp.asarray(numbers, copy=True).numpy(), numbers)
        assert np.shares_memory(xp.asarray(numbers, copy=False).numpy(), numbers)
        with pytest.raises(ValueError, match="copied"):
            xp.asarray([1.0], copy=False)
        with pytest.raises(ValueError, match="device"):
            xp.zeros(1, device="cuda")

    def test_reductions(self):
        x = xp.asarray([[1, 2, 3], [4, 5, 6]], dtype=xp.int8)
        assert xp.sum(x).dtype is xp.int64 and xp.sum(x, axis=()).dtype is xp.int64
        assert xp.prod(x, axis=(0, 1)).item() == 720
        assert xp.max(x, axis=(), keepdims=True).tolist() == x.tolist()
        assert xp.std(xp.astype(x, xp.float64)).item() == pytest.approx(math.sqrt(35 / 12))
        with pytest.raises(IndexError, match="axis 2"):
            xp.sum(x, axis=2)
        with pytest.raises(ValueError, match="twice"):
            xp.sum(x, axis=(0, -2))
        assert xp.cumulative_sum(x[0], include_initial=True).tolist() == [0, 1, 3, 6]

    def test_sets(self):
        x = xp.asarray([3.0, 1.0, math.nan, 3.0, math.nan])
        values, indices, inverse, counts = xp.unique_all(x)
        assert values.shape == (4,) and counts.tolist() == [1, 2, 1, 1]
        np.testing.assert_array_equal(x[indices], values)
        np.testing.assert_array_equal(values[inverse], x)
        z = xp.asarray([1 + 2j, 1 - 1j, 1 + 2j])
        assert xp.unique_counts(z).values.tolist() == [1 - 1j, 1 + 2j]

    def test_indices_and_shapes(self):
        x = xp.reshape(xp.arange(6), (2, 3))
        assert xp.take(x, xp.asarray([-1, 0]), axis=1).tolist() == [[2, 0], [5, 3]]
        assert xp.take_along_axis(x, xp.asarray([[-1], [0]])).tolist() == [[2], [3]]
        assert [part.shape for part in xp.unstack(x, axis=1)] == [(2,)] * 3
        assert xp.expand_dims(x, (0, -1)).shape == (1, 2, 3, 1)
        with pytest.raises(ValueError, match="size 3"):
            xp.squeeze(x, 1)
        with pytest.raises(ValueError, match="copy=False"):
            xp.reshape(x.mT, (6,), copy=False)
        assert xp.count_nonzero(x, axis=0).tolist() == [1, 2, 2]

    def test_bounds(self):
        x = xp.asarray([-5, 0, 300], dtype=xp.int16)
        assert xp.clip(x, max=10**9).tolist() == [-5, 0, 300]
        assert xp.clip(x, xp.asarray([[0], [-1]]), 7).tolist() == [[0, 0, 7], [-1, 0, 7]]

    def test_linear_algebra(self):
        a = xp.asarray([[2.0, 1.0], [1.0, 3.0]])
        assert xp.linalg.solve(a, xp.asarray([3.0, 4.0])).tolist() == pytest.approx([1, 1])
        stack = xp.stack([a, a])
        assert xp.linalg.solve(stack, a).shape == (2, 2, 2)
        assert xp.vecdot(xp.asarray([1j, 2]), xp.asarray([1j, 1])).item() == 3
        assert xp.linalg.eigh(a).eigenvalues.tolist() == pytest.approx(
            [(5 - 5**0.5) / 2, (5 + 5**0.5) / 2]
        )

    def test_dtypes(self):
        assert xp.isdtype(xp.int8, ("real floating", "signed integer"))
        with pytest.raises(ValueError, match="unknown kind"):
            xp.isdtype(xp.int8, "number")
        assert xp.can_cast(xp.int8, xp.int16) and not xp.can_cast(xp.int64, xp.int16)
        info = xp.__array_namespace_info__()
        assert info.default_dtypes()["complex floating"] is xp.complex64
        assert list(info.dtypes(kind="real floating")) == ["float32", "float64"]
        assert xp.ones(1).device in info.devices()
        with pytest.raises(TypeError, match="real"):
            xp.astype(xp.asarray([1j]), xp.float32)


def test_namespace_of_a_tensor():
    x = torch.ones(2)
    assert x.__array_namespace__() is xp
    assert x.__array_namespace__(api_version="2023.12") is xp
    with pytest.raises(ValueError, match="1999"):
        x.__array_namespace__(api_version="1999.01")
    assert x.to_device("cpu").device == x.device
    with pytest.raises(ValueError, match="streams"):
        x.to_device("cpu", stream=1)


def test_gradients_and_programs():
    """Arrays are Tensors: the graph and programs know the functions."""

    def loss(x):
        return xp.sum(xp.multiply(xp.sin(x), xp.asarray(2.0)))

    x = xp.linspace(0, 1, 5)
    x.requires_grad_()
    (gradient,) = torch.autograd.grad(loss(x), x)
    np.testing.assert_allclose(gradient, 2 * np.cos(np.linspace(0, 1, 5)), rtol=1e-6)
    np.testing.assert_allclose(torch.func.grad(loss)(x.detach()), gradient, rtol=1e-6)


class TestSpecialValues:
    """Where the standard says more than torch does."""

    def test_complex(self):
        x = xp.asarray([complex(math.inf, math.nan), complex(-math.inf, math.inf), 0j])
        np.testing.assert_array_equal(xp.exp(x).numpy(), np.exp(x.numpy()))
        assert torch.autograd.gradcheck(
            lambda z: [
                getattr(xp, name)(z)
                for name in "acos acosh asinh atanh cosh exp expm1 sinh tanh".split()
            ],
            (torch.tensor([0.3 + 0.2j, -0.4 + 0.9j], dtype=torch.complex128, requires_grad=True),),
        )

    def test_quotients(self):
        inf = xp.asarray([math.inf, 1.0])
        assert xp.floor_divide(inf, xp.asarray([2.0, math.inf])).tolist() == [math.inf, 0]
        assert xp.signbit(xp.remainder(xp.asarray(-0.0), 3.0)).item() is False
        assert math.isnan(xp.sign(xp.asarray(math.nan)).item())

    def test_limits(self):
        assert xp.finfo(xp.complex64).dtype is xp.float32
        assert xp.iinfo(xp.int8) == (8, 127, -128, xp.int8)


def test_complex_numbers_are_rounded_part_by_part():
    x = xp.asarray([1.5 - 2.5j, complex(-0.4, math.inf)], dtype=xp.complex128)
    expected = np.round(x.numpy())
    np.testing.assert_array_equal(xp.round(x).numpy(), expected)
    np.testing.assert_array_equal(xp.round(xp.conj(x)).numpy(), expected.conj())


@pytest.mark.parametrize("name", ["sum", "prod", "cumulative_sum", "cumulative_prod"])
def test_sums_and_products_have_the_dtype_that_is_asked_for(name):
    x, options = xp.asarray([3, 2], dtype=xp.uint8), {"axis": 0}
    for dtype in (xp.uint8, xp.int16, xp.float32):
        assert getattr(xp, name)(x, dtype=dtype, **options).dtype is dtype
    assert getattr(xp, name)(x, **options).dtype is xp.int64
