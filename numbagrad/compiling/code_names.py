"""Names in code: the globals, attributes, modules and texts that a function may read by name.

``reachable_state.py`` watches what the code that runs can name, and ``call_events.py`` asks which
name a call of ``getattr`` was given. Both need instructions alone, not the source.
"""

from __future__ import annotations

import dis
import functools
import types
from typing import Any, NamedTuple

from .origins import is_installed_file


class Names(NamedTuple):
    """The names in code, that of the functions inside it included.

    Attributes:
        loads: globals and attributes that are read or written.
        globals: those of them that are globals or builtins.
        stores: those of them that are written or deleted.
        values: those of them that are read other than to be called at once.
        imports: modules that are imported.
        texts: string constants, those inside of constant tuples included.
        bound: local names, arguments and free variables.
    """

    loads: tuple[str, ...]
    globals: frozenset[str]
    stores: frozenset[str]
    values: frozenset[str]
    imports: frozenset[str]
    texts: frozenset[str]
    bound: frozenset[str]

    def mentions(self, name: str) -> bool:
        """Whether the code may read something under this name."""
        return name in self.loads or name in self.texts or name in self.bound


_STORES = frozenset(("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_NAME", "STORE_ATTR", "DELETE_ATTR"))
_GLOBAL_LOADS = frozenset(("LOAD_GLOBAL", "LOAD_NAME"))
_METHOD_LOADS = frozenset(("LOAD_METHOD", "LOAD_SUPER_METHOD"))
_LOADS = _GLOBAL_LOADS | _METHOD_LOADS | {"LOAD_ATTR", "LOAD_SUPER_ATTR", "IMPORT_FROM"}
#: Constants and variables that can be read again in a frame.
_SIMPLE_LOADS = frozenset((
    "LOAD_CONST", "LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW", "LOAD_DEREF",
    "LOAD_CLASSDEREF", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_SMALL_INT",
))  # fmt: skip
#: Instructions that prepare the variables of a function, before its first line.
_OF_FRAME = frozenset(("MAKE_CELL", "COPY_FREE_VARS"))
#: Instructions between an argument and the call that it is for.
_BETWEEN = frozenset(("PRECALL", "CACHE", "EXTENDED_ARG", "NOP", "PUSH_NULL", "RESUME"))


@functools.cache
def names_of(code: types.CodeType) -> Names:
    """The names in some code."""
    found: dict[str, set[str]] = {
        kind: set() for kind in ("load", "global", "store", "value", "import")
    }
    for instruction in dis.get_instructions(code):
        name = instruction.opname
        if name in _LOADS:
            found["load"].add(instruction.argval)
            if name in _GLOBAL_LOADS:
                found["global"].add(instruction.argval)
            if name not in _METHOD_LOADS and "NULL" not in instruction.argrepr:
                found["value"].add(instruction.argval)
        elif name in _STORES:
            found["store"].add(instruction.argval)
            if not name.endswith("ATTR"):
                found["global"].add(instruction.argval)
        elif name == "IMPORT_NAME":
            found["import"].add(instruction.argval)
    texts = set(_texts_in(code.co_consts))
    bound = {*code.co_varnames, *code.co_freevars, *code.co_cellvars}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner = names_of(constant)
            found["load"].update(inner.loads)
            found["global"].update(inner.globals)
            found["store"].update(inner.stores)
            found["value"].update(inner.values)
            found["import"].update(inner.imports)
            texts |= inner.texts
            bound |= inner.bound
    return Names(
        loads=tuple(sorted(found["load"] | found["store"])),
        globals=frozenset(found["global"]),
        stores=frozenset(found["store"]),
        values=frozenset(found["value"]),
        imports=frozenset(found["import"]),
        texts=frozenset(texts),
        bound=frozenset(bound),
    )


def _texts_in(value: Any) -> list[str]:
    """The texts among constants, at any depth of tuples and sets."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, (tuple, frozenset)):
        return [text for each in value for text in _texts_in(each)]
    return []


def line_with(code: types.CodeType, name: str) -> int:
    """The first line of code that mentions a name; that of its definition if none is found."""
    line = code.co_firstlineno
    for instruction in dis.get_instructions(code):
        # Python 3.13 says in starts_line whether there is a line, and in line_number which.
        line = getattr(instruction, "line_number", instruction.starts_line) or line
        if instruction.argval == name and instruction.opname not in _OF_FRAME:
            return int(line)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType) and names_of(constant).mentions(name):
            return line_with(constant, name)
    return code.co_firstlineno


#: In the place of a name that the instructions do not tell.
UNKNOWN = object()


def name_argument(frame: types.FrameType) -> Any:
    """The name that the call under way in a frame gives to ``getattr`` or its kin.

    ``UNKNOWN`` unless it is a constant or a variable; ``getattr(x, name, default)`` is understood
    with a simple default.
    """
    loads = _loads_before(frame.f_code, frame.f_lasti)
    if loads is None:
        return UNKNOWN
    name, argument = loads[0]
    if name == "LOAD_CONST":
        return argument if isinstance(argument, str) else UNKNOWN
    scope: Any = frame.f_locals
    if name in _GLOBAL_LOADS and argument not in scope:
        scope = frame.f_globals if argument in frame.f_globals else frame.f_builtins
    found = scope.get(argument, UNKNOWN)
    return found if isinstance(found, str) else UNKNOWN


@functools.cache
def _loads_before(code: types.CodeType, offset: int) -> list[tuple[str, Any]] | None:
    """The name argument, and what follows it, of the call at an offset if they are simple loads."""
    before = [x for x in dis.get_instructions(code) if x.offset <= offset]
    if not before:
        return None
    call = before.pop()
    while before and call.opname in _BETWEEN:
        call = before.pop()
    if call.opname not in ("CALL", "CALL_FUNCTION", "PRECALL", "CALL_METHOD"):
        return None
    wanted = (call.arg or 0) - 1  # without the object
    loads: list[tuple[str, Any]] = []
    while before and len(loads) < wanted:
        instruction = before.pop()
        if instruction.opname in _BETWEEN:
            continue
        if instruction.opname in ("LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW"):
            first, second = instruction.argval
            loads = [("LOAD_FAST", second), *loads]
            if len(loads) < wanted:
                loads = [("LOAD_FAST", first), *loads]
            continue
        if instruction.opname not in _SIMPLE_LOADS:
            return None
        loads = [(instruction.opname, instruction.argval), *loads]
    return loads if len(loads) == wanted and wanted >= 1 else None


def is_of_user(code: types.CodeType) -> bool:
    """Whether code is neither this package's, nor Python's, nor of an installed package."""
    return not is_installed_file(code.co_filename)


__all__ = ["UNKNOWN", "Names", "is_of_user", "line_with", "name_argument", "names_of"]
