"""The stubs of namespaces: which names a public module exports, and where each is defined.

Used by ``write_stubs.py``. Most names of a namespace are defined in rooms below it and gathered by
star imports, or imported when they are asked for, which type checkers do not see. A stub imports
each name from the module that defines it, declares what exists at run time alone, and lists names
of torch that the library lacks as classes that cannot be made.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import pathlib
import re
import sys
import types
from collections.abc import Callable
from typing import Any

import numbagrad
from numbagrad.absent import _Absent

ROOT = pathlib.Path(numbagrad.__file__).parents[1]
#: Namespaces whose names a type checker cannot find in their source, as they are imported by stars,
#: or have no ``__all__``.
_GATHERED = (
    "numbagrad", "numbagrad.autograd", "numbagrad.fft", "numbagrad.nn", "numbagrad.nn.functional",
    "numbagrad.nn.modules", "numbagrad.nn.parallel", "numbagrad.nn.utils", "numbagrad.optim",
    "numbagrad.profiler", "numbagrad.utils", "numbagrad.utils.benchmark", "numbagrad.utils.data",
)  # fmt: skip
#: Modules that help to make a namespace: what they define is no part of it.
_TOOLS = {"numbagrad.lazy", "numbagrad.absent", "numbagrad.ops.arguments.check"}
_FOREIGN = {"typing", "collections.abc", "__future__", "abc", "functools", "dataclasses", "enum"}


@functools.cache
def _file(module: str) -> pathlib.Path:
    path = ROOT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def stub_path(module: str) -> pathlib.Path:
    return _file(module).with_suffix(".pyi")


@functools.cache
def _statements(module: str) -> list[ast.stmt]:
    """The statements of a module, those within ``if`` among them."""
    statements: list[ast.stmt] = []
    for statement in ast.parse(_file(module).read_text()).body:
        statements += statement.body if isinstance(statement, ast.If) else [statement]
    return statements


def _absolute(module: str, statement: ast.ImportFrom) -> str:
    if not statement.level:
        return statement.module or ""
    parts = module.split(".")
    if _file(module).name == "__init__.py":
        parts.append("")
    above = ".".join(parts[: len(parts) - statement.level])
    return f"{above}.{statement.module}" if statement.module else above


@functools.cache
def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "numbagrad" and _file(module).exists()


@functools.cache
def _starred(module: str) -> frozenset[str]:
    """The names that a star imports."""
    found = importlib.import_module(module)
    return frozenset(getattr(found, "__all__", [n for n in vars(found) if not n.startswith("_")]))


@functools.cache
def _home(module: str, name: str) -> tuple[str, str, ast.stmt | None] | None:
    """``(module, name, statement)`` where a name that ``module`` shows is defined.

    The statement is None where the name is that of a module.
    """
    for statement in reversed(_statements(module)):
        if isinstance(statement, ast.ClassDef | ast.FunctionDef) and statement.name == name:
            return module, name, statement
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if any(isinstance(t, ast.Name) and t.id == name for t in targets):
                return module, name, statement
        if not isinstance(statement, ast.ImportFrom):
            continue
        source = _absolute(module, statement)
        if not _is_ours(source):
            continue
        for alias in statement.names:
            if (alias.asname or alias.name) == name:
                if _is_ours(f"{source}.{alias.name}"):
                    return f"{source}.{alias.name}", alias.name, None
                return _home(source, alias.name)
            if alias.name == "*" and name in _starred(source) and (found := _home(source, name)):
                return found
    return None


def _plain(statement: ast.stmt | None) -> bool:
    """Whether a type checker reads the type of a name from its definition."""
    if isinstance(statement, ast.ClassDef):
        return True
    if isinstance(statement, ast.AnnAssign):
        return True
    return isinstance(statement, ast.FunctionDef) and all(
        ast.unparse(decorator) in ("contextmanager", "overload", "functools.cache")
        for decorator in statement.decorator_list
    )


def _gets_out(value: Any, statement: ast.stmt | None) -> bool:
    """Whether a public function has an ``out`` that its definition leaves to the table of these."""
    return (
        isinstance(statement, ast.FunctionDef)
        and "out" in getattr(value, "__signature__", inspect.Signature()).parameters
        and "out" not in [argument.arg for argument in statement.args.kwonlyargs]
    )


def _import(home: str, original: str, name: str) -> str:
    return f"from {home} import {original} as {name}"


def _class(name: str, base: type, returned: str) -> str:
    """The declaration of a class of which a type checker knows the base alone."""
    private = "" if base is numbagrad.Tensor else "_"
    bases = "" if base is object else f"({private}{base.__name__})"
    initializer = f"def __init__(self, *arguments: Any, **keywords: Any) -> {returned}: ..."
    return f"class {name}{bases}:\n    {initializer}"


def _source(namespace: str, name: str, value: Any) -> tuple[str, str, ast.stmt | None] | None:
    """``_home`` of a name: as its namespace imports it, or as the value itself says."""
    if found := _home(namespace, name):
        return found
    function = inspect.unwrap(value) if inspect.isfunction(value) else value
    module = getattr(function, "__module__", None) or ""
    if inspect.isfunction(function):
        path = pathlib.Path(function.__code__.co_filename)
        if path.is_relative_to(ROOT / "numbagrad"):
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    return _home(module, getattr(function, "__name__", name)) if _is_ours(module) else None


def _line(
    namespace: str, name: str, value: Any, definition: Callable[[str, Any, bool], str]
) -> str | None:
    """The line that exports a name, or None if the name is no part of the namespace."""
    if isinstance(value, types.ModuleType):
        home, _, original = value.__name__.rpartition(".")
        return _import(home, original, name) if home.startswith("numbagrad") else None
    if isinstance(value, _Absent):
        return _class(name, object, "NoReturn")
    found = _source(namespace, name, value)
    module = getattr(value, "__module__", None) or ""
    if found and found[0] in _TOOLS or module in _FOREIGN or module in _TOOLS:
        return None
    if found and _plain(found[2]) and found[0] != namespace and not _gets_out(value, found[2]):
        if found[1] == name:
            return _import(found[0], name, name)
        return f"{name} = _{name}"
    if inspect.isfunction(value):
        return definition(name, value, False)
    if isinstance(value, type):  # one that was made by a call
        base = next((c for c in value.__mro__[1:] if _is_ours(c.__module__)), object)
        if name.endswith("Tensor"):  # torch.FloatTensor and its kin answer for tensors
            base = numbagrad.Tensor
        return _class(name, base, "None")
    return f"{name}: {_type(value)}"


def _type(value: Any) -> str:
    """The text of the type of a value that no module declares."""
    if value is None:
        return "None"
    kind = type(value)
    if kind.__module__ == "builtins" and kind in (bool, int, float, str):
        return f"builtins.{kind.__name__}"
    if kind is dict and value:  # a table, whose entries are of one kind
        key, entry = next(iter(value.items()))
        return f"builtins.dict[{_type(key)}, {_type(entry)}]"
    if kind.__name__ == "dtype":
        return "DType"
    if kind.__module__.startswith("numbagrad.") and _home(kind.__module__, kind.__name__):
        return f"_{kind.__name__}"
    return "Generator" if isinstance(inspect.unwrap(value), types.FunctionType) else "Any"


def _assigned(statement: ast.stmt) -> set[str]:
    """The names that a statement of a module gives a value."""
    if isinstance(statement, ast.ClassDef | ast.FunctionDef):
        return {statement.name}
    if isinstance(statement, ast.AnnAssign):
        return {ast.unparse(statement.target)}
    if not isinstance(statement, ast.Assign):
        return set()
    return {
        node.id for t in statement.targets for node in ast.walk(t) if isinstance(node, ast.Name)
    }


def _names_bound(line: str) -> set[str]:
    """The names to which a line of a stub gives a value, by an import too."""
    found = set()
    for statement in ast.parse(line).body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in statement.names}
        found |= _assigned(statement)
    return found


def _own_names(namespace: str) -> set[str]:
    """The public names that a module defines itself, if it is more than a gathering of names."""
    if namespace in _GATHERED:
        return set()
    names = set().union(*map(_assigned, _statements(namespace)))
    return {name for name in names if not name.startswith("_")}


class _Bodiless(ast.NodeTransformer):
    """Functions without what they do, for stubs."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.body = [ast.Expr(ast.Constant(...))]
        node.args.defaults = [ast.Constant(...) for _ in node.args.defaults]
        node.args.kw_defaults = [d and ast.Constant(...) for d in node.args.kw_defaults]
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        self.generic_visit(node)
        node.body = [each for each in node.body if not _is_text(each)] or [
            ast.Expr(ast.Constant(...))
        ]
        return node


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _own_part(namespace: str, known: set[str]) -> list[str]:
    """What a module that defines names says of them: its imports and definitions.

    What it imports in order to export it has a line of its own, and ``known`` names are there.
    """
    exported = {*_names(namespace), "*", *known}
    tree = _Bodiless().visit(ast.parse(_file(namespace).read_text()))
    kept = []
    for statement in tree.body:
        if isinstance(statement, ast.Import):
            kept.append(ast.unparse(statement))
        elif isinstance(statement, ast.ImportFrom):
            names = [a for a in statement.names if (a.asname or a.name) not in exported]
            if statement.module != "__future__" and names:
                kept.append(ast.unparse(ast.ImportFrom(statement.module, names, statement.level)))
        elif (made := _assigned(statement)) and not made & {"__getattr__", "__dir__", "__all__"}:
            kept.append(ast.unparse(statement))
    return kept


def _is_found(module: types.ModuleType, name: str) -> bool:
    """Whether a name is one that a module imports when it is asked for it."""
    if name.startswith("_") or _home(module.__name__, name) is not None:
        return False
    try:
        value = getattr(module, name)
    except ImportError:  # a module for a package that is not installed
        return False
    defined = getattr(value, "__module__", None) or ""
    return isinstance(value, _Absent) or defined.startswith("numbagrad")


def _names(namespace: str) -> list[str]:
    module = importlib.import_module(namespace)
    listed = getattr(module, "__all__", None)
    if listed is not None:  # without what the namespace imports for itself
        return sorted({*listed, *filter(functools.partial(_is_found, module), dir(module))})
    return sorted(name for name in dir(module) if not name.startswith("_"))


@functools.cache
def _paths() -> set[str]:
    """torch's paths, as modules of this library."""
    sys.path.insert(0, str(ROOT / "tests"))
    from torch_paths import PATHS

    return {path.replace("torch", "numbagrad", 1) for path in PATHS} | {"numbagrad.nn"}


@functools.cache
def namespaces() -> tuple[str, ...]:
    """The modules that have stubs: those above, and torch's whose names come by ``__getattr__``."""
    answering = {
        path for path in _paths()
        if not any(part.startswith("_") for part in path.split("."))
        and _is_ours(path) and any("__getattr__" in _assigned(s) for s in _statements(path))
    }  # fmt: skip
    return tuple(sorted({*_GATHERED, *answering}))


def _is_shown(namespace: str, name: str, value: Any) -> bool:
    """Whether a module that is an attribute of a namespace is one of its names.

    Python sets every module that was imported on its package, internal ones too.
    """
    if not isinstance(value, types.ModuleType) or value.__name__ != f"{namespace}.{name}":
        return True
    return (
        value.__name__ in _paths()
        or _home(namespace, name) is not None
        or value.__name__ in ("numbagrad.executor", "numbagrad.functions", "numbagrad.switches")
    )


def _lines(
    namespace: str, own: set[str], definition: Callable[[str, Any, bool], str]
) -> tuple[list[str], list[str]]:
    """The lines that import names of a namespace, and those that declare the others."""
    module = importlib.import_module(namespace)
    imports, declared = [], []
    for name in _names(namespace):
        value = getattr(module, name)
        if name in own or not _is_shown(namespace, name, value):
            continue
        line = _line(namespace, name, value, definition)
        if line is None:
            continue
        (imports if line.startswith("from ") else declared).append(line)
        if line == f"{name} = _{name}":  # only ``x as x`` exports
            found = _source(namespace, name, value)
            assert found is not None
            imports.append(_import(found[0], found[1], f"_{name}"))
        named = value.__mro__ if isinstance(value, type) else [type(value)]
        imports += [  # under names that are not exported
            _import(kind.__module__, kind.__name__, f"_{kind.__name__}")
            for kind in named
            if re.search(rf"^{name}: _{kind.__name__}$|\(_{kind.__name__}\):", line)
        ]
    return imports, declared


def namespace_stub(
    namespace: str, heading: list[str], definition: Callable[[str, Any, bool], str]
) -> str:
    """The text of the stub of a namespace."""
    own = _own_names(namespace)
    imports, declared = _lines(namespace, own, definition)
    part: list[str] = []
    if own:
        part = _own_part(namespace, {name for line in heading for name in _names_bound(line)})
        made = {name for line in part for name in _names_bound(line)}
        # The source has been checked, with comments where it departs from the classes above.
        ignored = '# mypy: disable-error-code="assignment,override"'
        heading = [ignored, *[line for line in heading if not made & _names_bound(line)]]
    if namespace == "numbagrad":
        declared.append("__version__: builtins.str")
        heading = [
            line for line in heading if not line.endswith(("import Generator", "import Tensor"))
        ]
    imports += [line for line in part if line.startswith(("from ", "import "))]
    declared += [line for line in part if not line.startswith(("from ", "import "))]
    return "\n".join([*heading, *sorted(set(imports)), "", *declared]) + "\n"
