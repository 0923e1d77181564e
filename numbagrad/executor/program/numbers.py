"""Numbers that a program is given anew at each run, as they look while the program is recorded.

They are floats, so that everything computes with them as with any other, and know where they come
from: the recorder puts a ``Number`` where one is an operand. Made by the recorder for what
``capture.numbers`` computes, and by ``numbagrad.compiling`` for numbers among the arguments.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from .. import capture


class DrawnNumber(float):
    """A number that a program is given anew at each run; known by its identity.

    What Python computes of it would be a constant of the program: that ends the recording.
    """

    __slots__ = ()


class NumberInputs:
    """The numbers that one program is given by its caller.

    Attributes:
        values: those of the present run, by their places.
        pinned: the places of numbers that the recorded call looked at, so that the program holds
            for these values alone.
        computed: what the program is given that follows from them, by the index of its ``Number``.
    """

    def __init__(self, values: dict[int, float]):
        self.values = dict(values)
        self.pinned: set[int] = set()
        self.computed: dict[int, Callable[[], float]] = {}

    def number(self, place: int) -> InputNumber:
        """The number at a place, which says how it is used."""
        values = self.values
        return InputNumber.made(values[place], lambda: values[place], self, frozenset((place,)))

    def merged(self, others: Sequence[float]) -> list[float]:
        """All numbers of a run, in order, where ``others`` are those that come from elsewhere."""
        remaining = iter(others)
        count = len(self.computed) + len(others)
        return [
            self.computed[k]() if k in self.computed else next(remaining) for k in range(count)
        ]

    def pin_all(self) -> None:
        """Let the program hold for the present values alone."""
        self.pinned.update(self.values)


class InputNumber(float):
    """A number given by the caller, or one that was computed of such numbers.

    Sums, products and the like stay expressions, which :meth:`compute` evaluates for each run. All
    else that looks at the value pins it.
    """

    __slots__ = ("compute", "inputs", "places")

    compute: Callable[[], float]
    inputs: NumberInputs
    places: frozenset[int]

    @classmethod
    def made(
        cls,
        value: float,
        compute: Callable[[], float],
        inputs: NumberInputs,
        places: frozenset[int],
    ) -> InputNumber:
        """A number with this value now, which ``compute`` yields for every run."""
        number = cls(value)
        number.compute, number.inputs, number.places = compute, inputs, places
        return number

    def pin(self) -> None:
        """Let the program hold for this value alone, if one is being recorded."""
        if capture.recorder() is not None:
            self.inputs.pinned.update(self.places)

    def plain(self) -> float:
        """The value, as an ordinary float that says nothing."""
        return float.__float__(self)

    def __reduce__(self) -> Any:
        self.pin()
        return float, (self.plain(),)

    # NumPy leaves its functions of such a number to this method.
    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
        found = [x.concrete() if isinstance(x, InputNumber) else x for x in inputs]
        return getattr(function, method)(*found, **options)

    @property
    def _plain(self) -> float:
        return self.concrete()

    def concrete(self) -> float:
        """The value, pinned."""
        self.pin()
        return self.plain()


def _is_number(value: Any) -> bool:
    return type(value) in (float, int, bool, InputNumber)


def _arithmetic(name: str, reflected: bool) -> Callable[..., Any]:
    function = getattr(operator, name)

    def method(self: InputNumber, other: Any) -> Any:
        if not _is_number(other):
            return NotImplemented
        first, second = (other, self) if reflected else (self, other)
        now = function(_plain(first), _plain(second))
        if capture.recorder() is None:
            return now
        if name == "pow" and (reflected or not _is_whole(other)):
            self.pin()  # of other values it may be complex
            return now
        a, b = _compute(first), _compute(second)
        places = self.places | (other.places if isinstance(other, InputNumber) else frozenset())
        return InputNumber.made(now, lambda: function(a(), b()), self.inputs, places)

    return method


def _is_whole(value: Any) -> bool:
    return not isinstance(value, InputNumber) and value == int(value)


def _plain(value: Any) -> Any:
    return value.plain() if isinstance(value, InputNumber) else value


def _compute(value: Any) -> Callable[[], Any]:
    return value.compute if isinstance(value, InputNumber) else lambda: value


def _unary(function: Callable[[Any], Any]) -> Callable[..., Any]:
    def method(self: InputNumber) -> Any:
        now = function(self.plain())
        if capture.recorder() is None:
            return now
        compute = self.compute
        return InputNumber.made(now, lambda: function(compute()), self.inputs, self.places)

    return method


def _pinning(name: str) -> Callable[..., Any]:
    compute = getattr(float, name)

    def method(self: InputNumber, *others: Any) -> Any:
        found = [x.concrete() if isinstance(x, InputNumber) else x for x in others]
        return compute(self.concrete(), *found)

    return method


def _refusing(name: str) -> Callable[..., Any]:
    compute = getattr(float, name)

    def method(self: DrawnNumber, *others: Any) -> Any:
        capture.refuse("arithmetic on a number that changes from step to step")
        return compute(self, *others)

    return method


_ARITHMETIC = ("add", "sub", "mul", "truediv", "pow")
_OTHERS = (
    "bool", "int", "eq", "ne", "lt", "le", "gt", "ge", "round", "trunc", "floor", "ceil", "repr",
    "format", "mod", "rmod", "floordiv", "rfloordiv",
)  # fmt: skip

for _name in (*_OTHERS, *_ARITHMETIC, *[f"r{name}" for name in _ARITHMETIC], "neg", "abs"):
    setattr(DrawnNumber, f"__{_name}__", _refusing(f"__{_name}__"))
DrawnNumber.__hash__ = float.__hash__  # type: ignore[method-assign]

for _name in _ARITHMETIC:
    setattr(InputNumber, f"__{_name}__", _arithmetic(_name, False))
    setattr(InputNumber, f"__r{_name}__", _arithmetic(_name, True))
for _name in ("neg", "pos", "abs"):
    setattr(InputNumber, f"__{_name}__", _unary(getattr(operator, _name)))
for _name in (
    *[f"__{name}__" for name in (*_OTHERS, "float", "hash", "divmod", "rdivmod")],
    "is_integer", "hex", "conjugate", "as_integer_ratio",
):  # fmt: skip
    setattr(InputNumber, _name, _pinning(_name))
for _name in ("real", "imag"):
    setattr(InputNumber, _name, property(operator.attrgetter(f"_plain.{_name}")))

__all__ = ["DrawnNumber", "InputNumber", "NumberInputs"]
