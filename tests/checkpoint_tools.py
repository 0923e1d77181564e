"""What the tests of checkpoints share."""

from __future__ import annotations

import pytest

import numbagrad as nb

both_variants = pytest.mark.parametrize("use_reentrant", [False, True])


both_stops = pytest.mark.parametrize("early_stop", [True, False])


def leaf(*shape, seed=0):
    nb.manual_seed(seed)
    return nb.randn(shape, requires_grad=True)


def wave(x):
    return x.sin().exp().sin()


def gradient(function, x):
    (result,) = nb.autograd.grad(function(x).sum(), x)
    return result


def counted(function):
    def call(*args, **kwargs):
        call.count += 1
        return function(*args, **kwargs)

    call.count = 0
    return call
