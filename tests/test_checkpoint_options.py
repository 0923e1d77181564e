"""Options of checkpoints: what must not differ, contexts, and what each variant takes."""

from __future__ import annotations

import contextlib
import itertools
import warnings

import pytest
from checkpoint_tools import leaf, wave

import numbagrad as nb
from numbagrad.utils.checkpoint import (
    CheckpointError,
    checkpoint,
    checkpoint_sequential,
    detach_variable,
    set_checkpoint_debug_enabled,
)

# What must not differ


def first_then(first, second):
    functions = itertools.chain([first], itertools.repeat(second))
    return lambda x: next(functions)(x)


def two(x):
    return x.sin().exp()


def three(x):
    return x.sin().exp().sin()


def wider(x):
    return x.sin() * nb.tensor([1.0, 2.0])


def test_fewer_tensors_in_the_second_run():
    y = checkpoint(first_then(three, two), leaf(1), use_reentrant=False)
    with pytest.raises(CheckpointError, match="A different number of tensors was saved") as error:
        y.backward()
    assert "saved during forward: 3\nNumber of tensors saved during recomputation: 2" in str(
        error.value
    )


def test_more_tensors_in_the_second_run():
    y = checkpoint(first_then(two, three), leaf(1), use_reentrant=False)
    y.backward()  # they are never reached
    y = checkpoint(first_then(two, three), leaf(1), use_reentrant=False, early_stop=False)
    with pytest.raises(CheckpointError, match="trying to save more tensors during recomputation"):
        y.backward()


def test_other_tensors_in_the_second_run():
    y = checkpoint(first_then(two, wider), leaf(1), use_reentrant=False)
    with pytest.raises(CheckpointError, match="tensors have different metadata") as error:
        y.backward()
    assert "{'shape': torch.Size([1]), 'dtype': torch.float32" in str(error.value)


def test_unless_nothing_is_checked():
    y = checkpoint(
        first_then(lambda x: x.sin() * x.exp(), lambda x: x.double().sin() * x.double().exp()),
        leaf(1),
        use_reentrant=False,
        determinism_check="none",
    )
    y.backward()
    with pytest.raises(ValueError, match="determinism_check should be one of"):
        checkpoint(two, leaf(1), use_reentrant=False, determinism_check="all")


def test_an_input_that_was_written_in_between():
    x = leaf(3)
    a = x.clone()
    y = checkpoint(lambda b: b.sin().exp(), a, use_reentrant=False)
    with nb.no_grad():
        a.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize("block, argument", [(None, True), (True, False)])
def test_debug_shows_the_operators_of_both_runs(block, argument):
    context = contextlib.nullcontext() if block is None else set_checkpoint_debug_enabled(block)
    with context:
        y = checkpoint(first_then(two, wider), leaf(1), use_reentrant=False, debug=argument)
    with pytest.raises(CheckpointError, match="because you passed `debug=True`") as error:
        y.backward()
    text = str(error.value)
    assert "original forward:\n\nSinBackward0\nExpBackward0\n" in text
    assert "during recomputation:\n\nSinBackward0\nMulBackward0\n" in text
    assert f"{__file__}:" in text


def test_debug_may_be_switched_off_for_a_block():
    with set_checkpoint_debug_enabled(False):
        y = checkpoint(first_then(two, wider), leaf(1), use_reentrant=False, debug=True)
    with pytest.raises(CheckpointError, match="Recomputed values for the following tensors"):
        y.backward()


def test_a_saved_tensor_is_handed_out_once():
    class Twice(nb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            assert len(ctx.saved_tensors) == 1
            with pytest.raises(CheckpointError, match="that was already unpacked once"):
                _ = ctx.saved_tensors
            return grad * 2

    checkpoint(lambda x: Twice.apply(x.sin()), leaf(3), use_reentrant=False).sum().backward()


def test_a_saved_tensor_without_gradient_is_itself():
    seen = []

    class Saves(nb.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(y)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            seen.extend(ctx.saved_tensors)
            return grad * 2, None

    y = nb.ones(3)
    checkpoint(Saves.apply, leaf(3), y, use_reentrant=False).sum().backward()
    assert seen[0] is y


# Contexts


class Noting(contextlib.AbstractContextManager):
    def __init__(self, log, name):
        self.log, self.name = log, name

    def __enter__(self):
        self.log.append(self.name)

    def __exit__(self, *exception):
        self.log.append(f"end of {self.name}")


def test_each_run_has_a_context():
    log = []
    y = checkpoint(
        wave,
        leaf(3),
        use_reentrant=False,
        context_fn=lambda: (Noting(log, "first"), Noting(log, "second")),
    )
    assert log == ["first", "end of first"]
    y.sum().backward()
    assert log[2:] == ["second", "end of second"]


def test_a_context_may_not_swallow_an_error():
    def fails(x):
        raise KeyError("no")

    with pytest.raises(RuntimeError, match="suppressed an exception raised during"):
        checkpoint(
            fails,
            leaf(3),
            use_reentrant=False,
            context_fn=lambda: (contextlib.suppress(KeyError), contextlib.nullcontext()),
        )
    with pytest.raises(KeyError):
        checkpoint(fails, leaf(3), use_reentrant=False)


# What each variant takes


def test_the_variant_should_be_chosen():
    x = leaf(3)
    with pytest.warns(UserWarning, match="the use_reentrant parameter should be passed explicitly"):
        checkpoint(wave, x)
    with pytest.warns(UserWarning, match="the use_reentrant parameter should be passed explicitly"):
        checkpoint_sequential([wave, wave], 2, x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checkpoint(wave, x, use_reentrant=True)
        checkpoint_sequential([wave, wave], 2, x, use_reentrant=False)


def test_the_reentrant_variant_takes_less():
    x = leaf(3)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: scale"):
        checkpoint(wave, x, use_reentrant=True, scale=2)
    with pytest.raises(ValueError, match="only supported when use_reentrant=False"):
        checkpoint(wave, x, use_reentrant=True, debug=True)
    with pytest.raises(ValueError, match="debug=True is incompatible with non-default context_fn"):
        contexts = contextlib.nullcontext(), contextlib.nullcontext()
        checkpoint(wave, x, use_reentrant=False, debug=True, context_fn=lambda: contexts)


def test_the_reentrant_variant_needs_a_walk_of_its_own():
    x = leaf(3)
    y = checkpoint(nb.exp, x, use_reentrant=True).sum()
    with pytest.raises(RuntimeError, match="torch.utils.checkpoint is incompatible with .grad()"):
        nb.autograd.grad(y, x)
    checkpoint(nb.exp, x, use_reentrant=True).sum().backward()
    assert nb.equal(x.grad, x.exp())


def test_the_reentrant_variant_needs_gradients():
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        checkpoint(wave, nb.ones(3), use_reentrant=True)

    def unrecorded(x):
        with nb.no_grad():
            return x * 2

    x = leaf(3)
    y = checkpoint(unrecorded, x, use_reentrant=True) + x
    with pytest.raises(RuntimeError, match="none of output has requires_grad=True"):
        y.sum().backward()
    (checkpoint(unrecorded, x, use_reentrant=False) + x).sum().backward()


def test_detach_variable():
    x = leaf(3) * 2
    detached, number = detach_variable((x, 3))
    assert (detached.is_leaf, detached.requires_grad, number) == (True, True, 3)
    with pytest.raises(RuntimeError, match="Only tuple of tensors is supported"):
        detach_variable([x])
