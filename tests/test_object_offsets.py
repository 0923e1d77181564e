"""Words in the heads of objects: they change when Python gives an object something else."""

from __future__ import annotations

import collections
import ctypes

import pytest

from numbagrad.native import object_offsets as words


def holds(found):
    """Whether words are still what they were found to be."""
    return all(
        ctypes.c_uint64.from_address(address).value & bits == value
        for address, bits, value in found
    )


class First:
    pass


class Second:
    pass


def _other_class(value):
    value.__class__ = Second


def _other_dictionary(value):
    value.__dict__ = {"a": 1}


@pytest.mark.parametrize("change", [_other_class, _other_dictionary])
def test_an_object_is_given_another_class_or_dictionary(change):
    value = First()
    found = words.words_of_object(value)
    value.attribute = 2  # in the dictionary that it has
    assert holds(found)
    change(value)
    assert not holds(found)


CHANGES_OF_FUNCTIONS = {
    "__code__": (lambda x: None).__code__,
    "__defaults__": (3,),
    "__kwdefaults__": {"y": 4},
    "__name__": "another",
    "__qualname__": "yet.another",
    "__doc__": "Another text.",
    "__dict__": {"rate": 1},
}


@pytest.mark.parametrize("name", CHANGES_OF_FUNCTIONS)
def test_a_function_is_given_another_part(name):
    def function(x=1, *, y=2):
        """A text."""

    found = words.words_of_function(function)
    assert holds(found)
    setattr(function, name, CHANGES_OF_FUNCTIONS[name])
    assert not holds(found)
    assert holds(words.words_of_function(function))


def test_a_function_without_a_text_is_given_one():
    def function():
        pass

    found = words.words_of_function(function)
    function.__doc__ = "A text."
    assert not holds(found)


def test_a_function_gets_its_first_attribute():
    def function():
        pass

    assert not words.has_attributes(function)
    found = words.words_of_function(function)
    function.rate = 2.0
    assert words.has_attributes(function)
    assert not holds(found)


def test_a_class_or_its_base_gets_other_attributes():
    class Base:
        rate = 1.0

    class Derived(Base):
        pass

    for change in (
        lambda: setattr(Derived, "rate", 2.0),
        lambda: setattr(Base, "other", 1),
        lambda: delattr(Base, "other"),
    ):
        found = words.words_of_class(Derived)
        assert holds(found)
        change()
        assert not holds(found)


def test_missing_values_are_made_by_something_else():
    table = collections.defaultdict(list)
    found = words.words_of_default(table)
    table["a"].append(1)
    assert holds(found)
    table.default_factory = dict
    assert not holds(found)


def test_an_object_of_c_gets_its_first_attribute():
    table = collections.OrderedDict(a=1)
    found = words.words_without_dictionary(table)
    table["b"] = 2
    assert holds(found)
    table.rate = 2.0
    assert not holds(found)
    assert words.words_without_dictionary(table) is None


class Slotted:
    __slots__ = ("first", "second")


class SlottedFurther(Slotted):
    __slots__ = ("third",)


@pytest.mark.parametrize("name", ["first", "second", "third"])
def test_a_slot_is_given_another_object_or_none(name):
    value = SlottedFurther()
    value.first = 1.5
    slots = [Slotted.first, Slotted.second, SlottedFurther.third]
    found = words.words_of_slots(value, slots)
    assert found is not None and holds(found)
    kept = object()
    setattr(value, name, kept)
    assert not holds(found)
    found = words.words_of_slots(value, slots)
    delattr(value, name)
    assert not holds(found)
