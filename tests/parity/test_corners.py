"""Small programs at the corners of eager execution, against live torch.

Each is a function of a library. Compared are dtypes, shapes, strides of what has elements, values
with the signs of zeros, whether there is a history, or the class of the error.
"""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest
import torch

import numbagrad


def described(library, value):
    """What is compared of a result."""
    if isinstance(value, (tuple, list)):
        return [described(library, x) for x in value]
    if not isinstance(value, library.Tensor):
        return repr(value)
    steps = [step for size, step in zip(value.shape, value.stride(), strict=True) if size > 1]
    return (
        str(value.dtype).split(".")[1],
        tuple(value.shape),
        steps if value.numel() else None,
        repr(value.tolist()),
        value.requires_grad,
        value.grad_fn is None,
    )


def outcome(library, program):
    """The results of a program, or the class of its error."""
    library.manual_seed(0)
    try:
        return described(library, program(library))
    except Exception as error:
        return type(error).__name__


def same(program):
    assert outcome(numbagrad, program) == outcome(torch, program)


def cube(t):
    return t.arange(24.0).reshape(2, 3, 4)


# --- subscripts -----------------------------------------------------------------------------------

KEYS = [
    (..., ..., slice(None, None, 2)), (..., ...), (..., 0, ...), (0, ..., ..., 1),
    (0, 1, ..., ..., 2), (..., ..., slice(None)), (..., ..., None), (..., 0, ..., None),
    (..., ..., [0]), (..., [0], ...), (0, 1, 2, ..., ...), (slice(0, 0), 7), (5, slice(0, 0)),
    (..., 5, slice(0, 0)), (slice(0, 0), [7]), ([7], slice(0, 0)), ([], [7]), ([7], [], 0),
    (slice(2, 2), 0, [-9]),
]  # fmt: skip


def key_of(t, key):
    return tuple(t.tensor(k, dtype=t.int64) if isinstance(k, list) else k for k in key)


def written(t, x, key):
    x[key_of(t, key)] = 5.0
    return x


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_several_ellipses_and_indices_that_select_nothing(key):
    same(lambda t: cube(t)[key_of(t, key)])
    same(lambda t: written(t, cube(t), key))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 0, 3)])
def test_no_index_is_looked_at_where_nothing_is_read(shape):
    for key in [([7],), (slice(None), [5]), ([0, 7],), ([5], []), ([], [5]), (slice(None), 5)]:
        same(lambda t, key=key: t.zeros(shape)[key_of(t, key)])
        same(lambda t, key=key: written(t, t.zeros(shape), key))


def test_a_program_looks_at_no_index_where_nothing_is_read():
    step = numbagrad.compile(lambda x, index: x[index] + 1)
    for value in (7, 7, 7, 9, 1):
        made = step(numbagrad.zeros(3, 0), numbagrad.tensor([value]))
        assert made.shape == (1, 0)
    with pytest.raises(IndexError):
        numbagrad.compile(lambda x: x[..., ..., ::2] + 1)(numbagrad.zeros(2, 3, 4))


# --- reductions in a dtype ------------------------------------------------------------------------

REDUCED = {
    "float": lambda t: t.tensor([[0.5, 0.0, math.nan], [300.5, 0.0, 1.0]]),
    "int64": lambda t: t.tensor([[1, 0, 3], [0, 0, 0]]),
    "bool": lambda t: t.tensor([[True, False, False]]),
    "complex": lambda t: t.tensor([[0.5 + 0j, 0, 1j]]),
    "recorded": lambda t: t.ones(2, 2, requires_grad=True),
    "empty": lambda t: t.zeros(0, 2),
    "0-dim": lambda t: t.tensor(2.0),
}
REDUCTIONS = {
    "sum": lambda t, x, d: x.sum(dtype=d),
    "sum 0": lambda t, x, d: x.sum(0, dtype=d),
    "sum ()": lambda t, x, d: x.sum((), True, dtype=d),
    "prod": lambda t, x, d: x.prod(dtype=d),
    "prod 0": lambda t, x, d: x.prod(0, True, dtype=d),
    "nansum": lambda t, x, d: x.nansum(dtype=d),
    "cumsum": lambda t, x, d: x.cumsum(0, dtype=d),
    "cumprod": lambda t, x, d: x.cumprod(-1, dtype=d),
    "mean": lambda t, x, d: x.mean(dtype=d),
    "vector_norm": lambda t, x, d: t.linalg.vector_norm(x, dtype=d),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_in_bools_and_small_integers(name):
    for kind, make in REDUCED.items():
        for dtype in ("bool", "uint8", "int16"):
            if dtype != "bool" and (kind == "float" or name.startswith("cum")):
                continue  # NaN as a whole number is anything
            same(lambda t, d=dtype, m=make: REDUCTIONS[name](t, m(t), getattr(t, d)))


@pytest.mark.parametrize("dtype", ["int64", "uint8", "float32"])
@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 2)])
def test_functions_of_nothing(dtype, shape):
    def made(t):
        return t.ones(shape, dtype=getattr(t, dtype))

    def mask(t):
        return t.ones(shape, dtype=t.bool)

    for name in ("softmax", "log_softmax"):
        same(lambda t, n=name: getattr(t, n)(made(t), -1))
        same(lambda t, n=name: getattr(t.masked, n)(made(t), -1, mask=mask(t)))
    same(lambda t: t.nn.functional.softmin(made(t), 0))
    same(lambda t: t.masked.softmin(made(t), 0, mask=mask(t)))
    same(lambda t: t.masked.cumsum(made(t), 0, dtype=t.bool, mask=mask(t)))
    same(lambda t: t.bincount(made(t), t.ones(shape), 3))


# --- numbers --------------------------------------------------------------------------------------

NUMBERS = {
    "add, complex alpha": lambda t: t.add(t.ones(2), t.ones(2), alpha=1 + 0j),
    "sub, complex alpha": lambda t: t.ones(2).sub(1, alpha=2j),
    "threshold": lambda t: t.threshold(t.zeros(3), 1 + 0j, 2 + 0j),
    "threshold of ints": lambda t: t.threshold(t.zeros(3, dtype=t.int64), 1 + 0j, 2),
    "threshold, imaginary": lambda t: t.threshold(t.zeros(3), 1j, 2),
    "rounded ints": lambda t: t.tensor([7, 15]).round(decimals=-1),
    "ints": lambda t: t.tensor([7, 15]).round(),
    "nonzero": lambda t: t.tensor([0.0, -0.0, 1.0, math.nan], dtype=t.bfloat16).nonzero(),
    "nonzero, half": lambda t: t.tensor([0.0, -0.0, 1.0], dtype=t.float16).nonzero(as_tuple=True),
    "where": lambda t: t.where(t.tensor([-0.0, 1.0], dtype=t.bfloat16)),
    "log_ndtr": lambda t: t.special.log_ndtr(t.tensor([math.inf, -math.inf, math.nan])),
    "rsub": lambda t: t.rsub(t.ones(2, requires_grad=True), 2),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name):
    same(NUMBERS[name])


def test_names_of_reflected_differences():
    x = numbagrad.ones(2, requires_grad=True)
    assert numbagrad.rsub(x, 2).grad_fn.name() == "RsubBackward1"
    assert numbagrad.rsub(x, x).grad_fn.name() == "RsubBackward0"


# --- complex numbers ------------------------------------------------------------------------------

POINTS = [1 + 0j, -1 + 0j, 1 - 0j, 0j, -2.5 + 1j, complex(2, -0.0), complex(0.5, 0.0)]
COMPLEX = {
    "a number times": lambda t, z: (z * -3, -3 * z, z * 3),
    "a tensor times": lambda t, z: (z * t.tensor([-3.0]), t.tensor([-3.0]) * z),
    "from a number": lambda t, z: (3 - z, 0 - z, 3 + z),
    "from a tensor": lambda t, z: t.tensor([3.0]) - z,
    "roots": lambda t, z: ((z * -1).sqrt(), (z * -1).log(), (3 - z).sqrt(), z.mul(-1).log2()),
    "quotients": lambda t, z: (z / 3, z / -3, z / t.tensor([-3.0])),
    "inverse": lambda t, z: (z.reciprocal(), z**-1, z.sigmoid()),
    "in place": lambda t, z: (z.clone().mul_(-1), z.clone().div_(-1)),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_the_signs_of_zeros_beside_real_operands(name):
    """torch converts a real operand of a complex one; the sign of a zero chooses the branch."""
    for point in POINTS:
        if name in ("inverse", "quotients") and point == 0:
            continue  # at zero torch has one answer for one element, and another for eight
        mine, theirs = [
            [described(t, x) for x in _parts(t, COMPLEX[name](t, t.tensor([point] * 2)))]
            for t in (numbagrad, torch)
        ]
        assert mine == theirs, point


def _parts(t, made):
    """Real and imaginary parts, rounded to what two roundings may change."""
    return [
        t.round(part.double(), decimals=5)
        for x in (made if isinstance(made, tuple) else (made,))
        for part in (x.real, x.imag)
    ]


INFINITE = {
    "exp": lambda t, z: z.exp(),
    "atan": lambda t, z: z.atan(),
    "inverse": lambda t, z: 3 / z,
    "cosh": lambda t, z: z.cosh(),
    "sinh": lambda t, z: z.sinh(),
}


@pytest.mark.parametrize("name", INFINITE)
def test_complex_functions_at_infinity(name):
    for point in (complex(math.inf, 0.0), complex(-math.inf, 0.0), complex(math.inf, -0.0)):
        for part in ("real", "imag"):
            same(lambda t, z=point, p=part: getattr(INFINITE[name](t, t.tensor([z])), p).round())


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize(
    "change", ["unsqueeze_(0)", "transpose_(0, 2)", "squeeze_().unsqueeze_(0)"]
)
def test_gradients_of_leaves_whose_shape_has_changed(change, recorded):
    def gradient(t):
        leaf = t.arange(6.0).reshape(2, 1, 3).requires_grad_()
        result = (leaf + 1).tril().neg()
        with t.no_grad():
            eval(f"leaf.{change}")
        try:
            (result * result).sum().backward(create_graph=recorded)
        except RuntimeError:
            return "it does not fit"
        return leaf.grad.shape, leaf.grad.tolist()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert gradient(numbagrad) == gradient(torch)


@pytest.mark.parametrize("shape", [(3, 3), (2, 2, 3, 3)])
def test_factors_that_have_no_inverse(shape):
    messages = []
    for t in (numbagrad, torch):
        factor = t.ones(shape, dtype=t.float64)
        factor[(-1,) * (len(shape) - 2)][1, 1] = 0
        with pytest.raises(t.linalg.LinAlgError) as raised:
            t.cholesky_inverse(factor)
        messages.append(str(raised.value))
    assert messages[0] == messages[1]


# --- gradients ------------------------------------------------------------------------------------

NAN = math.nan


@pytest.mark.parametrize("weight", [0.5, 1, "tensor"])
@pytest.mark.parametrize("in_place", [False, True])
def test_nodes_of_lerp(weight, in_place):
    def program(t):
        start = t.ones(3, requires_grad=True) * 1
        given = t.tensor(0.5) if weight == "tensor" else weight
        return (t.Tensor.lerp_ if in_place else t.lerp)(start, t.zeros(3), given).grad_fn.name()

    same(program)


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("shape", [(0, 2), (0, 2, 3), (2, 2, 0), (2, 2, 0, 3)])
def test_batch_norm_of_nothing(shape, training, affine):
    def program(t):
        x = t.ones(shape, requires_grad=True)
        parameters = (t.ones(shape[1]), t.zeros(shape[1])) if affine else ()
        averages = t.zeros(shape[1]), t.ones(shape[1])
        result = t.nn.functional.batch_norm(x, *averages, *parameters, training=training)
        return result, t.autograd.grad(result.sum(), x), averages

    same(program)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("name", ["max", "min", "maximum"])
def test_an_out_of_another_dtype_for_two_tensors(name, dtype):
    def program(t):
        x = t.tensor([1.0, 4.0], dtype=t.float64)
        return getattr(t, name)(x, x.flip(0), out=t.empty(2, dtype=getattr(t, dtype)))

    same(program)


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0])
def test_distances_between_what_is_no_number(p):
    def program(t):
        x = t.tensor([[NAN, 1.0], [2.0, 3.0]], dtype=t.float64, requires_grad=True)
        y = t.tensor([[NAN, 1.0], [2.0, 5.0], [2.0, NAN]], dtype=t.float64, requires_grad=True)
        result = t.cdist(x, y, p=p)
        return result, t.autograd.grad(result.sum(), (x, y))

    same(program)


@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
def test_the_sign_of_a_zero_turns_no_column_around(mode):
    """Of decompositions into orthogonal and triangular matrices."""
    for numbers in itertools.product([0.0, -0.0, 3.0], repeat=4):
        values = [numbers[:2], numbers[2:]]
        found = [t.linalg.qr(t.tensor(values, dtype=t.float64), mode) for t in (numbagrad, torch)]
        for ours, theirs in zip(*found, strict=True):
            np.testing.assert_allclose(
                ours.numpy(), theirs.numpy(), atol=1e-14, err_msg=str(values)
            )
