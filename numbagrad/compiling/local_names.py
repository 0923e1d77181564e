"""Local names in statements of a function: which are read, bound, and surely bound.

``splitting.py`` decides with this which statements may move into a function of their own, what that
is given, and what it gives back. Whatever is not certain counts against it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

#: Contexts that never swallow an exception, by the last name of what is called.
TRANSPARENT_CONTEXTS = frozenset(
    ("no_grad", "enable_grad", "set_grad_enabled", "inference_mode", "detect_anomaly")
)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Uses(ast.NodeVisitor):
    """The names that nodes of one scope read and bind.

    Attributes:
        loads: each name read, with the places (line and column) where it is.
        stores: the names bound or deleted.
        captured: the names that functions inside read.
        rebound: the names that functions inside bind outside of themselves.
        outer: the names that are declared as not local.
    """

    def __init__(self, nodes: Iterable[ast.AST] = ()):
        self.loads: dict[str, list[tuple[int, int]]] = {}
        self.stores: set[str] = set()
        self.captured: set[str] = set()
        self.rebound: set[str] = set()
        self.outer: set[str] = set()
        for node in nodes:
            self.visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        """A name, read or bound; what is deleted has to be bound before."""
        if not isinstance(node.ctx, ast.Store):
            self.loads.setdefault(node.id, []).append((node.lineno, node.col_offset))
        if not isinstance(node.ctx, ast.Load):
            self.stores.add(node.id)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """``name: type``, which binds nothing without a value."""
        if node.value is not None or not isinstance(node.target, ast.Name):
            self.generic_visit(node)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        """Names of the function outside that this one binds."""
        self.outer.update(node.names)

    def visit_Global(self, node: ast.Global) -> None:
        """Names of the module that this function binds."""
        self.outer.update(node.names)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """``name += value`` reads the name too."""
        if isinstance(node.target, ast.Name):
            position = node.target.lineno, node.target.col_offset
            self.loads.setdefault(node.target.id, []).append(position)
        self.generic_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        """``except Error as name``."""
        if node.name:
            self.stores.add(node.name)
        self.generic_visit(node)

    def visit_alias(self, node: ast.alias) -> None:
        """``import name``."""
        self.stores.add(node.asname or node.name.split(".")[0])

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        """``case pattern as name``."""
        if node.name:
            self.stores.add(node.name)
        self.generic_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        """``case [*name]``."""
        if node.name:
            self.stores.add(node.name)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        """``case {**name}``."""
        if node.rest:
            self.stores.add(node.rest)
        self.generic_visit(node)

    def generic_visit(self, node: ast.AST) -> None:
        """Anything else; scopes inside have names of their own."""
        if isinstance(node, _COMPREHENSIONS):
            inner = Uses(ast.iter_child_nodes(node))
            self._merge(inner, inner.stores)
            self.visit(node.generators[0].iter)
        elif isinstance(node, _SCOPES):
            if not isinstance(node, ast.Lambda):
                self.stores.add(node.name)
            bound: set[str] = set()
            if not isinstance(node, ast.ClassDef):
                bound = {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
            inner = Uses(ast.iter_child_nodes(node))
            self._merge(inner, bound)
            self.captured |= set(inner.loads)
        else:
            super().generic_visit(node)

    def _merge(self, inner: Uses, bound: set[str]) -> None:
        for name, positions in inner.loads.items():
            if name not in bound:
                self.loads.setdefault(name, []).extend(positions)
        self.captured |= inner.captured - bound
        self.rebound |= (inner.rebound | inner.outer) - bound


def is_transparent(node: ast.With) -> bool:
    """Whether no exception inside of a ``with`` block is swallowed by it."""
    for item in node.items:
        called = item.context_expr.func if isinstance(item.context_expr, ast.Call) else None
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", None)
        if name not in TRANSPARENT_CONTEXTS:
            return False
    return True


class Flow:
    """Statements followed in order, from names that are surely bound.

    Attributes:
        assigned: the names surely bound at the end; None if the end is never reached.
        needed: names that were read where they may not be bound by these statements.
    """

    def __init__(self, statements: Iterable[ast.stmt], assigned: Iterable[str] = ()):
        self.assigned: frozenset[str] | None = frozenset(assigned)
        self.needed: set[str] = set()
        for statement in statements:
            if self.assigned is None:
                return
            self._follow(statement, self.assigned)

    def _follow(self, node: ast.stmt, before: frozenset[str]) -> None:
        if isinstance(node, ast.If):
            self._read([node.test], before)
            self.assigned = _both(
                self._branch(node.body, before), self._branch(node.orelse, before)
            )
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            self._read([node.iter], before)
            self._branch(node.body, before | Uses([node.target]).stores)
            self._branch(node.orelse, before)
        elif isinstance(node, ast.While):
            self._read([node.test], before)
            self._branch(node.body, before)
            self._branch(node.orelse, before)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            uses = self._read(node.items, before)
            after = self._branch(node.body, before | uses.stores)
            if isinstance(node, ast.With) and is_transparent(node):
                self.assigned = after
        elif isinstance(node, ast.Try):
            self._follow_try(node, before)
        elif isinstance(node, ast.Match):
            self._read([node.subject], before)
            for case in node.cases:
                bound = before | Uses([case.pattern]).stores
                self._read([case.guard] if case.guard else [], bound)
                self._branch(case.body, bound)
        else:
            uses = self._read([node], before)
            self.assigned = before | uses.stores
            if isinstance(node, ast.Delete):
                self.assigned = before - uses.stores
            elif isinstance(node, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
                self.assigned = None

    def _follow_try(self, node: ast.Try, before: frozenset[str]) -> None:
        after = self._branch(node.body, before)
        if after is not None:
            after = self._branch(node.orelse, after)
        for handler in node.handlers:
            self._read([handler.type] if handler.type else [], before)
            after = _both(after, self._branch(handler.body, before | {handler.name or ""}))
        self._branch(node.finalbody, before)
        self.assigned = after

    def _read(self, nodes: Iterable[ast.AST], before: frozenset[str]) -> Uses:
        uses = Uses(nodes)
        self.needed |= set(uses.loads) - before
        return uses

    def _branch(
        self, statements: Iterable[ast.stmt], before: frozenset[str]
    ) -> frozenset[str] | None:
        flow = Flow(statements, before)
        self.needed |= flow.needed
        return flow.assigned


def _both(a: frozenset[str] | None, b: frozenset[str] | None) -> frozenset[str] | None:
    """The names that are bound after one of two ways was taken."""
    if a is None or b is None:
        return b if a is None else a
    return a & b


__all__ = ["Flow", "Uses", "is_transparent"]
