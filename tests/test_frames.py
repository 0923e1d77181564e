"""The function that a frame runs: of several with one code, the right one."""

import gc
import sys
import threading
import weakref

from numbagrad.native.frames import _position, functions_of


def made(value):
    def function(given=value):
        return functions_of(sys._getframe()), value

    return function


def test_of_functions_with_one_code_the_one_that_runs():
    functions = [made(value) for value in range(3)]
    for function in functions:
        found, _ = function()
        assert function in found
        if sys.version_info >= (3, 11):
            assert found == [function]


def test_generators_methods_and_classes():
    def generator():
        yield functions_of(sys._getframe())

    class Holder:
        position = functions_of(sys._getframe())

        def method(self):
            return functions_of(sys._getframe())

    assert next(generator()) == [generator]
    assert Holder().method() == [Holder.method]
    assert all([x.__code__.co_name == "Holder" for x in Holder.position])


def test_a_frame_whose_function_has_another_code_by_now():
    def function(itself, other):
        itself.__code__ = other.__code__
        return functions_of(sys._getframe())

    assert function(function, lambda: 1) == []


def test_a_frame_that_ended():
    def function():
        return sys._getframe()

    assert functions_of(function()) == [function]


def test_frames_of_a_thread():
    found = []

    def function():
        found.append(functions_of(sys._getframe()))

    thread = threading.Thread(target=function)
    thread.start()
    thread.join()
    assert found == [[function]]


def test_the_look_for_the_place_keeps_no_caller_alive():
    class Held:
        pass

    def caller():
        held = Held()
        _position.cache_clear()
        _position()
        return weakref.ref(held)

    gc.disable()
    try:
        assert caller()() is None
    finally:
        gc.enable()
