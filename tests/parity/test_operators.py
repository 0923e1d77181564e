"""Every operator of the table against live torch: values, dtypes, strides, gradients, errors.

The same call is made in both namespaces on the same arrays. Where numbagrad differs on purpose, the
tables below say so and why.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest
import torch
from operator_entry import as_tuple
from operator_table import ENTRIES, POINTWISE_ENTRIES, WITH_NUMBER

import numbagrad

ALL = POINTWISE_ENTRIES + ENTRIES
RTOL = {"float16": 2e-3, "float32": 4e-6, "float64": 1e-11}
ATOL = {"float16": 1e-3, "float32": 2e-6, "float64": 1e-12}

#: numbagrad computes these where torch refuses: another constraint of torch's public function.
TORCH_REFUSES = {
    ("prelu", "float64"): "one weight a channel",
    ("prelu", "float32"): "one weight a channel",
    ("prelu", "float16"): "one weight a channel",
    ("softsign", "bool"): "torch computes abs of bool",
    ("tanhshrink", "bool"): "torch subtracts from bool",
    ("topk", "bool"): "order of bools",
    ("kthvalue", "bool"): "order of bools",
    ("isin", "bool"): "order of bools",
    ("trace", "bool"): "a sum of bools",
    **{
        (f"{name}-{p}", "float16"): "only float32 and float64"
        for name in ("cdist", "pdist")
        for p in (1.0, 1.5, 2.0, 3.0, "inf")
    },
}

_BESSEL = [
    f"special_{name}" for name in (
        "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_i0",
        "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1",
        "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "spherical_bessel_j0",
    )
]  # fmt: skip
TORCH_REFUSES |= {
    (name, "float16"): "only float32 and float64"
    for name in (*_BESSEL, "special_erfcx", "special_log_ndtr", "special_ndtri")
}

#: Where the dtype differs: the scaling of addr is a product with an integer. torch's exponentials
#: of float16 matrices are NaN.
OTHER_DTYPES = {("addr", "bool"), ("matrix_exp", "float16"), ("matrix_exp-squared", "float16")}

#: torch writes over what their gradients need.
NO_GRADIENT_IN_TORCH = (
    "linalg_cond-1", "linalg_cond--1", "linalg_cond-fro", "linalg_cond-inf", "linalg_cond--inf",
    "vander", "vander-increasing",
)  # fmt: skip

#: Integers have ties, whose places are torch's own choice.
TIES = {"topk", "kthvalue", "sort", "sort-descending", "argsort", "max-dim", "min-dim", "argmax",
        "argmin", "median-dim", "cummax", "cummin"}  # fmt: skip

#: Series of more terms than torch's.
MORE_ACCURATE = {"digamma": 1e-8, "lgamma": 1e-8, "polygamma_1": 1e-8, "polygamma_2": 1e-8}

#: torch's have seven digits.
MORE_ACCURATE |= dict.fromkeys(_BESSEL, 1e-6)

#: torch has the sixth as a float32 there.
MORE_ACCURATE["hardsigmoid"] = 1e-7

#: Named as the last of several operators that torch's call is made of, here one operator.
COMPOSED = {
    "matmul-matrix-batch": "torch multiplies the transposes if the matrix requires grad",
    "cdist-product": "torch composes Euclidean distances of many rows",
    "dist": "a norm of a difference",
    **{name: "two systems of equations with triangles" for name in (
        "cholesky_solve", "cholesky_solve-upper", "cholesky_inverse")},
    **{name: "another view gives the result its shape" for name in (
        "quantile", "quantile-linear", "quantile-lower", "quantile-higher", "quantile-midpoint",
        "quantile-nearest")},
}  # fmt: skip

COMPOSED |= {
    x.name: "made of products, systems and views; torch's kernel differentiates the whole"
    for x in ENTRIES
    if x.name.startswith((
        "cholesky_", "linalg_cond", "linalg_lstsq", "linalg_solve_ex", "linalg_tensor", "lu_",
        "orgqr", "ormqr", "triangular_solve", "vander",
        "as_strided_scatter", "combinations", "cumulative_trapezoid", "ldexp", "mvlgamma",
        "nanquantile", "norm_except", "put", "renorm", "segment_reduce", "special_zeta",
        "trapezoid",
    ))
}  # fmt: skip

#: torch lays these results out as its own composition happens to.
OTHER_STRIDES = {
    x.name: "columns after each other, as LAPACK leaves them, or rows, as products do"
    for x in ENTRIES
    if x.name.startswith(("linalg_lstsq", "lu_solve", "orgqr", "ormqr"))
} | {
    x.name: "torch leaves the dimension that was transformed last in a row"
    for x in ENTRIES
    if x.name.startswith(("fft-", "nanquantile-several"))
}  # fmt: skip

SPECIAL = {
    "float64": [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 30.0, -30.0],
    "int64": [0, 1, -1, 2, -3, 7, 2**40],
    "uint8": [0, 1, 2, 7, 255],
    "bool": [True, False],
}


def by_name(entry):
    return entry.name


over_all = pytest.mark.parametrize("entry", ALL, ids=by_name)
over_pointwise = pytest.mark.parametrize("entry", POINTWISE_ENTRIES, ids=by_name)


def call(entry, library, arrays, requires_grad=False):
    """The inputs, and the outputs or the error."""
    inputs = [library.from_numpy(x.copy()) for x in arrays]
    for x in inputs:
        x.requires_grad_(requires_grad and x.is_floating_point())
    try:
        return inputs, as_tuple(entry.call(library, *inputs)), None
    except (RuntimeError, TypeError, IndexError, ValueError) as error:
        return inputs, (), error


def both(entry, arrays, requires_grad=False):
    return [call(entry, library, arrays, requires_grad) for library in (numbagrad, torch)]


def assert_same_values(ours, theirs, rtol, atol):
    ours, theirs = ours.detach().numpy(), theirs.detach().numpy(force=True)
    assert ours.dtype == theirs.dtype
    np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=atol, equal_nan=True)


def same_strides(ours, theirs):
    return ours.numel() < 2 or tuple(ours.stride()) == tuple(theirs.stride())


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "uint8", "bool"])
@over_all
def test_forward(entry, dtype):
    """Values, dtypes, shapes and strides; or an error of the same type."""
    arrays = entry.draw(dtype)
    (_, ours, our_error), (_, theirs, their_error) = both(entry, arrays)
    if (entry.name, dtype) in TORCH_REFUSES:
        assert their_error is not None
        return
    if their_error is not None:
        assert isinstance(our_error, RuntimeError) and isinstance(their_error, RuntimeError)
        return
    assert our_error is None
    if (entry.name, dtype) in OTHER_DTYPES:
        return
    rtol = max(RTOL.get(dtype, 2e-6), MORE_ACCURATE.get(entry.name, 0))
    if "float" not in dtype and entry.name in TIES:
        ours, theirs = ours[:1], theirs[:1]
        if entry.name in ("argsort", "argmax", "argmin"):
            return
    for mine, other in zip(ours, theirs, strict=True):
        assert_same_values(mine, other, rtol, ATOL.get(dtype, 1e-6))
        assert entry.name in OTHER_STRIDES or same_strides(mine, other)


def gradients(library, inputs, outputs, once=False):
    """First gradients along fixed directions, and those of their sum."""
    generator = np.random.default_rng(7)
    wanted = [x for x in inputs if x.requires_grad]
    carrying = [x for x in outputs if x.requires_grad]
    along = [library.from_numpy(np.asarray(generator.uniform(0.5, 2, x.shape))) for x in carrying]
    grad = functools.partial(library.autograd.grad, allow_unused=True)
    first = grad(carrying, wanted, along, create_graph=True)
    again = [x for x in first if x is not None and x.requires_grad and not once]
    second = grad(again, wanted, [library.ones_like(x) for x in again]) if again else ()
    arrays = [x if x is None else x.detach().numpy(force=True) for x in second]
    return first, arrays


@over_all
def test_gradients(entry):
    """Gradients of the first and second order, and the name of the node."""
    if not (entry.differentiable and entry.admits("float64")):
        return
    if entry.name in ("prelu", "binary_cross_entropy_with_logits_weighted"):
        return  # torch: one weight a channel, no gradient for pos_weight
    if entry.name == "as_strided_scatter":
        return  # torch has the gradient of what was overwritten, not of what stays
    (inputs, ours, _), (their_inputs, theirs, _) = both(entry, entry.draw("float64"), True)
    rtol = max(1e-10, MORE_ACCURATE.get(entry.name, 0))
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.requires_grad == other.requires_grad
        if entry.name not in COMPOSED and mine.grad_fn is not None:
            assert mine.grad_fn.name() == other.grad_fn.name()
        assert mine.is_leaf == other.is_leaf
    if not any(x.requires_grad for x in ours):
        return
    # torch has no second derivative of these
    once = entry.name.startswith(("hardsigmoid", "cdist", "pdist", "segment_reduce"))
    first, second = gradients(numbagrad, inputs, ours, once)
    if entry.name in NO_GRADIENT_IN_TORCH:
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            gradients(torch, their_inputs, theirs, once)
        return
    their_first, their_second = gradients(torch, their_inputs, theirs, once)
    for mine, other in zip(first, their_first, strict=True):
        assert (mine is None) == (other is None)
        if mine is not None:
            assert mine.requires_grad == other.requires_grad or entry.name == "segment_reduce"
            assert_same_values(mine, other, rtol, 1e-11)
    for position in range(len(first)):
        mine = second[position] if second else None
        other = their_second[position] if their_second else None
        mine = np.zeros(1) if mine is None else mine
        other = np.zeros(1) if other is None else other
        np.testing.assert_allclose(
            *np.broadcast_arrays(mine, other), rtol=max(1e-8, 10 * rtol), atol=1e-9
        )


def special(entry, dtype):
    """All combinations of special numbers as inputs."""
    numbers = SPECIAL[dtype]
    free = [x for x in entry.inputs if not (x.fixed or x.single)]
    grids = (x.ravel().astype(dtype) for x in np.meshgrid(*[numbers] * len(free)))
    count = len(numbers) ** len(free)
    return [
        np.array(numbers[1], dtype) if x.single
        else np.arange(count) % 3 == 0 if x.fixed
        else next(grids)
        for x in entry.inputs
    ]  # fmt: skip


#: Where a special number has another result than in torch.
OTHER_VALUES = {
    "polygamma_1": "infinite at its poles, torch large or NaN",
    "polygamma_2": "0 at infinity, torch NaN",
    "softsign": "int64 and uint8 become floats before abs, which cannot overflow then",
    "binary_cross_entropy": "torch refuses inputs beyond [0, 1]",
    **dict.fromkeys((*_BESSEL, "i0", "special_i1"), "torch NaN at infinity, or of seven digits"),
}


@pytest.mark.parametrize("dtype", SPECIAL)
@over_pointwise
def test_special_numbers(entry, dtype):
    if entry.name in OTHER_VALUES or not entry.admits(dtype):
        return
    (_, ours, our_error), (_, theirs, their_error) = both(entry, special(entry, dtype))
    if their_error is not None:
        assert (entry.name, dtype) in TORCH_REFUSES or isinstance(our_error, RuntimeError)
        return
    assert our_error is None
    for mine, other in zip(ours, theirs, strict=True):
        assert_same_values(mine, other, RTOL.get(dtype, 2e-6), ATOL.get(dtype, 0))


#: Where the first gradient at a special number is another than in torch.
OTHER_GRADIENTS = {
    "acosh": "at -1, outside the domain",
    "digamma": "infinite at its poles",
    "lgamma": "see digamma",
    "elu": "NaN for NaN", "selu": "NaN for NaN", "celu": "NaN for NaN", "hardswish": "NaN for NaN",
    "softsign": "0 at infinity, torch NaN",
    "kl_div": "at infinite targets",
    "special_log_ndtr": "infinite at -infinity, torch NaN",
    "special_i1e": "NaN for NaN",
    "hardsigmoid": "torch has the sixth as a float32 there",
    "binary_cross_entropy_with_logits_weighted": "torch has none for pos_weight",
}  # fmt: skip


@over_pointwise
def test_gradients_at_special_numbers(entry):
    if not (entry.differentiable and entry.admits("float64")):
        return
    if entry.name in OTHER_VALUES.keys() | OTHER_GRADIENTS.keys() | {"prelu"}:
        return
    arrays = special(entry, "float64")
    (inputs, ours, _), (their_inputs, theirs, _) = both(entry, arrays, True)
    first, _ = gradients(numbagrad, inputs, ours, once=True)
    their_first, _ = gradients(torch, their_inputs, theirs, once=True)
    for mine, other in zip(first, their_first, strict=True):
        assert_same_values(mine, other, 1e-10, 1e-12)


# --- Python numbers and mixed dtypes --------------------------------------------------------------

VALUES = {"bool": [True, False, True], "uint8": [1, 3, 200], "int64": [-3, 1, 5],
          "float32": [-1.5, 1.0, 2.5], "float64": [-1.5, 1.0, 2.5]}  # fmt: skip


@pytest.mark.parametrize("number", [True, 2, 2.5, 0], ids=repr)
@pytest.mark.parametrize("dtype", VALUES)
@pytest.mark.parametrize("name", WITH_NUMBER)
def test_numbers(name, dtype, number):
    """Dtypes, values and errors of tensors that meet Python numbers and other dtypes."""
    if (name, number) in (("add_alpha", True), ("mul_byte", 0)):
        return  # True counts as one
    results = []
    for library in (numbagrad, torch):
        x = library.tensor(VALUES[dtype], dtype=getattr(library, dtype))
        try:
            results.append(WITH_NUMBER[name](library, x, number))
        except RuntimeError as error:
            results.append(error)
    ours, theirs = results
    if isinstance(theirs, RuntimeError):
        assert isinstance(ours, RuntimeError)
    else:
        assert not isinstance(ours, RuntimeError), ours
        assert_same_values(ours, theirs, 2e-6, 1e-6)
