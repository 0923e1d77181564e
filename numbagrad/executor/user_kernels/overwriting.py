"""Which arrays of a user's loops may lie in one place: read from the source of the function.

``program/in_place.py`` asks ``may_overwrite`` before it lays an output of a function over an input
that nobody reads afterwards. The answer is yes only where every element of the input is surely read
before the function writes the output's element of that place; what is not understood is a no.
"""

from __future__ import annotations

import ast
import functools
import types
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .function_source import definition_of

#: Attributes that tell of an array without reading elements, and functions that do.
_ATTRIBUTES = frozenset(("shape", "size", "ndim", "dtype", "itemsize", "strides"))
_FORM = frozenset(("zeros_like", "empty_like", "ones_like"))

#: Statements that run their parts at another time, or as often as they like.
_ELSEWHERE = (
    ast.FunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp,
)  # fmt: skip


@functools.lru_cache(maxsize=1000)
def may_overwrite(function: Any, source: int, output: int, rank: int) -> bool:
    """Whether two arguments of a function that Numba compiled may share their memory.

    Both are arrays of ``rank`` dimensions and lie alike. The rule: a loop at the top of the
    function, over a range of distinct indices, holds all that is read of one and written of the
    other, at its own index; and in its body, what reads comes before what writes, or is a loop over
    the next dimension in turn, down to single assignments.

    Args:
        function: the dispatcher.
        source: the place of the argument that is read.
        output: the place of the one that is written.
        rank: dimensions of both.
    """
    python = getattr(function, "py_func", None)
    if python is None or function.targetoptions.get("parallel"):
        return False
    names = _names(python)
    try:
        tree = definition_of(python)
    except ValueError:
        return False
    if names is None or max(source, output) >= len(names):
        return False
    return _Pair(python, tree, names[source], names[output], rank).is_ordered()


def _names(function: types.FunctionType) -> tuple[str, ...] | None:
    """The names of the arguments, if they are what they say, and so are names of builtins."""
    code = function.__code__
    if {"range", "len", "np", "numpy"} & {*code.co_varnames, *code.co_freevars}:
        return None
    if any([function.__globals__.get(name) for name in ("range", "len")]):
        return None
    return code.co_varnames[: code.co_argcount]


class _Pair:
    """An input and an output of a function, and where its body uses the two."""

    def __init__(
        self,
        function: types.FunctionType,
        tree: ast.FunctionDef,
        source: str,
        output: str,
        rank: int,
    ):
        self._body, self._rank = tree.body, rank
        self._source, self._output = {source}, {output}
        self._names = {source, output}
        self._form = {
            name for name in ("np", "numpy") if function.__globals__.get(name) is np
        }  # fmt: skip
        nodes = [node for statement in tree.body for node in ast.walk(statement)]
        self._elsewhere = [node for node in nodes if isinstance(node, _ELSEWHERE)]
        self._stored = _stored(tree.body)
        #: Variables that are nothing but the counters of loops.
        counted = [
            node.target.id
            for node in nodes
            if isinstance(node, ast.For) and isinstance(node.target, ast.Name)
            and _range_of(node.iter) is not None
        ]  # fmt: skip
        self._counters = {
            name for name in counted
            if counted.count(name) == self._stored.count(name)
            and name not in function.__code__.co_varnames[: function.__code__.co_argcount]
        }  # fmt: skip

    def is_ordered(self) -> bool:
        """Whether all elements of the input are read before the output has one in their place."""
        if self._names & set(self._stored) or any([self._uses(node) for node in self._elsewhere]):
            return False
        loops = [node for node in self._body if self._uses(node)]
        return len(loops) == 1 and self._is_loop_in_order(loops[0], 0)

    # --- order ------------------------------------------------------------------------------------

    def _is_loop_in_order(self, loop: ast.stmt, depth: int) -> bool:
        """Whether a loop uses elements at its own index alone, the input's before the output's."""
        if not isinstance(loop, ast.For) or loop.orelse or depth == self._rank:
            return False
        index = loop.target
        if not isinstance(index, ast.Name) or index.id not in self._counters:
            return False
        if not _is_distinct(loop.iter) or index.id in _stored(loop.body) or self._uses(loop.iter):
            return False
        for statement in loop.body:
            for use in self._uses(statement):
                indices = self._indices(use)
                at = indices[depth] if len(indices) == self._rank else None
                if not isinstance(at, ast.Name) or at.id != index.id:
                    return False
        return self._are_in_order(loop.body, depth + 1)

    def _are_in_order(self, statements: Sequence[ast.stmt], depth: int) -> bool:
        """Whether statements read before they write."""
        written = False
        for statement in statements:
            reads = self._uses(statement, self._source)
            writes = self._uses(statement, self._output)
            if reads and (written or (writes and not self._is_in_order(statement, depth))):
                return False
            written = written or bool(writes)
        return True

    def _is_in_order(self, statement: ast.stmt, depth: int) -> bool:
        """Whether one statement that reads and writes does so in order."""
        if isinstance(statement, ast.For):
            return self._is_loop_in_order(statement, depth)
        if isinstance(statement, ast.If) and not self._uses(statement.test):
            branches = (statement.body, statement.orelse)
            return all([self._are_in_order(branch, depth) for branch in branches])
        if depth < self._rank or not isinstance(statement, ast.Assign):
            return False
        return len(statement.targets) == 1 and not self._uses(statement.value, self._output)

    # --- uses -------------------------------------------------------------------------------------

    def _uses(self, node: ast.AST, names: set[str] | None = None) -> list[ast.AST]:
        """Where a part of the function uses more of the two, or one of them, than their form."""
        names = self._names if names is None else names
        if isinstance(node, ast.Name):
            return [node] if node.id in names else []
        if self._asks_for_form(node):
            return []
        found: list[ast.AST] = []
        inner: Iterator[ast.AST] = ast.iter_child_nodes(node)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            found = [node] if node.value.id in names else []
            inner = iter((node.slice,))
        return found + [use for each in inner for use in self._uses(each, names)]

    def _asks_for_form(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Attribute):
            return node.attr in _ATTRIBUTES and isinstance(node.value, ast.Name)
        if not isinstance(node, ast.Call) or node.keywords or len(node.args) != 1:
            return False
        called = node.func
        if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
            known = called.value.id in self._form and called.attr in _FORM
        else:
            known = isinstance(called, ast.Name) and called.id == "len"
        return known and isinstance(node.args[0], ast.Name)

    def _indices(self, use: ast.AST) -> list[ast.expr]:
        """The indices of one element, or nothing where a use may be of another kind."""
        if not isinstance(use, ast.Subscript):
            return []
        index = use.slice
        indices = index.elts if isinstance(index, ast.Tuple) else [index]
        whole = all([self._is_integer(each) for each in indices])
        return list(indices) if whole else []

    def _is_integer(self, node: ast.expr) -> bool:
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            return self._is_integer(node.left) and self._is_integer(node.right)
        if isinstance(node, ast.Name):
            return node.id in self._counters
        return _number(node) is not None


def _stored(statements: Sequence[ast.stmt]) -> list[str]:
    """The names that statements bind or delete, as often as they do."""
    return [
        node.id
        for statement in statements
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    ]


def _range_of(node: ast.expr) -> list[ast.expr] | None:
    """The arguments of a call of ``range``, or None for anything else."""
    if not isinstance(node, ast.Call) or node.keywords or not isinstance(node.func, ast.Name):
        return None
    return node.args if node.func.id == "range" and 1 <= len(node.args) <= 3 else None


def _is_distinct(node: ast.expr) -> bool:
    """Whether it is a range of distinct numbers none of which is negative."""
    arguments = _range_of(node)
    if arguments is None:
        return False
    if len(arguments) == 1:
        return True
    start, stop, step = (*[_number(x) for x in arguments], 1)[:3]
    if step is None or step == 0:
        return False
    least = start if step > 0 else None if stop is None else stop + 1
    return least is not None and least >= 0


def _number(node: ast.expr) -> int | None:
    """The whole number that an expression is, or None."""
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if isinstance(value, int) else None


__all__ = ["may_overwrite"]
