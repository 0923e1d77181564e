"""Decompositions of matrices with NaN or infinity, or that are not definite: torch's errors."""

import itertools
import math

import numpy as np
import pytest

import numbagrad as ng

torch = pytest.importorskip("torch")

CALLS = {
    "svd": lambda t, x: t.linalg.svd(x),
    "svd of all": lambda t, x: t.linalg.svd(x, full_matrices=False),
    "svdvals": lambda t, x: t.linalg.svdvals(x),
    "pinv": lambda t, x: t.linalg.pinv(x),
    "matrix_rank": lambda t, x: t.linalg.matrix_rank(x),
    "cond": lambda t, x: t.linalg.cond(x),
    "nuclear norm": lambda t, x: t.linalg.norm(x, "nuc", (-2, -1)),
    "spectral norm": lambda t, x: t.linalg.matrix_norm(x, 2),
    "cholesky": lambda t, x: t.linalg.cholesky(x),
    "upper cholesky": lambda t, x: t.linalg.cholesky(x, upper=True),
    "cholesky_ex": lambda t, x: t.linalg.cholesky_ex(x, check_errors=True),
    "inv": lambda t, x: t.linalg.inv(x),
    "solve": lambda t, x: t.linalg.solve(x, x),
}  # fmt: skip
#: Matrices, some of which have no decomposition of some kind.
MATRICES = {
    "NaN": [[math.nan, 1.0], [2.0, 3.0]],
    "NaN below": [[4.0, 1.0, 0.0], [math.nan, 3.0, 0.0], [0.0, 0.0, 1.0]],
    "negative": [[-1.0, 1.0], [1.0, 3.0]],
    "negative minor": [[1.0, 0.0, 0.0], [0.0, 1.0, 2.0], [0.0, 2.0, 1.0]],
    "singular": [[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 1.0]],
    "fine": [[2.0, 1.0], [1.0, 2.0]],
}


def outcome(t, call, values, stacked):
    x = t.tensor(values)
    if stacked:
        x = t.stack([t.eye(len(values)), x, x])
    try:
        call(t, x)
    except RuntimeError as error:
        return type(error).__name__.strip("_"), str(error)
    return None


@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("name", CALLS)
def test_what_has_no_decomposition_raises(name, matrix, stacked):
    ours, theirs = [outcome(t, CALLS[name], MATRICES[matrix], stacked) for t in (ng, torch)]
    assert (ours is None) == (theirs is None)
    if ours is not None:
        assert ours[0] == theirs[0] == "LinAlgError"
        if name != "cholesky_ex":
            assert ours[1] == theirs[1]


def test_infinity_is_not_definite():
    with pytest.raises(ng.linalg.LinAlgError, match="order 1"):
        ng.linalg.cholesky(ng.tensor([[math.inf, 1.0], [1.0, 3.0]]))
    assert ng.linalg.cholesky_ex(ng.tensor([[math.inf, 1.0], [1.0, 3.0]])).info.item() > 0


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("name", ["cholesky", "cholesky_ex"])
def test_a_factor_is_that_of_its_own_triangle(name, upper):
    values = [[4.0, 1.0], [0.5, 3.0]]
    made = []
    for t in (ng, torch):
        x = t.tensor(values, dtype=t.float64, requires_grad=True)
        factor = getattr(t.linalg, name)(x, upper=upper)
        factor = factor if name == "cholesky" else factor[0]
        (gradient,) = t.autograd.grad((factor * t.tensor([[1.0, 2.0], [3.0, 4.0]])).sum(), x)
        made.append((factor.tolist(), gradient.tolist()))
    for ours, theirs in zip(*made, strict=True):
        torch.testing.assert_close(torch.tensor(ours), torch.tensor(theirs))


UNITS = {
    "elu": lambda t, x: t.nn.functional.elu(x, 1.25),
    "celu": lambda t, x: t.nn.functional.celu(x, 1.25),
    "selu": lambda t, x: t.nn.functional.selu(x),
    "elu in place": lambda t, x: t.nn.functional.elu(x * 1, 1.5, True),
    "hardtanh": lambda t, x: t.nn.functional.hardtanh(x),
    "hardswish": lambda t, x: t.nn.functional.hardswish(x),
    "hardshrink": lambda t, x: t.nn.functional.hardshrink(x),
    "softshrink": lambda t, x: t.nn.functional.softshrink(x),
    "relu": lambda t, x: t.nn.functional.relu(x),
    "leaky_relu": lambda t, x: t.nn.functional.leaky_relu(x, 0.2),
    "threshold": lambda t, x: t.nn.functional.threshold(x, 0, 1),
    "clamp": lambda t, x: x.clamp(0, 1),
    "softplus": lambda t, x: t.nn.functional.softplus(x),
    "silu": lambda t, x: t.nn.functional.silu(x),
    "gelu": lambda t, x: t.nn.functional.gelu(x),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", UNITS)
def test_two_derivatives_of_units_where_their_formulas_meet(name, dtype):
    found = []
    for t in (torch, ng):
        positions = [0.0, -0.0, 1, -1, 0.5, -0.5, 3, -3, 6]
        x = t.tensor(positions, dtype=getattr(t, dtype), requires_grad=True)
        made = UNITS[name](t, x)
        (first,) = t.autograd.grad(made.sum(), x, create_graph=True)
        second = None
        if first.requires_grad:
            second = t.autograd.grad((first * first).sum(), x, allow_unused=True)[0]
        second = t.zeros_like(x) if second is None else second
        found.append(t.stack([made, first, second]).detach().numpy())
    assert np.allclose(found[0], found[1], 1e-4, 1e-6, equal_nan=True)


NUMBERS = [0.0, -0.0, 1.0, -1.0, 2.5, math.inf, -math.inf, math.nan]
PAIRS = list(itertools.product(NUMBERS, NUMBERS))


@pytest.mark.parametrize("gradient", [0.0, 1.0, math.inf, math.nan])
@pytest.mark.parametrize("name", ["xlogy", "xlog1py"])
def test_gradients_of_a_number_times_a_logarithm(name, gradient):
    """Zero times what is not finite is zero in the first gradient too, as the gradient is one."""
    found = []
    for t in (ng, torch):
        grid = [t.tensor(part, dtype=t.float64) for part in zip(*PAIRS, strict=True)]
        x, y = [part.requires_grad_() for part in grid]
        made = getattr(t.special, name)(x, y)
        upstream = t.full_like(made, gradient).requires_grad_()
        firsts = t.autograd.grad(made, (x, y), upstream, create_graph=True)
        seconds = [t.autograd.grad(each.sum(), upstream, retain_graph=True)[0] for each in firsts]
        found.append([each.tolist() for each in (made, *firsts, *seconds)])
    np.testing.assert_allclose(*found)


PRODUCTS = {
    "cumprod": lambda t, x: t.cumprod(x, 0),
    "prod": lambda t, x: x.prod(),
    "prod of a dimension": lambda t, x: x.prod(0),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_gradients_of_products_behind_zeros(name):
    """They are zero there, whatever other factors are; NaN only where torch's are."""
    generator = np.random.default_rng(0)
    for _ in range(200):
        factors = generator.choice([0.0, 0.0, 1.0, -2.0, 3.0, math.inf, math.nan], 4)
        upstream = generator.choice([0.0, 1.0, -1.0, 2.0], 4)
        ours, theirs = [_gradient(t, PRODUCTS[name], factors, upstream) for t in (ng, torch)]
        where = ~np.isnan(theirs)
        np.testing.assert_allclose(ours[where], theirs[where], err_msg=str((factors, upstream)))


def _gradient(t, function, factors, upstream):
    x = t.tensor(factors, dtype=t.float64, requires_grad=True)
    made = function(t, x)
    weights = t.tensor(upstream, dtype=t.float64)
    return t.autograd.grad(made, x, weights if made.dim() else weights[0])[0].numpy()


RESAMPLED = {
    **{
        f"adaptive_avg_pool{rank}d": (
            rank, lambda t, x, rank=rank: getattr(t.nn.functional, f"adaptive_avg_pool{rank}d")(
                x, (3, 5, 2)[:rank])
        ) for rank in (1, 2, 3)
    },
    **{
        f"{mode} {rank}": (
            rank, lambda t, x, mode=mode, rank=rank: t.nn.functional.interpolate(
                x, (3, 9, 2)[:rank], mode=mode)
        ) for mode, rank in (
            ("area", 2), ("nearest", 2), ("linear", 1), ("bilinear", 2), ("bicubic", 2),
            ("trilinear", 3),
        )
    },
}  # fmt: skip


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("name", RESAMPLED)
def test_what_is_not_finite_stays_in_its_part(name, number):
    """Elsewhere images and gradients are those of torch, which may spread it further than we do."""
    rank, function = RESAMPLED[name]
    generator = np.random.default_rng(rank)
    for turn in range(8):
        values = generator.normal(size=(2, 2, *(4, 6, 5)[:rank]))
        weights = generator.normal(size=(2, 2, *(3, 9, 2)[:rank]))
        if "adaptive" in name:
            weights = generator.normal(size=(2, 2, *(3, 5, 2)[:rank]))
        changed = values if turn % 2 else weights
        changed.reshape(-1)[generator.integers(changed.size)] = number
        found = []
        for t in (ng, torch):
            x = t.tensor(values, requires_grad=True)
            made = function(t, x)
            (gradient,) = t.autograd.grad(made, x, t.tensor(weights))
            found.append([made.detach().numpy(), gradient.numpy()])
        for ours, theirs in zip(*found, strict=True):
            same = np.isclose(ours, theirs, equal_nan=True)
            assert (same | (np.isnan(theirs) if "adaptive" not in name else False)).all()
            assert np.isfinite(ours).any()
