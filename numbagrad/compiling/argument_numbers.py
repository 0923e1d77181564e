"""Numbers among the arguments of a captured call: for which values the program holds.

A number that the call only computed with is given to each run; any other has to be what it was.
``captured_call.py`` asks here; what the call did with a number is found by
``program/input_numbers.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..program.input_numbers import NumberInputs, is_given
from ..structure import flatten, rebuild


class ArgumentNumbers:
    """The floats and ints among the arguments of one captured call.

    Attributes:
        places: the places of all of them.
        free: the places of those that may have any value.
    """

    def __init__(self, leaves: Sequence[Any], inputs: NumberInputs):
        self.positions = [k for k, leaf in enumerate(leaves) if is_free(leaf)]
        self.free = [k for k in self.positions if k in inputs.values and k not in inputs.pinned]
        self._expected = [(k, leaves[k]) for k in self.positions if k not in self.free]
        self.inputs = inputs
        #: The arguments that compiled code has learned.
        self._learned: Sequence[Any] = ()

    def hold(self, leaves: Sequence[Any]) -> bool:
        """Whether the numbers are what the program expects."""
        return all([same_number(leaves[k], value) for k, value in self._expected])

    def changed(self, leaves: Sequence[Any]) -> set[int]:
        """The places of numbers that are not what they were once, or may be anything."""
        other = [k for k, value in self._expected if not same_number(leaves[k], value)]
        return {*self.free, *other}

    def expected(self, present: dict[int, float]) -> dict[int, float]:
        """These numbers, with those that the program expects in their places."""
        return present | {k: value for k, value in self._expected if k in present}

    def give(self, leaves: Sequence[Any] | dict[int, float]) -> None:
        """Let the next run compute with the numbers among these arguments."""
        for k in self.free:
            self.inputs.values[k] = leaves[k]

    def learn(self, leaves: Sequence[Any]) -> None:
        """Remember the objects that compiled code knows from now on."""
        self._learned = tuple(leaves)

    def known(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, with the objects that compiled code knows for numbers that hold."""
        learned = self._learned
        if len(learned) != len(arguments):
            return arguments
        found = list(arguments)
        for k in self.free:
            if type(found[k]) is type(learned[k]):  # int and float give other dtypes
                found[k] = learned[k]
        for k, value in self._expected:
            if same_number(found[k], value):
                found[k] = learned[k]
        return tuple(found)


def is_free(value: Any) -> bool:
    """Whether an argument is a number that a program may be given anew at each run."""
    return type(value) is float or type(value) is int


def same_number(a: Any, b: float) -> bool:
    """Whether two numbers are the same: 1 and 1.0 are not, 0.0 and -0.0 are not, NaN is."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    return (a == b and (a != 0 or repr(a) == repr(b))) or (a != a and b != b)


def with_inputs(
    args: tuple[Any, ...], kwargs: dict[str, Any], inputs: NumberInputs
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call, with the numbers that say how they are used."""
    position = 0
    found = []
    for value in (*args, *kwargs.values()):
        # An empty container has the place of what comes after it.
        given = is_free(value) and position in inputs.values
        found.append(inputs.number(position) if given else value)
        position += len(flatten(value)[0])
    return tuple(found[: len(args)]), dict(zip(kwargs, found[len(args) :], strict=True))


def with_plain_numbers(result: Any) -> Any:
    """The results of a call, with ordinary numbers for those that note how they are used."""
    leaves, structure = flatten(result)
    if not any([is_given(leaf) for leaf in leaves]):
        return result
    plain = [leaf.plain() if is_given(leaf) else leaf for leaf in leaves]
    return rebuild(structure, iter(plain))


def direct_numbers(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[int, float]:
    """The numbers that are arguments themselves, by their places among the leaves."""
    position = 0
    found = {}
    for value in (*args, *kwargs.values()):
        if is_free(value):
            found[position] = value
        position += len(flatten(value)[0])
    return found


__all__ = [
    "ArgumentNumbers", "direct_numbers", "is_free", "same_number", "with_inputs",
    "with_plain_numbers",
]  # fmt: skip
