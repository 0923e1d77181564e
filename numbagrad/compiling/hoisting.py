"""Statements rewritten so that what they compute stands before what no program can hold.

``return f(x).item()`` becomes ``value = f(x)`` and ``return value.item()``, where nothing that
Python would evaluate first could tell the difference. Called by ``splitting.py``.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Set
from typing import Any

#: Methods and functions that ask a tensor for its value.
_ASKING_METHODS = frozenset(("item", "tolist", "numpy", "__float__", "__int__", "__bool__"))
_ASKING_FUNCTIONS = frozenset(("float", "int", "bool", "print", "str", "repr", "format"))
#: Methods of containers of Python that change them.
_CHANGING_METHODS = frozenset((
    "append", "appendleft", "extend", "insert", "update", "add", "pop", "popleft", "popitem",
    "clear", "setdefault", "remove", "discard",
))  # fmt: skip
#: Attributes that programs set on tensors themselves.
_STATE_OF_TENSORS = frozenset(("grad", "requires_grad"))
_WORK = (ast.Call, ast.BinOp, ast.UnaryOp, ast.Compare, ast.AugAssign, ast.Subscript)


def is_work(node: ast.AST) -> bool:
    """Whether there is anything to compute in a statement or expression."""
    return any([isinstance(each, _WORK) for each in ast.walk(node)])


def always_asks(node: ast.AST) -> bool:
    """Whether a call asks a tensor for its value, whatever it is called with."""
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    if isinstance(function, ast.Attribute):
        return function.attr in ("item", "tolist", "numpy")
    return isinstance(function, ast.Name) and function.id in ("float", "print")


def changes_state(node: ast.AST) -> bool:
    """Whether a statement writes what may outlive the function, as ``self.count += 1``."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        function = node.value.func
        return isinstance(function, ast.Attribute) and function.attr in _CHANGING_METHODS
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AugAssign):
        targets = [node.target]
    return any(
        [
            isinstance(each, ast.Subscript)
            or (isinstance(each, ast.Attribute) and each.attr not in _STATE_OF_TENSORS)
            for target in targets
            for each in ast.walk(target)
            if isinstance(getattr(each, "ctx", None), ast.Store)
        ]
    )


def without_breaks(
    node: ast.stmt, broken: bool, local: Set[str], temporary: Callable[[], str]
) -> list[ast.stmt]:
    """Statements that do the same as one: what it computes for others to look at comes first.

    ``broken`` says that it is one that asks for a value; ``local`` are names that nothing but the
    statement itself can bind; ``temporary`` yields names that are new.
    """
    asked = functools.partial(_asked, local)
    if isinstance(node, ast.Return) and node.value is not None and not broken:
        if is_work(node.value):
            return _hoisted(node, node.value, temporary())
    elif isinstance(node, ast.If) and broken and is_work(node.test):
        operand = asked(node.test)
        if operand is None and not any(map(always_asks, ast.walk(node.test))):
            operand = node.test
        if operand is not None:
            return _hoisted(node, operand, temporary())
    elif broken and isinstance(node, (ast.Return, ast.Expr, ast.Assign, ast.AugAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else []
        simple = not isinstance(node, ast.AugAssign) or isinstance(node.target, ast.Name)
        operand = None if node.value is None else asked(node.value)
        if isinstance(node, ast.Assign) and changes_state(node) and is_work(node.value):
            if not any(map(always_asks, ast.walk(node.value))):
                operand = node.value  # it is evaluated before its targets
        if operand is not None and simple and len(targets) < 2:
            return _hoisted(node, operand, temporary())
    return [node]


def _hoisted(node: ast.stmt, operand: ast.expr, name: str) -> list[ast.stmt]:
    """``name = operand``, and the statement with ``name`` in the place of ``operand``."""
    before = ast.Assign([ast.Name(name, ast.Store())], operand)
    before.computed_for = node  # type: ignore[attr-defined]

    class Replace(ast.NodeTransformer):
        def visit(self, each: ast.AST) -> Any:
            if each is operand:
                return ast.copy_location(ast.Name(name, ast.Load()), operand)
            if isinstance(each, ast.stmt) and each is not node:
                return each
            return self.generic_visit(each)

    after: ast.stmt = Replace().visit(node)
    ast.copy_location(before, operand)
    ast.fix_missing_locations(before)
    return [before, after]


def _asked(local: Set[str], node: ast.expr) -> ast.expr | None:
    """The work in an expression whose value is asked for, if nothing of note is evaluated first."""
    if isinstance(node, ast.Call):
        return _asked_by_call(local, node)
    asks = isinstance(node, ast.JoinedStr)
    if isinstance(node, ast.BinOp):
        operands = [node.left, node.right]
    elif isinstance(node, ast.Compare):
        operands = [node.left, *node.comparators[:1]]
    elif isinstance(node, (ast.Tuple, ast.List)):
        operands = list(node.elts)
    elif isinstance(node, ast.UnaryOp):
        operands = [node.operand]
    elif isinstance(node, ast.JoinedStr):
        operands = [x.value for x in node.values if isinstance(x, ast.FormattedValue)]
    else:
        return None
    return _asked_first(local, operands, asks)


def _asked_by_call(local: Set[str], node: ast.Call) -> ast.expr | None:
    function = node.func
    if isinstance(function, ast.Attribute) and not isinstance(function.value, ast.Name):
        found = _asked(local, function.value)
        if found is None and function.attr in _ASKING_METHODS and is_work(function.value):
            return function.value
        return found
    asks = isinstance(function, ast.Name) and function.id in _ASKING_FUNCTIONS
    return _asked_first(local, list(node.args), asks)


def _asked_first(local: Set[str], operands: list[ast.expr], asks: bool) -> ast.expr | None:
    """The same for what is evaluated first, ``asks`` if the value of each operand is asked for."""
    for each in operands:
        if isinstance(each, ast.Constant) or (isinstance(each, ast.Name) and each.id in local):
            continue
        return _asked(local, each) or (each if asks and is_work(each) else None)
    return None


__all__ = ["is_work", "without_breaks"]
