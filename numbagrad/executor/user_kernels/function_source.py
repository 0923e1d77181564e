"""The syntax tree of a function, if its source is what was compiled.

Called by what rewrites functions (``compiling/splitting.py``) and by what reads loops of users
(``overwriting.py``).
"""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import types
from collections.abc import Iterator
from typing import NamedTuple

#: How a function is found in a file: its name and its first line, be that of a decorator.
_Position = tuple[str, int]


class _File(NamedTuple):
    """The definitions of a source file."""

    codes: dict[_Position, list[types.CodeType]]
    trees: dict[_Position, ast.FunctionDef]


def definition_of(function: types.FunctionType) -> ast.FunctionDef:
    """The definition of a function, without decorators; the tree belongs to the caller.

    Raises ``ValueError``, which says why, if the source is not there, or was edited since.
    """
    code = function.__code__
    try:
        lines, _ = inspect.findsource(function)
        file = _parsed("".join(lines), code.co_filename)
    except (OSError, TypeError, SyntaxError) as error:
        raise ValueError("its source is not available") from error
    position = (code.co_name, code.co_firstlineno)
    if not any([_is_same(code, each) for each in file.codes.get(position, ())]):
        raise ValueError("its source is not what was compiled")
    if position not in file.trees:
        raise ValueError("it is no function with a body of statements")
    tree = copy.deepcopy(file.trees[position])
    tree.decorator_list = []
    return tree


@functools.lru_cache(maxsize=4)
def _parsed(text: str, name: str) -> _File:
    """A program asks for several functions of one file, which may be long."""
    codes: dict[_Position, list[types.CodeType]] = {}
    for code in _codes_inside(compile(text, name, "exec", dont_inherit=True)):
        codes.setdefault((code.co_name, code.co_firstlineno), []).append(code)
    trees: dict[_Position, ast.FunctionDef] = {}
    for tree in ast.walk(ast.parse(text)):
        if isinstance(tree, ast.FunctionDef):
            first = min([tree.lineno, *[x.lineno for x in tree.decorator_list]])
            trees.setdefault((tree.name, first), tree)
    return _File(codes, trees)


def _is_same(code: types.CodeType, other: types.CodeType) -> bool:
    return (code.co_code, code.co_varnames) == (other.co_code, other.co_varnames)


def _codes_inside(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code objects that are defined in another one, at whatever depth."""
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield each
            yield from _codes_inside(each)


__all__ = ["definition_of"]
