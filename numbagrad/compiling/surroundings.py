"""What a function can reach: the tensors it may read, and the Python values it may branch on.

A program is valid as long as all of that is what it was while the program was recorded. Found once,
by walking from the function through closures, globals, arguments and attributes; checked before
every run by comparing identities. Called by ``function.py``.
"""

from __future__ import annotations

import collections
import dis
import functools
import operator
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..device import device
from ..dtype import dtype
from ..executor.program.guards import Guards, can_watch
from ..executor.program.recorder import is_library
from ..tensor import Tensor

#: Values that are compared; everything else is what it is.
_PLAIN = (
    bool, int, float, complex, str, bytes, type(None), type(Ellipsis), slice, range, dtype, device,
)  # fmt: skip

_FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial)

#: Objects that change without showing it.
_HIDDEN = (types.GeneratorType, types.CoroutineType, np.random.Generator, np.random.RandomState)


class Unreachable(Exception):  # noqa: N818 - a signal to the caller
    """Raised for something whose state cannot be watched; the text says what."""


class Watched:
    """The entries of one container as they were; ``holds`` says whether they still are."""

    __slots__ = ("container", "read", "values", "what", "plain", "ignored")

    def __init__(self, read: Callable[[], Any], what: str, container: Any = None):
        self.read = read
        self.what = what
        #: What is read, if a native check can look into it.
        self.container = container if can_watch(container) else None
        self.values = list(read())
        self.plain = [isinstance(value, _PLAIN) for value in self.values]
        #: Places of entries that may be anything.
        self.ignored: set[int] = set()

    def holds(self) -> bool:
        """Whether every entry is what it was (numbers and texts: equals what it was)."""
        values = self.values
        now = self.read()
        if len(now) != len(values):
            return False
        if all(map(operator.is_, now, values)):
            return True
        return all(
            [
                a is b
                or (self.plain[k] and type(a) is type(b) and (a == b or (a != a and b != b)))
                or k in self.ignored
                for k, (a, b) in enumerate(zip(now, values, strict=True))
            ]
        )


class Surroundings:
    """Everything that a function and its arguments can reach.

    Attributes:
        tensors: the tensors among it, each once.
        watched: the containers of plain values and of references.
    """

    def __init__(self, roots: dict[str, Any]):
        self.tensors: list[Tensor] = []
        self.watched: list[Watched] = []
        self._guards: Guards | None = None
        self._rest: list[Watched] = []
        self._dictionaries: dict[int, tuple[dict[Any, Any], Watched]] = {}
        self._seen: dict[int, Any] = {}
        self._pending: list[tuple[str, Any]] = list(roots.items())
        while self._pending:
            self._visit(*self._pending.pop())

    def hold(self) -> bool:
        """Whether everything is what it was: natively if no number was replaced by an equal one."""
        guards = self._guards
        if guards is None:
            guards = self._guards = Guards(
                [(w.container, w.read()) for w in self.watched if w.container is not None]
            )
            self._rest = [w for w in self.watched if w.container is None]
        if guards.unchanged() and all([watched.holds() for watched in self._rest]):
            return True
        if self.changed() is not None:
            return False
        self._guards = None
        return True

    def changed(self) -> str | None:
        """Which container is not what it was, or None."""
        for watched in self.watched:
            if not watched.holds():
                return watched.what
        return None

    def ignore(self, dictionary: dict[Any, Any], key: Any) -> None:
        """Let an entry of a dictionary be anything: each run of the program reads it anew."""
        found = self._dictionaries.get(id(dictionary))
        if found is not None:
            found[1].ignored.add(list(dictionary).index(key))

    # --- the walk ---------------------------------------------------------------------------------

    def _visit(self, name: str, value: Any) -> None:
        if isinstance(value, _PLAIN) or id(value) in self._seen:
            return
        self._seen[id(value)] = value
        if isinstance(value, Tensor):
            self.tensors.append(value)
        elif isinstance(value, dict):
            self._dictionary(name, value)
        elif isinstance(value, (list, tuple, collections.deque)):
            self._watch(name, functools.partial(list, value), value, value)
        elif isinstance(value, (set, frozenset)):
            self._watch(name, functools.partial(list, value), value)
        elif isinstance(value, _FUNCTIONS):
            self._function(name, value)
        elif isinstance(value, types.CellType):
            contents = _contents(value)
            self._watch(name, functools.partial(_contents, value), contents, value)
        elif isinstance(value, type):
            self._class(name, value)
        elif isinstance(value, (types.ModuleType, types.BuiltinFunctionType, np.ndarray)):
            pass
        elif isinstance(value, _HIDDEN) or isinstance(value, Iterator):
            raise Unreachable(f"{name}, a {type(value).__name__}, whose state cannot be watched")
        else:
            self._object(name, value)

    def _watch(
        self, name: str, read: Callable[[], Any], values: Any, container: Any = None
    ) -> None:
        if not isinstance(container, tuple):  # what a tuple holds never changes
            self.watched.append(Watched(read, name, container))
        for value in values:
            if not isinstance(value, _PLAIN):
                self._pending.append((name, value))

    def _dictionary(self, name: str, value: dict[Any, Any]) -> None:
        watched = Watched(functools.partial(_values, value), name, value)
        self.watched.append(watched)
        self._dictionaries[id(value)] = value, watched
        for key, each in value.items():
            self._pending.append((f"{name}.{key}" if isinstance(key, str) else name, each))
            if not isinstance(key, _PLAIN):
                self._pending.append((name, key))

    def _function(self, name: str, value: Any) -> None:
        if isinstance(value, functools.partial):
            parts = {f"{name}.func": value.func, f"{name}.keywords": value.keywords}
            self._pending += [*parts.items(), (f"{name}.args", value.args)]
        elif isinstance(value, types.MethodType):
            self._pending += [(name, value.__func__), (f"{name}.self", value.__self__)]
        elif not _is_installed(sys.modules.get(value.__module__)):
            self._pending += [(name, cell) for cell in value.__closure__ or ()]
            self._pending += [(name, value.__defaults__), (name, value.__kwdefaults__)]
            self._globals(value)
            wrapped = getattr(value, "__wrapped__", None)
            if wrapped is not None:
                self._pending.append((name, wrapped))

    def _globals(self, function: types.FunctionType) -> None:
        """The globals that a function names, and what it names of modules among them."""
        scope = function.__globals__
        names = [name for name in _names_of(function.__code__) if name in scope]
        if not names:
            return
        self.watched.append(Watched(functools.partial(_of, scope, names), "the globals"))
        for name in names:
            found = scope[name]
            if isinstance(found, types.ModuleType):
                self._module(found, function.__code__)
            else:
                self._pending.append((name, found))

    def _module(self, module: types.ModuleType, code: types.CodeType) -> None:
        if _is_installed(module):
            return
        scope = vars(module)
        names = [name for name in _names_of(code) if name in scope]
        self.watched.append(Watched(functools.partial(_of, scope, names), module.__name__))
        self._pending += [
            (f"{module.__name__}.{name}", scope[name])
            for name in names
            if not isinstance(scope[name], types.ModuleType)
        ]

    def _class(self, name: str, value: type) -> None:
        for each in value.__mro__:
            module = sys.modules.get(each.__module__)
            if _is_installed(module):
                continue
            scope = vars(each)
            self.watched.append(Watched(functools.partial(_values, scope), name))
            for key, entry in scope.items():
                entry = getattr(entry, "__func__", entry)
                self._pending += [
                    (f"{name}.{key}", part)
                    for part in (entry, *[getattr(entry, x, None) for x in ("fget", "fset")])
                ]

    def _object(self, name: str, value: Any) -> None:
        module = sys.modules.get(type(value).__module__)
        if _is_installed(module) and not is_library(getattr(module, "__file__", None) or ""):
            return  # of another package: told by its identity, in whatever holds it
        self._pending.append((type(value).__name__, type(value)))
        attributes = getattr(value, "__dict__", None)
        if isinstance(attributes, dict):
            self._seen[id(attributes)] = attributes
            self._dictionary(name, attributes)
        slots = [
            slot for each in type(value).__mro__ for slot in _slots(each) if hasattr(value, slot)
        ]
        if slots and not _is_installed(module):
            self._watch(
                name, functools.partial(_attributes, value, slots), _attributes(value, slots)
            )


def _contents(cell: types.CellType) -> list[Any]:
    try:
        return [cell.cell_contents]
    except ValueError:  # not assigned yet
        return []


def _of(scope: dict[str, Any], names: list[str]) -> list[Any]:
    return [scope.get(name) for name in names]


def _values(scope: Any) -> list[Any]:
    return list(scope.values())


def _attributes(value: Any, slots: list[str]) -> list[Any]:
    return [getattr(value, slot, None) for slot in slots]


def _slots(kind: type) -> tuple[str, ...]:
    slots = kind.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


@functools.cache
def _names_of(code: types.CodeType) -> tuple[str, ...]:
    """The globals and attributes that code names, that of the functions inside it included."""
    names = {
        instruction.argval
        for instruction in dis.get_instructions(code)
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_ATTR", "LOAD_METHOD")
    }
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names.update(_names_of(constant))
    return tuple(sorted(names))


@functools.cache
def _is_installed(module: types.ModuleType | None) -> bool:
    """Whether a module is this package, part of Python, or of an installed package."""
    if module is None:
        return False
    path = getattr(module, "__file__", None)
    if path is None:
        return module.__name__ != "__main__"
    standard = module.__name__.split(".")[0] in sys.stdlib_module_names
    return standard or is_library(path) or "site-packages" in path or "dist-packages" in path
