"""The walk through all that a call can read: functions, globals, objects, classes, containers.

What it finds is watched (``watched.py``); what cannot be watched is kept as a refusal, under the
name that leads to it. ``reachable_state.py`` begins the walk, and goes on when functions are
entered.
"""

from __future__ import annotations

import abc
import collections
import functools
import gc
import sys
import types
import weakref
from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple

import numpy as np

from ..native.object_offsets import (
    has_attributes,
    words_of_class,
    words_of_function,
    words_of_kind,
    words_of_object,
    words_of_slots,
    words_without_dictionary,
)
from ..ops.operators.composite import Composite
from ..ops.operators.pointwise_operator import PointwiseOperator
from ..optim.optimizer import Optimizer
from ..optim.parameter_group import ParameterGroup
from ..program.compiled_guards import Entries
from ..random import Generator
from ..tensor import Tensor
from .c_functions import SETTINGS_OF_NUMPY, is_known, is_known_class
from .classes import (
    answers_itself,
    dict_of_module,
    is_a,
    module_of,
    name_of_module,
    scope_of,
    without_asking,
)
from .code_names import Names, is_of_user, names_of
from .guarded_parts import (
    CAN_CHANGE,
    attributes_of_class,
    bases_of_class,
    contents_of_array,
    contents_of_cell,
    entries_of,
    extras_of,
    head_of_object,
    methods_of_tensor,
    parts_of_entry,
    parts_of_function,
    seen_natively,
    words_for,
)
from .object_state import (
    MOST_BYTES,
    decimal_context,
    hidden,
    is_constant,
    is_decimal,
    is_lock,
    is_of_python,
    is_plain,
    names_in,
    nbytes_of,
    reader_of,
    references_of,
    slot_values,
    slots_of,
)
from .packages import INSTALLED, LIBRARY, NUMPY, USER, origin_of, origin_of_class
from .unasked_numbers import is_harmless_to_numbers, may_read
from .watched import Watched

#: Containers whose items are visited again for another name that leads to them.
_CONTAINERS = (dict, list, tuple, set, frozenset, collections.deque)
#: Classes whose instances never change; of a subclass, the attributes may.
_FIXED = (tuple, frozenset)

#: In the place of a name: always read.
ALWAYS = ""


class Refusal(NamedTuple):
    """Something whose state cannot be watched, under the name that leads to it."""

    name: str
    what: str
    #: Whether it matters only where the name is used other than to call it.
    as_value: bool = False


class Walk:
    """Everything that was reached so far.

    Attributes:
        tensors: the tensors among it, each once.
        watched: the containers of plain values and of references.
        reached: every object that was visited, by its id.
    """

    def __init__(self, arguments: Iterable[Any], idle: Collection[Optimizer]):
        self._idle = idle
        self.tensors: list[Tensor] = []
        self.watched: list[Watched] = []
        self.reached: dict[int, Any] = {}
        #: Whether code of users names what reads numbers in C, so that nobody notices.
        self.may_read_numbers = False
        self._dictionaries: dict[int, tuple[dict[Any, Any], Watched]] = {}
        self._names: set[str] = set()
        #: Attributes that no code is known to name: what they are, by their names.
        self._deferred: dict[str, list[tuple[str, Any]]] = {}
        self._refusals: list[Refusal] = []
        #: Whether some code reads attributes by names that nobody knows.
        self._any_name = False
        self._functions: dict[types.CodeType, list[types.FunctionType]] = {}
        self._walked: set[types.CodeType] = set()
        self._module_names: dict[int, tuple[types.ModuleType, set[str]]] = {}
        #: Modules of packages that were found as values, which any code may read.
        self._modules_as_values: tuple[types.ModuleType, ...] = ()
        self._visits: set[tuple[Any, Any]] = set()
        self._asks_registers = self._asks_decimals = False
        #: Lists and dictionaries that are found elsewhere than in an optimizer as its groups.
        self._exposed: set[int] = set()
        self._arguments = {id(each) for each in arguments}
        self._at_arguments = False
        self._pending: list[tuple[str, Any, str]] = []

    def named(self, name: Any) -> None:
        """Note that code reads an attribute of this name, or of any if it is no text."""
        if not is_a(name, str):
            if not self._any_name:
                self._any_name = True
                self._add_names([*self._deferred])
                for module, _ in list(self._module_names.values()):
                    if origin_of(module) == USER:
                        self._dictionary(name_of_module(module), dict_of_module(module), USER)
        elif name not in self._names:
            self._add_names([name])
            for module, _ in list(self._module_names.values()):
                if origin_of(module) == USER or name in dict_of_module(module):
                    self._module(module, (name,))
        self._walk()

    def _run(self, function: types.FunctionType) -> None:
        """Watch what a function of a package reads when it runs."""
        self._parts_of_function(function.__qualname__, function)
        self._globals(function.__globals__, function.__code__)

    def _walk(self) -> None:
        while self._pending:
            self._visit(*self._pending.pop())

    def _follow(self, path: str, values: Iterable[Any], name: str = ALWAYS) -> None:
        self._pending += [(path, value, name) for value in values if not is_plain(value)]

    def _refuse(self, name: str, what: str, as_value: bool = False) -> None:
        self._refusals.append(Refusal(name, what, as_value))

    def _visit(self, path: str, value: Any, name: str) -> None:
        """Watch a value that was found under a name, and go on to what it holds."""
        if is_plain(value):
            return
        if id(value) in self.reached:
            if is_a(value, _CONTAINERS):
                self._visit_again(path, value, name)
            return
        if is_decimal(value):
            if not self._asks_decimals:
                self._asks_decimals = True
                self.watched.append(Watched(decimal_context, "the decimal context"))
            return
        if value is sys.modules:
            self._refuse(name, "sys.modules, of which a program cannot know who is asked for")
            return
        if hidden(value) and not _is_harmless(value):
            self._refuse(name, f"{path}, a {type(value).__name__}, whose state cannot be watched")
            return
        self.reached[id(value)] = value
        if is_a(value, (dict, list)) and not path.endswith("param_groups"):
            self._exposed.add(id(value))
        self.may_read_numbers |= not is_harmless_to_numbers(value)
        if is_a(value, Tensor):
            self.tensors.append(value)
            self._tensor(path, value)
        elif is_a(value, types.FunctionType):
            self._function(path, value)
        elif is_a(value, types.MethodType):
            self._follow(path, [value.__func__], name)
            self._follow(f"{path}.self", [value.__self__], name)
        elif is_a(value, types.CellType):
            self._watch(path, functools.partial(contents_of_cell, value), name, value)
        elif is_a(value, type):
            self._class(path, value, name)
        elif is_a(value, types.ModuleType):
            self._module_as_value(path, value)
        elif is_a(value, Generator):  # captured draws read its state anew in every run
            pass
        elif is_a(value, weakref.ReferenceType):
            self._weak_reference(path, value, name)
        elif is_constant(value):
            self._function_in_c(path, value, name)
            self._follow(path, references_of(value), name)
            kind = type(value)  # of a constant of NumPy the dictionary is a cache
            if is_of_python(kind) and origin_of_class(kind) != NUMPY:
                self._state(path, value, kind)
        elif is_a(value, (Composite, PointwiseOperator)):  # what it keeps follows from these
            self._follow(path, [value.definition], name)
        elif not self._array(path, value, name):
            self._object(path, value, name)

    def _visit_again(self, path: str, value: Any, name: str) -> None:
        """Go through the items of a container that another name leads to as well."""
        if is_a(value, (dict, list)) and not path.endswith("param_groups"):
            self._exposed.add(id(value))
        if (id(value), name) in self._visits:
            return
        self._visits.add((id(value), name))
        items = value.values() if is_a(value, dict) else value
        for each in items:
            if is_a(each, _CONTAINERS) or (not is_plain(each) and hidden(each)):
                self._pending.append((path, each, name))

    def _watch(
        self, path: str, read: Callable[[], Any], name: str = ALWAYS, container: Any = None
    ) -> None:
        watched = Watched(read, path, container)
        self.watched.append(watched)
        self._follow(path, watched.values, name)

    def _array(self, path: str, value: Any, name: str) -> bool:
        """Watch the bytes of memory, or refuse it; False for any other object."""
        if is_a(value, np.ndarray):
            self.may_read_numbers = True
            if value.dtype.hasobject or value.nbytes > MOST_BYTES:
                self._too_large(path, value, name)
            else:
                self._watch(path, functools.partial(contents_of_array, value), name)
            if type(value) is not np.ndarray:
                self._state(path, value, type(value))
            return True
        if nbytes_of(value) > MOST_BYTES:
            self._too_large(path, value, name)
            return True
        self.may_read_numbers |= nbytes_of(value) > 0
        return False

    def _weak_reference(self, path: str, value: weakref.ref[Any], name: str) -> None:
        """Watch what a reference leads to, which a program must not keep alive for others."""
        found = value()
        if name == ALWAYS or found is None or is_a(found, (type, types.ModuleType)):
            self._watch(path, lambda: [value()], name)
        else:
            self._refuse(name, f"{path}, a weak reference, whose object a program would keep alive")

    def _too_large(self, path: str, value: Any, name: str) -> None:
        self._refuse(
            name,
            f"{path}, a {type(value).__name__} that is too large to be watched, or holds objects; "
            "keep it in a tensor",
        )

    def _tensor(self, path: str, value: Tensor) -> None:
        """Watch the hooks of a tensor, and what users set on it; those of arguments are a key."""
        if not (self._at_arguments and id(value) in self._arguments):
            extras = vars(value)
            self.watched.append(Watched(functools.partial(entries_of, extras), path, extras))
            self.watched.append(
                Watched(lambda: [type(value)], path, words_for(value, words_of_kind))
            )
        self._follow(path, extras_of(value))
        if origin_of_class(type(value)) == USER:
            self._follow(type(value).__name__, [type(value)])
        if value._producer is not None:
            self._refuse("metadata", f"the metadata of the node of {path}, which cannot be watched")

    def _dictionary(
        self, path: str, value: Any, origin: str, name: str = ALWAYS, unread: str | None = None
    ) -> None:
        """Watch what a dictionary holds, but for the entry that nobody reads.

        ``origin`` is that of the object of which these are the attributes: of an installed package
        those are followed that code names. ``name`` leads to a dictionary that is no object's.
        """
        watched = Watched(functools.partial(entries_of, value), path, value)
        self.watched.append(watched)
        self._dictionaries[id(value)] = value, watched
        for position, (key, each) in enumerate(value.items()):
            if unread is not None and key == unread:
                watched.ignored.add(len(value) + position)
                continue
            if not is_plain(key):
                self._follow(path, [key], name)
            if is_plain(each):
                continue
            found = f"{path}.{key}" if is_a(key, str) else path
            if origin == "items":
                self._pending.append((found, each, name))
            elif not is_a(key, str):
                self._pending.append((found, each, ALWAYS))
            else:
                self._attribute(found, key, each, origin)

    def _attribute(self, path: str, name: str, value: Any, origin: str) -> None:
        """Follow an attribute: where code names it, if an installed package's object has it."""
        if origin in (LIBRARY, NUMPY):  # whose own code is not walked
            self._pending.append((path, value, ALWAYS))
        elif origin == INSTALLED and is_lock(value):  # it keeps what a package remembers in order
            pass
        elif origin == USER or name in self._names or self._any_name:
            self._pending.append((path, value, name))
        else:
            self._deferred.setdefault(name, []).append((path, value))

    def _add_names(self, names: Iterable[str]) -> None:
        """Follow the attributes that these names lead to."""
        for name in names:
            self._names.add(name)
            for path, value in self._deferred.pop(name, ()):
                self._pending.append((path, value, name))

    def _methods_of_tensors(self) -> None:
        """Watch that nobody puts functions of their own in the place of a Tensor's methods."""
        operators = [name for name in vars(Tensor) if name[:2] == name[-2:] == "__"]
        names = sorted({*operators, *self._names} & vars(Tensor).keys())
        read = functools.partial(methods_of_tensor, names)
        self.watched.append(Watched(read, "Tensor", words_for(Tensor, words_of_class)))

    # --- functions and what they name -------------------------------------------------------------

    def _function(self, path: str, value: types.FunctionType) -> None:
        code = value.__code__
        self._functions.setdefault(code, []).append(value)
        self._parts_of_function(path, value)
        if is_of_user(code) or code in self._walked:
            self._globals(value.__globals__, code)

    def _parts_of_function(self, path: str, value: types.FunctionType) -> None:
        """Watch what a function holds beside its globals."""
        if ("parts", id(value)) in self._visits:
            return
        self._visits.add(("parts", id(value)))
        self.reached[id(value)] = value
        code = value.__code__
        if origin_of(sys.modules.get(module_of(value))) != LIBRARY:
            read = functools.partial(parts_of_function, value)
            self.watched.append(Watched(read, path, words_for(value, words_of_function)))
        for cell, name in zip(value.__closure__ or (), code.co_freevars, strict=False):
            self._pending.append((name, cell, name))
        arguments = code.co_varnames[: code.co_argcount]
        defaults = value.__defaults__ or ()
        for default, name in zip(reversed(defaults), reversed(arguments), strict=False):
            self._pending.append((f"{path}({name})", default, name))
        for name, default in (value.__kwdefaults__ or {}).items():
            self._pending.append((f"{path}({name})", default, name))
        if value.__kwdefaults__:
            self._follow(path, [value.__kwdefaults__])
        if has_attributes(value):
            self._dictionary(path, vars(value), USER)

    def _globals(self, scope: dict[str, Any], code: types.CodeType) -> None:
        """The globals that code names, and what it names of modules among them."""
        key = code, id(scope)
        if key in self._visits:
            return
        self._visits.add(key)
        names = names_of(code)
        self._walked.update(_nested(code))
        self.may_read_numbers |= may_read(names)
        parts = [part for text in names.texts for part in text.split(".")]
        self._add_names([*names.loads, *parts, *names.bound])
        if not _BY_ANY_NAME.isdisjoint(names.values):
            self.named(None)
        found = [name for name in names.globals if name in scope or name in names.stores]
        builtins = scope.get("__builtins__")
        builtins = vars(builtins) if is_a(builtins, types.ModuleType) else builtins
        shadows = [x for x in names.globals if x not in scope and x not in names.stores]
        if found or shadows:
            entries = Entries(scope, [*found, *shadows])
            self.watched.append(Watched(entries.read, "the globals", entries))
        if shadows and is_a(builtins, dict):
            entries = Entries(builtins, shadows)
            self.watched.append(Watched(entries.read, "the builtins", entries))
        for name in found:
            value = scope.get(name)
            self.may_read_numbers |= not is_harmless_to_numbers(value)
            if is_a(value, types.ModuleType):
                self._module(value, _named(names, value))
            else:
                self._pending.append((name, value, name))
        self._imports(names)
        if self._modules_as_values:
            for module in self._modules_as_values:
                self._module(module, _named(names, module))

    def _imports(self, names: Names) -> None:
        """The modules that code imports when it runs."""
        for name in names.imports:
            module = sys.modules.get(name)
            self.may_read_numbers |= not is_harmless_to_numbers(module)
            if module is None:
                self._refuse(name, f"an import of {name!r} inside a function; import it before")
                continue
            entries = Entries(sys.modules, [name])
            self.watched.append(Watched(entries.read, f"the module {name}", entries))
            self._module(module, _named(names, module))

    def _module_as_value(self, path: str, module: types.ModuleType) -> None:
        """A module that is not found under its name: any code may read it."""
        if origin_of(module) == USER:
            self._dictionary(path, dict_of_module(module), USER)
            return
        self._modules_as_values = (*self._modules_as_values, module)
        self._module(module, tuple(self._names & dict_of_module(module).keys()))

    def _module(self, module: types.ModuleType, names: Iterable[str]) -> None:
        """Watch what code names of a module; what it finds in the user's is followed."""
        if id(module) not in self._module_names:
            self._class_of_module(module)
        known = self._module_names.setdefault(id(module), (module, set()))[1]
        new = [name for name in names if name not in known]
        if not new:
            return
        known.update(new)
        scope, origin, own_name = dict_of_module(module), origin_of(module), name_of_module(module)
        entries = Entries(scope, new)
        self.watched.append(Watched(entries.read, own_name, entries))
        for name in new:
            value = scope.get(name)
            if is_a(value, types.ModuleType):
                self._module(value, [x for x in self._names if x in dict_of_module(value)])
            elif origin not in (LIBRARY, NUMPY):
                self._pending.append((f"{own_name}.{name}", value, name))
            elif name in SETTINGS_OF_NUMPY or (
                own_name.startswith("numpy.random") and not _draws_globally(value)
            ):
                self._refuse(name, f"{own_name}.{name}, whose state cannot be watched")

    def _class_of_module(self, module: types.ModuleType) -> None:
        """Properties of a module whose class is one of its own, and what they read."""
        kind = type(module)
        if kind is not types.ModuleType and origin_of_class(kind) in (USER, INSTALLED):
            self._module_names[id(module)] = (module, set())
            self._state(name_of_module(module), module, kind)

    def _function_in_c(self, path: str, value: Any, name: str) -> None:
        """The owner of a function in C; one that is given to others to call must be known."""
        self._add_names(names_in(value))
        if not is_a(value, (types.BuiltinFunctionType, types.MethodWrapperType)):
            return
        owner = getattr(value, "__self__", None)
        if not is_a(owner, types.ModuleType):
            self._follow(path, [owner], name)  # an iterator, say, is refused there
        if is_a(value, types.BuiltinFunctionType) and not is_known(value):
            self._refuse(name, f"{path}, called where nobody sees it", as_value=name != ALWAYS)

    # --- classes and objects ----------------------------------------------------------------------

    def _class(self, path: str, kind: type, name: str) -> None:
        if type(kind) is not type:
            self._follow(type(kind).__name__, [type(kind)], name)
        if is_a(kind, abc.ABCMeta) and not self._asks_registers:
            self._asks_registers = True  # of all such classes: who is registered with them
            self.watched.append(Watched(lambda: [abc.get_cache_token()], f"{path}.register"))
        if not kind.__flags__ & CAN_CHANGE:
            if not is_known_class(kind):
                self._refuse(name, f"{path}, a class in C of which nothing is known")
            return
        changing = [each for each in kind.__mro__ if each.__flags__ & CAN_CHANGE]
        origins = [origin_of_class(each) for each in changing]
        for each, origin in zip(changing, origins, strict=True):
            scope = scope_of(each)
            if origin == USER:
                (entries,) = gc.get_referents(scope)  # the dictionary behind the read-only view
                self.watched.append(Watched(functools.partial(entries_of, scope), path, entries))
                bases = functools.partial(bases_of_class, each)
                self.watched.append(Watched(bases, path, words_for(each, words_of_class)))
            if origin in (USER, INSTALLED):
                for key, entry in list(scope.items()):
                    for part in parts_of_entry(entry):
                        self._attribute(f"{path}.{key}", key, part, origin)
        if {LIBRARY, INSTALLED} & {*origins}:
            read = functools.partial(attributes_of_class, kind)
            self.watched.append(Watched(read, path, words_for(kind, words_of_class)))

    def _object(self, path: str, value: Any, name: str) -> None:
        kind = type(value)
        compiled = without_asking(kind, "compiled_function")
        if compiled is not None:  # what it keeps for itself changes, and matters to nobody
            self._follow(path, [compiled.fget(value)], name)
            self.watched.append(Watched(lambda: entries_of(value.attributes), path))
            return
        if is_a(value, dict):
            self._dictionary(path, value, "items", name)
        elif is_a(value, list):
            self._watch(path, functools.partial(list, value), name, value)
        elif is_a(value, (tuple, frozenset)):
            self._follow(path, value, name)
        read = reader_of(value)
        if read is not None and not is_a(value, _FIXED):
            self._watch(path, read, name, seen_natively(value))
        if any([kind is each for each in _CONTAINERS]) or module_of(kind) == "builtins":
            return
        if is_a(value, ParameterGroup):  # of another class while calls are captured
            return
        if not kind.__flags__ & CAN_CHANGE and words_without_dictionary(value):
            self.watched.append(
                Watched(
                    lambda: [words_without_dictionary(value) is None], path,
                    words_for(value, words_without_dictionary),
                )
            )  # fmt: skip
        else:
            self._state(path, value, kind)

    def _state(self, path: str, value: Any, kind: type) -> None:
        """Watch the class, the attributes and the slots of an object."""
        origin = origin_of_class(kind)
        if module_of(kind).startswith("numba.") and not _is_harmless(value):
            origin = NUMPY  # nothing walks its methods, which read what no code names
        self._follow(kind.__name__, [kind])
        attributes = without_asking(value, "__dict__")
        read = functools.partial(head_of_object, value)
        self.watched.append(Watched(read, path, words_for(value, words_of_object)))
        if is_a(attributes, dict):
            self.reached[id(attributes)] = attributes
            idle = is_a(value, Optimizer) and value in self._idle
            self._dictionary(path, attributes, origin, unread="state" if idle else None)
        elif kind.__dictoffset__ and answers_itself(kind):
            self._refuse(ALWAYS, f"{path}, whose class hides the dictionary of its objects")
        slots = slots_of(kind)
        if slots:
            read = functools.partial(slot_values, value, slots)
            found = functools.partial(words_of_slots, slots=slots)
            self.watched.append(Watched(read, path, words_for(value, found)))
            for slot, each in zip(slots, read(), strict=True):
                if not is_plain(each):
                    self._attribute(f"{path}.{slot.__name__}", slot.__name__, each, origin)


#: Functions that read attributes by name, where their call, and the name, is not seen.
_BY_ANY_NAME = frozenset((
    "getattr", "setattr", "delattr", "hasattr", "vars", "attrgetter", "methodcaller", "__dict__",
    "__getattribute__",
))  # fmt: skip


def _is_harmless(value: Any) -> bool:
    """Whether what an object of C holds follows from how it was made, though it does not show it.

    What Numba compiled keeps the globals it was compiled with; its containers and the instances
    of its classes do have state, in memory of their own.
    """
    module = module_of(type(value))
    compiled = any([f"{module}.".startswith(f"{each}.") for each in _COMPILED_BY_NUMBA])
    return compiled or module == "numba" or is_a(value, weakref.ProxyType)


#: Modules of the classes of compiled functions, and of types, which are what they are.
_COMPILED_BY_NUMBA = (
    "numba.core", "numba.np", "numba.stencils", "numba.cuda.dispatcher", "numba.cuda.compiler",
    "numba.cuda.simulator.kernel",
)  # fmt: skip


def _draws_globally(value: Any) -> bool:
    """Whether a function of NumPy draws from the one generator whose state captures compare."""
    return is_a(getattr(value, "__self__", None), np.random.RandomState)


def _named(names: Names, module: types.ModuleType) -> list[str]:
    """Names that code reads of a module, or adds to it; through getattr only of a user's."""
    scope = dict_of_module(module)
    if "__getattr__" in scope:  # computes those that are not there
        found = [*names.loads]
    else:
        found = [name for name in names.loads if name in scope or name in names.stores]
    if origin_of(module) == USER:
        found += [text for text in names.texts if text.isidentifier() and text not in found]
    return found


def _nested(code: types.CodeType) -> list[types.CodeType]:
    """Code, and that of all functions inside of it."""
    inner = [each for each in code.co_consts if is_a(each, types.CodeType)]
    return [code, *[x for each in inner for x in _nested(each)]]


__all__ = ["ALWAYS", "Refusal", "Walk"]
