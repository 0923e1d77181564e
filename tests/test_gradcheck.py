"""gradcheck and gradgradcheck: what they accept, what they find, and how they say it.

``torch`` in place of ``numbagrad`` passes the same tests.
"""

from __future__ import annotations

import pytest

import numbagrad as nb
from numbagrad.autograd import gradcheck, gradgradcheck
from numbagrad.autograd.function import Function
from numbagrad.autograd.gradcheck import GradcheckError


def leaf(*values, dtype=None):
    return nb.tensor(values, dtype=dtype or nb.float64, requires_grad=True)


class WrongSquare(Function):
    """x² with the gradient of x."""

    @staticmethod
    def forward(ctx, x):
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return grad


class Cube(Function):
    """x³ with a gradient that is right, but a constant to the next derivative."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (x.detach() * x.detach() * 3)


def test_right_gradients():
    x, y = leaf(0.5, 1.0, 2.0), leaf(1.5, -1.0, 0.25)
    assert gradcheck(lambda a, b: (a * b * a, (a + b).exp().sum()), (x, y))
    assert gradgradcheck(lambda a, b: (a * b * a, (a + b).exp().sum()), (x, y))


def test_inputs_are_left_as_they_were():
    x = leaf(0.5, 1.0)
    before = x.detach().numpy().copy()
    gradcheck(lambda a: a * a, x)
    assert (x.detach().numpy() == before).all()
    assert x.grad is None


def test_a_wrong_gradient():
    with pytest.raises(GradcheckError) as error:
        gradcheck(WrongSquare.apply, (leaf(1.0, 1.0),))
    assert str(error.value) == (
        "Jacobian mismatch for output 0 with respect to input 0,\n"
        "numerical:tensor([[2.0000, 0.0000],\n"
        "        [0.0000, 2.0000]], dtype=torch.float64)\n"
        "analytical:tensor([[1., 0.],\n"
        "        [0., 1.]], dtype=torch.float64)\n"
    )


def test_without_an_exception():
    assert gradcheck(WrongSquare.apply, (leaf(1.0, 1.0),), raise_exception=False) is False


def test_a_second_derivative_that_is_missing():
    x = leaf(1.0, 2.0)
    assert gradcheck(Cube.apply, (x,))
    with pytest.raises(GradcheckError):
        gradgradcheck(Cube.apply, (x,))


def test_the_output_and_the_input_are_named():
    def outputs(a, b):
        return a * b, WrongSquare.apply(b)

    with pytest.raises(GradcheckError, match="for output 1 with respect to input 1,"):
        gradcheck(outputs, (leaf(1.0), leaf(2.0)))


def test_arguments_that_are_not_checked():
    assert gradcheck(lambda a, b, c: a * b * c, (leaf(1.0, 2.0), 3.0, nb.ones(2, dtype=nb.float64)))


def test_a_gradient_that_is_cut():
    with pytest.raises(GradcheckError, match="Numerical gradient for function expected to be zero"):
        gradcheck(lambda a: a.detach() * 2, (leaf(1.0),))


def test_a_backward_that_gives_different_values():
    count = [0]

    class Drifting(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            count[0] += 1
            return grad * (2 + 1e-6 * count[0])

    with pytest.raises(GradcheckError, match="Backward is not reentrant"):
        gradcheck(Drifting.apply, (leaf(1.0),), check_undefined_grad=False)
    assert gradcheck(Drifting.apply, (leaf(1.0),), nondet_tol=1e-2)


def test_a_gradient_that_ignores_that_of_the_output():
    class Constant(Function):
        @staticmethod
        def forward(ctx, x):
            return x.sum()

        @staticmethod
        def backward(ctx, grad):
            return nb.ones(2, dtype=nb.float64)

    with pytest.raises(GradcheckError, match="backward not multiplied by grad_output"):
        gradcheck(Constant.apply, (leaf(1.0, 2.0),))


def test_inputs_that_cannot_be_checked():
    with pytest.raises(ValueError, match="gradcheck expects at least one input tensor to require"):
        gradcheck(lambda a: a, (nb.ones(2),))
    expanded = nb.ones(1, dtype=nb.float64).expand(3).requires_grad_()
    with pytest.raises(RuntimeError, match="The 0th input has a dimension with stride 0"):
        gradcheck(lambda a: a * 2, (expanded,))


def test_single_precision_warns():
    x = leaf(1.0, dtype=nb.float32)
    with pytest.warns(UserWarning, match="Input #0 requires gradient and is not a double"):
        gradcheck(lambda a: a * 2, (x,), eps=1e-2, atol=1e-2)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_an_output_that_is_constant_stands_beside_one_that_is_not(fast_mode):
    # torch's fast mode compares the gradient of the one with the differences of the other.
    def function(a):
        return a.detach() * 0 + 1, a * a

    assert gradcheck(function, (leaf(1.0, 2.0),), fast_mode=fast_mode)


@pytest.mark.parametrize("size", [4, 400])
def test_fast_mode_calls_as_often_for_large_inputs_as_for_small_ones(size):
    calls, walks = [0], [0]

    class Counted(Function):
        @staticmethod
        def forward(ctx, x):
            calls[0] += 1
            return x * 3

        @staticmethod
        def backward(ctx, grad):
            walks[0] += 1
            return grad * 3

    x = nb.linspace(0, 1, size, dtype=nb.float64).requires_grad_()
    assert gradcheck(Counted.apply, (x,), fast_mode=True, check_undefined_grad=False)
    assert calls[0] == 3  # at the point and on either side of it
    assert walks[0] == 3  # two that must agree, and one from zeros


def test_fast_mode_shows_the_whole_jacobians_of_what_it_refuses():
    with pytest.raises(GradcheckError) as error:
        gradcheck(WrongSquare.apply, (leaf(1.0, 1.0),), fast_mode=True)
    text = str(error.value)
    assert text.startswith("Jacobian mismatch for output 0 with respect to input 0,\nnumerical:")
    assert "Numerical:\n tensor([[2.0000, 0.0000],\n        [0.0000, 2.0000]]" in text
    assert "The max per-element difference (slow mode) is: 1.0" in text


# Forward mode and batches


class Twice(Function):
    """2x, forward and backward, unless told otherwise."""

    @staticmethod
    def forward(ctx, x, forward_factor, backward_factor):
        ctx.factors = forward_factor, backward_factor
        return x * 2

    @staticmethod
    def jvp(ctx, tangent, *_):
        return tangent * ctx.factors[0]

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factors[1], None, None


@pytest.mark.parametrize("fast_mode", [False, True])
def test_forward_mode_is_checked_if_asked(fast_mode):
    x = leaf(0.5, 1.0)
    options = {"check_forward_ad": True, "fast_mode": fast_mode}
    assert gradcheck(lambda a: (a * a.exp(), a.sum()), (x,), **options)
    assert gradcheck(Twice.apply, (x, 2, 2), **options)
    assert gradcheck(Twice.apply, (x, 3, 2), fast_mode=fast_mode)
    assert gradcheck(Twice.apply, (x, 2, 3), check_backward_ad=False, **options)
    with pytest.raises(GradcheckError, match="Jacobian computed with forward mode mismatch for"):
        gradcheck(Twice.apply, (x, 3, 2), **options)
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to inp"):
        gradcheck(Twice.apply, (x, 2, 3), **options)


def test_an_input_that_gets_a_tangent_requires_no_grad():
    class Clone(Function):
        @staticmethod
        def forward(ctx, x, y):
            if nb.autograd.forward_ad._current_level >= 0:
                assert not (x.requires_grad or y.requires_grad)
            return x.clone(), y.clone()

        @staticmethod
        def jvp(ctx, x, y):
            return x, y

    options = {"check_forward_ad": True, "check_backward_ad": False}
    assert gradcheck(Clone.apply, (leaf(0.5), leaf(1.0)), **options)
    assert gradcheck(Clone.apply, (leaf(0.5), nb.ones(1, dtype=nb.float64)), **options)


def test_how_often_forward_mode_runs():
    calls = [0]

    class Clone(Function):
        @staticmethod
        def forward(ctx, x, y):
            return x.clone(), y.clone()

        @staticmethod
        def jvp(ctx, x, y):
            calls[0] += 1
            return x, y

    def count(y, **options):
        calls[0] = 0
        assert gradcheck(
            Clone.apply, (leaf(0.5), y), check_forward_ad=True, check_backward_ad=False, **options
        )
        return calls[0]

    assert count(leaf(1.0), check_undefined_grad=False) == 2  # once for each input
    assert count(leaf(1.0)) == 2 + 4  # with a zero and without a tangent for each
    assert count(leaf(1.0), check_batched_forward_grad=True) == 2 + 4 + 6  # two and a batch
    constant = nb.ones(1, dtype=nb.float64)
    assert count(constant, check_batched_forward_grad=True) == 1 + 1 + 3


def test_an_undefined_tangent_must_count_as_zero():
    class Careless(Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.set_materialize_grads(False)
            return x + y

        @staticmethod
        def jvp(ctx, x, y):
            return x * 2 if y is None else (y * 2 if x is None else x + y)

    with pytest.raises(GradcheckError, match="Mismatch in tangent values for output with index: 0"):
        gradcheck(
            Careless.apply,
            (leaf(0.5), leaf(1.0)),
            check_forward_ad=True,
            check_backward_ad=False,
        )


def test_batched_gradients_are_compared_with_single_ones():
    x = leaf(0.5, 1.0)
    assert gradcheck(Twice.apply, (x, 2, 2), check_batched_grad=True)
    assert gradcheck(
        lambda a: (a.exp(), a.sum()),
        (x,),
        check_forward_ad=True,
        check_batched_grad=True,
        check_batched_forward_grad=True,
    )


def test_a_backward_that_cannot_be_batched():
    class ReadsValues(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2 if grad.sum().item() == 0 else grad * 2

    x = leaf(0.5, 1.0)
    assert gradcheck(ReadsValues.apply, (x,))
    text = "gradcheck or gradgradcheck failed while testing batched gradient computation"
    with pytest.raises(GradcheckError, match=text):
        gradcheck(ReadsValues.apply, (x,), check_batched_grad=True)


def test_random_numbers_cannot_be_batched():
    class DrawsNumbers(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def jvp(ctx, tangent):
            nb.randn_like(tangent)
            return tangent * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    options = {"check_forward_ad": True, "check_batched_forward_grad": True}
    text = "vmap: We do not yet support calling random operations inside of vmap"
    with pytest.raises(GradcheckError, match=text):
        gradcheck(DrawsNumbers.apply, (leaf(0.5, 1.0),), **options)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_forward_over_reverse(fast_mode):
    x = leaf(0.5, 1.0)
    options = {"check_fwd_over_rev": True, "fast_mode": fast_mode}
    assert gradgradcheck(lambda a: (a * a.sin()).sum(), (x,), check_batched_grad=True, **options)


def test_given_gradients_of_the_outputs():
    x = leaf(1.0, 2.0)
    assert gradgradcheck(lambda a: a * a, (x,), leaf(3.0, 4.0))
