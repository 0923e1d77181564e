"""Anomaly detection: a failing backward names the call in forward that made its node."""

import gc
import sys
import warnings
import weakref
from io import StringIO

import pytest

import numbagrad as nb
from numbagrad.autograd import Function, detect_anomaly, set_detect_anomaly


def leaf(*values):
    return nb.tensor(list(values), requires_grad=True)


class Nan(Function):
    """The identity, with a gradient of NaN."""

    @staticmethod
    def forward(ctx, x, y):
        return x + y

    @staticmethod
    def backward(ctx, grad):
        return None, grad * float("nan")


class Induced(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return Nan.apply(grad * x, grad * x)


def noted(run, error=RuntimeError, match=None):
    """The texts of the warnings of a run that fails."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(error, match=match):
            run()
    return [str(warning.message) for warning in caught]


def test_nan_is_found_and_the_call_is_shown():
    def run():
        with detect_anomaly():
            out = Nan.apply(leaf(1.0), leaf(1.0))  # here it comes from
            out.sum().backward()

    expected = "Function 'NanBackward' returned nan values in its 1th output."
    first, second = noted(run, match=expected)
    assert first.startswith("Anomaly Detection has been enabled.")
    assert second.startswith("Error detected in NanBackward. Traceback of forward call that caused")
    assert "out = Nan.apply(leaf(1.0), leaf(1.0))  # here it comes from" in second
    assert "numbagrad/autograd" not in second


def test_operators_know_their_calls_too():
    for compute in (
        lambda x: x.sqrt() * 0, lambda x: x.view(1).sqrt() * 0, lambda x: x.mean().sqrt() * 0,
    ):  # fmt: skip

        def run(compute=compute):
            with set_detect_anomaly(True):
                compute(leaf(0.0)).sum().backward()

        (text,) = noted(run, match="Function 'SqrtBackward0' returned nan values in its 0th")
        assert "lambda x" in text


def test_forward_without_detection():
    out = Nan.apply(leaf(1.0), leaf(1.0)).sum()

    def run():
        with detect_anomaly():
            out.backward()

    assert "No forward pass information available." in noted(run)[1]


def test_gradients_of_gradients_show_what_induced_them():
    def run():
        with detect_anomaly():
            x = leaf(1.0)
            (first,) = nb.autograd.grad(Induced.apply(x), x, create_graph=True)
            first.sum().backward()

    _, second, third = noted(run, match="NanBackward")
    assert "Nan.apply(grad * x, grad * x)" in second
    assert third.startswith("\n\nPrevious calculation was induced by InducedBackward. Traceback of")
    assert "Induced.apply(x)" in third


def test_errors_of_backward_are_explained():
    def run():
        with detect_anomaly():
            y = leaf(1.0) + 1
            out = y**2
            y += 1
            out.sum().backward()

    texts = noted(run, match="modified by an inplace operation")
    assert texts[1].startswith("Error detected in PowBackward0. Traceback of forward call")


def test_a_warning_that_raises_goes_to_stderr(monkeypatch):
    monkeypatch.setattr(sys, "stderr", StringIO())

    def run():
        with set_detect_anomaly(True):
            warnings.simplefilter("error")
            Nan.apply(leaf(1.0), leaf(1.0)).sum().backward()

    assert noted(run, match="nan values") == []
    assert "Error detected in NanBackward" in sys.stderr.getvalue()


def test_without_the_search_for_nan():
    with set_detect_anomaly(True, check_nan=False):
        Nan.apply(leaf(1.0), leaf(1.0)).sum().backward()
        with set_detect_anomaly(True):
            noted(lambda: Nan.apply(leaf(1.0), leaf(1.0)).sum().backward(), match="nan values")
    assert not nb.is_anomaly_enabled()
    assert nb.is_anomaly_check_nan_enabled()


def test_the_switch_as_a_function():
    set_detect_anomaly(True)
    assert nb.is_anomaly_enabled()
    assert "traceback_" in leaf(1.0).exp().grad_fn.metadata
    set_detect_anomaly(False)
    assert not nb.is_anomaly_enabled()
    assert "traceback_" not in leaf(1.0).exp().grad_fn.metadata


def test_no_cycle_is_left_behind():
    gc.collect()
    gc.disable()
    try:
        x = leaf(1.0)
        y = x.exp()
        with set_detect_anomaly(True):
            (first,) = nb.autograd.grad(y.sum(), x, create_graph=True)
        assert first.grad_fn.metadata["parent_"].name() == "ExpBackward0"
        reference = weakref.ref(y.grad_fn)
        del y, first
        assert reference() is None
    finally:
        gc.enable()


@pytest.mark.filterwarnings("ignore:Error detected in")
def test_under_transformations():
    x = nb.tensor([1.0, -1.0, 4.0])
    with nb.autograd.set_detect_anomaly(True):
        each = nb.vmap(nb.func.grad(lambda x: (x**3).sum()))(x)
        assert nb.equal(each, 3 * x**2)
        _, along = nb.func.jvp(nb.func.grad(lambda x: (x**3).sum()), (x,), (nb.ones(3),))
        assert nb.equal(along, 6 * x)
        message = "Function 'SqrtBackward0' returned nan values in its 0th output"
        for transform in (
            nb.vmap(nb.func.grad(lambda x: x.sqrt().sum())),
            nb.func.jacrev(nb.func.grad(lambda x: x.sqrt().sum())),
        ):
            with pytest.raises(RuntimeError, match=message):
                transform(x)
        with pytest.raises(RuntimeError, match=message):
            nb.func.jvp(nb.func.grad(lambda x: x.sqrt().sum()), (x,), (nb.ones(3),))
