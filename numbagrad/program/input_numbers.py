"""Numbers that a program is given anew at each run, as they look while the program is captured.

Everything computes with them as with any other number, and they know where they come
from: the trace puts a ``Number`` where one is an operand. Made by the trace for what
``capture.numbers`` computes, and by ``numbagrad.compiling`` for numbers among the arguments.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..executor import capture


class DrawnNumber(float):
    """A number that a program is given anew at each run; known by its identity.

    What Python computes of it would be a constant of the program: that ends the capture.
    """

    __slots__ = ()


class NumberInputs:
    """The numbers that one program is given by its caller.

    Attributes:
        values: those of the present run, by their places.
        pinned: the places of numbers that the captured call looked at, so that the program holds
            for these values alone.
        computed: what the program is given that follows from them, by the index of its ``Number``.
    """

    def __init__(self, values: dict[int, float]):
        self.values = dict(values)
        self._made: list[weakref.ref[InputNumber | InputInteger]] = []
        self.pinned: set[int] = set()
        self.computed: dict[int, Callable[[], float]] = {}

    def number(self, position: int) -> InputNumber | InputInteger:
        """The number at a place, which says how it is used."""
        values = self.values
        return _made(values[position], lambda: values[position], self, frozenset((position,)))

    def note(self, number: InputNumber | InputInteger) -> None:
        """Note a number that is given, or was computed of such."""
        self._made.append(weakref.ref(number))

    def escaped(self) -> tuple[Any, ...]:
        """The numbers that somebody still refers to."""
        found = [made() for made in self._made]
        return tuple([number for number in found if number is not None])

    def merged(self, others: Sequence[float]) -> list[float]:
        """All numbers of a run, in order, where ``others`` are those that come from elsewhere."""
        remaining = iter(others)
        count = len(self.computed) + len(others)
        return [self.computed[k]() if k in self.computed else next(remaining) for k in range(count)]

    def pin_all(self) -> None:
        """Let the program hold for the present values alone."""
        self.pinned.update(self.values)


class _Given:
    """A number given by the caller, or one that was computed of such numbers.

    Sums, products and the like stay expressions, which :meth:`compute` evaluates for each run. All
    else that looks at the value pins it: it is no number to C, which reads those without asking.
    ``range``, the places of a list and ``math.exp`` ask this for its value. Python is told that it
    is a number.
    """

    __slots__ = ("__weakref__", "compute", "inputs", "positions", "_value")

    compute: Callable[[], Any]
    inputs: NumberInputs
    positions: frozenset[int]

    def __init__(self, value: Any):
        self._value = value

    def pin(self) -> None:
        """Let the program hold for this value alone, if one is being captured."""
        if capture.current_trace() is not None:
            self.inputs.pinned.update(self.positions)

    def plain(self) -> Any:
        """The value, as an ordinary number that says nothing."""
        return self._value

    def concrete(self) -> Any:
        """The value, pinned."""
        self.pin()
        return self.plain()

    @property
    def _plain(self) -> Any:
        return self.concrete()

    def __reduce__(self) -> Any:
        value = self.concrete()
        return type(value), (value,)

    def __str__(self) -> str:
        return str(self.concrete())

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.concrete(), dtype)

    # NumPy leaves its functions of such a number to this method.
    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
        found = [x.concrete() if isinstance(x, _Given) else x for x in inputs]
        return getattr(function, method)(*found, **options)


class InputNumber(_Given):
    """A float that is given."""

    __slots__ = ()

    #: The class that ``isinstance`` goes by.
    __class__ = float  # type: ignore[assignment]


class InputInteger(_Given):
    """An int that is given."""

    __slots__ = ()

    __class__ = int  # type: ignore[assignment]

    def __index__(self) -> int:
        value: int = self.concrete()
        return value


def _made(
    value: Any, compute: Callable[[], Any], inputs: NumberInputs, positions: frozenset[int]
) -> Any:
    """A number with this value now, which ``compute`` yields for every run."""
    if type(value) is bool:
        value = int(value)
    number: Any = (InputInteger if type(value) is int else InputNumber)(value)
    number.compute, number.inputs, number.positions = compute, inputs, positions
    inputs.note(number)
    return number


def is_given(value: Any) -> bool:
    """Whether a value is a number that is given to the program."""
    return issubclass(type(value), _Given)  # without asking the object for its class


def _is_number(value: Any) -> bool:
    return type(value) in (float, int, bool, InputNumber, InputInteger)


def _arithmetic(name: str, reflected: bool) -> Callable[..., Any]:
    function = getattr(operator, name)

    def method(self: Any, other: Any) -> Any:
        if not _is_number(other):
            return NotImplemented
        first, second = (other, self) if reflected else (self, other)
        now = function(_plain(first), _plain(second))
        if capture.current_trace() is None:
            return now
        if name == "pow" and not _stays_real(first, second):
            return _pinned(now, first, second)
        a, b = _compute(first), _compute(second)
        positions = self.positions | (other.positions if is_given(other) else frozenset())
        return _made(now, lambda: function(a(), b()), self.inputs, positions)

    return method


def _stays_real(base: Any, exponent: Any) -> bool:
    """Whether a power is a number of the same class for all values of what is given."""
    if is_given(exponent):
        return type(base) is float and base > 0
    return exponent == int(exponent) and not (type(base) is InputInteger and exponent < 0)


def _pinned(value: Any, *numbers: Any) -> Any:
    for each in numbers:
        if is_given(each):
            each.pin()
    return value


def _plain(value: Any) -> Any:
    return value.plain() if is_given(value) else value


def _compute(value: Any) -> Callable[[], Any]:
    return value.compute if is_given(value) else lambda: value


def _unary(function: Callable[[Any], Any]) -> Callable[..., Any]:
    def method(self: Any) -> Any:
        now = function(self.plain())
        if capture.current_trace() is None:
            return now
        compute = self.compute
        return _made(now, lambda: function(compute()), self.inputs, self.positions)

    return method


def _pinning(kind: type, name: str) -> Callable[..., Any]:
    compute = getattr(kind, name)

    def method(self: Any, *others: Any) -> Any:
        found = [x.concrete() if is_given(x) else x for x in others]
        return compute(self.concrete(), *found)

    return method


def _refusing(name: str) -> Callable[..., Any]:
    compute = getattr(float, name)

    def method(self: DrawnNumber, *others: Any) -> Any:
        capture.refuse("arithmetic on a number that changes from step to step")
        return compute(self, *others)

    return method


_ARITHMETIC = ("add", "sub", "mul", "truediv", "pow", "mod", "floordiv")
_OTHERS = (
    "bool", "int", "eq", "ne", "lt", "le", "gt", "ge", "round", "trunc", "floor", "ceil", "repr",
    "format",
)  # fmt: skip

for _name in (*_OTHERS, *_ARITHMETIC, *[f"r{name}" for name in _ARITHMETIC], "neg", "abs"):
    setattr(DrawnNumber, f"__{_name}__", _refusing(f"__{_name}__"))
DrawnNumber.__hash__ = float.__hash__  # type: ignore[method-assign]

_READ = ("is_integer", "hex", "conjugate", "as_integer_ratio", "__float__", "__hash__")
_READ_OF_INTEGERS = (
    "bit_count", "bit_length", "conjugate", "as_integer_ratio", "to_bytes",
    *[f"__{name}__" for name in (
        "and", "or", "xor", "lshift", "rshift", "rand", "ror", "rxor", "rlshift", "rrshift",
        "invert", "float", "hash",
    )],
)  # fmt: skip
for _class, _kind, _methods in (
    (InputNumber, float, _READ),
    (InputInteger, int, _READ_OF_INTEGERS),
):
    for _name in _ARITHMETIC:
        setattr(_class, f"__{_name}__", _arithmetic(_name, False))
        setattr(_class, f"__r{_name}__", _arithmetic(_name, True))
    for _name in ("neg", "pos", "abs"):
        setattr(_class, f"__{_name}__", _unary(getattr(operator, _name)))
    for _name in (*[f"__{name}__" for name in (*_OTHERS, "divmod", "rdivmod")], *_methods):
        setattr(_class, _name, _pinning(_kind, _name))
for _name in ("real", "imag"):
    setattr(_Given, _name, property(operator.attrgetter(f"_plain.{_name}")))
for _name in ("numerator", "denominator"):
    setattr(InputInteger, _name, property(operator.attrgetter(f"_plain.{_name}")))

__all__ = ["DrawnNumber", "InputInteger", "InputNumber", "NumberInputs", "is_given"]
