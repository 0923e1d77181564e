"""A reader of pickle's format that can make nothing but what it is given constructors for.

``load`` reads checkpoints with it. Pickle's own unpickler calls what a file names and sets the
state of objects behind their backs; this one has a closed list of names, calls only the functions
that were registered for them, which check their arguments, and sets the state only of kinds that
have a function for that too. It also bounds what a file can ask for by the size of the file.
"""

from __future__ import annotations

import pickle
import struct
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping
from typing import Any

#: Kinds whose elements a constructor may copy; a file that shares one could ask for many copies.
_COPIED = frozenset((str, bytes, bytearray, list, tuple, dict, set, frozenset))

# How numbers are written.
_BYTE, _SHORT, _INT = struct.Struct("<B"), struct.Struct("<H"), struct.Struct("<i")
_UNSIGNED, _LONG, _DOUBLE = struct.Struct("<I"), struct.Struct("<Q"), struct.Struct(">d")

_Handler = Callable[["ClosedUnpickler"], None]


class Incomplete:
    """A value that is none before the file has set its state."""

    __slots__ = ()


class ClosedUnpickler:
    """Reads one object.

    Args:
        data: what pickle wrote.
        names: for every module and name that a file may have, the object that stands for it.
        constructors: for those objects that a file may call, the function that is called. It
            checks its arguments and raises if they do not fit. What it makes takes no more memory
            than a small multiple of its arguments.
        builders: for types whose state a file may set, a function of an object and the state. What
            it returns stands for the object from then on.
        persistent_load: what stands for the persistent ids of a file, which has none without it.
        start: where in ``data`` the object begins.
        stop: where the bytes end that may belong to it, without which all may.
        trusted: more names; what stands for them may be called, made and given a state as pickle
            does it, by the file.
    """

    def __init__(
        self,
        data: bytes,
        names: Mapping[tuple[str, str], Any],
        constructors: Mapping[Any, Callable[..., Any]],
        builders: Mapping[type, Callable[[Any, Any], Any]],
        persistent_load: Callable[[Any], Any] | None = None,
        start: int = 0,
        stop: int | None = None,
        trusted: Mapping[tuple[str, str], Any] | None = None,
    ) -> None:
        self._data = data
        self._position = start
        self._end = len(data) if stop is None else stop
        self._names = names
        self._constructors = constructors
        self._builders = builders
        self._persistent_load = persistent_load
        self._trusted = trusted or {}
        #: The error of ``persistent_load``, which is none of the pickle.
        self._outside: Exception | None = None
        #: The values of these, which need not have a hash.
        self._trusted_ids = {id(thing) for thing in self._trusted.values()}
        self._stack: list[Any] = []
        self._outer: list[list[Any]] = []  # the stacks below each mark
        self._memo: dict[int, Any] = {}
        #: By id, what was built and what stands for it now.
        self._built: dict[int, tuple[Any, Any]] = {}
        self._incomplete: dict[int, Incomplete] = {}
        # Pickle writes a value once and refers to it from then on: what constructors are given
        # adds up to no more than the file, and keys of dicts to little more.
        self._elements_left = 1024 + 4 * (self._end - start)
        self._key_parts_left = 1024 + 64 * (self._end - start)

    def load(self) -> Any:
        """The object.

        Raises:
            pickle.UnpicklingError: if the file is no whole pickle, or asks for what is not data.
        """
        opcode = 0
        data, end, memo, handler_of = self._data, self._end, self._memo, _HANDLERS.get
        try:
            while True:
                position = self._position
                if position + 1 >= end:
                    opcode = self._take(1)[0]
                else:
                    opcode, following = data[position], data[position + 1]
                    self._position = position + 1
                    # Three of four are one of these, which are therefore done here.
                    if opcode == _MEMOIZE:
                        memo[len(memo)] = self._stack[-1]
                        continue
                    if opcode == _BININT1:
                        self._stack.append(following)
                        self._position = position + 2
                        continue
                    if opcode == _BINGET:
                        self._position = position + 2
                        self._recall(following)
                        continue
                if opcode == _STOP:
                    break
                handler = handler_of(opcode)
                if handler is None:
                    raise pickle.UnpicklingError(f"the opcode {bytes((opcode,))!r} is not of data")
                handler(self)
            (found,) = self._stack
            if self._outer:
                raise pickle.UnpicklingError("it ends within a container")
            if self._incomplete:
                raise pickle.UnpicklingError("it makes a value whose state it does not set")
        except pickle.UnpicklingError as error:
            raise pickle.UnpicklingError(f"Weights only load failed: {error}") from error.__cause__
        except MemoryError:
            raise
        except Exception as error:  # whatever values a file gave to operations they do not fit
            if error is self._outside:
                raise
            raise pickle.UnpicklingError(
                f"Weights only load failed: the opcode {bytes((opcode,))!r} before byte "
                f"{self._position} of the file cannot be followed: {type(error).__name__}: {error}"
            ) from error
        return found

    @property
    def position(self) -> int:
        """Where the next byte is; after ``load``, the end of the object."""
        return self._position

    # -- reading ------------------------------------------------------------------------------

    def _take(self, size: int) -> bytes:
        start, end = self._position, self._position + size
        if end > self._end:
            raise pickle.UnpicklingError("the file ends in the middle of a value")
        self._position = end
        return self._data[start:end]

    def _number(self, form: struct.Struct) -> Any:
        start, end = self._position, self._position + form.size
        if end > self._end:
            raise pickle.UnpicklingError("the file ends in the middle of a value")
        self._position = end
        return form.unpack_from(self._data, start)[0]

    def _counted(self, form: struct.Struct) -> bytes:
        """Bytes after their number."""
        return self._take(self._number(form))

    def _line(self) -> bytes:
        end = self._data.find(b"\n", self._position, self._end)
        if end < 0:
            raise pickle.UnpicklingError("the file ends in the middle of a line")
        line = self._take(end - self._position)
        self._position += 1
        return line

    # -- the stack ----------------------------------------------------------------------------

    def _mark(self) -> None:
        self._outer.append(self._stack)
        self._stack = []

    def _pop_mark(self) -> list[Any]:
        """The objects above the last mark."""
        values = self._stack
        self._stack = self._outer.pop()
        return values

    def _push(self, value: Any) -> None:
        self._stack.append(value)

    def _remember(self, index: int) -> None:
        self._memo[index] = self._stack[-1]

    def _recall(self, index: int) -> None:
        value = self._memo[index]
        if self._built:
            value = self._built.get(id(value), (value, value))[1]
        self._stack.append(self._complete(value))

    def _complete(self, value: Any) -> Any:
        """The value, which is used once more; raises for one that is still to be built."""
        if self._incomplete and id(value) in self._incomplete:
            raise pickle.UnpicklingError("it uses a value whose state it has not set")
        return value

    # -- containers ---------------------------------------------------------------------------

    def _append(self, values: list[Any]) -> None:
        target = self._stack[-1]
        if type(target) is not list and type(target) is not deque:
            raise pickle.UnpicklingError(f"the file appends to a {type(target).__name__}")
        target.extend(values)

    def _set_items(self, values: list[Any]) -> None:
        target = self._stack[-1]
        if type(target) not in (dict, OrderedDict, defaultdict, Counter):
            raise pickle.UnpicklingError(f"the file sets items of a {type(target).__name__}")
        if len(values) % 2:
            raise pickle.UnpicklingError("the file has a key without a value")
        for k in range(0, len(values), 2):
            target[self._key(values[k])] = values[k + 1]

    def _add(self, values: list[Any]) -> None:
        target = self._stack[-1]
        if type(target) is not set:
            raise pickle.UnpicklingError(f"the file adds elements to a {type(target).__name__}")
        target.update([self._key(value) for value in values])

    def _key(self, key: Any) -> Any:
        """A key or an element of a set, if its hash can be computed: Python recurses into tuples,
        and forgets the hashes of those that occur many times in one.
        """
        if isinstance(key, (tuple, frozenset)):
            level, depth = [key], 0
            while level:
                depth += 1
                self._key_parts_left -= sum(len(part) for part in level)
                if self._key_parts_left < 0 or depth > 100:
                    raise pickle.UnpicklingError("a key of a dict or set is too large")
                level = [
                    inner
                    for part in level
                    for inner in part
                    if isinstance(inner, (tuple, frozenset))
                ]
        return key

    # -- objects ------------------------------------------------------------------------------

    def _name(self, module: Any, name: Any) -> None:
        found = self._names.get((module, name), self)
        if found is self:
            found = self._trusted.get((module, name), self)
        if found is self:
            raise pickle.UnpicklingError(
                f"the file names {module}.{name}, which is not data. If you trust that class or "
                f"function, declare it: `torch.serialization.add_safe_globals([{name}])` or "
                f"`with torch.serialization.safe_globals([{name}]):`. If you trust the file, load "
                "it with weights_only=False, which can run any code in it."
            )
        self._push(found)

    def _make(self, function: Any, arguments: Any) -> None:
        """A new instance of a class with these arguments, as of ``object.__new__``."""
        if isinstance(function, type) and self._trusts(function) and type(arguments) is tuple:
            self._push(function.__new__(function, *arguments))
        else:
            self._call(function, arguments)

    def _trusts(self, thing: Any) -> bool:
        return id(thing) in self._trusted_ids

    def _call(self, function: Any, arguments: Any) -> None:
        if self._trusts(function) and type(arguments) is tuple:
            self._push(function(*arguments))
            return
        constructor = self._constructors.get(self._key(function))
        if constructor is None:
            what = getattr(function, "__qualname__", None)  # the text of a value may be endless
            what = what if type(what) is str else f"a {type(function).__name__}"
            raise pickle.UnpicklingError(f"the file calls {what}, which makes no data")
        if type(arguments) is not tuple:
            raise pickle.UnpicklingError("the file calls a function without a tuple of arguments")
        for argument in arguments:
            if type(argument) in _COPIED:
                self._elements_left -= len(argument)
        if self._elements_left < 0:
            raise pickle.UnpicklingError("the file asks for more copies of values than it holds")
        if function is set or function is frozenset:
            for values in arguments:
                for value in values:
                    self._key(value)
        made = constructor(*arguments)
        if isinstance(made, Incomplete):
            self._incomplete[id(made)] = made
        self._push(made)

    def _build(self) -> None:
        state = self._stack.pop()
        target = self._stack[-1]
        builder = self._builders.get(type(target))
        if builder is None and self._trusts(type(target)):
            _set_state(target, state)
            return
        if builder is None:
            raise pickle.UnpicklingError(
                f"the file sets the state of a {type(target).__name__}, which is not data"
            )
        built = builder(target, state)
        if built is not target:
            self._built[id(target)] = target, built
            self._incomplete.pop(id(target), None)
            self._stack[-1] = built

    def _persistent(self, identity: Any) -> None:
        if self._persistent_load is None:
            raise pickle.UnpicklingError("the file refers to objects outside of it")
        try:
            self._push(self._persistent_load(identity))
        except Exception as error:
            self._outside = error
            raise


def _set_state(target: Any, state: Any) -> None:
    """Set the state of an object of a class that the user trusts, as pickle does."""
    if hasattr(target, "__setstate__"):
        target.__setstate__(state)
        return
    slots = None
    if isinstance(state, tuple) and len(state) == 2:
        state, slots = state
    vars(target).update(state or {})
    for name, value in (slots or {}).items():
        setattr(target, name, value)


def _proto(reader: ClosedUnpickler) -> None:
    version = reader._take(1)[0]
    if version > 5:
        raise pickle.UnpicklingError(f"the file is of version {version} of pickle's format")


def _frame(reader: ClosedUnpickler) -> None:
    size = reader._number(_LONG)
    if reader._position + size > reader._end:
        raise pickle.UnpicklingError("the file ends in the middle of a frame")


def _int(reader: ClosedUnpickler) -> None:
    line = reader._line()
    reader._push(line == b"01" if line in (b"00", b"01") else int(line))


def _little(data: bytes) -> int:
    return int.from_bytes(data, "little", signed=True)


def _text(data: bytes) -> str:
    return str(data, "utf-8", "surrogatepass")


def _pop(reader: ClosedUnpickler) -> None:
    if reader._stack:
        reader._stack.pop()
    else:
        reader._pop_mark()


def _pop_to_mark(reader: ClosedUnpickler) -> None:
    reader._pop_mark()


def _last_tuple(size: int) -> _Handler:
    def handler(reader: ClosedUnpickler) -> None:
        stack = reader._stack
        if len(stack) < size:
            raise pickle.UnpicklingError("the file makes a tuple of values that it does not have")
        stack[-size:] = [tuple(stack[-size:])]

    return handler


def _dict(reader: ClosedUnpickler) -> None:
    items = reader._pop_mark()
    reader._push({})
    reader._set_items(items)


def _frozenset(reader: ClosedUnpickler) -> None:
    values = reader._pop_mark()
    reader._push(frozenset([reader._key(value) for value in values]))


def _above_mark(add: Callable[[ClosedUnpickler, list[Any]], None]) -> _Handler:
    return lambda reader: add(reader, reader._pop_mark())


def _append_one(reader: ClosedUnpickler) -> None:
    reader._append([reader._stack.pop()])


def _set_item(reader: ClosedUnpickler) -> None:
    value, key = reader._stack.pop(), reader._stack.pop()
    reader._set_items([key, value])


def _name_of_stack(reader: ClosedUnpickler) -> None:
    name, module = reader._stack.pop(), reader._stack.pop()
    if type(name) is not str or type(module) is not str:
        raise pickle.UnpicklingError("the file has a name that is no text")
    reader._name(module, name)


def _reduce(reader: ClosedUnpickler) -> None:
    arguments, function = reader._stack.pop(), reader._stack.pop()
    reader._call(function, arguments)


def _new(reader: ClosedUnpickler) -> None:
    arguments, function = reader._stack.pop(), reader._stack.pop()
    reader._make(function, arguments)


def _memoize(reader: ClosedUnpickler) -> None:
    reader._remember(len(reader._memo))


_STOP = pickle.STOP[0]
_MEMOIZE, _BININT1, _BINGET = pickle.MEMOIZE[0], pickle.BININT1[0], pickle.BINGET[0]

#: The action of each opcode. Left out are those of Python 2's classes and quoted strings, extension
#: codes and of buffers outside of the file. Other strings of Python 2 are taken for UTF-8.
_HANDLERS: dict[int, _Handler] = {
    code[0]: handler
    for code, handler in {
        pickle.PROTO: _proto,
        pickle.FRAME: _frame,
        pickle.MARK: ClosedUnpickler._mark,
        pickle.POP: _pop,
        pickle.POP_MARK: _pop_to_mark,
        pickle.DUP: lambda r: r._push(r._complete(r._stack[-1])),
        pickle.NONE: lambda r: r._push(None),
        pickle.NEWTRUE: lambda r: r._push(True),
        pickle.NEWFALSE: lambda r: r._push(False),
        pickle.INT: _int,
        pickle.BININT: lambda r: r._push(r._number(_INT)),
        pickle.BININT1: lambda r: r._stack.append(r._number(_BYTE)),
        pickle.BININT2: lambda r: r._push(r._number(_SHORT)),
        pickle.LONG: lambda r: r._push(int(r._line().rstrip(b"L"))),
        pickle.LONG1: lambda r: r._push(_little(r._counted(_BYTE))),
        pickle.LONG4: lambda r: r._push(_little(r._counted(_UNSIGNED))),
        pickle.FLOAT: lambda r: r._push(float(r._line())),
        pickle.BINFLOAT: lambda r: r._push(r._number(_DOUBLE)),
        pickle.UNICODE: lambda r: r._push(str(r._line(), "raw-unicode-escape")),
        pickle.SHORT_BINUNICODE: lambda r: r._stack.append(_text(r._counted(_BYTE))),
        pickle.BINUNICODE: lambda r: r._push(_text(r._counted(_UNSIGNED))),
        pickle.BINUNICODE8: lambda r: r._push(_text(r._counted(_LONG))),
        pickle.SHORT_BINSTRING: lambda r: r._push(_text(r._counted(_BYTE))),
        pickle.BINSTRING: lambda r: r._push(_text(r._counted(_UNSIGNED))),
        pickle.SHORT_BINBYTES: lambda r: r._push(r._counted(_BYTE)),
        pickle.BINBYTES: lambda r: r._push(r._counted(_UNSIGNED)),
        pickle.BINBYTES8: lambda r: r._push(r._counted(_LONG)),
        pickle.BYTEARRAY8: lambda r: r._push(bytearray(r._counted(_LONG))),
        pickle.EMPTY_TUPLE: lambda r: r._push(()),
        pickle.TUPLE: lambda r: r._push(tuple(r._pop_mark())),
        pickle.TUPLE1: _last_tuple(1),
        pickle.TUPLE2: _last_tuple(2),
        pickle.TUPLE3: _last_tuple(3),
        pickle.EMPTY_LIST: lambda r: r._push([]),
        pickle.LIST: lambda r: r._push(r._pop_mark()),
        pickle.APPEND: _append_one,
        pickle.APPENDS: _above_mark(ClosedUnpickler._append),
        pickle.EMPTY_DICT: lambda r: r._push({}),
        pickle.DICT: _dict,
        pickle.SETITEM: _set_item,
        pickle.SETITEMS: _above_mark(ClosedUnpickler._set_items),
        pickle.EMPTY_SET: lambda r: r._push(set()),
        pickle.ADDITEMS: _above_mark(ClosedUnpickler._add),
        pickle.FROZENSET: _frozenset,
        pickle.PUT: lambda r: r._remember(int(r._line())),
        pickle.BINPUT: lambda r: r._remember(r._number(_BYTE)),
        pickle.LONG_BINPUT: lambda r: r._remember(r._number(_UNSIGNED)),
        pickle.MEMOIZE: _memoize,
        pickle.GET: lambda r: r._recall(int(r._line())),
        pickle.BINGET: lambda r: r._recall(r._number(_BYTE)),
        pickle.LONG_BINGET: lambda r: r._recall(r._number(_UNSIGNED)),
        pickle.GLOBAL: lambda r: r._name(_text(r._line()), _text(r._line())),
        pickle.STACK_GLOBAL: _name_of_stack,
        pickle.REDUCE: _reduce,
        pickle.NEWOBJ: _new,
        pickle.BUILD: ClosedUnpickler._build,
        pickle.PERSID: lambda r: r._persistent(_text(r._line())),
        pickle.BINPERSID: lambda r: r._persistent(r._stack.pop()),
    }.items()
}


__all__ = ["ClosedUnpickler"]
