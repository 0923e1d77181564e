"""NumPy's functions of tensors: reductions are recorded, others read the tensor as an array."""

import sys

import numpy as np
import pytest

import numbagrad as ng

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
    for place in ((0, 0), (1, 2)):
        moved = A.astype("f8")
        moved[place] += step
        above = function(moved, axis=1).sum()
        moved[place] -= 2 * step
        slope = (above - function(moved, axis=1).sum()) / (2 * step)
        assert x.grad[place].item() == pytest.approx(slope, rel=1e-3, abs=1e-3)


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
    with pytest.raises(RuntimeError, match="requires grad"):
        function(X.clone().requires_grad_())


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
