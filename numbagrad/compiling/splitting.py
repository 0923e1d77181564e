"""A function cut at the lines that no program can hold: pieces, and a driver that calls them.

The driver is the function itself, statement by statement, but for runs of statements without such a
line: each is moved to a function of its own, a *piece*, which is given the local names it reads and
returns those that are read later. Compound statements with a line inside stay in the driver, and
what is inside them is cut in the same way. Called by ``broken_function.py``, which compiles pieces.

A statement stays in the driver whenever it is not certain that it does the same in a piece.
"""

from __future__ import annotations
import __future__

import ast
import copy
import dataclasses
import functools
import operator
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..executor.user_kernels.function_source import definition_of
from .hoisting import always_asks, changes_state, is_work, without_breaks
from .local_names import Flow, Uses, is_transparent

#: Names that see the frame they are used in.
_FRAME_NAMES = frozenset(
    ("locals", "vars", "dir", "exec", "eval", "globals", "super", "__class__", "inspect")
)
#: The flags of code that ``from __future__ import`` sets.
_FUTURE = functools.reduce(
    operator.or_, [getattr(__future__, name).compiler_flag for name in __future__.all_feature_names]
)
#: Statements that no piece can hold: they act on the function that they are in, or outlive it.
_BOUND_TO_FRAME = (
    ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal, ast.Delete,
    ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda,
    ast.NamedExpr, ast.AsyncFor, ast.AsyncWith, ast.Match,
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class PieceSource:
    """A run of statements as a function.

    Attributes:
        definition: the function.
        first: its first line.
        last: its last line.
        inputs: the local names that it is given, in order.
        outputs: those that it returns.
    """

    definition: ast.FunctionDef
    first: int
    last: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


class FunctionSource:
    """The source of a function that can be cut.

    Raises ``ValueError`` if there is none, or it cannot be cut; the text says why.
    """

    def __init__(self, function: types.FunctionType):
        self.function = function
        self.tree = definition_of(function)
        nodes = list(ast.walk(self.tree))
        names = {node.id for node in nodes if isinstance(node, ast.Name)}
        used = names | {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        private = [name for name in used if name.startswith("__") and not name.endswith("__")]
        if names & _FRAME_NAMES or "_getframe" in used or private:
            raise ValueError("it looks at its own frame, or uses private names")
        if any([type(node).__name__ == "TryStar" for node in nodes]):
            raise ValueError("it uses except*")
        arguments = {x.arg for x in ast.walk(self.tree.args) if isinstance(x, ast.arg)}
        uses = Uses(self.tree.body)
        #: Names that are not its own although it binds them.
        self.outer = uses.outer
        self.locals = (arguments | uses.stores) - self.outer
        self.captured = uses.captured & self.locals
        #: Local names that functions inside bind, at any time.
        self.rebound = uses.rebound & self.locals
        self.arguments = arguments
        #: Lines that may write state of Python, and those known to ask a tensor for its value.
        statements = [node for node in nodes if isinstance(node, ast.stmt)]
        self.changing_lines = {x.lineno for x in statements if changes_state(x)}
        self.asking_lines = {x.lineno for x in nodes if isinstance(x, ast.Call) and always_asks(x)}


def _compiled(
    source: FunctionSource, definitions: Sequence[ast.FunctionDef], names: Iterable[str] = ()
) -> list[types.CodeType]:
    """The code of functions that are defined where ``source`` is; ``names`` are free as well."""
    code = source.function.__code__
    free = [*code.co_freevars, *names]
    template = ast.parse(f"def factory({', '.join(free)}): pass")
    factory: Any = template.body[0]
    # A function that names itself means the global of that name, not the one defined here.
    own = [each.name for each in definitions if each.name not in free]
    factory.body = [*[ast.Global([name]) for name in own], *definitions]
    ast.copy_location(factory, source.tree)
    ast.fix_missing_locations(template)
    future = code.co_flags & _FUTURE
    module = compile(template, code.co_filename, "exec", future, dont_inherit=True)
    (made,) = [x for x in module.co_consts if isinstance(x, types.CodeType)]
    return [x for x in made.co_consts if isinstance(x, types.CodeType)]


class Split:
    """A function cut at some lines.

    Attributes:
        pieces: the pieces, in order.

    Args:
        lines: lines that pieces must not hold.
        whole: those of them whose statements must not be taken apart either.
        foreign: local names whose values pieces must not be given.
    """

    def __init__(self, source: FunctionSource, lines: set[int], whole: set[int], foreign: set[str]):
        self._source = source
        self._lines = lines
        self._whole = whole
        self._foreign = foreign
        self._temporaries: set[str] = set()
        tree = copy.deepcopy(source.tree)
        tree.body = self._prepared(tree.body)
        self._loads = Uses(tree.body).loads
        self.pieces: list[PieceSource] = []
        tree.body = self._cut(tree.body, frozenset(source.arguments), _Position())
        self._driver = tree

    def made(self, compiled: Callable[[PieceSource, types.FunctionType], Any]) -> Any:
        """The driver as a function; ``compiled`` makes what it calls for a piece."""
        original = self._source.function
        names = [_name_of(k) for k in range(len(self.pieces))]
        definitions = [*[piece.definition for piece in self.pieces], self._driver]
        codes = _compiled(self._source, definitions, names)
        cells = dict(zip(original.__code__.co_freevars, original.__closure__ or (), strict=True))
        for piece, code, name in zip(self.pieces, codes, names, strict=False):
            function = _function(original, code, cells)
            function.__qualname__ = original.__qualname__
            cells[name] = types.CellType(compiled(piece, function))
        driver = _function(original, codes[-1], cells)
        driver.__defaults__ = original.__defaults__
        driver.__kwdefaults__ = original.__kwdefaults__
        driver.__dict__.update(original.__dict__)
        return driver

    # --- preparing --------------------------------------------------------------------------------

    def _prepared(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """The statements, with results and what is asked for its value computed before."""
        made: list[ast.stmt] = []
        for node in statements:
            for field in ("body", "orelse", "finalbody"):
                if getattr(node, field, None) and not isinstance(node, _BOUND_TO_FRAME):
                    setattr(node, field, self._prepared(getattr(node, field)))
            for handler in getattr(node, "handlers", []):
                handler.body = self._prepared(handler.body)
            if self._is_on(self._whole, node, header=True):
                made.append(node)
                continue
            broken = self._is_on(self._lines, node, header=True)
            local = self._source.locals - self._source.captured
            made += without_breaks(node, broken, local, self._temporary)
        return made

    def _temporary(self) -> str:
        name = f"__value_{len(self._temporaries)}__"
        self._source.locals.add(name)
        self._temporaries.add(name)
        return name

    @staticmethod
    def _is_on(lines: set[int], node: ast.stmt, header: bool = False) -> bool:
        """Whether a statement (or only its part before its body) is on one of the lines."""
        first, last = node.lineno, node.end_lineno or node.lineno
        if header and getattr(node, "body", None):
            last = max(first, node.body[0].lineno - 1)  # type: ignore[attr-defined]
        return any([first <= line <= last for line in lines])

    # --- cutting ----------------------------------------------------------------------------------

    def _cut(
        self, statements: list[ast.stmt], before: frozenset[str], position: _Position
    ) -> list[ast.stmt]:
        """The statements of the driver in the place of these."""
        made: list[ast.stmt] = []
        run: list[ast.stmt] = []
        start: frozenset[str] = before
        assigned: frozenset[str] | None = before
        for node in statements:
            if assigned is None:  # never reached
                made += [*self._flushed(run, start, position), node]
                run = []
                continue
            if self._may_move(node, assigned, position, run):
                if not run:
                    start = assigned
                run.append(node)
            else:
                made += self._flushed(run, start, position)
                run = []
                if self._may_move(node, assigned, position, run):
                    start, run = assigned, [node]
                else:
                    self._descend(node, assigned, position)
                    made.append(node)
            assigned = Flow([node], assigned).assigned
        return made + self._flushed(run, start, position)

    def _descend(self, node: ast.stmt, before: frozenset[str], position: _Position) -> None:
        """Cut what is inside a compound statement."""
        span = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        if isinstance(node, ast.If):
            node.body = self._cut(node.body, before, position)
            node.orelse = self._cut(node.orelse, before, position)
        elif isinstance(node, (ast.For, ast.While)):
            inside = position if position.loop else dataclasses.replace(position, loop=span)
            bound = Uses([node.target]).stores if isinstance(node, ast.For) else set()
            node.body = self._cut(node.body, before | bound, inside)
            node.orelse = self._cut(node.orelse, before, position)
        elif isinstance(node, ast.With):
            inside = position if is_transparent(node) else self._guarded(node, position)
            node.body = self._cut(node.body, before | Uses(node.items).stores, inside)
        elif isinstance(node, ast.Try):
            node.body = self._cut(node.body, before, self._guarded(node, position))
            for handler in node.handlers:
                bound = {handler.name} if handler.name else set()
                handler.body = self._cut(handler.body, before | bound, position)

    def _guarded(self, node: ast.stmt, position: _Position) -> _Position:
        """The place inside of a statement that goes on after an exception in its body."""
        last = _end_of(node.body[-1])  # type: ignore[attr-defined]
        later = {name for name in self._loads if self._live(name, last, position)}
        return dataclasses.replace(position, visible=position.visible | later)

    def _live(self, name: str, last: tuple[int, int], position: _Position) -> bool:
        """Whether a name may be read after the place ``last``."""
        if name in self._source.captured or name in self._temporaries:
            return True
        found = self._loads.get(name, ())
        return any([at >= last or (position.loop and at[0] in position.loop) for at in found])

    def _may_move(
        self, node: ast.stmt, before: frozenset[str], position: _Position, run: list[ast.stmt]
    ) -> bool:
        """Whether a piece can hold a statement, behind those of ``run``."""
        hoisted = hasattr(node, "computed_for")
        if (self._is_on(self._lines, node) and not hoisted) or not _is_movable(node):
            return False
        flow, uses = Flow([node], before), Uses([node])
        local = self._source.locals
        if uses.stores & (self._source.outer | self._source.captured):
            return False
        if self._source.rebound & {*uses.stores, *uses.loads}:
            return False
        if (flow.needed & local) - before or set(uses.loads) & self._foreign:
            return False
        if flow.assigned is None:
            return False
        sure, last = before | flow.assigned, _end_of(node)
        if any([self._live(name, last, position) for name in uses.stores - sure]):
            return False
        if position.visible:  # an exception must not undo what was bound before it
            compound = not isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr))
            if (compound or len(uses.stores) > 1) and uses.stores & position.visible:
                return False
            return not Uses(run).stores & position.visible
        return True

    def _flushed(
        self, run: list[ast.stmt], before: frozenset[str], position: _Position
    ) -> list[ast.stmt]:
        """The statements of the driver for a run of them: the call of a piece, if that pays."""
        run = list(run)
        head: list[ast.stmt] = []
        tail: list[ast.stmt] = []
        while run and not is_work(run[0]):
            node = run.pop(0)
            head.append(node)
            before = Flow([node], before).assigned or before
        while run and not is_work(run[-1]):
            tail.insert(0, run.pop())
        if not run:
            return [*head, *tail]
        return [*head, self._piece(run, before, position), *tail]

    def _piece(self, run: list[ast.stmt], before: frozenset[str], position: _Position) -> ast.stmt:
        """Move statements to a piece; returns its call."""
        flow, uses = Flow(run), Uses(run)
        first, last = run[0].lineno, run[-1].end_lineno or run[-1].lineno
        outputs = sorted([x for x in uses.stores if self._live(x, _end_of(run[-1]), position)])
        sure = flow.assigned or frozenset()
        needed = flow.needed | {name for name in outputs if name not in sure}
        inputs = sorted(needed & self._source.locals)
        returned: ast.expr = _names(outputs, ast.Load())
        target: ast.expr = _names(outputs, ast.Store())
        call = ast.Call(
            ast.Name(_name_of(len(self.pieces)), ast.Load()),
            [ast.Name(name, ast.Load()) for name in inputs], [],
        )  # fmt: skip
        statement: ast.stmt = ast.Assign([target], call) if outputs else ast.Expr(call)
        template = ast.parse(f"def {self._source.tree.name}({', '.join(inputs)}): pass")
        definition: Any = template.body[0]
        definition.body = [*run, *([ast.Return(returned)] if outputs else [])]
        for node in (definition, statement):
            _locate(node, run[0])
        _locate(definition.body[-1], run[-1])
        self.pieces.append(PieceSource(definition, first, last, tuple(inputs), tuple(outputs)))
        return statement


@dataclasses.dataclass(frozen=True)
class _Position:
    """Where statements are: the lines of the outermost loop around them, if there is one.

    ``visible`` are names that are read after an exception in the statements.
    """

    loop: range | None = None
    visible: frozenset[str] | set[str] = frozenset()


def _end_of(node: ast.stmt) -> tuple[int, int]:
    """Where a statement ends: what is read from there on is read after it."""
    later = getattr(node, "computed_for", None)  # the statement that it was taken out of
    if later is not None:
        return later.lineno, later.col_offset
    return node.end_lineno or node.lineno, node.end_col_offset or 0


def _is_movable(node: ast.stmt) -> bool:
    """Whether a statement does the same in another function, given the names it reads."""
    for each in ast.walk(node):
        if isinstance(each, _BOUND_TO_FRAME):
            return False
    return not _leaves_loop(node)


def _leaves_loop(node: ast.AST) -> bool:
    """Whether there is a ``break`` or ``continue`` for a loop outside."""
    if isinstance(node, (ast.Break, ast.Continue)):
        return True
    inside = ast.iter_child_nodes(node)
    if isinstance(node, (ast.For, ast.While)):
        inside = iter(node.orelse)
    return any([_leaves_loop(each) for each in inside])


def _names(names: list[str], context: ast.expr_context) -> ast.expr:
    if len(names) == 1:
        return ast.Name(names[0], context)
    return ast.Tuple([ast.Name(name, context) for name in names], context)


def _locate(node: ast.AST, like: ast.stmt) -> None:
    """Give a made statement the lines of another, where it has none of its own."""
    for each in ast.walk(node):
        if "lineno" in each._attributes and not hasattr(each, "lineno"):
            ast.copy_location(each, like)
    ast.copy_location(node, like) if not hasattr(node, "lineno") else None


def _name_of(piece: int) -> str:
    return f"__piece_{piece}__"


def _function(
    original: types.FunctionType, code: types.CodeType, cells: dict[str, Any]
) -> types.FunctionType:
    closure = tuple([cells[name] for name in code.co_freevars])
    made = types.FunctionType(code, original.__globals__, original.__name__, None, closure)
    made.__module__ = original.__module__
    made.__qualname__ = original.__qualname__
    return made


__all__ = ["FunctionSource", "PieceSource", "Split"]
