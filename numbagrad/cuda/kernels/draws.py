"""Numbers drawn by rejection: the functions of ``distributions/sampling.py``, a thread an element.

Their text is compiled as it is, but for the stream of numbers: ``draws.uniform()`` is a function
here, of a counter that each element has for itself. Called by ``cuda/philox.py``.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from ..driver.source import Source
from .random import PHILOX
from .text import indented, loaded, stored

#: The functions of the stream: ``draws`` has the seed, the counter of the call, the element, and
#: how many numbers the element was given. Words of Philox that ``kernels/random.py`` draws have
#: zeros in the place of the last two, and no other call has this counter.
_STREAM = """
def uniform(draws):
    draws[3] += 1
    w0, w1, w2, w3 = philox(draws[1], draws[2] << 20 | draws[3], draws[0])
    return float64((w0 << 21) | (w1 >> 11)) * float64(1.1102230246251565e-16)


def normal(draws):
    u = uniform(draws)
    v = uniform(draws)
    return math.sqrt(math.log(1 - u) * -2) * math.cos(v * 6.283185307179586)

"""


class _Functions(ast.NodeTransformer):
    """Plain functions: no annotations, and methods of ``draws`` as functions of it."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """A definition without annotations and docstring."""
        for argument in node.args.args:
            argument.annotation = None
        node.returns = None
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:]
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """``draws.uniform()`` becomes ``uniform(draws)``."""
        if isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") == "draws":
            return ast.Call(ast.Name(node.func.attr, ast.Load()), [node.func.value], [])
        return self.generic_visit(node)


def _called(function: Callable[..., Any], found: dict[str, Any]) -> dict[str, Any]:
    """The functions and tuples of its module that a function uses, those that others need first."""
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        if name not in found and (inspect.isfunction(value) or isinstance(value, tuple)):
            if inspect.isfunction(value):
                _called(value, found)
            found[name] = value
    return found


def source(one: Callable[..., float], count: int, dtype: str, threads: int) -> Source:
    """The kernel of a function of ``count`` numbers and a stream, for elements of arrays."""
    used = {**_called(one, {}), one.__name__: one}
    text = []
    for name, value in used.items():
        if isinstance(value, tuple):
            text.append(f"{name} = {value!r}")
            continue
        tree = _Functions().visit(ast.parse(textwrap.dedent(inspect.getsource(value))))
        text += [ast.unparse(ast.fix_missing_locations(tree)), ""]
    given = [loaded(f"at_{k}, i", dtype, "float64") for k in range(count)]
    value = f"{one.__name__}({', '.join([*given, 'draws'])})"
    body = [
        "draws = cuda.local.array(4, int64)",
        "draws[0], draws[1] = seed, counter",
        "for i in range(cuda.grid(1), total, cuda.gridsize(1)):",
        "    draws[2], draws[3] = i, 0",
        f"    {stored('at_out, i', value, dtype)}",
    ]
    parameters = ["at_out", *[f"at_{k}" for k in range(count)], "total", "seed", "counter"]
    head = [f"# {one.__name__.strip('_')} of {dtype}", PHILOX, _STREAM, *text, ""]
    kernel = [f"def kernel({', '.join(parameters)}):", *indented(1, body), ""]
    return Source(one.__name__.strip("_"), "\n".join([*head, *kernel]), threads)
