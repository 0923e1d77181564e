"""What a function can reach: the tensors it may read, and the Python values it may branch on.

A program is valid as long as all of that is what it was while the program was recorded. Found once,
by walking from the function through closures, globals, arguments and attributes; checked before
every run by comparing identities. Called by ``function.py``.
"""

from __future__ import annotations

import array
import collections
import dis
import functools
import gc
import operator
import sys
import types
import weakref
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..autocast_state import state as autocast
from ..autograd import saved_hooks
from ..autograd.anomaly import anomaly
from ..autograd.grad_mode import state as grad_mode
from ..device import device, get_default_device
from ..dtype import dtype, get_default_dtype
from ..executor.program.callers import is_library
from ..executor.program.guards import ANY, Entries, Guards, can_watch
from ..executor.program.numbers import is_given
from ..nn.module_hooks import EVERY_MODULE
from ..ops.composite import Composite
from ..optim.optimizer import Optimizer
from ..random import Generator, default_generator
from ..tensor import Tensor

#: Values that are compared; everything else is what it is.
_PLAIN = (
    bool, int, float, complex, str, bytes, type(None), type(Ellipsis), slice, range, dtype, device,
    np.generic, np.dtype,
)  # fmt: skip

_FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial)

#: Objects that change without showing it.
_HIDDEN = (types.GeneratorType, types.CoroutineType, np.random.Generator, np.random.RandomState)


#: What its own state cannot change behind: recorded draws read it anew in every run.
_HARMLESS = (Generator, types.BuiltinFunctionType, types.MethodWrapperType)

#: Modules of Python whose objects hold what users put into them.
_HOLDERS = frozenset(("argparse", "collections", "enum", "functools", "_thread", "types"))

#: Arrays of NumPy, and the like, that are compared byte by byte; larger ones are not watched.
_MOST_BYTES = 1 << 16
_BYTES = (np.ndarray, bytearray, memoryview, array.array)

_CONTAINERS = (dict, list, tuple, set, frozenset, collections.deque)


class Unreachable(Exception):  # noqa: N818 - a signal to the caller
    """Raised for something whose state cannot be watched; the text says what."""


class Watched:
    """The entries of one container as they were; ``holds`` says whether they still are."""

    __slots__ = (
        "container", "read", "values", "what", "plain", "ignored", "positive", "forms", "moves",
    )  # fmt: skip

    def __init__(self, read: Callable[[], Any], what: str, container: Any = None):
        self.read = read
        self.what = what
        #: What is read, if a native check can look into it.
        self.container = container if can_watch(container) else None
        self.values = list(read())
        self.plain = [isinstance(value, _PLAIN) for value in self.values]
        #: Places of entries that may be anything.
        self.ignored: set[int] = set()
        #: Places of entries that may be any positive number.
        self.positive: set[int] = set()
        #: Places of entries that may be any tensors of these forms.
        self.forms: dict[int, Form] = {}
        #: Whether one of these has changed: then Python looks at every run.
        self.moves = False

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
                or (self.plain[k] and _same(a, b))
                or k in self.ignored
                or (k in self.positive and type(a) in (int, float) and a > 0)
                or (k in self.forms and form_of(a) == self.forms[k])
                for k, (a, b) in enumerate(zip(now, values, strict=True))
            ]
        )

    def expected(self) -> list[Any]:
        """What a native check has to find, which is what is there now."""
        now = list(self.read())
        if self.positive and not self.moves:
            self.moves = any([now[k] is not self.values[k] for k in self.positive])
        free = self.ignored | self.positive | self.forms.keys() if self.moves else self.ignored
        return [ANY if k in free else x for k, x in enumerate(now)] if free else now


#: What a program may depend on of a tensor that it does not read.
Form = tuple[Any, ...]


def form_of(value: Any) -> Form | None:
    """The form of a plain tensor; None for anything else."""
    if type(value) is not Tensor:
        return None
    array = value._array
    return array.shape, array.dtype, value._requires_grad, value._grad_fn is None


class Assigned(NamedTuple):
    """An entry of a dictionary, as of an object's attributes, where a call put another tensor."""

    dictionary: dict[Any, Any]
    key: Any
    old: Tensor
    new: Tensor
    watched: Watched
    place: int

    def expect_old(self) -> None:
        """Let calls find what this one found: any tensor of the form of the old one."""
        form = form_of(self.old)
        assert form is not None
        self.watched.forms[self.place] = form


class Surroundings:
    """Everything that a function and its arguments can reach.

    Attributes:
        tensors: the tensors among it, each once.
        watched: the containers of plain values and of references.
        reached: every object that was visited, by its id.
    """

    def __init__(
        self,
        roots: dict[str, Any],
        arguments: Sequence[Any] = (),
        idle: Collection[Optimizer] = (),
    ):
        #: Optimizers whose state is not looked at.
        self._idle = idle
        self.tensors: list[Tensor] = []
        self.watched: list[Watched] = []
        #: A native check that is True only if everything is what it was.
        self.unchanged: Callable[[], Any] = _unknown
        self._guards: Guards | None = None
        self._rest: list[Watched] = []
        self._dictionaries: dict[int, tuple[dict[Any, Any], Watched]] = {}
        self.reached: dict[int, Any] = {}
        #: Texts that the code of users names: keys of dictionaries among them.
        self._texts: set[Any] = set()
        #: Whether code of users names what reads numbers in C, so that nobody notices.
        self.may_read_numbers = False
        self._modules: set[tuple[int, str, int]] = set()
        self._arguments = {id(each) for each in arguments}
        self._at_arguments = False
        self._pending: list[tuple[str, Any]] = list(roots.items())
        if EVERY_MODULE.any:
            self._pending.append(("the hooks of every module", EVERY_MODULE))
        self._pending += [("an argument", x) for x in arguments if not isinstance(x, Tensor)]
        self._walk()
        #: Ids of the tensors that the function knows, whatever its arguments are.
        self.known = {id(tensor) for tensor in self.tensors}
        self._at_arguments = True
        self._pending += [("an argument", x) for x in arguments]
        self._walk()

    @property
    def generators(self) -> list[Generator]:
        """The generators of random numbers among it, the default one included."""
        found = [each for each in self.reached.values() if isinstance(each, Generator)]
        return list({id(each): each for each in (default_generator(), *found)}.values())

    def forget_input_numbers(self) -> None:
        """Put ordinary floats where a recorded call left numbers that say how they are used."""
        for watched in self.watched:
            container = watched.container
            if isinstance(container, Entries):
                container = container.dictionary
            if isinstance(container, types.CellType):
                for value in _contents(container):
                    if is_given(value):
                        container.cell_contents = value.plain()
            elif isinstance(container, (dict, list)):
                entries = container.items() if isinstance(container, dict) else enumerate(container)
                for key, value in list(entries):
                    if is_given(value):
                        container[key] = value.plain()

    def _walk(self) -> None:
        while self._pending:
            self._visit(*self._pending.pop())

    def hold(self) -> bool:
        """Whether everything is what it was: natively if no number was replaced by an equal one."""
        guards = self._guards
        if guards is not None and guards.unchanged():
            if all([watched.holds() for watched in self._rest]):
                return True
        if self.changed() is not None:
            return False
        # Equal values: from now on these very objects are looked for.
        self._guards = Guards(
            [(w.container, w.expected()) for w in self.watched if w.container is not None]
        )
        self._rest = [w for w in self.watched if w.container is None or w.moves]
        self.unchanged = _unknown if self._rest else self._guards.unchanged
        return True

    def changed(self) -> str | None:
        """Which container is not what it was, or None."""
        for watched in self.watched:
            if not watched.holds():
                return watched.what
        return None

    def assigned(self) -> list[Assigned]:
        """The entries of dictionaries where a call put tensors in the place of others.

        From now on any tensors of the new form may be there.
        """
        found = []
        for dictionary, watched in self._dictionaries.values():
            watched.forms, watched.moves = {}, False  # of a look while the call was under way
            before, now = watched.values, watched.read()
            if len(now) != len(before) or all(map(operator.is_, now, before)):
                continue
            for place, (old, new) in enumerate(zip(before, now, strict=True)):
                form = form_of(new)
                if old is new or form is None or not form_of(old) or id(new) in self.reached:
                    continue
                watched.forms[place], watched.moves = form, True
                key = now[place - len(dictionary)]
                found.append(Assigned(dictionary, key, old, new, watched, place))
        return found

    def ignore(self, dictionary: dict[Any, Any], key: Any, positive: bool) -> None:
        """Let an entry of a dictionary be anything, or anything ``positive``: runs read it anew.

        Not so if code of users names the key: it may read the entry as well, as a number that the
        program then holds.
        """
        found = self._dictionaries.get(id(dictionary))
        if found is not None and key not in self._texts:
            places = found[1].positive if positive else found[1].ignored
            places.add(len(dictionary) + list(dictionary).index(key))

    # --- the walk ---------------------------------------------------------------------------------

    def _visit(self, name: str, value: Any) -> None:
        if isinstance(value, _PLAIN) or id(value) in self.reached:
            return
        self.reached[id(value)] = value
        self.may_read_numbers |= not _is_harmless_to_numbers(value)
        if isinstance(value, Tensor):
            self.tensors.append(value)
            self._tensor(name, value)
        elif isinstance(value, dict):
            self._dictionary(name, value)
        elif isinstance(value, (list, tuple, collections.deque)):
            self._watch(name, functools.partial(list, value), value, value)
        elif isinstance(value, (set, frozenset)):
            self._watch(name, functools.partial(list, value), value, value)
        elif isinstance(value, _FUNCTIONS):
            self._function(name, value)
        elif isinstance(value, types.CellType):
            contents = _contents(value)
            self._watch(name, functools.partial(_contents, value), contents, value)
        elif isinstance(value, type):
            self._class(name, value)
        elif isinstance(value, types.ModuleType):
            if not _is_installed(value):
                self._dictionary(name, vars(value))
        elif isinstance(value, _HARMLESS):
            self._pending.append((name, getattr(value, "__self__", None)))
        elif isinstance(value, _BYTES):
            self._bytes(name, value)
        elif isinstance(value, Composite):  # what it keeps follows from the definition
            self._pending.append((name, value.definition))
        elif isinstance(value, weakref.ReferenceType):
            self._watch(name, lambda: [value()], [value()])
        elif isinstance(value, _HIDDEN) or isinstance(value, Iterator):
            raise Unreachable(f"{name}, a {type(value).__name__}, whose state cannot be watched")
        else:
            self._object(name, value)
        if isinstance(value, _CONTAINERS) and type(value) not in _CONTAINERS:
            self._object(name, value)

    def _watch(
        self, name: str, read: Callable[[], Any], values: Any, container: Any = None
    ) -> None:
        if not isinstance(container, (tuple, frozenset)):  # what these hold never changes
            self.watched.append(Watched(read, name, container))
        for value in values:
            if not isinstance(value, _PLAIN):
                self._pending.append((name, value))

    def _bytes(self, name: str, value: Any) -> None:
        """Watch what lies in an array of NumPy, or in other memory."""
        self.may_read_numbers = True
        objects = isinstance(value, np.ndarray) and value.dtype.hasobject
        if objects or memoryview(value).nbytes > _MOST_BYTES:
            raise Unreachable(
                f"{name}, a {type(value).__name__} that is too large to be watched, or holds "
                "objects; keep it in a tensor"
            )
        self.watched.append(Watched(lambda: [memoryview(value).tobytes()], name))

    def _tensor(self, name: str, value: Tensor) -> None:
        """Watch the hooks of a tensor, and what users set on it; those of arguments are a key."""
        if not (self._at_arguments and id(value) in self._arguments):
            extras = vars(value)
            self.watched.append(Watched(functools.partial(_values, extras), name, extras))
        self._pending += [(name, each) for each in extras_of(value)]

    def _dictionary(self, name: str, value: Any, unread: str | None = None) -> None:
        """Watch what a dictionary holds, but for the entry that nobody reads."""
        watched = Watched(functools.partial(_values, value), name, value)
        self.watched.append(watched)
        self._dictionaries[id(value)] = value, watched
        for place, (key, each) in enumerate(value.items()):
            if key == unread and unread is not None:
                watched.ignored.add(len(value) + place)
                continue
            self._pending.append((f"{name}.{key}" if isinstance(key, str) else name, each))
            if not isinstance(key, _PLAIN):
                self._pending.append((name, key))

    @property
    def optimizers(self) -> list[Optimizer]:
        """The optimizers among it."""
        return [each for each in self.reached.values() if isinstance(each, Optimizer)]

    def _function(self, name: str, value: Any) -> None:
        if isinstance(value, functools.partial):
            parts = {f"{name}.func": value.func, f"{name}.keywords": value.keywords}
            self._pending += [*parts.items(), (f"{name}.args", value.args)]
        elif isinstance(value, types.MethodType):
            self._pending += [(name, value.__func__), (f"{name}.self", value.__self__)]
        elif not _is_installed(sys.modules.get(value.__module__)):
            self._pending += [(name, cell) for cell in value.__closure__ or ()]
            self._pending += [(name, value.__defaults__), (name, value.__kwdefaults__)]
            self._pending.append((name, value.__dict__))
            self._globals(value)

    def _globals(self, function: types.FunctionType) -> None:
        """The globals that a function names, and what it names of modules among them."""
        scope, code = function.__globals__, _names_of(function.__code__)
        self._texts |= code.texts
        self.may_read_numbers |= not _UNASKING.isdisjoint(code.names)
        self.may_read_numbers |= not _UNASKING_GLOBALS.isdisjoint(code.globals)
        self.may_read_numbers |= any(["%" in text for text in code.texts])
        names = [name for name in code.names if name in scope or name in code.stored]
        if names:
            entries = Entries(scope, names)
            self.watched.append(Watched(entries.read, "the globals", entries))
        for name in names:
            found = scope.get(name)
            self.may_read_numbers |= not _is_harmless_to_numbers(found)
            if isinstance(found, types.ModuleType):
                self._module(found, code)
            else:
                self._pending.append((name, found))
        for name in code.imported:
            module = sys.modules.get(name)
            self.may_read_numbers |= not _is_harmless_to_numbers(module)
            if module is None:
                raise Unreachable(f"an import of {name!r} inside a function; import it before")
            self._module(module, code)

    def _module(self, module: types.ModuleType, code: _Names) -> None:
        """What code names of a module; of the package and of Python nothing changes."""
        if _is_of_python(module):
            return
        scope = vars(module)
        names = [name for name in code.names if name in scope or name in code.stored]
        if not names or (id(module), names[0], len(names)) in self._modules:
            return
        self._modules.add((id(module), names[0], len(names)))
        entries = Entries(scope, names)
        self.watched.append(Watched(entries.read, module.__name__, entries))
        for name in names:
            found = scope.get(name)
            if isinstance(found, types.ModuleType):
                self._module(found, code)
            elif not _is_installed(module):
                self._pending.append((f"{module.__name__}.{name}", found))

    def _class(self, name: str, value: type) -> None:
        for each in value.__mro__:
            module = sys.modules.get(each.__module__)
            if _is_installed(module):
                continue
            scope = vars(each)
            (entries,) = gc.get_referents(scope)  # the dictionary behind the read-only view
            self.watched.append(Watched(functools.partial(_values, scope), name, entries))
            for key, entry in scope.items():
                entry = getattr(entry, "__func__", entry)
                self._pending += [
                    (f"{name}.{key}", part)
                    for part in (entry, *[getattr(entry, x, None) for x in ("fget", "fset")])
                ]

    def _object(self, name: str, value: Any) -> None:
        compiled = getattr(type(value), "compiled_function", None)
        if compiled is not None:  # what it keeps for itself changes, and matters to nobody
            self._pending.append((name, compiled.fget(value)))
            self.watched.append(Watched(lambda: _values(value.attributes), name))
            return
        module = sys.modules.get(type(value).__module__)
        attributes = getattr(value, "__dict__", None)
        if _is_foreign(module):
            if isinstance(attributes, dict):  # of another package: only what it holds itself
                read = functools.partial(_values, attributes)
                self.watched.append(Watched(read, name, attributes))
            return
        self._pending.append((type(value).__name__, type(value)))
        if isinstance(attributes, dict):
            self.reached[id(attributes)] = attributes
            idle = isinstance(value, Optimizer) and value in self._idle
            self._dictionary(name, attributes, "state" if idle else None)
        slots = [
            slot for each in type(value).__mro__ for slot in _slots(each) if hasattr(value, slot)
        ]
        if slots:
            self._watch(
                name, functools.partial(_attributes, value, slots), _attributes(value, slots)
            )


def global_settings() -> tuple[Any, ...]:
    """The switches outside of the function that decide what it does."""
    settings = (
        grad_mode.enabled, grad_mode.inference, get_default_dtype(), get_default_device(),
        anomaly.enabled, anomaly.check_nan, autocast.settings,
    )  # fmt: skip
    stack, hooks = saved_hooks.stack(), EVERY_MODULE
    if not stack and not hooks.any:
        return settings
    of_modules = (hooks.forward_pre, hooks.forward, hooks.backward_pre, hooks.backward)
    return *settings, *stack, *[key for table in of_modules for key in table]


def _unknown() -> None:
    """In the place of a native check while there is none."""


def _contents(cell: types.CellType) -> list[Any]:
    try:
        return [cell.cell_contents]
    except ValueError:  # not assigned yet
        return []


def _values(scope: Any) -> list[Any]:
    return [*scope.keys(), *scope.values()]


def _same(a: Any, b: Any) -> bool:
    """Whether two plain values are equal: 1, 1.0 and True are not, nor are 0.0 and -0.0."""
    if type(a) is not type(b):
        return False
    return bool(a == b and (a or repr(a) == repr(b)) or (a != a and b != b))


#: What the dictionary of a tensor holds that is no state of its own, or that recordings look at.
_OWN = frozenset(("_grad", "_memory", "_view_origin", "_unrecorded_at", "_made_by"))


def extras_of(tensor: Tensor) -> list[Any]:
    """The hooks of a tensor and what users set on it: names, each followed by its value."""
    found = vars(tensor)
    if not found:
        return []
    return [part for key, value in found.items() if key not in _OWN for part in (key, value)]


def _attributes(value: Any, slots: list[str]) -> list[Any]:
    return [getattr(value, slot, None) for slot in slots]


def _slots(kind: type) -> tuple[str, ...]:
    slots = kind.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


class _Names(NamedTuple):
    """What code names: globals and attributes, those it stores, modules, and texts.

    ``globals`` are the names that are read as globals or builtins, which are among ``names``, too.
    """

    names: tuple[str, ...]
    globals: frozenset[str]
    stored: frozenset[str]
    imported: frozenset[str]
    texts: frozenset[str]


_STORES = frozenset(("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_NAME", "STORE_ATTR", "DELETE_ATTR"))
_GLOBAL_LOADS = frozenset(("LOAD_GLOBAL", "LOAD_NAME"))
_LOADS = _GLOBAL_LOADS | {"LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM"}


@functools.cache
def _names_of(code: types.CodeType) -> _Names:
    """The globals and attributes that code names, that of the functions inside it included."""
    found: dict[str, set[str]] = {"load": set(), "global": set(), "store": set(), "import": set()}
    for instruction in dis.get_instructions(code):
        if instruction.opname in _LOADS:
            found["load"].add(instruction.argval)
            if instruction.opname in _GLOBAL_LOADS:
                found["global"].add(instruction.argval)
        elif instruction.opname in _STORES:
            found["store"].add(instruction.argval)
        elif instruction.opname == "IMPORT_NAME":
            found["import"].add(instruction.argval)
    texts = {constant for constant in code.co_consts if isinstance(constant, str)}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner = _names_of(constant)
            found["load"].update(inner.names)
            found["global"].update(inner.globals)
            found["store"].update(inner.stored)
            found["import"].update(inner.imported)
            texts |= inner.texts
    names = tuple(sorted(found["load"] | found["store"]))
    globals_, stored, imported = (frozenset(found[kind]) for kind in ("global", "store", "import"))
    return _Names(names, globals_, stored, imported, frozenset(texts))


def _is_foreign(module: types.ModuleType | None) -> bool:
    """Whether objects of a module belong to another package, which is not looked into."""
    if not _is_installed(module) or module is None or module.__name__ in _HOLDERS:
        return False
    return not is_library(getattr(module, "__file__", None) or "")


#: Modules of which no class takes the value of a number without asking the number for it.
_ASKING = frozenset((
    __name__.split(".")[0], "builtins", "math", "functools", "operator", "itertools", "contextlib",
    "dataclasses", "typing", "collections", "enum", "abc", "warnings", "copy", "types", "time",
    "random", "os", "sys", "logging", "gc", "threading", "weakref", "pathlib", "numba",
))  # fmt: skip
#: What demands an ``int`` in C, though the rest of its module asks: builtins (globals), and
#: functions and classes that are named under a module or imported from one.
_UNASKING_GLOBALS = frozenset(("pow",))
_UNASKING = frozenset(("type", "ldexp", "deque"))


def _is_harmless_to_numbers(value: Any) -> bool:
    """Whether what user code can reach reads numbers, if at all, so that they notice.

    Classes written in C need not, and neither their instances (an encoder of JSON); calls of
    functions in C are seen by ``listening.py``.
    """
    if isinstance(value, types.ModuleType):
        module: types.ModuleType | None = value
    else:
        defined = isinstance(value, (type, types.FunctionType))
        module = sys.modules.get((value if defined else type(value)).__module__)
    if module is None or not _is_installed(module):
        return True
    return module.__name__.split(".")[0] in _ASKING


@functools.cache
def _is_of_python(module: types.ModuleType) -> bool:
    """Whether a module is of this package, of NumPy or of Python."""
    root = module.__name__.split(".")[0]
    path = getattr(module, "__file__", None)
    if path is None:
        return root in sys.stdlib_module_names and root != "__main__"
    return root in sys.stdlib_module_names or root == "numpy" or is_library(path)


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
