"""Hand-written kernels of the CPU, compiled for a GPU: each unit of work is a thread's.

Such a kernel is a Python function ``kernel(args, lo, hi)`` that reads its words as the fields of a
record at ``args``. Here the words become parameters, and ``[lo, hi)`` one unit, which threads take
in strides of the grid.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import textwrap
from typing import Any

from ...codegen.kernel import kernels_of
from ...codegen.record import fields_of
from ..driver.source import Source
from .text import indented

#: Names without a meaning on a GPU: memory of the CPU's stack, calls by address.
_CPU_ONLY = frozenset(("address_of_stack", "call_kernel", "copy_memory"))


class _Words(ast.NodeTransformer):
    """Fields of the record of arguments become parameters: ``given.index`` becomes ``w2``."""

    def __init__(self, names: dict[str, Any]):
        self.names = names
        #: The variables that are records of the arguments, and their classes.
        self.records: dict[str, Any] = {}

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        """A statement that makes such a variable is left out."""
        call, target = node.value, node.targets[0]
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Name)
            and [getattr(x, "id", "") for x in call.args] == ["args"]
            and isinstance(target, ast.Name)
        ):
            self.records[target.id] = self.names[call.func.id]
            return None
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Accesses that promise disjoint memory to the CPU's vectors become plain ones."""
        if getattr(node.func, "id", "") in ("load_apart", "store_apart"):
            assert isinstance(node.func, ast.Name)
            name = node.func.id.removesuffix("_apart")
            node = ast.copy_location(ast.Call(ast.Name(name, ast.Load()), node.args[:-1], []), node)
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """A field of such a variable."""
        owner = self.records.get(getattr(node.value, "id", ""))
        if owner is None:
            return self.generic_visit(node)
        position = fields_of(owner)[node.attr].position
        return ast.copy_location(ast.Name(f"w{position}", node.ctx), node)


def is_liftable(module: str, name: str) -> bool:
    """Whether a kernel uses only what a thread of a GPU has."""
    function = _function(module, name)
    return not _CPU_ONLY & set(function.__code__.co_names)


def _function(module: str, name: str) -> Any:
    importlib.import_module(f"numbagrad.{module}")
    return kernels_of(f"numbagrad.{module}")[name].py_func


def source(module: str, name: str, count: int, threads: int) -> Source:
    """The kernel of ``numbagrad.<module>`` of a name, with so many arguments, and their total.

    Raises:
        NotImplementedError: for one that needs what only a CPU has.
    """
    if not is_liftable(module, name):
        raise NotImplementedError(
            f"Could not run '{name}' on the device 'cuda': its kernel is one of the CPU alone; "
            "move the tensors with .cpu() first"
        )
    function = _function(module, name)
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    (definition,) = tree.body
    assert isinstance(definition, ast.FunctionDef)
    names = function.__globals__
    transformer = _Words(names)
    definition = transformer.visit(definition)
    definition.decorator_list, definition.name = [], "units"
    parameters = [f"w{k}" for k in range(count)]
    taken = [ast.arg(x) for x in (*parameters, "lo", "hi")]
    definition.args = ast.arguments([], taken, None, [], [], None, [])
    # What the text names besides: constants, and the dtypes that stand for its variables.
    given = [f"{x} = {names[x]}" for x in sorted(set(function.__code__.co_names)) if x in names
             and _is_plain(x, names[x])]  # fmt: skip
    called = ", ".join([*parameters, "unit", "unit + 1"])
    body = ["for unit in range(cuda.grid(1), total, cuda.gridsize(1)):", f"    units({called})"]
    text = [f"# {module}.{name}", *given, "", "", ast.unparse(ast.fix_missing_locations(tree))]
    text += ["", "", f"def kernel({', '.join([*parameters, 'total'])}):", *indented(1, body), ""]
    return Source(name, "\n".join(text), threads)


def _is_plain(name: str, value: Any) -> bool:
    """Whether a global is a number, or a dtype under another name than its own."""
    return isinstance(value, int | float) or (name in ("element", "real") and name != str(value))
