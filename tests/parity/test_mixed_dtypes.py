"""Tensors of several dtypes in one call: what torch promotes is promoted, what it refuses raises.

The calls are those of functions with rules of their own: solvers, losses that are written in the
dtype of one of their tensors, layers with parameters, and views of memory as another dtype.
"""

from __future__ import annotations

import functools
import itertools
import warnings

import pytest
import torch

import numbagrad

FLOATS = ("float32", "float64", "float16", "bfloat16")
DTYPES = (*FLOATS, "int64", "bool")
SHAPES = ((), (2,))


def ones(library, shape, dtype):
    """Ones, or the unit matrix where the shape is that of one."""
    square = len(shape) == 2 and shape[0] == shape[1]
    made = library.eye(shape[0]) if square else library.ones(shape)
    return made.to(getattr(library, dtype))


def outcome(library, call):
    """The dtype and the shape of the result, or that there is an error."""
    try:
        made = call(library, lambda shape, dtype: ones(library, shape, dtype))
    except (RuntimeError, ValueError, TypeError, IndexError):
        return "an error"
    return str(made.dtype), tuple(made.shape)


def functional(name, *shapes, **options):
    """A call of a function of ``nn.functional`` with tensors of ones."""
    return lambda library, make: getattr(library.nn.functional, name)(
        *[make(*each) for each in shapes], **options
    )


def of_two(one, other):
    """Calls with tensors of two dtypes."""
    yield "cross", lambda t, make: t.linalg.cross(make((3,), one), make((3,), other))
    yield "vecdot", lambda t, make: t.linalg.vecdot(make((3,), one), make((3,), other))
    yield "lerp", lambda t, make: t.lerp(make((3,), one), make((3,), other), 0.5)
    yield (
        "lerp by a tensor",
        lambda t, make: t.lerp(make((3,), one), make((3,), one), make((3,), other)),
    )
    yield (
        "lerp by a number",
        lambda t, make: t.lerp(make((3,), one), make((3,), one), make((), other)),
    )
    for first, second in itertools.product(SHAPES, SHAPES):
        for name in ("gcd", "lcm", "igamma", "igammac", "special.zeta", "hypot", "fmod", "xlogy"):
            yield (
                f"{name} {first} {second}",
                lambda t, make, name=name, first=first, second=second: _named(t, name)(
                    make(first, one), make(second, other)
                ),
            )
        yield (
            f"block_diag {first} {second}",
            (
                lambda t, make, first=first, second=second: t.block_diag(
                    make(first, one), make(second, other)
                )
            ),
        )
        for name, reduction in itertools.product(
            ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss",
             "binary_cross_entropy", "binary_cross_entropy_with_logits"),
            ("mean", "none"),
        ):  # fmt: skip
            yield (
                f"{name} {first} {second} {reduction}",
                functional(name, (first, one), (second, other), reduction=reduction),
            )
    for name, weight in (
        ("binary_cross_entropy", "weight"),
        ("binary_cross_entropy_with_logits", "weight"),
        ("binary_cross_entropy_with_logits", "pos_weight"),
    ):
        for shape, own in itertools.product(((), (2,)), ((), (2,), (1,), (2, 2))):
            yield (
                f"{name} {weight} {shape} {own}",
                (
                    lambda t, make, name=name, weight=weight, shape=shape, own=own: getattr(
                        t.nn.functional, name
                    )(make(shape, one), make(shape, one), **{weight: make(own, other)})
                ),
            )


def _named(library, name):
    """A function of a library by its name, which may lead through a module."""
    return functools.reduce(getattr, name.split("."), library)


def of_matrices(one, other):
    """Solvers, which take no half precision."""
    for name in ("solve", "solve_ex", "lstsq", "tensorsolve"):
        yield (
            name,
            lambda t, make, name=name: _first(
                getattr(t.linalg, name)(make((3, 3), one), make((3, 3), other))
            ),
        )
    yield (
        "solve_triangular",
        lambda t, make: t.linalg.solve_triangular(
            make((3, 3), one), make((3, 2), other), upper=True
        ),
    )
    yield "cholesky_solve", lambda t, make: t.cholesky_solve(make((3, 2), one), make((3, 3), other))
    yield (
        "householder_product",
        lambda t, make: t.linalg.householder_product(make((3, 3), one), make((3,), other)),
    )


def _first(made):
    return made[0] if isinstance(made, tuple) else made


def of_three(one, other, third):
    """Layers with a weight and a bias."""
    for shape in ((3,), (2, 3), (2, 2, 3)):
        yield f"linear {shape}", functional("linear", (shape, one), ((4, 3), other), ((4,), third))
    yield (
        "layer_norm",
        lambda t, make: t.nn.functional.layer_norm(
            make((2, 3), one), (3,), make((3,), other), make((3,), third)
        ),
    )
    yield (
        "group_norm",
        lambda t, make: t.nn.functional.group_norm(
            make((2, 4), one), 2, make((4,), other), make((4,), third)
        ),
    )
    yield "batch_norm", lambda t, make: t.nn.functional.batch_norm(
        make((2, 3), one), make((3,), other), make((3,), other), make((3,), third),
        make((3,), third), True,
    )  # fmt: skip
    yield "bilinear", functional("bilinear", ((2, 3), one), ((2, 3), other), ((4, 3, 3), third))


def differences(calls):
    """The calls that end otherwise than in torch."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, call in calls:
            expected, ours = outcome(torch, call), outcome(numbagrad, call)
            if ours != expected:
                found.append((name, expected, ours))
    return found


@pytest.mark.parametrize("one", FLOATS)
@pytest.mark.parametrize("other", DTYPES)
def test_tensors_of_two_dtypes(one, other):
    assert not differences(of_two(one, other))


@pytest.mark.parametrize("one", ["float32", "float64"])
@pytest.mark.parametrize("other", DTYPES)
def test_matrices_of_two_dtypes(one, other):
    assert not differences(of_matrices(one, other))


@pytest.mark.parametrize("one", FLOATS)
@pytest.mark.parametrize("other", FLOATS)
@pytest.mark.parametrize("third", FLOATS)
def test_parameters_of_other_dtypes(one, other, third):
    assert not differences(of_three(one, other, third))


# --- values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
@pytest.mark.parametrize("argument", ["input", "target"])
@pytest.mark.parametrize("shape", [(), (3,), (0,)])
def test_probabilities_lie_between_0_and_1(value, argument, shape):
    def call(library, make):
        given = {"input": library.full(shape, 0.5), "target": library.full(shape, 0.5)}
        given[argument] = library.full(shape, value)
        return library.nn.functional.binary_cross_entropy(**given)

    assert outcome(numbagrad, call) == outcome(torch, call)
    if shape:
        return
    with pytest.raises(RuntimeError, match=f"all elements of {argument} should be between 0 and 1"):
        call(numbagrad, None)


def test_a_triangular_system_is_solved_in_the_dtype_of_its_matrix():
    values = [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]

    def solved(library):
        right = library.tensor(values, dtype=library.float64)
        return library.linalg.solve_triangular(library.eye(3) * 2, right, upper=True)

    assert solved(numbagrad).tolist() == solved(torch).tolist()


@pytest.mark.parametrize("one", DTYPES)
@pytest.mark.parametrize("other", [*DTYPES, "uint8", "complex64"])
def test_views_as_another_dtype(one, other):
    """Memory read as another dtype: sizes, strides and the start have to be multiples."""
    views = {
        "plain": lambda x: x, "transposed": lambda x: x.mT, "behind": lambda x: x[..., 1:],
        "every other": lambda x: x[..., ::2], "rows": lambda x: x[::2], "column": lambda x: x[:, 1],
        "from the third on": lambda x: x[..., 2:],
    }  # fmt: skip
    for shape in ((2, 4), (4, 8), (3, 3), (2, 6)):
        for name, change in views.items():

            def call(library, make, shape=shape, change=change):
                return change(make(shape, one)).view(getattr(library, other))

            assert outcome(numbagrad, call) == outcome(torch, call), (shape, name)
    for shape in ((0,), (0, 4), (4, 0), (0, 3), (3, 0, 3)):

        def call(library, make, shape=shape):
            return make(shape, one).view(getattr(library, other))

        expected = outcome(torch, call)  # of strides it complains though nothing lies there
        assert expected == "an error" or outcome(numbagrad, call) == expected, shape


# --- contractions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [*DTYPES, "uint8", "int8", "int16", "complex64"])
@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("i,i->", ((2,), (2,))), (",->", ((), ())), ("->", ((),)), ("i,->i", ((2,), ())),
        ("ij,ij->", ((2, 3), (2, 3))), ("ij->", ((2, 3),)), ("ii", ((3, 3),)),
        ("ij,jk->ik", ((2, 3), (3, 2))), ("bij,bjk->bik", ((2, 2, 3), (2, 3, 2))),
        ("i,j->ij", ((2,), (3,))),
    ],
)  # fmt: skip
def test_contractions_of_any_dtype(equation, shapes, dtype):
    def call(library, make):
        return library.einsum(equation, *[make(shape, dtype) for shape in shapes])

    assert outcome(numbagrad, call) == outcome(torch, call)


@pytest.mark.parametrize("shapes", [((), ()), ((), (2,)), ((2,), (2,)), ((2, 3), (2, 3))])
def test_a_product_over_all_dimensions_is_a_number(shapes):
    count = min(map(len, shapes))

    def call(library, make):
        return library.tensordot(*[make(shape, "float32") for shape in shapes], count)

    assert outcome(numbagrad, call) == outcome(torch, call)


COMPLEX_WITH_HALF = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b, "pow": lambda a, b: a**b, "eq": lambda a, b: a == b,
}  # fmt: skip


@pytest.mark.parametrize("name", COMPLEX_WITH_HALF)
@pytest.mark.parametrize("other", ["complex64", "complex128", "number"])
@pytest.mark.parametrize("half", ["float16", "bfloat16"])
def test_complex_operands_beside_half_precision(half, other, name):
    """The results are torch's; where they would be of complex32, that is said."""
    for shape, complex_shape, in_order in itertools.product(SHAPES, SHAPES, (True, False)):
        form = half, other, shape, complex_shape, in_order
        mine, theirs = [_with_complex(library, name, *form) for library in (numbagrad, torch)]
        if "complex32" in (mine, theirs):
            assert mine == theirs
        else:
            assert mine[0] == theirs[0]
            tolerance = 1e-2 if half == "bfloat16" else 1e-6  # some round in between
            assert mine[1] == pytest.approx(theirs[1], rel=tolerance)


def _with_complex(library, name, half, other, shape, complex_shape, in_order):
    """The dtype and the elements of a result; "complex32" if it would be of that."""
    real = library.full(shape, 1.5, dtype=getattr(library, half))
    value = 2.0 - 1j
    if other != "number":
        value = library.full(complex_shape, value, dtype=getattr(library, other))
    operands = (real, value) if in_order else (value, real)
    try:
        made = COMPLEX_WITH_HALF[name](*operands)
    except NotImplementedError as error:
        assert "ComplexHalf" in str(error)
        return "complex32"
    text = str(made.dtype).removeprefix("torch.")
    return "complex32" if text == "complex32" else (text, made.tolist())


def test_the_common_dtype_of_a_half_and_a_complex_number_is_named():
    half = numbagrad.ones(2, dtype=numbagrad.float16)
    assert numbagrad.result_type(half, 1j) is numbagrad.complex32
    assert numbagrad.result_type(half, numbagrad.tensor(1j)) is numbagrad.complex32
    assert numbagrad.result_type(half, numbagrad.tensor([1j])) is numbagrad.complex64


@pytest.mark.parametrize("size", [(2**62,), (2**62, 4), (2**31, 2**31)])
def test_sizes_that_no_array_has_are_told(size):
    """torch repeats one element beyond the addresses that there are; NumPy has no such array."""
    made = torch.ones(1).expand(size) if len(size) == 1 else None
    assert made is None or made.shape == size
    with pytest.raises(RuntimeError, match="Storage size calculation overflowed"):
        numbagrad.ones(1).expand(size)
