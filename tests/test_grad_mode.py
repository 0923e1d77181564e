"""Grad modes: as blocks, as decorators, as calls, and in threads."""

from __future__ import annotations

import pytest
from engine_tools import leaf, run_threads

import numbagrad as nb


def test_no_grad_and_enable_grad():
    x = leaf(1.0)
    with nb.no_grad():
        assert not nb.is_grad_enabled()
        assert not (x * 2).requires_grad
        with nb.enable_grad():
            assert (x * 2).requires_grad
        assert not nb.is_grad_enabled()
    assert nb.is_grad_enabled()


def test_grad_modes_end_with_an_error():
    with pytest.raises(ValueError, match="out"), nb.no_grad():
        raise ValueError("out")
    assert nb.is_grad_enabled()


def test_grad_modes_decorate():
    @nb.no_grad()
    def called():
        return nb.is_grad_enabled()

    @nb.no_grad
    def plain():
        return nb.is_grad_enabled()

    @nb.set_grad_enabled(False)
    def chosen():
        return nb.is_grad_enabled()

    @nb.inference_mode()
    def inference():
        return nb.is_grad_enabled()

    assert nb.is_grad_enabled()
    assert [called(), plain(), chosen(), inference()] == [False] * 4
    assert nb.is_grad_enabled()


def test_a_decorated_generator_leaves_its_consumer_alone():
    @nb.no_grad()
    def produce():
        received = yield nb.is_grad_enabled()
        yield nb.is_grad_enabled(), received

    generator = produce()
    assert next(generator) is False
    assert nb.is_grad_enabled()
    assert generator.send(5) == (False, 5)
    assert nb.is_grad_enabled()


def test_set_grad_enabled_as_a_call():
    nb.set_grad_enabled(False)
    try:
        assert not nb.is_grad_enabled()
    finally:
        nb.set_grad_enabled(True)
    with nb.set_grad_enabled(False):
        assert not nb.is_grad_enabled()
    assert nb.is_grad_enabled()


def test_a_new_thread_records():
    seen = []
    with nb.no_grad():
        run_threads(1, lambda index: seen.append(nb.is_grad_enabled()))
    assert seen == [True]
