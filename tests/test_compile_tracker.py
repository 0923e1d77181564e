"""compile(): what issues of PyTorch's tracker report as stale or lost, beside eager twins."""

from __future__ import annotations

import random
import warnings

import numpy as np
import pytest
import tracker_classes  # noqa: F401 - fills WORLDS
import tracker_effects  # noqa: F401 - fills WORLDS
import tracker_optimizers  # noqa: F401 - fills WORLDS
import tracker_reads  # noqa: F401 - fills WORLDS
from reads_tools import compare, plain
from tracker_worlds import WORLDS

import numbagrad as torch

CALLS = 10


def outcomes(make, compiled):
    """The results and states of all calls in one world."""
    torch.manual_seed(0)
    world = make()
    step = torch.compile(world.step) if compiled else world.step
    found = []
    for k in range(CALLS):
        if k >= 4:
            world.change(k)
        torch.manual_seed(k)
        try:
            with world.around(k):
                made = step(*world.arguments(k))
            result = plain(world.after(made))
        except Exception as error:
            if not world.raises:
                raise
            result = f"{type(error).__name__}: {error}"
        found.append([result, plain(world.state())])
    return found


@pytest.fixture(autouse=True)
def _process_as_before():
    before = random.getstate(), np.random.get_state()
    yield
    torch.set_grad_enabled(True)
    random.setstate(before[0])
    np.random.set_state(before[1])


@pytest.mark.parametrize("name", WORLDS)
def test_compiled_calls_give_what_eager_calls_give(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = outcomes(WORLDS[name], compiled=False)
        found = outcomes(WORLDS[name], compiled=True)
    for k, (a, b) in enumerate(zip(found, expected, strict=True)):
        compare(a, b, f"call {k}")
