"""NumPy's functions of tensors give what they give of torch's, where that is defined."""

import warnings

import numpy as np
import pytest
import torch
from scipy import special

import numbagrad as ng

A = np.arange(6.0).reshape(2, 3)

FUNCTIONS = {
    "argmax": lambda t: np.argmax(t), "argmax along": lambda t: np.argmax(t, axis=1),
    "cumsum": lambda t: np.cumsum(t, axis=0), "cumprod": lambda t: np.cumprod(t, 0),
    "concatenate": lambda t: np.concatenate([t, t]), "stack": lambda t: np.stack([t, t]),
    "vstack": lambda t: np.vstack([t, t]), "exp": lambda t: np.exp(t),
    "add": lambda t: np.add(t, A), "add to array": lambda t: np.add(A, t),
    "add both": lambda t: np.add(t, t), "tensor first": lambda t: t + A,
    "where": lambda t: np.where(t > 1, t, 0), "dot": lambda t: np.dot(t, t.T),
    "matmul": lambda t: np.matmul(t, t.T), "reshape": lambda t: np.reshape(t, (3, 2)),
    "transpose": lambda t: np.transpose(t), "squeeze": lambda t: np.squeeze(t[:1]),
    "ravel": lambda t: np.ravel(t), "clip": lambda t: np.clip(t, 0, 1),
    "round": lambda t: np.round(t), "sort": lambda t: np.sort(t),
    "argsort": lambda t: np.argsort(t), "abs": lambda t: np.abs(t),
    "maximum": lambda t: np.maximum(t, 1), "asarray": lambda t: np.asarray(t),
    "exp of integers": lambda t: np.exp(t.long()), "ones_like": lambda t: np.ones_like(t),
    "zeros_like": lambda t: np.zeros_like(t), "norm": lambda t: np.linalg.norm(t),
    "einsum": lambda t: np.einsum("ij->i", t), "reduce": lambda t: np.add.reduce(t),
    "outer": lambda t: np.add.outer(t[0], t[0]), "divmod": lambda t: np.divmod(t, 2),
    "repeat": lambda t: np.repeat(t, 2), "take": lambda t: np.take(t, [0]),
    "swapaxes": lambda t: np.swapaxes(t, 0, 1), "diagonal": lambda t: np.diagonal(t),
    "trace": lambda t: np.trace(t), "ndim": lambda t: np.ndim(t), "copy": lambda t: np.copy(t),
    "array_equal": lambda t: np.array_equal(t, t), "allclose": lambda t: np.allclose(t, t),
    "expand_dims": lambda t: np.expand_dims(t, 0), "no dimensions": lambda t: np.exp(t[0, 0]),
    "bfloat16": lambda t: np.exp(t.bfloat16()), "median": lambda t: np.median(t),
    "unique": lambda t: np.unique(t.long()), "ptp": lambda t: np.ptp(t),
    "power": lambda t: np.power(t, 2), "number first": lambda t: np.float64(3) * t,
    "array first": lambda t: A + t, "out": lambda t: np.exp(A, out=t),
    "requires grad": lambda t: np.exp(t.requires_grad_()),
    "concatenate requires grad": lambda t: np.concatenate([t.requires_grad_()]),
    "bytes": lambda t: bytes(t[0].long()), "bytearray": lambda t: bytearray(t[0].byte()),
}  # fmt: skip


def _outcome(function, module):
    tensor = module.arange(6, dtype=module.float32).reshape(2, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = function(tensor)
        except Exception as error:
            return type(error).__name__
    return [_described(x) for x in (found if isinstance(found, tuple) else (found,))]


def _described(value):
    if isinstance(value, (ng.Tensor, torch.Tensor)):
        return (
            "Tensor",
            str(value.dtype),
            tuple(value.shape),
            value.detach().double().numpy().round(4).tolist(),
        )
    if isinstance(value, (np.ndarray, np.generic)):
        return type(value).__name__, value.dtype, value.shape, value.round(4).tolist()
    return type(value).__name__, value


#: What torch refuses, and NumPy's protocols leave to the tensor.
MORE = {"bfloat16", "array first", "requires grad", "concatenate requires grad"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_numpy(name):
    made, expected = (_outcome(FUNCTIONS[name], module) for module in (ng, torch))
    if name in MORE:
        assert expected in ("TypeError", "RuntimeError") and isinstance(made, list)
    else:
        assert made == expected


@pytest.mark.parametrize(
    "name", ["erf", "erfc", "erfinv", "expit", "gammaln", "i0", "logit", "psi"]
)
def test_functions_of_scipy_are_recorded(name):
    function = getattr(special, name)
    values = np.array([0.25, 0.5, 0.75])
    x = ng.tensor(values, requires_grad=True)
    np.testing.assert_allclose(function(x).detach().numpy(), function(values), rtol=1e-12)
    assert ng.autograd.gradcheck(function, x)
    with pytest.raises(RuntimeError, match="requires grad"):  # which no tensor has
        special.gammaincinv(x, x)
