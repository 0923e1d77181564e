"""What a call can read: the tensors it may use, and the Python values it may branch on.

A program is valid as long as all of that is what it was while the call was recorded. Found by
walking from the function through closures, globals, arguments and attributes, and from every
function of an installed package that runs in the call; checked before every run by comparing
identities. What cannot be watched refuses the recording if code that ran names it. Called by
``recording.py``; the argument why nothing is left out is in ``docs/design.md``.
"""

from __future__ import annotations

import collections
import functools
import gc
import sys
import types
import weakref
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..executor.program.guards import Entries, Guards, Words
from ..executor.program.numbers import is_given
from ..executor.program.object_words import words_of_class, words_of_function, words_of_object
from ..nn.module_hooks import EVERY_MODULE
from ..ops.composite import Composite
from ..optim.optimizer import Optimizer
from ..random import Generator, default_generator
from ..tensor import Tensor
from .c_functions import is_known, is_known_class
from .code_names import Names, is_of_user, line_with, names_of
from .object_state import (
    MOST_BYTES,
    hidden,
    is_constant,
    is_plain,
    nbytes_of,
    reader_of,
    slot_values,
    slots_of,
)
from .origins import is_standard_library
from .packages import INSTALLED, LIBRARY, NUMPY, USER, origin_of, origin_of_class
from .unasked_numbers import is_harmless_to_numbers, may_read
from .watched import Assigned, Watched, form_of

#: Containers whose items are visited again for another name that leads to them.
_CONTAINERS = (dict, list, tuple, set, frozenset, collections.deque)
#: Those that hold the same for ever; of a subclass, its attributes may change.
_FIXED = (tuple, frozenset)

#: In the place of a name: always read.
ALWAYS = ""


class Refusal(NamedTuple):
    """Something whose state cannot be watched, under the name that leads to it."""

    name: str
    what: str
    #: Whether it matters only where the name is used other than to call it.
    as_value: bool = False


class Surroundings:
    """Everything that a function and its arguments can reach.

    Args:
        roots: what to begin with, under the names that messages have for it.
        arguments: the leaves of the arguments.
        idle: optimizers whose state is not looked at.
        ran: functions of installed packages that calls before were found to run.

    Attributes:
        tensors: the tensors among it, each once.
        watched: the containers of plain values and of references.
        reached: every object that was visited, by its id.
        executed: the code that ran, if a recording reports it.
        found_late: functions of packages that ran, and were not known to before the call.
    """

    def __init__(
        self,
        roots: dict[str, Any],
        arguments: Sequence[Any] = (),
        idle: Collection[Optimizer] = (),
        ran: Iterable[types.FunctionType] = (),
    ):
        self._idle = idle
        self.tensors: list[Tensor] = []
        self.watched: list[Watched] = []
        #: A native check that is True only if everything is what it was.
        self.unchanged: Callable[[], Any] = _unknown
        self._guards: Guards | None = None
        self._rest: list[Watched] = []
        self._dictionaries: dict[int, tuple[dict[Any, Any], Watched]] = {}
        self.reached: dict[int, Any] = {}
        self.executed: set[types.CodeType] = set()
        self.found_late: list[types.FunctionType] = []
        self._names: set[str] = set()
        #: Attributes that no code is known to name: what they are, by their names.
        self._deferred: dict[str, list[tuple[str, Any]]] = {}
        self._refusals: list[Refusal] = []
        #: Whether some code reads attributes by names that nobody knows.
        self._any_name = False
        self._functions: dict[types.CodeType, list[types.FunctionType]] = {}
        self._walked: set[types.CodeType] = set()
        self._module_names: dict[int, tuple[types.ModuleType, set[str]]] = {}
        self._visits: set[tuple[int, str]] = set()
        #: Parameter groups, and lists of them, that lead elsewhere than from their optimizer.
        self._exposed: set[int] = set()
        #: Whether code of users names what reads numbers in C, so that nobody notices.
        self.may_read_numbers = False
        self._arguments = {id(each) for each in arguments}
        self._at_arguments = False
        self._pending: list[tuple[str, Any, str]] = [(k, x, ALWAYS) for k, x in roots.items()]
        if EVERY_MODULE.any:
            self._pending.append(("the hooks of every module", EVERY_MODULE, ALWAYS))
        self._follow("an argument", [x for x in arguments if not isinstance(x, Tensor)])
        self._walk()
        for function in ran:
            self._run(function)
        self._walk()
        #: Ids of the tensors that the function knows, whatever its arguments are.
        self.known = {id(tensor) for tensor in self.tensors}
        self._at_arguments = True
        self._follow("an argument", arguments)
        self._walk()

    @property
    def generators(self) -> list[Generator]:
        """The generators of random numbers among it, the default one included."""
        found = [each for each in self.reached.values() if isinstance(each, Generator)]
        return list({id(each): each for each in (default_generator(), *found)}.values())

    @property
    def optimizers(self) -> list[Optimizer]:
        """The optimizers among it."""
        return [each for each in self.reached.values() if isinstance(each, Optimizer)]

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

    # --- whether it is what it was ----------------------------------------------------------------

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
            if len(now) != len(before) or all([a is b for a, b in zip(now, before, strict=True)]):
                continue
            for place, (old, new) in enumerate(zip(before, now, strict=True)):
                form = form_of(new)
                if old is new or form is None or not form_of(old) or id(new) in self.reached:
                    continue
                watched.forms[place], watched.moves = form, True
                key = now[place - len(dictionary)]
                found.append(Assigned(dictionary, key, old, new, watched, place))
        return found

    def ignore(
        self,
        dictionary: dict[Any, Any],
        key: Any,
        positive: bool,
        read: dict[int, set[Any]],
    ) -> None:
        """Let an option of an optimizer be anything, or anything ``positive``: runs read it anew.

        Not so if code of users reads the option as well, as a number that the program then holds.
        ``read`` says who does for groups that an optimizer made; of one that a user made nothing
        is known where the user's code has it, or asks the optimizer for it.
        """
        found = self._dictionaries.get(id(dictionary))
        if found is None:
            return
        if id(dictionary) in read:
            is_read = key in read[id(dictionary)]
        else:
            is_read = id(dictionary) in self._exposed or any(
                [names_of(code).mentions(way) for code in self.executed for way in _WAYS_TO_GROUPS]
            )
        places = found[1].positive if positive else found[1].ignored
        place = len(dictionary) + list(dictionary).index(key)
        if is_read:
            places.discard(place)
        else:
            places.add(place)

    @property
    def always_refused(self) -> str | None:
        """What nobody can watch, and every call reads; None if there is nothing of the kind."""
        return next((each.what for each in self._refusals if each.name == ALWAYS), None)

    def refused_by(self, code: types.CodeType) -> tuple[str, int] | None:
        """What code names and nobody can watch, and the line that does."""
        names = names_of(code)
        for name, what, as_value in self._refusals:
            if name != ALWAYS and (name in names.values if as_value else names.mentions(name)):
                return what, line_with(code, name)
        if self._any_name and self._refusals:
            return self._refusals[0].what, code.co_firstlineno
        return None

    # --- what runs --------------------------------------------------------------------------------

    def entered(self, frame: types.FrameType) -> None:
        """Note that code runs; what it names of its globals is watched from now on."""
        code = frame.f_code
        self.executed.add(code)
        if code in self._walked:
            return
        found = self._functions.get(code)
        if found is None and (code.co_freevars or code.co_argcount or code.co_kwonlyargcount):
            referrers = gc.get_referrers(code)
            found = [x for x in referrers if isinstance(x, types.FunctionType)]
        before = len(self.tensors)
        if found:
            self.found_late += found
            for function in found:
                self._run(function)
        else:
            self._globals(frame.f_globals, code)
        self._walk()
        if len(self.tensors) > before:
            self._tensors_found_late = True

    _tensors_found_late = False

    @property
    def is_complete(self) -> bool:
        """Whether all tensors were known before the call."""
        return not self._tensors_found_late

    def named(self, name: Any) -> None:
        """Note that code reads an attribute of this name, or of any if it is no text."""
        if not isinstance(name, str):
            if not self._any_name:
                self._any_name = True
                self._add_names([*self._deferred])
                for module, _ in list(self._module_names.values()):
                    if origin_of(module) == USER:
                        self._dictionary(module.__name__, vars(module), USER)
        elif name not in self._names:
            self._add_names([name])
            for module, _ in list(self._module_names.values()):
                self._module(module, (name,))
        self._walk()

    def _run(self, function: types.FunctionType) -> None:
        """Watch what a function of a package reads when it runs."""
        self._parts_of_function(function.__qualname__, function)
        self._globals(function.__globals__, function.__code__)

    # --- the walk ---------------------------------------------------------------------------------

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
            if isinstance(value, _CONTAINERS):
                self._visit_again(path, value, name)
            return
        if value is sys.modules:
            self._refuse(name, "sys.modules, of which a program cannot know who is asked for")
            return
        if hidden(value) and not _is_harmless(value):
            self._refuse(name, f"{path}, a {type(value).__name__}, whose state cannot be watched")
            return
        self.reached[id(value)] = value
        if isinstance(value, (dict, list)) and not path.endswith("param_groups"):
            self._exposed.add(id(value))
        self.may_read_numbers |= not is_harmless_to_numbers(value)
        if isinstance(value, Tensor):
            self.tensors.append(value)
            self._tensor(path, value)
        elif isinstance(value, types.FunctionType):
            self._function(path, value)
        elif isinstance(value, types.MethodType):
            self._follow(path, [value.__func__], name)
            self._follow(f"{path}.self", [value.__self__], name)
        elif isinstance(value, types.CellType):
            self._watch(path, functools.partial(_contents, value), name, value)
        elif isinstance(value, type):
            self._class(path, value, name)
        elif isinstance(value, types.ModuleType):
            self._module_as_value(path, value)
        elif isinstance(value, Generator):  # recorded draws read its state anew in every run
            pass
        elif is_constant(value):
            self._function_in_c(path, value, name)
        elif isinstance(value, Composite):  # what it keeps follows from the definition
            self._follow(path, [value.definition], name)
        elif not self._array(path, value, name):
            self._object(path, value, name)

    def _visit_again(self, path: str, value: Any, name: str) -> None:
        """Go through the items of a container that another name leads to as well."""
        if isinstance(value, (dict, list)) and not path.endswith("param_groups"):
            self._exposed.add(id(value))
        if (id(value), name) in self._visits:
            return
        self._visits.add((id(value), name))
        items = value.values() if isinstance(value, dict) else value
        for each in items:
            if isinstance(each, _CONTAINERS) or (not is_plain(each) and hidden(each)):
                self._pending.append((path, each, name))

    def _watch(
        self, path: str, read: Callable[[], Any], name: str = ALWAYS, container: Any = None
    ) -> None:
        watched = Watched(read, path, container)
        self.watched.append(watched)
        self._follow(path, watched.values, name)

    def _array(self, path: str, value: Any, name: str) -> bool:
        """Watch the bytes of memory, or refuse it; False for any other object."""
        if isinstance(value, np.ndarray):
            self.may_read_numbers = True
            if value.dtype.hasobject or value.nbytes > MOST_BYTES:
                self._too_large(path, value, name)
            else:
                self.watched.append(
                    Watched(lambda: [(value.shape, value.dtype.str), value.tobytes()], path)
                )
            return True
        if nbytes_of(value) > MOST_BYTES:
            self._too_large(path, value, name)
            return True
        self.may_read_numbers |= nbytes_of(value) > 0
        return False

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
            self.watched.append(Watched(functools.partial(_values, extras), path, extras))
        self._follow(path, extras_of(value))
        if origin_of_class(type(value)) == USER:
            self._follow(type(value).__name__, [type(value)])

    def _dictionary(
        self, path: str, value: Any, origin: str, name: str = ALWAYS, unread: str | None = None
    ) -> None:
        """Watch what a dictionary holds, but for the entry that nobody reads.

        ``origin`` is that of the object of which these are the attributes: of an installed package
        those are followed that code names. ``name`` leads to a dictionary that is no object's.
        """
        watched = Watched(functools.partial(_values, value), path, value)
        self.watched.append(watched)
        self._dictionaries[id(value)] = value, watched
        for place, (key, each) in enumerate(value.items()):
            if key == unread and unread is not None:
                watched.ignored.add(len(value) + place)
                continue
            if not is_plain(key):
                self._follow(path, [key], name)
            if is_plain(each):
                continue
            found = f"{path}.{key}" if isinstance(key, str) else path
            if origin == "items":
                self._pending.append((found, each, name))
            elif origin == LIBRARY or not isinstance(key, str):
                self._pending.append((found, each, ALWAYS))
            else:
                self._attribute(found, key, each, origin)

    def _attribute(self, path: str, name: str, value: Any, origin: str) -> None:
        """Follow an attribute: at once if a user's object has it, else where code names it."""
        if origin == USER or name in self._names or self._any_name:
            self._pending.append((path, value, name))
        else:
            self._deferred.setdefault(name, []).append((path, value))

    def _add_names(self, names: Iterable[str]) -> None:
        """Follow the attributes that these names lead to."""
        for name in names:
            self._names.add(name)
            for path, value in self._deferred.pop(name, ()):
                self._pending.append((path, value, name))

    # --- functions and what they name -------------------------------------------------------------

    def _function(self, path: str, value: types.FunctionType) -> None:
        code = value.__code__
        self._functions.setdefault(code, []).append(value)
        self._parts_of_function(path, value)
        if is_of_user(code) or code in self._walked:
            self._globals(value.__globals__, code)

    def _parts_of_function(self, path: str, value: types.FunctionType) -> None:
        """Watch what a function holds beside its globals."""
        if ("parts", id(value)) in self._visits:  # type: ignore[comparison-overlap]
            return
        self._visits.add(("parts", id(value)))  # type: ignore[arg-type]
        self.reached[id(value)] = value
        code = value.__code__
        if origin_of(sys.modules.get(value.__module__)) != LIBRARY:
            read = functools.partial(_parts_of, value)
            words = words_of_function(value)
            head = Words(value, lambda: words_of_function(value) or _NEVER) if words else None
            self.watched.append(Watched(read, path, head))
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
        if vars(value):
            self._dictionary(path, vars(value), USER)

    def _globals(self, scope: dict[str, Any], code: types.CodeType) -> None:
        """The globals that code names, and what it names of modules among them."""
        key = code, id(scope)
        if key in self._visits:  # type: ignore[comparison-overlap]
            return
        self._visits.add(key)  # type: ignore[arg-type]
        names = names_of(code)
        self._walked.update(_nested(code))
        self.may_read_numbers |= may_read(names)
        self._add_names([*names.loads, *names.texts, *names.bound])
        found = [name for name in names.loads if name in scope or name in names.stores]
        builtins = scope.get("__builtins__")
        builtins = vars(builtins) if isinstance(builtins, types.ModuleType) else builtins
        shadows = [x for x in names.globals if x not in scope and x not in names.stores]
        if found or shadows:
            entries = Entries(scope, [*found, *shadows])
            self.watched.append(Watched(entries.read, "the globals", entries))
        if shadows and isinstance(builtins, dict):
            entries = Entries(builtins, shadows)
            self.watched.append(Watched(entries.read, "the builtins", entries))
        for name in found:
            value = scope.get(name)
            self.may_read_numbers |= not is_harmless_to_numbers(value)
            if isinstance(value, types.ModuleType):
                self._module(value, _named(names, value))
            else:
                self._pending.append((name, value, name))
        self._imports(names)
        if self._user_modules:
            for module in self._user_modules:
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

    #: Modules that were found as values, which any code may read.
    _user_modules: tuple[types.ModuleType, ...] = ()

    def _module_as_value(self, path: str, module: types.ModuleType) -> None:
        """A module that is not found under its name: any code may read it."""
        if origin_of(module) == USER:
            self._dictionary(path, vars(module), USER)
            return
        self._user_modules = (*self._user_modules, module)
        self._module(module, tuple(self._names & vars(module).keys()))

    def _module(self, module: types.ModuleType, names: Iterable[str]) -> None:
        """Watch what code names of a module; what it finds in the user's is followed."""
        known = self._module_names.setdefault(id(module), (module, set()))[1]
        new = [name for name in names if name not in known]
        if not new:
            return
        known.update(new)
        scope, origin = vars(module), origin_of(module)
        entries = Entries(scope, new)
        self.watched.append(Watched(entries.read, module.__name__, entries))
        for name in new:
            value = scope.get(name)
            if isinstance(value, types.ModuleType):
                self._module(value, [x for x in self._names if x in vars(value)])
            elif origin not in (LIBRARY, NUMPY):
                self._pending.append((f"{module.__name__}.{name}", value, name))
            elif isinstance(value, types.BuiltinFunctionType):
                self._function_in_c(f"{module.__name__}.{name}", value, name)

    def _function_in_c(self, path: str, value: Any, name: str) -> None:
        """What a function in C belongs to; one that is given to others to call must be known."""
        if not isinstance(value, (types.BuiltinFunctionType, types.MethodWrapperType)):
            return
        self._follow(path, [getattr(value, "__self__", None)], name)
        if isinstance(value, types.BuiltinFunctionType) and not is_known(value):
            self._refuse(name, f"{path}, called where nobody sees it", as_value=name != ALWAYS)

    # --- classes and objects ----------------------------------------------------------------------

    def _class(self, path: str, kind: type, name: str) -> None:
        if type(kind) is not type:
            self._follow(type(kind).__name__, [type(kind)], name)
        origins = {each: origin_of_class(each) for each in kind.__mro__}
        if not is_known_class(kind) and kind.__flags__ & _FROM_C == 0:
            self._refuse(name, f"{path}, a class in C of which nothing is known")
            return
        for each, origin in origins.items():
            scope = vars(each)
            if origin == USER:
                (entries,) = gc.get_referents(scope)  # the dictionary behind the read-only view
                self.watched.append(Watched(functools.partial(_values, scope), path, entries))
                self.watched.append(Watched(lambda each=each: [each.__bases__], path, _BASES(each)))
            if origin in (USER, INSTALLED):
                for key, entry in list(scope.items()):
                    for part in _parts_of_entry(entry):
                        self._attribute(f"{path}.{key}", key, part, origin)
        if {LIBRARY, INSTALLED} & set(origins.values()):
            words = words_of_class(kind)
            head = Words(kind, lambda: words_of_class(kind) or _NEVER) if words else None
            self.watched.append(Watched(functools.partial(_attributes_of, kind), path, head))

    def _object(self, path: str, value: Any, name: str) -> None:
        kind = type(value)
        compiled = getattr(kind, "compiled_function", None)
        if compiled is not None:  # what it keeps for itself changes, and matters to nobody
            self._follow(path, [compiled.fget(value)], name)
            self.watched.append(Watched(lambda: _values(value.attributes), path))
            return
        if isinstance(value, dict):
            self._dictionary(path, value, "items", name)
        elif isinstance(value, list):
            self._watch(path, functools.partial(list, value), name, value)
        elif isinstance(value, (tuple, frozenset)):
            self._follow(path, value, name)
        read = reader_of(value)
        if read is not None and not isinstance(value, _FIXED):
            self._watch(path, read, name, value if isinstance(value, set) else None)
        if kind in _CONTAINERS or kind.__module__ == "builtins":
            return
        self._state(path, value, kind)

    def _state(self, path: str, value: Any, kind: type) -> None:
        """Watch the class, the attributes and the slots of an object."""
        origin = origin_of_class(kind)
        self._follow(kind.__name__, [kind])
        attributes = getattr(value, "__dict__", None)
        words = words_of_object(value)
        head = Words(value, lambda: words_of_object(value) or _NEVER) if words else None
        self.watched.append(Watched(functools.partial(_head_of, value), path, head))
        if isinstance(attributes, dict):
            self.reached[id(attributes)] = attributes
            idle = isinstance(value, Optimizer) and value in self._idle
            self._dictionary(path, attributes, origin, unread="state" if idle else None)
        slots = slots_of(kind)
        if slots:
            read = functools.partial(slot_values, value, slots)
            self.watched.append(Watched(read, path))
            for slot, each in zip(slots, read(), strict=True):
                if not is_plain(each):
                    self._attribute(f"{path}.{slot.__name__}", slot.__name__, each, origin)


#: How code gets at the options of an optimizer.
_WAYS_TO_GROUPS = frozenset((
    "param_groups", "state_dict", "defaults", "__dict__", "__getstate__", "vars", "deepcopy",
))  # fmt: skip

#: A word that is never what it has to be: Python compares.
_NEVER = [(id(None), 0, 1)]

_FROM_C = 1 << 9  # of a class that was made while the program runs


def _is_harmless(value: Any) -> bool:
    """Whether what an object of C holds follows from how it was made, though it does not show it.

    What Numba compiled keeps the globals it was compiled with.
    """
    module: str = type(value).__module__
    return module.split(".")[0] == "numba" or isinstance(value, weakref.ProxyType)


def _named(names: Names, module: types.ModuleType) -> list[str]:
    """What code names of a module, or adds to it; by a text only of a user's, through getattr."""
    scope = vars(module)
    found = [name for name in names.loads if name in scope or name in names.stores]
    if origin_of(module) == USER:
        found += [text for text in names.texts if text.isidentifier() and text not in found]
    return found


def _nested(code: types.CodeType) -> list[types.CodeType]:
    """Code, and that of all functions inside of it."""
    inner = [x for each in code.co_consts if isinstance(each, types.CodeType) for x in _nested(each)]
    return [code, *inner]


def _parts_of(function: types.FunctionType) -> list[Any]:
    return [function.__code__, function.__defaults__, function.__kwdefaults__]


def _parts_of_entry(entry: Any) -> list[Any]:
    """A value in a class, or the functions that a descriptor in it calls."""
    inner = getattr(entry, "__func__", entry)
    found = [inner, *[getattr(entry, name, None) for name in ("fget", "fset", "fdel")]]
    return [each for each in found if not is_plain(each)]


def _attributes_of(kind: type) -> list[Any]:
    """All attributes that instances of a class find in it and in its bases."""
    return [x for each in kind.__mro__ for x in (each, *vars(each).keys(), *vars(each).values())]


def _head_of(value: Any) -> list[Any]:
    return [type(value), getattr(value, "__dict__", None)]


def _BASES(kind: type) -> Words | None:
    words = words_of_class(kind)
    return Words(kind, lambda: words_of_class(kind) or _NEVER) if words else None


def _unknown() -> None:
    """In the place of a native check while there is none."""


def _contents(cell: types.CellType) -> list[Any]:
    try:
        return [cell.cell_contents]
    except ValueError:  # not assigned yet
        return []


def _values(scope: Any) -> list[Any]:
    return [*scope.keys(), *scope.values()]


#: What the dictionary of a tensor holds that is no state of its own, or that recordings look at.
_OWN = frozenset(("_grad", "_memory", "_view_origin", "_unrecorded_at", "_made_by"))


def extras_of(tensor: Tensor) -> list[Any]:
    """The hooks of a tensor and what users set on it: names, each followed by its value."""
    found = vars(tensor)
    if not found:
        return []
    return [part for key, value in found.items() if key not in _OWN for part in (key, value)]


__all__ = ["ALWAYS", "Surroundings", "extras_of", "is_standard_library"]
