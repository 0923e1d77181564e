"""Functions of the user: what forward is given, what backward gets and must give, what raises.

``torch`` in place of ``numbagrad`` passes the same tests, but for those that say so.
"""

from __future__ import annotations

import gc
import warnings
import weakref

import pytest
from engine_tools import leaf, values
from function_tools import Exp, MyReLU, Square, double, function

import numbagrad as nb
from numbagrad.autograd.function import Function, once_differentiable

# The ordinary case


def test_forward_and_backward():
    x = leaf(-1.0, 2.0)
    y = MyReLU.apply(x)
    assert y.requires_grad
    assert not y.is_leaf
    (y * 3).sum().backward()
    assert values(x.grad) == [0.0, 3.0]


def test_the_node_is_named_after_the_function():
    node = MyReLU.apply(leaf(1.0)).grad_fn
    assert node.name() == type(node).__name__ == "MyReLUBackward"
    assert "MyReLUBackward object at 0x" in repr(node)


def test_the_node_is_the_context():
    def forward(ctx, x, scale):
        ctx.scale = scale
        ctx.name_of_the_user = "kept"
        return x * scale

    def backward(ctx, grad):
        return grad * ctx.scale, None

    x = leaf(1.0)
    y = function(forward, backward).apply(x, 5.0)
    assert y.grad_fn.scale == 5.0
    assert y.grad_fn.name_of_the_user == "kept"
    y.sum().backward()
    assert values(x.grad) == [5.0]


def test_recording_is_off_in_forward_and_in_backward():
    seen = []

    def forward(ctx, x):
        seen.append(nb.is_grad_enabled())
        return x * 2

    def backward(ctx, grad):
        seen.append(nb.is_grad_enabled())
        return grad * 2

    x = leaf(1.0)
    y = function(forward, backward).apply(x)
    assert nb.is_grad_enabled()
    y.sum().backward(retain_graph=True)
    nb.autograd.grad(y.sum(), x, create_graph=True)
    assert seen == [False, False, True]


def test_an_error_in_forward_restores_recording():
    def forward(ctx, x):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        function(forward).apply(leaf(1.0))
    assert nb.is_grad_enabled()


def test_nothing_is_recorded_without_need():
    assert Square.apply(nb.ones(2)).grad_fn is None
    with nb.no_grad():
        y = Square.apply(leaf(1.0))
    assert y.grad_fn is None
    assert not y.requires_grad


def test_needs_input_grad():
    seen = []

    def forward(ctx, *args):
        seen.append(ctx.needs_input_grad)
        return args[0] * args[1]

    def backward(ctx, grad):
        seen.append(ctx.needs_input_grad)
        return None, grad, None

    function(forward, backward).apply(nb.ones(1), leaf(1.0), 3).sum().backward()
    assert seen == [(False, True, False)] * 2


def test_gradients_of_gradients():
    x = leaf(3.0)
    (first,) = nb.autograd.grad((Square.apply(x) * x).sum(), x, create_graph=True)
    (second,) = nb.autograd.grad(first.sum(), x)
    assert (values(first), values(second)) == ([27.0], [18.0])


def test_next_functions_has_an_entry_for_each_tensor():
    x = leaf(1.0)
    y = x * 2
    multiply = function(lambda ctx, a, b, c: a * c, lambda ctx, grad: (grad, None, grad))
    edges = multiply.apply(y, "text", x).grad_fn.next_functions
    assert edges[0] == (y.grad_fn, 0)
    assert edges[1][0].variable is x
    assert len(edges) == 2


def test_keyword_arguments():
    x = leaf(2.0)
    y = function(lambda ctx, a, b=3: a * b, lambda ctx, grad: (grad * 3, None)).apply(x, b=4)
    assert values(y) == [8.0]


def test_keyword_arguments_have_positions():
    def forward(ctx, a, b, c=1):
        return a - b * c

    subtract = function(forward, lambda ctx, grad: (grad, -grad, None))
    assert values(subtract.apply(b=leaf(1.0), a=leaf(3.0))) == [2.0]
    for arguments, keywords, message in (
        ((leaf(1.0),), {"d": 2}, "got an unexpected keyword argument 'd'"),
        ((leaf(1.0), 2), {"b": 2}, "got multiple values for argument 'b'"),
        ((leaf(1.0),), {"c": 2}, r"missing required argument: 'b' \(position 1\)"),
    ):
        with pytest.raises(TypeError, match=message):
            subtract.apply(*arguments, **keywords)


def test_there_are_no_arguments_by_keyword_alone():
    class Scale(Function):
        @staticmethod
        def forward(x, *, factor=2):
            return x * factor

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

    with pytest.raises(TypeError, match="unexpected keyword argument 'factor'"):
        Scale.apply(leaf(1.0), factor=3)


# Saved tensors


def test_saved_tensors():
    def forward(ctx, x):
        y = x * 2
        ctx.save_for_backward(x, None, y, nb.ones(1))
        return y

    def backward(ctx, grad):
        x, nothing, y, constant = ctx.saved_tensors
        assert nothing is None
        return grad * x * y * constant

    x = leaf(3.0)
    y = function(forward, backward).apply(x)
    saved = y.grad_fn.saved_tensors
    assert saved[0] is x
    assert saved[2].grad_fn is y.grad_fn
    y.sum().backward()
    assert values(x.grad) == [18.0]


def test_saved_tensors_are_freed():
    y = Square.apply(leaf(3.0))
    loss = y.sum()
    loss.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        loss.backward()
    with pytest.raises(RuntimeError, match="directly access saved tensors"):
        _ = y.grad_fn.saved_tensors


def test_retained_saved_tensors():
    x = leaf(3.0)
    loss = Square.apply(x).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    assert values(x.grad) == [12.0]


def test_a_saved_output_can_be_differentiated():
    x = leaf(0.0, 1.0)
    (first,) = nb.autograd.grad(Exp.apply(x).sum(), x, create_graph=True)
    (second,) = nb.autograd.grad(first.sum(), x)
    assert values(second) == values(first)


def test_a_saved_output_makes_no_cycle():
    gc.disable()
    try:
        y = Exp.apply(leaf(1.0))
        watched = weakref.ref(y)
        del y
        assert watched() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("operation", [Square, Exp])
def test_a_changed_saved_tensor_raises(operation):
    x = leaf(1.0) * 1
    y = operation.apply(x)
    loss = (y + 0).sum()
    (x if operation is Square else y).add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_only_tensors_can_be_saved():
    def forward(ctx, x):
        ctx.save_for_backward(x, 3)
        return x * 2

    message = "save_for_backward can only save variables, but argument 1 is of type int"
    with pytest.raises(TypeError, match=message):
        function(forward).apply(leaf(1.0))


# What backward returns


@pytest.mark.parametrize(
    ("backward", "message"),
    [
        (
            lambda ctx, grad: (grad, grad),
            r"function MyFnBackward returned an incorrect number of gradients \(expected 1, got 2",
        ),
        (
            lambda ctx, grad: (),
            r"function MyFnBackward returned an incorrect number of gradients \(expected 1, got 0",
        ),
        (lambda ctx, grad: 3, r"expected Variable or None \(got int\)"),
        (lambda ctx, grad: [grad], r"expected Variable or None \(got list\)"),
        (
            lambda ctx, grad: grad[:2],
            r"Function MyFnBackward returned an invalid gradient at index 0 - got \[2\] but "
            r"expected shape compatible with \[3\]",
        ),
    ],
)
def test_bad_results_of_backward(backward, message):
    x = leaf(1.0, 2.0, 3.0)
    with pytest.raises(RuntimeError, match=message):
        function(double, backward).apply(x).sum().backward()
    assert x.grad is None


def test_trailing_nones():
    x = leaf(1.0)
    function(double, lambda ctx, grad: (grad, None, None)).apply(x).sum().backward()
    assert values(x.grad) == [1.0]


def test_a_broadcast_gradient_is_summed():
    x = leaf(1.0, 2.0, 3.0)
    function(double, lambda ctx, grad: grad.expand(2, 3)).apply(x).sum().backward()
    assert values(x.grad) == [2.0, 2.0, 2.0]


def test_a_gradient_takes_the_dtype_of_its_input():
    x = leaf(1.0)
    function(double, lambda ctx, grad: grad.to(nb.float64)).apply(x).sum().backward()
    assert x.grad.dtype == nb.float32


def test_gradients_that_are_not_needed_are_dropped():
    x, constant = leaf(2.0), nb.ones(1)
    function(lambda ctx, a, b: a * b, lambda ctx, grad: (grad, grad)).apply(
        x, constant
    ).sum().backward()
    assert values(x.grad) == [1.0]
    assert constant.grad is None


# Methods


def test_setup_context():
    class Scale(Function):
        @staticmethod
        def forward(x, factor=2):
            return x * factor

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.factor = inputs
            ctx.save_for_backward(x, output)

        @staticmethod
        def backward(ctx, grad):
            x, output = ctx.saved_tensors
            assert values(output) == [values(x)[0] * ctx.factor]
            return grad * ctx.factor, None

    x = leaf(1.0)
    Scale.apply(x).sum().backward()
    Scale.apply(x, 5).sum().backward()
    assert values(x.grad) == [7.0]


def test_vjp_is_another_name_for_backward():
    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def vjp(ctx, grad):
            return grad * 2

    x = leaf(1.0)
    Twice.apply(x).sum().backward()
    assert values(x.grad) == [2.0]

    class Both(Twice):
        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    with pytest.raises(RuntimeError, match="Implementing both 'backward' and 'vjp'"):
        Both.apply(x).sum().backward()


def test_missing_methods():
    class Nothing(Function):
        pass

    with pytest.raises(NotImplementedError, match="You must implement the forward function"):
        Nothing.apply(leaf(1.0))
    with pytest.raises(NotImplementedError, match="either the backward or vjp method"):
        function(double).apply(leaf(1.0)).sum().backward()


def test_functions_are_not_instances():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DeprecationWarning, match="should not be instantiated"):
            MyReLU()
        warnings.simplefilter("ignore")
        with pytest.raises(RuntimeError, match="Legacy autograd function with non-static forward"):
            MyReLU()(leaf(1.0))


@pytest.mark.filterwarnings("ignore:.* should not be instantiated")
def test_an_instance_is_a_node_without_inputs():
    class Same(Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad

    instance = Same()
    assert instance.name() == "SameBackward"
    assert instance.next_functions == () == instance._input_metadata
    instance.metadata["key"] = 1
    assert instance.metadata == {"key": 1}
    instance.register_hook(lambda inputs, outputs: None).remove()
    assert isinstance(instance._sequence_nr(), int)
    with pytest.raises(AttributeError, match="'Same' object has no attribute 'variable'"):
        _ = instance.variable


def test_once_differentiable():
    """As in torch, the gradient is a constant where no gradient of an output requires grad."""

    class Once(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx, grad):
            assert not nb.is_grad_enabled()
            return grad * 2 * ctx.saved_tensors[0]

    x = leaf(3.0)
    Once.apply(x).sum().backward()
    assert values(x.grad) == [6.0]
    (first,) = nb.autograd.grad(Once.apply(x).sum(), x, create_graph=True)
    assert values(first) == [6.0]
    assert not first.requires_grad
    given = nb.ones(1, requires_grad=True)
    (first,) = nb.autograd.grad(Once.apply(x), x, given, create_graph=True)
    with pytest.raises(RuntimeError, match="trying to differentiate twice a function that was"):
        first.sum().backward()


class WritesInput(Function):
    @staticmethod
    def forward(ctx, x):
        x.add_(1)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


class ReturnsView(Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return grad


def test_a_function_may_not_write_what_may_not_be_written():
    x = nb.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="output of a function that returns multiple views"):
        WritesInput.apply(x.clone().split(1)[0])
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        WritesInput.apply(x.view_as(x))
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad has been used"):
        WritesInput.apply(x)


def test_a_view_that_is_marked_as_written_must_be_an_input():
    class WritesNothing(Function):
        @staticmethod
        def forward(ctx, x):
            result = x.clone().view_as(x)
            ctx.mark_dirty(result)
            return result

    with pytest.raises(RuntimeError, match="received a tensor that was not an input"):
        WritesNothing.apply(nb.ones(2, requires_grad=True).clone())


@pytest.mark.parametrize("recording", [True, False])
def test_a_view_of_a_function_is_not_written_though_nothing_was_recorded(recording):
    with nb.set_grad_enabled(recording):
        view = ReturnsView.apply(nb.rand(1, 2))
    with pytest.raises(RuntimeError, match="This view was created inside a custom Function"):
        view += nb.rand(1, requires_grad=True)


def test_a_hook_that_stops_a_function_while_it_saves_leaves_no_cycle():
    made = []

    class Kept(Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            made.append(weakref.ref(y))
            ctx.save_for_backward(y)
            return y

    def stop(tensor):
        raise KeyboardInterrupt

    gc.disable()
    try:
        with nb.autograd.graph.saved_tensors_hooks(stop, stop):
            with pytest.raises(KeyboardInterrupt):
                Kept.apply(leaf(1.0))
        assert made[0]() is None
    finally:
        gc.enable()
