"""NumPy's functions of tensors: they read them as arrays, or are recorded where they cannot."""

import sys

import numpy as np
import pytest

import numbagrad as ng
from numbagrad import numpy_twins

X = ng.arange(6.0).reshape(2, 3) + 1
A = np.arange(6.0, dtype="f4").reshape(2, 3) + 1

REDUCTIONS = [np.sum, np.prod, np.mean, np.max, np.min, np.amax, np.amin, np.std, np.var]


@pytest.mark.parametrize("function", [*REDUCTIONS, np.all, np.any], ids=lambda f: f.__name__)
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions_are_tensors(function, axis, keepdims):
    made, expected = function(X, axis=axis, keepdims=keepdims), function(A, axis, keepdims=keepdims)
    assert type(made) is ng.Tensor and made.shape == expected.shape
    np.testing.assert_allclose(made.numpy(), expected, rtol=1e-6)
    assert np.allclose(function(X, axis).numpy(), function(A, axis))
    assert np.allclose(function(X).numpy(), function(A))


@pytest.mark.parametrize("function", REDUCTIONS, ids=lambda f: f.__name__)
def test_gradients_of_reductions(function):
    x = X.clone().requires_grad_()
    made = function(x, axis=1)
    assert made.requires_grad
    made.sum().backward()
    step = 1e-3
    for position in ((0, 0), (1, 2)):
        moved = A.astype("f8")
        moved[position] += step
        above = function(moved, axis=1).sum()
        moved[position] -= 2 * step
        slope = (above - function(moved, axis=1).sum()) / (2 * step)
        assert x.grad[position].item() == pytest.approx(slope, rel=1e-3, abs=1e-3)


def test_arguments_of_reductions():
    assert np.sum(X, 0, np.float64).dtype is ng.float64
    assert np.sum(ng.ones(3, dtype=ng.int32), dtype="i8").dtype is ng.int64
    assert np.std(X, ddof=1).item() == pytest.approx(A.std(ddof=1))
    assert np.var(X, 0, ddof=1).tolist() == pytest.approx(A.var(0, ddof=1).tolist())
    assert np.size(X) == 6 and np.size(X, 1) == 3
    with pytest.raises(TypeError, match="numpy.sum of a tensor writes into no array"):
        np.sum(X, axis=0, out=np.empty(3))
    with pytest.raises(TypeError, match="takes no 'where'"):
        np.sum(X, where=A > 2)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.concatenate([x, x]),
        lambda x: np.stack([x, x]),
        lambda x: np.where(x > 2, x, 0),
        lambda x: np.dot(x, x.T),
        lambda x: np.einsum("ij->i", x),
        lambda x: np.linalg.norm(x),
        lambda x: np.median(x),
        lambda x: np.sort(x),
        lambda x: np.exp(x),
        lambda x: np.add(x, A),
        lambda x: np.add(A, x),
        lambda x: np.maximum(x, 2),
        lambda x: np.matmul(x, x.T),
        lambda x: np.cumsum(x, 0),
        lambda x: np.argmax(x),
        lambda x: np.reshape(x, (3, 2)),
        lambda x: np.divmod(x, 2),
    ],
)
def test_other_functions_read_the_tensor_as_an_array(function):
    made, expected = function(X), function(A)
    one, other = (list(each) if isinstance(each, tuple) else [each] for each in (made, expected))
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(np.asarray(a), b, rtol=1e-6)
    if function(np.ones((2, 3), "f4")) is not None and "divmod" in function.__code__.co_names:
        with pytest.raises(RuntimeError, match="requires grad"):  # tensors have no such function
            function(X.clone().requires_grad_())


S = np.array([[2.0, 0.3, 0.1], [0.3, 3.0, 0.2], [0.1, 0.2, 4.0]])
V = np.array([0.5, 1.5, -0.75])

#: A call of each function that is recorded, with the array that the tensor is.
RECORDED = {
    "concatenate": lambda x: np.concatenate([x, S, x], axis=1), "stack": lambda x: np.stack([x, S]),
    "vstack": lambda x: np.vstack([x, V]), "hstack": lambda x: np.hstack([S, x]),
    "dstack": lambda x: np.dstack([x, S]), "column_stack": lambda x: np.column_stack([V, x]),
    "append": lambda x: np.append(x, V), "where": lambda x: np.where(S > 1, x, 0.0),
    "dot": lambda x: np.dot(x, S), "dot of a vector": lambda x: np.dot(S, x[0]),
    "vdot": lambda x: np.vdot(x, S), "inner": lambda x: np.inner(x, S),
    "outer": lambda x: np.outer(x[0], V), "kron": lambda x: np.kron(x, S),
    "tensordot": lambda x: np.tensordot(x, S, axes=([0], [1])),
    "einsum": lambda x: np.einsum("ij,jk->k", x, S), "cross": lambda x: np.cross(x, S),
    "reshape": lambda x: np.reshape(x, 9), "ravel": lambda x: np.ravel(x),
    "transpose": lambda x: np.transpose(x), "swapaxes": lambda x: np.swapaxes(x, 0, 1),
    "moveaxis": lambda x: np.moveaxis(x, 0, -1), "squeeze": lambda x: np.squeeze(x[:1]),
    "expand_dims": lambda x: np.expand_dims(x, (0, 2)),
    "broadcast_to": lambda x: np.broadcast_to(x, (2, 3, 3)), "copy": lambda x: np.copy(x),
    "flip": lambda x: np.flip(x), "fliplr": lambda x: np.fliplr(x),
    "flipud": lambda x: np.flipud(x), "rot90": lambda x: np.rot90(x),
    "roll": lambda x: np.roll(x, 2), "repeat": lambda x: np.repeat(x, 2, axis=1),
    "tile": lambda x: np.tile(x, (2, 1)), "take": lambda x: np.take(x, [[0, -1], [1, 1]], axis=1),
    "take_along_axis": lambda x: np.take_along_axis(x, np.array([[0, 2]]), axis=-1),
    "split": lambda x: np.split(x, 3)[1], "array_split": lambda x: np.array_split(x, 2, axis=1)[1],
    "diagonal": lambda x: np.diagonal(x, 1), "diag": lambda x: np.diag(x[0], 1),
    "trace": lambda x: np.trace(x), "tril": lambda x: np.tril(x), "triu": lambda x: np.triu(x, 1),
    "meshgrid": lambda x: np.meshgrid(x[0], V)[0], "sort": lambda x: np.sort(x, axis=None),
    "median": lambda x: np.median(x[:2]), "quantile": lambda x: np.quantile(x, 0.3, axis=0),
    "percentile": lambda x: np.percentile(x, 30.0), "ptp": lambda x: np.ptp(x, axis=1),
    "cumsum": lambda x: np.cumsum(x), "cumprod": lambda x: np.cumprod(x, axis=1),
    "diff": lambda x: np.diff(x, axis=0), "trapezoid": lambda x: np.trapezoid(x, dx=0.5),
    "nansum": lambda x: np.nansum(x, axis=1), "nanmean": lambda x: np.nanmean(x),
    "nanmedian": lambda x: np.nanmedian(x, axis=1), "clip": lambda x: np.clip(x, 0.25, S + 0.2),
    "round": lambda x: np.round(x, 1), "nan_to_num": lambda x: np.nan_to_num(x, nan=1.0),
    "real": lambda x: np.real(x), "imag": lambda x: np.imag(x), "angle": lambda x: np.angle(x),
    "sinc": lambda x: np.sinc(x), "i0": lambda x: np.i0(x), "norm": lambda x: np.linalg.norm(x),
    "inv": lambda x: np.linalg.inv(x), "pinv": lambda x: np.linalg.pinv(x),
    "det": lambda x: np.linalg.det(x), "slogdet": lambda x: np.linalg.slogdet(x)[1],
    "solve": lambda x: np.linalg.solve(x, V), "cholesky": lambda x: np.linalg.cholesky(x @ x.T),
    "eigh": lambda x: np.linalg.eigh(x + x.T)[0], "eig": lambda x: abs(np.linalg.eig(x)[0]).sum(),
    "eigvalsh": lambda x: np.linalg.eigvalsh(x + x.T), "svd": lambda x: np.linalg.svd(x)[1],
    "qr": lambda x: np.linalg.qr(x)[1], "matrix_power": lambda x: np.linalg.matrix_power(x, 3),
    "multi_dot": lambda x: np.linalg.multi_dot([x, S, x]), "fft": lambda x: np.fft.fft(x).real,
    "ifft": lambda x: np.fft.ifft(x, axis=0).real, "rfft": lambda x: np.fft.rfft(x, 4).imag,
    "irfft": lambda x: np.fft.irfft(x), "hfft": lambda x: np.fft.hfft(x),
    "ihfft": lambda x: np.fft.ihfft(x).real, "fft2": lambda x: np.fft.fft2(x).real,
    "ifft2": lambda x: np.fft.ifft2(x).imag, "rfft2": lambda x: np.fft.rfft2(x).real,
    "irfft2": lambda x: np.fft.irfft2(x), "fftn": lambda x: np.fft.fftn(x).real,
    "ifftn": lambda x: np.fft.ifftn(x).real, "rfftn": lambda x: np.fft.rfftn(x).real,
    "irfftn": lambda x: np.fft.irfftn(x), "fftshift": lambda x: np.fft.fftshift(x),
    "ifftshift": lambda x: np.fft.ifftshift(x, axes=0),
    # Universal functions and their methods
    "exp": lambda x: np.exp(x), "tanh": lambda x: np.tanh(x), "rint": lambda x: np.rint(x),
    "arctan2": lambda x: np.arctan2(x, S), "power": lambda x: np.power(S, x),
    "maximum": lambda x: np.maximum(x, 0.5), "matmul": lambda x: np.matmul(S, x),
    "hypot": lambda x: np.hypot(x, S), "sign": lambda x: np.sign(x), "fabs": lambda x: np.fabs(x),
    "degrees": lambda x: np.degrees(x), "vecdot": lambda x: np.vecdot(x, S),
    "conjugate": lambda x: np.conjugate(x), "add": lambda x: np.add(V, x),
    "array first": lambda x: S / x - V * x + S @ x, "in the middle": lambda x: x * S + V,
    "add.reduce": lambda x: np.add.reduce(x), "maximum.reduce": lambda x: np.maximum.reduce(x, 1),
    "multiply.reduce": lambda x: np.multiply.reduce(x),
    "add.accumulate": lambda x: np.add.accumulate(x),
    "multiply.outer": lambda x: np.multiply.outer(x, V),
}  # fmt: skip


@pytest.mark.parametrize("name", RECORDED)
def test_what_numpy_cannot_read_is_recorded(name):
    """Values are NumPy's, and derivatives those of finite differences."""
    values = S + np.array([[0.0, 0.11, 0.23], [0.37, 0.41, 0.53], [0.61, 0.73, 0.83]])
    x = ng.tensor(values, requires_grad=True)
    call = RECORDED[name]
    made = call(x)
    assert type(made) is ng.Tensor and made.dtype is ng.float64
    np.testing.assert_allclose(made.detach().numpy(), call(values), rtol=1e-10, atol=1e-12)
    if made.requires_grad:
        assert ng.autograd.gradcheck(call, x)
    else:
        assert name == "round"


def test_every_twin_has_a_call():
    named = {name.partition(".")[0] for name in RECORDED}
    assert {function.__name__ for function in numpy_twins.FUNCTIONS} <= named


def test_what_has_no_gradient_reads_the_values():
    x = ng.tensor(S, requires_grad=True)
    assert np.argmax(x) == 8 and np.argsort(x, axis=1).tolist() == np.argsort(S, 1).tolist()
    assert np.allclose(x, S) and np.array_equal(x, S) and np.isclose(x, S).all()
    assert (np.zeros_like(x) == 0).all() and np.count_nonzero(x) == 9


def test_dtypes_are_those_of_numpy():
    """Whether a gradient is required changes none."""
    x, w = ng.ones(3), ng.ones(3, requires_grad=True)
    for call in (
        lambda t: np.add(t, np.ones(3)), lambda t: np.maximum(t, np.float64(2)),
        lambda t: np.multiply(t, 2), lambda t: np.hypot(t, np.arange(3)), lambda t: 2.0 * t,
        lambda t: np.float64(2) * t, lambda t: t * np.ones(3, "f2"),
    ):  # fmt: skip
        assert call(x).dtype is call(w).dtype and call(w).requires_grad
    assert np.exp(ng.ones(2, dtype=ng.bfloat16)).dtype is ng.bfloat16


def test_saved_operands_are_copies():
    array, w = np.ones(3), ng.ones(3, requires_grad=True)
    made = w * array
    array[:] = 7
    made.sum().backward()
    assert w.grad.tolist() == [1.0, 1.0, 1.0]


def test_transformations_go_through():
    x = ng.tensor([0.5, 1.5])
    assert np.allclose(ng.func.grad(lambda t: np.sum(np.exp(t) * V[:2]))(x), np.exp(x) * V[:2])
    made = ng.func.vmap(lambda t: np.concatenate([np.sin(t), t]))(ng.ones(3, 2))
    assert made.shape == (3, 4)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: np.sort(x, kind="stable"), "numpy.sort of a tensor that NumPy cannot read"),
        (lambda x: np.concatenate([x], out=np.ones(3)), "numpy.concatenate of a tensor"),
        (lambda x: np.exp(np.ones(3), out=x), "out and where must be arrays of NumPy"),
        (lambda x: np.interp(x, [0, 1], [0, 1]), "requires grad"),
        (lambda x: np.exp(x, out=np.ones(3)), "requires grad"),
        (lambda x: np.add.at(x, [0], 1), "requires grad"),
        (lambda x: np.spacing(x), "requires grad"),
    ],
)
def test_what_has_no_twin_is_refused(call, text):
    with pytest.raises((TypeError, RuntimeError), match=text):
        call(ng.ones(3, requires_grad=True))


def test_classes_that_decide_are_asked():
    class Decides:
        def __array_ufunc__(self, ufunc, method, *inputs, **options):
            return ufunc.__name__

    assert np.add(X, Decides()) == np.add(Decides(), X) == "add"


def test_buffers():
    """The memory itself, where Python lets classes have it (3.12), and else a clear no."""
    x = ng.arange(6, dtype=ng.int16).reshape(2, 3)
    assert bytes(ng.tensor([1, 2])) == b"\x01\x02"
    if sys.version_info < (3, 12):
        with pytest.raises(TypeError, match="bytes-like object is required, not 'Tensor'"):
            memoryview(x)
        return
    seen = memoryview(x)
    assert seen.format == "h" and seen.shape == (2, 3) and seen.tolist() == x.tolist()
    seen[0, 1] = 7
    assert x[0, 1].item() == 7
    assert np.asarray(x).base is not None and np.asarray(x).tolist() == x.tolist()
    for refused in (ng.ones(2, requires_grad=True), ng.ones(2, dtype=ng.bfloat16)):
        with pytest.raises(BufferError, match="memoryview of a tensor"):
            memoryview(refused)
        with pytest.raises((RuntimeError, TypeError)):
            np.asarray(refused)
