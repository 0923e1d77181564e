"""The word that says who may have to see a call, as Python and as launchers read it."""

import contextlib
import threading

import pytest

import numbagrad as torch
from numbagrad import awake
from numbagrad.dispatch import layers
from numbagrad.executor.builtin import runtime
from numbagrad.executor.mode import NATIVE
from numbagrad.program.trace import Trace


def _hooks():
    return torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x)


@contextlib.contextmanager
def _one_layer(name):
    layers.change(name, 1)
    try:
        yield
    finally:
        layers.change(name, -1)


#: For each bit, blocks in which it is set, and after which it is as before.
WAYS = [
    ("AUTOCAST", lambda: torch.autocast("cpu")),
    ("OVERRIDING", lambda: _one_layer("overriding")),
    ("VOLATILE", lambda: _one_layer("volatile")),
    ("CAPTURE", lambda: Trace().capturing()),
    ("WATCHERS", _hooks),
    ("WATCHERS", torch.autograd.detect_anomaly),
    ("INFERENCE", torch.inference_mode),
    ("SETTINGS", lambda: torch.autocast("cpu")),
    ("SETTINGS", lambda: torch.device("meta")),
]


def _read():
    """The word, which launchers see as well."""
    if NATIVE:
        assert runtime().awake == awake.word
    return awake.word


@pytest.mark.parametrize(("bit", "block"), WAYS)
@pytest.mark.filterwarnings("ignore")
def test_a_bit_is_set_while_somebody_needs_it(bit, block):
    bit, before = getattr(awake, bit), _read()
    with block():
        assert _read() & bit
        with block() if bit != awake.CAPTURE else contextlib.nullcontext():
            assert _read() & bit
        assert _read() & bit
    assert _read() == before


@pytest.mark.parametrize(("bit", "block"), WAYS)
@pytest.mark.filterwarnings("ignore")
def test_a_bit_is_that_of_all_threads(bit, block):
    bit, entered, done = getattr(awake, bit), threading.Event(), threading.Event()

    def other():
        with block():
            entered.set()
            done.wait(30)

    before = _read()
    thread = threading.Thread(target=other)
    thread.start()
    try:
        assert entered.wait(30)
        assert _read() & bit
    finally:
        done.set()
        thread.join()
    assert _read() == before


def test_the_layers_above_operators_are_bits_of_the_word():
    of_layers = sum(layers.BITS.values())
    assert of_layers == awake.OVERRIDING | awake.VOLATILE | awake.AUTOCAST
    for name in layers.ORDER:
        with _one_layer(name):
            assert layers.active == awake.word & of_layers
    assert layers.active == awake.word & of_layers
