"""The syntax tree of a function, if its source is what was compiled.

Called by what rewrites functions (``compiling/splitting.py``) and by what reads loops of users
(``overwriting.py``).
"""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Iterator


def definition_of(function: types.FunctionType) -> ast.FunctionDef:
    """The definition of a function, without decorators.

    Raises ``ValueError``, which says why, if the source is not there, or was edited since.
    """
    code = function.__code__
    try:
        lines, _ = inspect.findsource(function)
        text = "".join(lines)
        compiled = compile(text, code.co_filename, "exec", dont_inherit=True)
    except (OSError, TypeError, SyntaxError) as error:
        raise ValueError("its source is not available") from error
    if not any([_is_same(code, each) for each in _codes_like(code, compiled)]):
        raise ValueError("its source is not what was compiled")
    for tree in ast.walk(ast.parse(text)):
        if isinstance(tree, ast.FunctionDef) and tree.name == code.co_name:
            if code.co_firstlineno == min([tree.lineno, *[x.lineno for x in tree.decorator_list]]):
                tree.decorator_list = []
                return tree
    raise ValueError("it is no function with a body of statements")


def _is_same(code: types.CodeType, other: types.CodeType) -> bool:
    return (code.co_code, code.co_varnames) == (other.co_code, other.co_varnames)


def _codes_like(code: types.CodeType, inside: types.CodeType) -> Iterator[types.CodeType]:
    """The code objects that are defined where ``code`` is."""
    for each in inside.co_consts:
        if isinstance(each, types.CodeType):
            if (each.co_name, each.co_firstlineno) == (code.co_name, code.co_firstlineno):
                yield each
            yield from _codes_like(code, each)


__all__ = ["definition_of"]
