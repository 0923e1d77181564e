"""Calls in which random programs found numbagrad and torch to differ: each is made in both."""

from __future__ import annotations

import pytest
import torch

import numbagrad


def outcome(call, library):
    """The values that a call returns, or the class and text of what it raises."""
    try:
        found = call(library)
    except Exception as error:  # compared with what the other library raises
        return type(error), str(error)[:60]
    return [x.tolist() if hasattr(x, "tolist") else x for x in found]


def detached_in_inference_mode(make):
    def call(t):
        x = make(t.ones(3, requires_grad=True))
        with t.inference_mode():
            x.detach_()
        return x.requires_grad, x.grad_fn is None

    return call


def filled_by_itself(values, part):
    def call(t):
        x = t.tensor(values)
        x[x > 1.5] = part(x)
        return (x,)

    return call


def gradient_of_a_fill_by_itself(t):
    leaf = t.tensor([1.0, 2.0], requires_grad=True)
    x = leaf * 1
    x[x > 1.5] = x[:1]
    return x.detach(), t.autograd.grad(x.sum(), leaf)[0]


def phases_of_no_number(t):
    a = t.tensor([[0.0, 1.0], [-1.0, 0.0]], requires_grad=True)
    vectors = t.linalg.eig(a)[1]
    return t.autograd.grad((vectors.abs() * float("nan")).sum(), a)


def jacobian_of_complex_constants(t):
    x = t.tensor([1.0 + 2.0j], requires_grad=True)
    return (t.autograd.functional.jacobian(lambda a: a.detach() * 1, x),)


def scaled_by_powers(kind, other, shape):
    def call(t):
        x = t.ones(shape, dtype=getattr(t, kind))
        made = t.ldexp(x, t.ones(2, dtype=getattr(t, other)))
        return str(made.dtype).rpartition(".")[2], made

    return call


def reshaped_in_inference_mode(make, method, *arguments):
    def call(t):
        leaf = t.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], requires_grad=True)
        x = make(leaf)
        with t.inference_mode():
            getattr(x, method)(*arguments)
        return x.is_leaf, x.shape, t.autograd.grad((x * x).sum(), leaf)[0]

    return call


def powers_at_special_numbers(exponent, kind):
    def call(t):
        numbers = [0.0, -0.0, 1.0, 4.0, float("inf")]
        x = t.tensor(numbers, dtype=getattr(t, kind), requires_grad=True)
        found = [x**exponent]
        for _ in range(2):
            found.append(t.autograd.grad(found[-1].sum(), x, create_graph=True)[0])
        return [str(y.tolist()) for y in found]  # text, as NaN is equal to nothing

    return call


def of_triangle(solve):
    """Zeros on the diagonal, and NaN in the half that nobody reads."""

    def call(t):
        a = t.tensor([[2.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 3.0, 4.0]]).T + t.tensor(
            [[0.0, 0.0, 0.0], [float("nan"), 0.0, 0.0], [0.0, 0.0, 0.0]]
        )
        return (str(solve(t, a, t.tensor([[2.0], [0.0], [8.0]])).tolist()),)

    return call


def shortened_beside_nan(t):
    x = t.tensor([[1.0, float("nan"), 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    (grad,) = t.autograd.grad(x.renorm(2, 0, 2.5).sum(), x)
    return [grad[0], grad[1].round(decimals=4)]


def exponents_of_a_written_tensor(t):
    x = t.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 1
    mantissa, exponent = t.frexp(y)
    y.add_(1)
    return mantissa.detach(), exponent, t.autograd.grad(mantissa.sum(), x)[0]


CALLS = {
    **{
        f"{method}{arguments} of {what} in inference mode": reshaped_in_inference_mode(
            make, method, *arguments
        )
        for what, make in {
            "a view": lambda x: x.view(2, 3),
            "a part": lambda x: x[:1],
            "a view of a result": lambda x: (x * 2).view(2, 3),
        }.items()
        for method, arguments in {
            "unsqueeze_": (-1,),
            "squeeze_": (),
            "t_": (),
            "transpose_": (0, 1),
        }.items()
    },
    **{
        f"powers {exponent} of {kind}": powers_at_special_numbers(exponent, kind)
        for exponent in (0.5, -0.5, -1, -1.5, -2, -3, 2, 3)
        for kind in ("float32", "float64")
    },
    "solve_triangular": of_triangle(lambda t, a, b: t.linalg.solve_triangular(a, b, upper=True)),
    "triangular_solve": of_triangle(lambda t, a, b: t.triangular_solve(b, a).solution),
    "cholesky_solve": of_triangle(lambda t, a, b: t.cholesky_solve(b, a, upper=True)),
    "renorm beside NaN": shortened_beside_nan,
    "frexp and a write": exponents_of_a_written_tensor,
    **{
        f"batch_norm of {shape}": lambda t, shape=shape: (
            t.nn.functional.batch_norm(t.zeros(shape), None, None, training=True),
        )
        for shape in ((1, 0), (2, 0), (0, 3), (1, 0, 1))
    },
    **{
        f"linear {kind} of {x} by {w} and {b}": lambda t, kind=kind, x=x, w=w, b=b: (
            t.nn.functional.linear(*[t.ones(y, dtype=getattr(t, kind)) for y in (x, w, b)]),
        )
        for kind in ("float32", "complex64")
        for x, w, b in (
            ((3,), (3,), ()),
            ((2, 2, 3), (3,), ()),
            ((2, 3), (4, 3), (1,)),
            ((2, 2, 3), (4, 3), (2, 4)),
            ((2, 2, 3), (4, 3), (2, 2, 4)),
        )
    },
    "a batch that is a tensor": lambda t: t.utils.data.default_collate(t.ones(3, 2)),
    "packed by a number": lambda t: t.nn.utils.rnn.PackedSequence(t.ones(3), 1),
    "nothing is packed": lambda t: t.nn.utils.rnn.pack_padded_sequence(t.ones(0), [1]),
    **{
        f"a permutation of {kind}": lambda t, kind=kind: (
            t.nn.utils.rnn.invert_permutation(t.tensor([2, 0, 1], dtype=getattr(t, kind))),
        )
        for kind in ("int64", "int32", "int16")
    },
    "detach_ of a leaf": detached_in_inference_mode(lambda x: x),
    "detach_ of a result": detached_in_inference_mode(lambda x: x.exp()),
    "detach_ of a view": detached_in_inference_mode(lambda x: x[:2]),
    "a mask and one element of the same": filled_by_itself([1.0, 2.0], lambda x: x[:1]),
    "a mask and the tensor itself": filled_by_itself([3.0], lambda x: x),
    "a mask and no element": filled_by_itself([1.0], lambda x: x),
    "a mask and several elements of the same": filled_by_itself([2.0, 3.0, 0.0], lambda x: x[1:]),
    "the gradient of such a fill": gradient_of_a_fill_by_itself,
    "phases of NaN": phases_of_no_number,
    **{
        f"ldexp of {kind}{shape} by {other}": scaled_by_powers(kind, other, shape)
        for kind in ("float64", "complex64", "complex128", "int64", "bool")
        for other in ("int64", "uint8", "bool")
        for shape in ((), (2,))
        if (kind, other) != ("float64", "bool")  # refused by both, in other words
    },
    **{
        f"cond of {kind} of {shape} by {norm}": lambda t, kind=kind, shape=shape, norm=norm: (
            t.linalg.cond(t.zeros(shape, dtype=getattr(t, kind)), norm) + 1,
            str(t.linalg.cond(t.zeros(shape, dtype=getattr(t, kind)), norm).dtype)[-7:],
        )
        for kind in ("float32", "complex64", "complex128")
        for shape in ((0, 0), (2, 0, 0), (0, 2, 2))
        for norm in (None, -2, 1, "fro")
    },
    "a Jacobian of complex constants": jacobian_of_complex_constants,
    **{
        f"stack along {dim}": lambda t, dim=dim: (t.stack([t.ones(2, 3), t.ones(3, 3)], dim),)
        for dim in (3, -4, 2)
    },
    **{
        f"{name} of complex numbers, {what}": lambda t, name=name, options=options: (
            getattr(t.fft, name)(t.ones(2, dtype=t.complex64), **options),
        )
        for name in ("rfft", "rfft2", "rfftn", "ihfft")
        for what, options in {
            "as it is": {},
            "out of range": {"dim": 5 if name in ("rfft", "ihfft") else (5, 6)},
            "of no size": {"n": 0} if name in ("rfft", "ihfft") else {"s": (0,)},
        }.items()
    },
}


@pytest.mark.parametrize("name", CALLS)
def test_call_does_what_torch_does(name):
    assert outcome(CALLS[name], numbagrad) == outcome(CALLS[name], torch)
