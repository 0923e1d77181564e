"""Errors about the arguments of a public function, in words of its caller.

``Kinds`` holds what the annotations of a function say of its arguments; ``explain`` turns an error
that no code of this library has written (of NumPy, of Python) into one that names the function and
what it was given. ``check.py`` calls both.
"""

from __future__ import annotations

import dis
import enum
import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any

import numpy as np

from ...dtype import dtype as DType
from ...tensor import Tensor
from ...type_names import type_name
from .kinds import FORMS
from .requirements import check_elements, is_complex_number, require_tensor

# --- kinds ----------------------------------------------------------------------------------------


def _is_int(value: Any) -> bool:
    if isinstance(value, Tensor):
        return value._array.size == 1 and value._array.dtype.kind in "iub"
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))


def _is_number(value: Any) -> bool:
    if isinstance(value, Tensor):
        return value._array.ndim == 0
    return isinstance(value, (int, float, complex, np.generic))


def _is_bool(value: Any) -> bool:
    return isinstance(value, (bool, np.bool_))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_dtype(value: Any) -> bool:
    return isinstance(value, DType) or value in (bool, int, float, complex)


def _is_ints(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all([_is_int(x) for x in value])
    return _is_int(value) or isinstance(value, (Tensor, np.ndarray, range))


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor)


def _are_tensors(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _is_integer(value: Any) -> bool:
    """An int that is no Tensor."""
    return _is_int(value) and not isinstance(value, Tensor)


def _are_sizes(value: Any) -> bool:
    """An int or several."""
    if isinstance(value, (list, tuple)):
        return all([_is_int(x) for x in value])
    return _is_int(value) or isinstance(value, range)


def _are_several_ints(value: Any) -> bool:
    """A list or tuple of ints; not an int alone."""
    return isinstance(value, (list, tuple)) and all([_is_int(x) for x in value])


def _is_real(value: Any) -> bool:
    return _is_number(value) and not is_complex_number(value)


def _is_nothing(value: Any) -> bool:
    return value is None


#: Types that annotations ask for, and how errors call them.
_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "None": (_is_nothing, ""),
    "Tensor": (_is_tensor, "Tensor"),
    "int": (_is_int, "int"),
    "float": (_is_number, "Number"),
    "Number": (_is_number, "Number"),
    "bool": (_is_bool, "bool"),
    "str": (_is_text, "str"),
    "DType": (_is_dtype, "torch.dtype"),
    "dtype": (_is_dtype, "torch.dtype"),
    "Sequence[int]": (_is_ints, "tuple of ints"),
    "Sequence[Tensor]": (_are_tensors, "tuple of Tensors"),
    "list[Tensor]": (_are_tensors, "tuple of Tensors"),
    "tuple[Tensor, ...]": (_are_tensors, "tuple of Tensors"),
    # The names below are of ``kinds.py``.
    "Ints": (_are_several_ints, "tuple of ints"),
    "Sizes": (_are_sizes, "tuple of ints"),
    "Real": (_is_real, "float"),
}

#: Types of parameters of these names wherever the annotation leaves them open.
_BY_NAME: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("dim", "shifts"), ("sizes", "None")),
    **dict.fromkeys(("kernel_size", "stride", "dilation", "output_padding"), ("sizes", "None")),
    **dict.fromkeys(("start_dim", "end_dim"), ("int",)),
}
_KINDS["sizes"] = (_are_sizes, "tuple of ints")


class Right(enum.IntEnum):
    """How much of an argument has to be as in a right call for it to pass without a look."""

    BY_TYPES = 0  #: the types
    BY_ELEMENTS = 1  #: the types, and those of the elements of tuples and lists
    BY_VALUES = 2  #: nothing less than the values


def element_types(values: Iterable[Any]) -> list[frozenset[type]]:
    """The types of the elements of the tuples and lists among ``values``, however many they are."""
    return [frozenset(map(type, x)) for x in values if x.__class__ is tuple or x.__class__ is list]


class _Parameter:
    """The types that one parameter takes."""

    def __init__(self, position: int, parameter: inspect.Parameter):
        self.name = parameter.name
        self.position = 0 if parameter.kind is parameter.KEYWORD_ONLY else position
        self.is_variadic = parameter.kind is parameter.VAR_POSITIONAL
        words: Sequence[str] = [x.strip("_") for x in str(parameter.annotation).split(" | ")]
        if words == ["Any"] and not self.is_variadic:
            words = _BY_NAME.get(self.name, words)
        found = [_KINDS[word] for word in words if word in _KINDS]
        #: Whether the annotation says anything that can be checked.
        self.tells = len(found) == len(words) and parameter.kind is not parameter.VAR_KEYWORD
        self.accepts = [accepts for accepts, _ in found]
        self.wanted = " or ".join([word for _, word in found if word])

    def check(self, function: str, value: Any) -> None:
        """Raise a TypeError that says what the parameter takes, if that is not ``value``."""
        if self.is_variadic:
            if self.wanted == "Tensor":
                check_elements(function, value, self.position)
            return
        if not any([accepts(value) for accepts in self.accepts]):
            if self.wanted == "Tensor":
                require_tensor(function, value, self.name, self.position)
            position = f" (position {self.position})" if self.position else ""
            raise TypeError(
                f"{function}(): argument '{self.name}'{position} must be {self.wanted}, not "
                f"{type_name(value)}"
            )
        if self.wanted == "tuple of Tensors" and isinstance(value, (list, tuple)):
            check_elements(function, value, self.position or 1)

    def how_right(self, value: Any) -> Right:
        """The part of an accepted value that has to be the same for another one to be accepted."""
        return _how_right(value, self.wanted)


def _how_right(value: Any, wanted: str) -> Right:
    if isinstance(value, Tensor):
        return Right.BY_TYPES if wanted == "Tensor" else Right.BY_VALUES
    if value.__class__ in (list, tuple):
        if any([isinstance(x, (Tensor, list, tuple)) for x in value]) and (
            wanted != "tuple of Tensors"
        ):
            return Right.BY_VALUES
        return Right.BY_ELEMENTS
    if isinstance(value, (list, tuple, type)):
        return Right.BY_VALUES
    return Right.BY_TYPES


class Form:
    """One of the ways in which a function takes its arguments, as ``takes`` declares it."""

    def __init__(self, text: str):
        self.text = text
        self.parameters: dict[str, tuple[bool, Sequence[str]]] = {}
        by_position, _, by_name = text.partition(", *, ")
        #: How many may be given without their names.
        self.positional = by_position.count(": ")
        for item in [*by_position.split(", "), *(by_name.split(", ") if by_name else ())]:
            name, _, words = item.partition(": ")
            self.parameters[name.rstrip("?")] = name.endswith("?"), words.split(" | ")

    def given(self, arguments: Sequence[Any], keywords: dict[str, Any]) -> dict[str, Any] | None:
        """The arguments by name; None if they are not those of this form."""
        names = list(self.parameters)
        if len(arguments) > self.positional:
            return None
        found = dict(zip(names, arguments, strict=False))
        if not keywords.keys() <= self.parameters.keys() - found.keys():
            return None
        found.update(keywords)
        required = {name for name, (optional, _) in self.parameters.items() if not optional}
        return found if required <= found.keys() else None

    def wrong(self, given: dict[str, Any]) -> str | None:
        """The name of the first argument of another kind than this form takes."""
        for name, value in given.items():
            words = self.parameters[name][1]
            if words != ["Any"] and not any([_KINDS[word][0](value) for word in words]):
                return name
        return None

    def wanted(self, name: str) -> str:
        """The kinds that an argument is of, as errors show them."""
        words = [_KINDS[word][1] if word in _KINDS else "" for word in self.parameters[name][1]]
        return " or ".join([word for word in dict.fromkeys(words) if word])

    def shown(self) -> str:
        """The form as errors show it."""
        return ", ".join([f"{self.wanted(name)} {name}".strip() for name in self.parameters])


#: Torch's names of arguments that may be given by the names that NumPy has for them.
_NAMES_OF_NUMPY = {
    "axis": "dim", "keepdims": "keepdim", "x": "input", "x1": "input", "x2": "other",
    "split_size": "split_size_or_sections",  # of the method, in torch
}  # fmt: skip


class Kinds:
    """The parameters of a function whose annotations say what they take."""

    def __init__(self, function: Callable[..., Any], name: str = "", *, is_method: bool = False):
        self.function = function
        #: The position of the first parameter: methods do not count the tensor they belong to.
        self.first = 0 if is_method else 1
        self.name = name or function.__name__.lstrip("_")
        self._signature: inspect.Signature | None = None
        texts, by_method = getattr(function, FORMS, ((), True))
        self.forms = [Form(text) for text in texts] if by_method or not is_method else []
        #: The keywords that forms mention.
        self.of_forms = {name for form in self.forms for name in form.parameters}
        #: Whether anything can be checked before a call.
        self.tells = any([k != "return" for k in function.__annotations__])

    @property
    def signature(self) -> inspect.Signature:
        """The signature, and with it what the parameters take; made when it is first needed."""
        if self._signature is None:
            self._signature = signature = inspect.signature(self.function)
            described = [
                _Parameter(n, p) for n, p in enumerate(signature.parameters.values(), self.first)
            ]
            self.parameters = {p.name: p for p in described if p.tells}
        return self._signature

    def bound(self, arguments: Sequence[Any], keywords: dict[str, Any]) -> dict[str, Any] | None:
        """The arguments by the names of their parameters; None if they do not fit."""
        try:
            return self.signature.bind(*arguments, **keywords).arguments
        except TypeError:
            return None

    def in_torchs_names(self, keywords: dict[str, Any]) -> dict[str, Any] | None:
        """Keywords of NumPy under the names of the parameters; None if there are none."""
        names = self.signature.parameters
        found = {key: _NAMES_OF_NUMPY.get(key) for key in keywords if key not in names}
        if not found or not all([name in names for name in found.values()]):
            return None
        renamed = {found.get(key) or key: value for key, value in keywords.items()}
        return renamed if len(renamed) == len(keywords) else None

    def check(self, arguments: Sequence[Any], keywords: dict[str, Any]) -> Right:
        """Raise a TypeError for the first argument that is of another kind than was asked for.

        Returns:
            Which other arguments are right as well. Those that do not fit the signature raise
            nothing: Python's own error is about them.
        """
        given = self.bound(arguments, keywords)
        if given is None and keywords:
            keywords = self.in_torchs_names(keywords) or keywords
            given = self.bound(arguments, keywords)
        if given is None or "older" in given:  # an order of 2017, which the function knows
            return Right.BY_VALUES
        right = self._check_forms(arguments, keywords) if self.forms else Right.BY_TYPES
        for name, parameter in self.parameters.items():
            if name in given and name not in self.of_forms:
                parameter.check(self.name, given[name])
                right = max(right, parameter.how_right(given[name]))
        return right

    def _check_forms(self, arguments: Sequence[Any], keywords: dict[str, Any]) -> Right:
        """Raise a TypeError unless one of the forms takes the arguments; else as ``check``."""
        keywords = {name: x for name, x in keywords.items() if name in self.of_forms}
        fitting = []
        for form in self.forms:
            given = form.given(arguments, keywords)
            if given is None:
                continue
            name = form.wrong(given)
            if name is None:
                return max([_how_right(x, form.wanted(k)) for k, x in given.items()])
            fitting.append((form, name, given[name]))
        if len({(name, form.wanted(name)) for form, name, _ in fitting}) == 1:  # all want the same
            form, name, value = fitting[0]
            position = list(form.parameters).index(name) + self.first
            where = "" if name in keywords else f" (position {position})"
            if form.wanted(name) == "Tensor":
                require_tensor(self.name, value, name, position)
            raise TypeError(
                f"{self.name}(): argument '{name}'{where} must be {form.wanted(name)}, not "
                f"{type_name(value)}"
            )
        got = [type_name(x) for x in arguments[1 - self.first :]]
        got += [f"{name}={type_name(x)}" for name, x in keywords.items()]
        ways = " or ".join([f"({form.shown()})" for form in self.forms])
        raise TypeError(f"{self.name}() takes {ways}, but got ({', '.join(got)})")


def check_tensors(
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    keywords: dict[str, Any] | None = None,
) -> None:
    """Raise a TypeError for the first argument of another kind than its annotation says."""
    Kinds(function).check(arguments, keywords or {})


# --- errors that nobody wrote ---------------------------------------------------------------------

_RAISE = (dis.opmap["RAISE_VARARGS"], dis.opmap["RERAISE"])
#: Parts of errors of Python and NumPy that speak of this library's inside, not to users.
_INTERNAL = re.compile(r"zip\(\)|attribute|object|numbagrad|<|unpack|\b_")
#: Texts of a SystemError for a function in C that failed and lost its exception: some of CPython
#: and NumPy do where there is no memory.
_LOST = re.compile("without (setting an exception|exception set)|NULL object passed")
#: The name by which Python's own errors call a function.
_OWN_NAME = re.compile(r"^[\w.<>]+\(\)")


def _innermost(traceback: TracebackType | None) -> TracebackType | None:
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback


def _was_written(error: BaseException) -> bool:
    """Whether a ``raise`` made the error, here or in code of somebody else, and not a called one.

    A statement of this library that fails without raising, as ``shape[5]`` does, or a function of
    NumPy, speaks of what users do not know.
    """
    last = _innermost(error.__traceback__)
    if last is None:
        return True
    room = str(last.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
    if room == "numpy":
        return False
    return room != "numbagrad" or last.tb_frame.f_code.co_code[last.tb_lasti] in _RAISE


def _described(value: Any) -> str:
    """An argument as errors show it."""
    if isinstance(value, Tensor):
        return f"Tensor {list(value._array.shape)} of {str(value.dtype).removeprefix('torch.')}"
    if isinstance(value, (list, tuple)):
        brackets = "[]" if isinstance(value, list) else "()"
        inner = ", ".join([_described(x) for x in value[:4]] + ["..."] * (len(value) > 4))
        return f"{brackets[0]}{inner}{brackets[1]}"
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        return repr(value)[:40]
    return type_name(value)


#: The beginnings of NumPy's errors for more elements than addresses reach.
_TOO_MANY = ("array is too big", "Maximum allowed dimension exceeded")


def _class_of(error: BaseException) -> type[Exception]:
    """torch's class for an error that nobody wrote."""
    if isinstance(error, IndexError):
        return IndexError
    if isinstance(error, (AttributeError, AssertionError, StopIteration, SystemError)):
        return TypeError
    if isinstance(error, TypeError) and "ufunc" not in str(error):
        return TypeError
    return RuntimeError


def explain(
    kinds: Kinds, arguments: Sequence[Any], keywords: dict[str, Any], error: Exception
) -> None:
    """Raise what a failed call is to raise instead of ``error``; return if that says it already."""
    if isinstance(error, SystemError) and _LOST.search(str(error)):
        raise MemoryError(f"{kinds.name}(): {error}") from error
    traceback = error.__traceback__
    if traceback is not None and traceback.tb_next is None and isinstance(error, TypeError):
        raise TypeError(_OWN_NAME.sub(f"{kinds.name}()", str(error))) from None
    kinds.check(arguments, keywords)
    overflows = isinstance(error, ValueError) and str(error).startswith(_TOO_MANY)
    if not overflows and _was_written(error):
        return
    # What a constructor makes is no argument of it; what a method belongs to counts as one.
    of_object = bool(arguments) and kinds.first == 0 and not isinstance(arguments[0], Tensor)
    given = [_described(x) for x in arguments[of_object:]]
    given += [f"{name}={_described(x)}" for name, x in keywords.items()]
    if overflows:
        raise RuntimeError(
            f"{kinds.name}(): Storage size calculation overflowed with {', '.join(given)}"
        ) from None
    silent = isinstance(error, (AttributeError, LookupError, StopIteration, SystemError))
    reason = "" if silent or _INTERNAL.search(str(error)) else f" ({error})"
    raise _class_of(error)(
        f"{kinds.name}(): these arguments do not fit together: {', '.join(given)}{reason}"
    ) from error
