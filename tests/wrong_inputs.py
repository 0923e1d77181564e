"""Wrong calls, made from right ones: one argument at a time is replaced by what does not fit.

Right calls come from the operator table and from ``right_calls.py``: each runs once with a
namespace that notes which public functions are called with what. ``test_wrong_inputs.py`` checks
what the wrong calls raise, ``parity/test_wrong_inputs.py`` that torch raises the same.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np
from operator_table import ENTRIES, POINTWISE_ENTRIES
from right_calls import MODULES, OPTIMIZERS, RIGHT_CALLS

import numbagrad
from numbagrad import Tensor
from numbagrad.ops.operators.definition import POINTWISE

#: Namespaces whose functions are called, by the path that leads there.
NAMESPACES = ("nn", "nn.functional", "linalg", "fft", "special", "ops", "ops.aten")


@dataclass(frozen=True)
class Call:
    """A call of the public function at a path, or of a method (``Tensor.<name>``)."""

    path: str
    arguments: tuple[Any, ...]
    keywords: tuple[tuple[str, Any], ...] = ()
    #: Of the call of a module: what the module is made with.
    constructor: tuple[Any, ...] | None = None

    def replaced(self, position: int | str, value: Any) -> Call:
        """The same with another value for one argument."""
        if isinstance(position, str):
            named = [x for x in self.keywords if x[0] != position]
            return Call(self.path, self.arguments, (*named, (position, value)), self.constructor)
        changed = (*self.arguments[:position], value, *self.arguments[position + 1 :])
        return Call(self.path, changed, self.keywords, self.constructor)


@dataclass(frozen=True)
class WrongCall:
    """A call, and what is wrong with it."""

    call: Call
    what: str


# --- right calls ----------------------------------------------------------------------------------


class Noting:
    """A namespace that notes the calls of its functions before it makes them."""

    def __init__(self, space: Any, path: str, noted: list[Call]):
        self._space, self._path, self._noted = space, path, noted

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._space, name)
        path = f"{self._path}.{name}" if self._path else name
        if isinstance(value, ModuleType) or value is Tensor:
            return Noting(value, path, self._noted)
        if not inspect.isfunction(value):
            return value

        @functools.wraps(value)
        def note(*arguments: Any, **keywords: Any) -> Any:
            plain = tuple([copied(x) for x in arguments])
            named = tuple([(k, copied(x)) for k, x in keywords.items()])
            result = value(*arguments, **keywords)
            self._noted.append(Call(path, plain, named))
            return result

        return note


def copied(value: Any) -> Any:
    """A copy of the tensors in an argument, which a call may write."""
    if isinstance(value, Tensor):
        return value.detach().clone()
    if type(value) in (list, tuple):
        return type(value)([copied(x) for x in value])
    return value


def _noted_calls() -> list[Call]:
    """What the entries of the operator table and ``right_calls.py`` call."""
    noted: list[Call] = []
    namespace = Noting(numbagrad, "", noted)
    for entry in (*POINTWISE_ENTRIES, *ENTRIES):
        # The entries are of operators that have fewer checks; prelu is among the right calls.
        if entry.name in ("elu", "prelu"):
            continue
        dtype = next(x for x in ("float32", "float64", "int64", "bool") if entry.admits(x))
        entry.call(namespace, *[numbagrad.from_numpy(x) for x in entry.draw(dtype)])
    for call in RIGHT_CALLS:
        call(namespace)
    for name, (constructor, inputs) in MODULES.items():
        noted.append(Call(f"nn.{name}", constructor))
        noted.append(Call(f"nn.{name}", inputs, (), constructor))
    for name, arguments in OPTIMIZERS.items():
        noted.append(Call(f"optim.{name}", arguments))
    return noted


def _other_names(call: Call) -> Iterator[Call]:
    """The same call of the method, of what writes in place, and of functions of other names."""
    if call.path.startswith(("nn.", "optim.")) and "functional" not in call.path:
        return
    *_, name = call.path.split(".")
    top = "." not in call.path
    names = [name, *(POINTWISE[name].aliases if top and name in POINTWISE else ())]
    for other in names:
        for space in ("", "special.") if top else ("", "nn.functional."):
            yield Call(f"{space}{other}", call.arguments, call.keywords)
            yield Call(f"{space}{other}_", call.arguments, call.keywords)
        if top and call.arguments and isinstance(call.arguments[0], Tensor):
            yield Call(f"Tensor.{other}", call.arguments, call.keywords)
            yield Call(f"Tensor.{other}_", call.arguments, call.keywords)


def _is_right(call: Call) -> bool:
    """Whether there is such a function, which takes these arguments."""
    function = resolve(numbagrad, call.path)
    if not inspect.isfunction(function):
        return False
    try:
        run(numbagrad, call, copied)
    except (RuntimeError, TypeError, ValueError, IndexError):
        return False
    return True


@functools.cache
def right_calls() -> list[Call]:
    """One call for every function and every way to give its arguments, and those of methods."""
    chosen: dict[Any, Call] = {}
    for call in _noted_calls():
        chosen.setdefault((call.path, _form(call)), call)
    for call in list(chosen.values()):
        for other in _other_names(call):
            key = other.path, _form(other)
            if key not in chosen and _is_right(other):
                chosen[key] = other
    return list(chosen.values())


def _form(call: Call) -> Any:
    kinds = [type(x).__name__ for x in call.arguments]
    return (
        call.constructor is None,
        *kinds,
        *sorted([(k, type(x).__name__) for k, x in call.keywords]),
    )


# --- wrong values ---------------------------------------------------------------------------------


class Something:
    """An object of no kind that a function knows."""

    def __repr__(self) -> str:
        return "something"


OTHERS: dict[str, Any] = {
    "None": None,
    "an int": 3,
    "a float": 1.5,
    "text": "text",
    "an empty list": [],
    "a list of numbers": [1.0, 2.0],
    "an object": Something(),
}


def _resized(x: Tensor) -> Tensor:
    """The same with one element more along the last dimension."""
    return numbagrad.cat([x, x[..., :1]], -1) if x.ndim and x.shape[-1] else x


def _wrong_tensors(x: Tensor) -> Iterator[tuple[str, Any]]:
    for name in ("None", "an int", "a float", "text", "an empty list", "an object"):
        yield name, OTHERS[name]
    yield "an array of objects", np.array([None, "x"], dtype=object)
    yield "an array", x.numpy()
    yield "a list of tensors", [x]
    yield "no dimensions", numbagrad.ones((), dtype=x.dtype)
    yield "one dimension more", x.unsqueeze(0)
    if x.ndim:
        yield "one dimension fewer", x[0]
        yield "no elements", x[..., :0]
        yield "nothing at all", x[:0]
        yield "another size", _resized(x)
    yield "seven dimensions", x.reshape(*(1,) * (7 - x.ndim), *x.shape)
    for name in ("int64", "bool", "complex64"):
        kind = getattr(numbagrad, name)
        if kind is not x.dtype:
            yield f"{name}", x.to(kind)


def _wrong_numbers(x: Any) -> Iterator[tuple[str, Any]]:
    yield from OTHERS.items()
    yield "a large int", 100
    yield "a negative int", -100
    yield "zero", 0
    yield "true", True
    yield "nan", float("nan")
    yield "complex", 1j
    yield "a dtype", numbagrad.float32
    yield "a tensor", numbagrad.ones(2)


def _wrong_texts(x: str) -> Iterator[tuple[str, Any]]:
    yield from OTHERS.items()


def _wrong_lists(x: Any) -> Iterator[tuple[str, Any]]:
    yield from OTHERS.items()
    kind = type(x)
    if len(x) and isinstance(x[0], Tensor):
        yield "a tensor", x[0]
        yield "a number in it", kind([3, *x[1:]])
        yield "None in it", kind([x[0], None])
        yield "an array in it", kind([*x[:-1], np.ones(2)])
        yield "other dimensions in it", kind([*x[:-1], x[-1].unsqueeze(0)])
        yield "another size in it", kind([*x[:-1], _resized(x[-1])])
        yield "another dtype in it", kind([*x[:-1], x[-1].to(numbagrad.complex64)])
    else:
        yield "text in it", kind(["text", *x[1:]])
        yield "None in it", kind([None, *x[1:]])
        yield "a float in it", kind([1.5, *x[1:]])
        yield "a large int in it", kind([100, *x[1:]])
        yield "a negative int in it", kind([-100, *x[1:]])
        yield "zero in it", kind([0, *x[1:]])
        yield "the first twice", kind([*x[:1], *x])
        yield "one fewer", kind(x[1:])
        yield "a tensor", numbagrad.ones(2)


def _wrong_dtypes(x: Any) -> Iterator[tuple[str, Any]]:
    yield from OTHERS.items()
    yield "a name", "float32"
    for name in ("int64", "bool", "complex64"):
        yield name, getattr(numbagrad, name)


def wrong_values(x: Any) -> Iterator[tuple[str, Any]]:
    """What does not fit where ``x`` does, or may not: torch says which."""
    if isinstance(x, Tensor):
        yield from _wrong_tensors(x)
    elif isinstance(x, (bool, int, float, complex)) or x is None:
        yield from _wrong_numbers(x)
    elif isinstance(x, str):
        yield from _wrong_texts(x)
    elif isinstance(x, (list, tuple)):
        yield from _wrong_lists(x)
    elif isinstance(x, numbagrad.dtype):
        yield from _wrong_dtypes(x)


def wrong_outputs() -> Iterator[tuple[str, Any]]:
    """What is given for ``out``."""
    yield "a number", 3
    yield "text", "text"
    yield "a list", []
    yield "an array", np.ones(3)
    yield "bool", numbagrad.zeros(1, dtype=numbagrad.bool)
    yield "another shape", numbagrad.zeros(7, 3)


def _repeats(path: str) -> bool:
    """Whether a path is another way to a function whose wrong calls are all made by its own."""
    return path.startswith(("Tensor.", "special.")) or path.endswith("_")


#: What is tried where a function is called by another of its names.
_KINDS = ("None", "text", "an empty list", "an object", "no dimensions", "a large int", "true")


def wrong_calls(call: Call) -> Iterator[WrongCall]:
    """Calls that differ from a right one in one argument."""
    repeats = _repeats(call.path)
    positions: list[tuple[int | str, Any]] = [*enumerate(call.arguments), *call.keywords]
    if call.path.startswith("Tensor."):
        del positions[0]
    for position, x in positions:
        for what, value in wrong_values(x):
            if not repeats or what in _KINDS:
                yield WrongCall(call.replaced(position, value), f"{position}: {what}")
    if call.arguments:
        yield WrongCall(replace(call, arguments=call.arguments[:-1]), "one fewer")
        more = (*call.arguments, Something())
        yield WrongCall(replace(call, arguments=more), "one more")
    if not call.path.startswith("Tensor."):
        yield from _numbers_alone(call)
        for count in range(1, len(call.arguments) - 1):
            yield WrongCall(Call(call.path, call.arguments[:count], (), call.constructor), "fewer")
    yield WrongCall(call.replaced("unknown", 1), "unknown keyword")
    if not repeats and "out" not in dict(call.keywords) and "." not in call.path:
        for what, value in wrong_outputs():
            yield WrongCall(call.replaced("out", value), f"out: {what}")


def _numbers_alone(call: Call) -> Iterator[WrongCall]:
    """The call with numbers for all of its tensors, and of a number and nothing else."""
    for what, value in (("ints alone", 2), ("floats alone", 1.5)):
        numbers = tuple([value if isinstance(x, Tensor) else x for x in call.arguments])
        yield WrongCall(replace(call, arguments=numbers), what)
        yield WrongCall(Call(call.path, (value,), (), call.constructor), what)


@functools.cache
def right_calls_by_name() -> dict[str, list[Call]]:
    """The right calls of all functions and methods of one name."""
    found: dict[str, list[Call]] = {}
    for call in right_calls():
        found.setdefault(call.path.split(".")[-1].rstrip("_"), []).append(call)
    return dict(sorted(found.items()))


# --- calls in a library ---------------------------------------------------------------------------


def resolve(library: Any, path: str) -> Callable[..., Any] | None:
    """What lies at a path of a library, or None."""
    found = library
    for name in path.split("."):
        found = getattr(found, name, None)
        if found is None:
            return None
    return found


def run(library: Any, call: Call, given: Callable[[Any], Any]) -> Any:
    """Make a call, with ``given(argument)`` for every argument."""
    function = resolve(library, call.path)
    assert function is not None, call.path
    library.manual_seed(5)
    if call.constructor is not None:
        function = function(*[given(x) for x in call.constructor])
    return function(*[given(x) for x in call.arguments], **{k: given(x) for k, x in call.keywords})
