"""Gradients of another dtype than their tensor: ``grad_dtype``, ``ctx.set_output_grad_dtype``."""

import copy

import pytest

import numbagrad as torch
from numbagrad.autograd import Function

HALF, SINGLE, DOUBLE = torch.float16, torch.float32, torch.float64


class InDouble(Function):
    """Twice its argument, with a gradient in float64."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad.double() * 2


def leaf(dtype=SINGLE):
    return torch.ones(2, dtype=dtype, requires_grad=True)


# --- leaves ---------------------------------------------------------------------------------------


def test_it_is_that_of_the_tensor_unless_it_is_set():
    x = leaf()
    assert x.grad_dtype is SINGLE and leaf(DOUBLE).grad_dtype is DOUBLE
    x.grad_dtype = HALF
    assert x.grad_dtype is HALF
    x.grad_dtype = None
    assert x.grad_dtype is None
    with pytest.raises(RuntimeError, match="must be a torch.dtype or None, but got int"):
        x.grad_dtype = 3


def test_copies_have_their_own():
    x = leaf()
    x.grad_dtype = HALF
    for made in (x.detach(), copy.copy(x), copy.deepcopy(x)):
        assert made.grad_dtype is SINGLE


def test_only_leaves_have_one():
    y = leaf() * 2
    with pytest.raises(RuntimeError, match="can only be accessed on leaf tensors"):
        _ = y.grad_dtype
    with pytest.raises(RuntimeError, match="can only be set on leaf tensors"):
        y.grad_dtype = HALF


@pytest.mark.parametrize("declared, found", [(DOUBLE, DOUBLE), (HALF, HALF), (None, SINGLE)])
def test_every_gradient_arrives_in_it(declared, found):
    x, seen = leaf(), []
    x.grad_dtype = declared
    x.register_hook(lambda grad: seen.append(grad.dtype))
    assert torch.autograd.grad((x * 2).sum(), x)[0].dtype is found
    for _ in range(2):
        (x * 2).sum().backward()
    assert x.grad.dtype is found and x.grad.tolist() == [4, 4]
    assert seen == [found] * 3


@pytest.mark.parametrize(
    "declared, found", [(SINGLE, SINGLE), (HALF, HALF), (None, DOUBLE), (DOUBLE, DOUBLE)]
)
def test_what_a_function_returns_is_converted_once(declared, found):
    x = leaf()
    used_before = x * 1
    x.grad_dtype = declared
    InDouble.apply(x).sum().backward()
    assert x.grad.dtype is found and x.grad.tolist() == [2, 2]
    x.grad = None
    (InDouble.apply(x) + used_before).sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_more_is_added_in_the_dtype_of_what_is_there():
    x = leaf()
    x.grad_dtype = None
    x.grad = torch.ones(2, dtype=HALF)
    InDouble.apply(x).sum().backward()
    assert x.grad.dtype is HALF and x.grad.tolist() == [3, 3]


def test_a_gradient_that_is_assigned_has_to_have_it():
    x = leaf()
    text = "a gradient with dtype 'double' to a tensor with grad_dtype 'Float'"
    with pytest.raises(RuntimeError, match=text):
        x.grad = torch.ones(2, dtype=DOUBLE)
    x.grad_dtype = None
    x.grad = torch.ones(2, dtype=DOUBLE)
    text = "Cannot set grad_dtype to 'Half' because there is already a gradient with dtype 'double'"
    with pytest.raises(RuntimeError, match=text):
        x.grad_dtype = HALF
    x.grad_dtype = DOUBLE
    x.grad = None
    x.grad_dtype = HALF
    with pytest.raises(RuntimeError, match="with dtype 'float' to a tensor with grad_dtype 'Half'"):
        x.grad = torch.ones(2)


# --- outputs of Functions -------------------------------------------------------------------------


def recorder(*declared):
    """A Function with an output in float16 for each declared dtype; it notes what it gets."""

    class Recorder(Function):
        seen = ()

        @staticmethod
        def forward(ctx, x):
            ctx.set_output_grad_dtype(*declared)
            return tuple(x.half() * factor for factor in range(1, len(declared) + 1))

        @staticmethod
        def backward(ctx, *grads):
            Recorder.seen = tuple(grad.dtype for grad in grads)
            return sum(grad.float() for grad in grads)

    return Recorder


@pytest.mark.parametrize(
    "declared, seen", [(HALF, HALF), (SINGLE, SINGLE), (DOUBLE, DOUBLE), (None, DOUBLE)]
)
def test_backward_gets_gradients_in_the_declared_dtype(declared, seen):
    made = recorder(declared)
    (y,) = made.apply(leaf())
    (InDouble.apply(y).sum() + InDouble.apply(y).sum()).backward()
    assert made.seen == (seen,)


def test_every_output_has_its_own():
    made = recorder(DOUBLE, HALF, SINGLE)
    x = leaf()
    a, b, c = made.apply(x)
    (a * b * c).sum().backward()
    assert made.seen == (DOUBLE, HALF, SINGLE)
    assert x.grad.tolist() == [11, 11]


def test_setup_context_may_declare_too():
    class Doubled(Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.set_output_grad_dtype(DOUBLE)

        @staticmethod
        def backward(ctx, grad):
            assert grad.dtype is DOUBLE
            return grad * 2

    x = leaf()
    (Doubled.apply(x) * 3).sum().backward()
    assert x.grad.dtype is SINGLE and x.grad.tolist() == [6, 6]


@pytest.mark.parametrize(
    "declared, message",
    [
        ((HALF,), "number of declarations to match the number of outputs, but got 1 for 2"),
        ((HALF, HALF), "given a dtype for output 1, which is not a differentiable tensor"),
        ((HALF, "float16"), "a torch.dtype or None, but got str"),
    ],
)
def test_declarations_fit_the_outputs(declared, message):
    class Pair(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_output_grad_dtype(*declared)
            return x * 2, "no tensor"

    with pytest.raises(RuntimeError, match=message):
        Pair.apply(leaf())


def test_declarations_are_made_once_and_not_for_constants():
    class Constant(Function):
        @staticmethod
        def forward(ctx, x, times):
            made = x * 2
            ctx.mark_non_differentiable(made)
            for _ in range(times):
                ctx.set_output_grad_dtype(HALF)
            return made

    with pytest.raises(RuntimeError, match="not a differentiable tensor"):
        Constant.apply(leaf(), 1)
    with pytest.raises(RuntimeError, match="can only be called once"):
        Constant.apply(leaf(), 2)
