"""What the tests of Functions share: Functions of two plain functions, and a few of their own."""

from __future__ import annotations

from numbagrad.autograd.function import Function


def function(forward, backward=None):
    """Make a Function called ``MyFn`` of two plain functions."""
    methods = {"forward": staticmethod(forward)}
    if backward is not None:
        methods["backward"] = staticmethod(backward)
    return type("MyFn", (Function,), methods)


def double(ctx, x):
    return x * 2


def pass_on(ctx, grad):
    return grad


class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x > 0)


class Square(Function):
    """Differentiable as often as one likes, for its backward is written in operators."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 2 * x


class Exp(Function):
    """Saves its output."""

    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0]
