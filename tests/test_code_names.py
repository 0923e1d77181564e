"""What code names, and which name a call of ``getattr`` is given."""

from __future__ import annotations

import sys

import pytest

from numbagrad.compiling.code_names import UNKNOWN, line_with, name_argument, names_of

RATE = "rate"
TABLE = {"name": "rate"}


class Options:
    rate = 1.0
    momentum = 2.0


def test_names_of_globals_attributes_and_texts():
    def function(options):
        global LAST
        LAST = options.rate  # noqa: F841
        return [options["lr"], ("momentum", ("decay",)), len(RATE)]

    names = names_of(function.__code__)
    assert {"LAST", "RATE", "len"} == names.globals
    assert {"rate", "LAST", "RATE", "len"} == set(names.loads)
    assert {"lr", "momentum", "decay"} <= names.texts
    assert names.mentions("options") and names.mentions("decay") and not names.mentions("other")


def test_names_of_functions_inside():
    def function():
        return lambda x: [y.inner for y in x]

    assert "inner" in names_of(function.__code__).loads


def test_functions_that_are_called_at_once_are_no_values():
    def function(x):
        return max(map(min, x))

    values = names_of(function.__code__).values
    assert "min" in values
    if sys.version_info >= (3, 11):  # before, instructions do not tell
        assert "max" not in values


def test_the_line_with_a_name():
    def function(x):
        y = x + 1

        def inner():
            return y.there

        return inner

    first = function.__code__.co_firstlineno
    assert line_with(function.__code__, "y") == first + 1
    assert line_with(function.__code__, "there") == first + 4


def _constant(options):
    return getattr(options, "rate")  # noqa: B009


def _constant_with_default(options):
    return getattr(options, "rate", None)


def _local(options):
    for name in ("rate",):
        return getattr(options, name)


def _local_with_default(options, name="rate", other=3):
    return getattr(options, name, other)


def _global(options):
    return getattr(options, RATE)


def _cell(options):
    name = "rate"
    return (lambda: getattr(options, name))()


def _computed(options):
    return getattr(options, "ra" + TABLE["name"][2:])


def _item(options):
    return getattr(options, TABLE["name"])


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (_constant, "rate"), (_constant_with_default, "rate"), (_local, "rate"),
        (_local_with_default, "rate"), (_global, "rate"), (_cell, "rate"), (_computed, UNKNOWN),
        (_item, UNKNOWN),
    ],
)  # fmt: skip
def test_the_name_that_getattr_is_given(function, expected):
    found = []

    def listen(frame, event, argument):
        if event == "c_call" and argument is getattr:
            found.append(name_argument(frame))

    before = sys.getprofile()
    sys.setprofile(listen)
    try:
        function(Options())
    finally:
        sys.setprofile(before)
    assert found == [expected]
