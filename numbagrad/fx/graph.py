"""``torch.fx.graph``: programs as lists of nodes, and the Python code of a list."""

from __future__ import annotations

import contextlib
import copy
import inspect
import math
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numbagrad

from ..device import device as Device
from ..dtype import dtype as DType
from .names import Namespace, snake_case
from .node import Argument, Node, Target, _qualified_name, _type_repr, map_arg

__all__ = ["CodeGen", "Graph", "PythonCode"]

#: Functions of ``operator`` that have signs: how code writes them, by name.
magic_methods = {
    "eq": "{} == {}", "ne": "{} != {}", "lt": "{} < {}", "gt": "{} > {}", "le": "{} <= {}",
    "ge": "{} >= {}",
    "pos": "+{}", "neg": "-{}", "invert": "~{}", "add": "{} + {}", "sub": "{} - {}",
    "mul": "{} * {}",
    "floordiv": "{} // {}", "truediv": "{} / {}", "mod": "{} % {}", "pow": "{} ** {}",
    "lshift": "{} << {}",
    "rshift": "{} >> {}", "and_": "{} & {}", "or_": "{} | {}", "xor": "{} ^ {}",
    "getitem": "{}[{}]",
    "matmul": "{} @ {}",
}  # fmt: skip
inplace_methods = {
    "iadd": "{} += {}", "iand": "{} &= {}", "ifloordiv": "{} //= {}", "ilshift": "{} <<= {}",
    "imod": "{} %= {}",
    "imul": "{} *= {}", "imatmul": "{} @= {}", "ior": "{} |= {}", "ipow": "{} **= {}",
    "irshift": "{} >>= {}",
    "isub": "{} -= {}", "itruediv": "{} /= {}", "ixor": "{} ^= {}", "setitem": "{}[{}] = {}",
}  # fmt: skip
#: The reflected operators that Python looks for.
reflectable_magic_methods = {
    name: magic_methods[name]
    for name in "add sub mul floordiv truediv mod pow lshift rshift and_ or_ xor matmul".split()
}


@dataclass
class PythonCode:
    """Generated code, and the globals that it names."""

    src: str
    globals: dict[str, Any]
    _lineno_map: dict[int, int | None] | None = field(default=None)


class _Nodes:
    """The nodes of a graph in order, or backwards."""

    def __init__(self, graph: Graph, direction: str = "_next") -> None:
        self.graph, self.direction = graph, direction

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        root, current = self.graph._root, getattr(self.graph._root, self.direction)
        while current is not root:
            if not current._erased:
                yield current
            current = getattr(current, self.direction)

    def __reversed__(self) -> _Nodes:
        return _Nodes(self.graph, "_prev" if self.direction == "_next" else "_next")


class Graph:
    """A program: nodes, each after those that it takes.

    New nodes are put at the end, or where ``inserting_before`` and ``inserting_after`` say.
    """

    def __init__(
        self,
        owning_module: Any = None,
        tracer_cls: type | None = None,
        tracer_extras: dict[str, Any] | None = None,
    ) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._len = 0
        self._insert: Callable[[Node], None] = self._root.prepend
        self._graph_namespace = Namespace()
        self._owning_module = owning_module
        self._tracer_cls, self._tracer_extras = tracer_cls, tracer_extras
        self._codegen = CodeGen()

    @property
    def owning_module(self) -> Any:
        """The GraphModule of the graph, or None."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, mod: Any) -> None:
        self._owning_module = mod

    @property
    def nodes(self) -> Any:
        """The nodes in order; ``len`` and ``reversed`` work."""
        return _Nodes(self)

    def output_node(self) -> Node:
        """The node of the output."""
        return next(iter(reversed(self.nodes)))

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Node]:
        """The nodes of a kind, and of a target if one is given."""
        return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]

    # --- making nodes -------------------------------------------------------------------------

    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A new node at the insert point; the other functions that make nodes call this one.

        Raises:
            AssertionError: for a node of another graph among the arguments.
        """
        args, kwargs = args or (), kwargs or {}
        for node in _nodes_in((args, kwargs)):
            if node.graph is not self:
                raise AssertionError(f"argument {node} of a new node is a node of another graph")
        candidate = name if name is not None else self._target_to_str(target)
        made = Node(
            self,
            self._graph_namespace.create_name(candidate, None),
            op,
            target,
            args,
            kwargs,
            type_expr,
        )
        self._insert(made)
        self._len += 1
        return made

    def _target_to_str(self, target: Target) -> str:
        name = (
            target
            if isinstance(target, str)
            else getattr(target, "__name__", type(target).__name__)
        )
        return snake_case(name[2:-2] if name.startswith("__") and name.endswith("__") else name)

    def placeholder(
        self, name: str, type_expr: Any = None, default_value: Any = inspect.Signature.empty
    ) -> Node:
        """An input of the graph."""
        args = () if default_value is inspect.Signature.empty else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """A parameter, buffer or other attribute of the module, by its dotted name."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self, module_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None
    ) -> Node:
        """A call of a submodule."""
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self, method_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None
    ) -> Node:
        """A call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: Any = None,
        kwargs: Any = None,
        type_expr: Any = None,
        name: str | None = None,
    ) -> Node:
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def output(self, result: Argument, type_expr: Any = None) -> Node:
        """The output of the graph."""
        return self.create_node("output", "output", args=(result,), type_expr=type_expr)

    def node_copy(
        self, node: Node, arg_transform: Callable[[Node], Argument] = lambda x: x
    ) -> Node:
        """A node as one of another graph, whose arguments are translated."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        made = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        made.meta = copy.copy(node.meta)
        return made

    def graph_copy(
        self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False
    ) -> Any:
        """Copy the nodes of another graph here; returns what its output returns."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                value = map_arg(node.args[0], lambda n: val_map[n])
                return (value, node) if return_output_node else value
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Graph:
        memo = {} if memo is None else memo
        made = Graph(tracer_cls=self._tracer_cls, tracer_extras=self._tracer_extras)
        made._codegen = copy.copy(self._codegen)
        val_map: dict[Node, Node] = {}
        found = made.graph_copy(self, val_map, return_output_node=True)
        if found is not None:
            value, old = found
            made.output(value, old.type).meta = copy.copy(old.meta)
        for old, new in val_map.items():
            memo[id(old)] = new
        return made

    # --- changing the list --------------------------------------------------------------------

    def erase_node(self, to_erase: Node) -> None:
        """Remove a node that nobody uses.

        Raises:
            RuntimeError: for one that has users.
        """
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in "
                f"the graph: {to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            return
        to_erase._remove_from_list()
        to_erase._erased = True
        self._len -= 1
        to_erase._update((), {})

    @contextlib.contextmanager
    def _inserting(self, insert: Callable[[Node], None]) -> Iterator[None]:
        before, self._insert = self._insert, insert
        try:
            yield
        finally:
            self._insert = before

    def inserting_before(self, n: Node | None = None) -> Any:
        """Put new nodes before one, in a block; before all without one."""
        return self.inserting_after(self._root) if n is None else self._inserting(n.prepend)

    def inserting_after(self, n: Node | None = None) -> Any:
        """Put new nodes after one, in their order, in a block; after all without one."""
        if n is None:
            return self._inserting(self._root.prepend)
        last = n

        def insert(node: Node) -> None:
            nonlocal last
            last.append(node)
            last = node

        return self._inserting(insert)

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Remove the nodes that nobody uses and that have no effects; whether there were any."""
        is_impure = is_impure_node or Node.is_impure
        if self.owning_module is None and is_impure_node is None:

            def is_impure(node: Node) -> bool:
                return node.op == "call_module" or node.is_impure()

        before = self._len
        for node in reversed(self.nodes):
            if not node.users and not is_impure(node):
                self.erase_node(node)
        return self._len != before

    def lint(self) -> None:
        """Check that names are unique, arguments come before their users, and targets are there.

        Raises:
            RuntimeError: unless the graph is well formed.
        """
        names: set[str] = set()
        seen: set[Node] = set()
        for node in self.nodes:
            for used in node.all_input_nodes:
                if used not in seen:
                    raise RuntimeError(
                        f"Argument '{used}' of Node '{node}' was used before it has been defined! "
                        "Please check that Nodes in the graph are topologically ordered"
                    )
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            names.add(node.name)
            seen.add(node)
            if self.owning_module is not None and node.op in ("get_attr", "call_module"):
                _attribute(self.owning_module, str(node.target), node)

    # --- code ---------------------------------------------------------------------------------

    def set_codegen(self, codegen: CodeGen) -> None:
        """Have another object generate the code."""
        self._codegen = codegen

    def python_code(self, root_module: str, *, verbose: bool = False, **options: Any) -> PythonCode:
        """The code of a function ``forward``, in which the module is called ``root_module``."""
        return self._codegen.python_code(self, root_module)

    def print_tabular(self) -> None:
        """Print a row for each node."""
        rows = [("opcode", "name", "target", "args", "kwargs")]
        rows += [
            (n.op, n.name, str(n.target), str(n.args), str(dict(n.kwargs))) for n in self.nodes
        ]
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        rows.insert(1, tuple("-" * width for width in widths))  # type: ignore[arg-type]
        print(
            "\n".join(
                "  ".join(x.ljust(w) for x, w in zip(r, widths, strict=True)).rstrip() for r in rows
            )
        )

    def __str__(self) -> str:
        return "graph():" + "".join(f"\n    {node.format_node()}" for node in self.nodes)


def _nodes_in(arguments: Any) -> list[Node]:
    found: list[Node] = []
    map_arg(arguments, lambda n: found.append(n) or n)  # type: ignore[func-returns-value]
    return found


def _attribute(module: Any, target: str, node: Node) -> Any:
    """The attribute of a module that a node names."""
    for part in target.split("."):
        if not hasattr(module, part):
            raise RuntimeError(
                f"Node {node} target {target} references nonexistent attribute {part} of {target}"
            )
        module = getattr(module, part)
    return module


class CodeGen:
    """The Python code of a graph; each value is forgotten after its last use."""

    def python_code(self, graph: Graph, root_module: str) -> PythonCode:
        """The code, and the globals that it names."""
        return _Writer(graph, root_module).write()


class _Writer:
    """Writes the code of one graph."""

    def __init__(self, graph: Graph, root_module: str) -> None:
        self.graph, self.root = graph, root_module
        self.globals: dict[str, Any] = {
            "inf": math.inf, "nan": math.nan, "NoneType": types.NoneType,
            "torch": numbagrad, "device": Device,
        }  # fmt: skip
        self.names = Namespace()
        self.inputs: list[str] = []
        self.body: list[str] = []
        self.result = ""
        self.last_uses: dict[Node, list[Node]] = {}
        seen: set[Node] = set()
        for user in reversed(graph.nodes):
            for used in _nodes_in((user.args, user.kwargs)):
                if used not in seen:
                    seen.add(used)
                    self.last_uses.setdefault(user, []).append(used)

    def write(self) -> PythonCode:
        for node in self.graph.nodes:
            getattr(self, f"write_{node.op}")(node)
            if node.op != "placeholder":
                self.body.append(self.forgotten(node))
        inputs = self.inputs if self.inputs[:1] == ["self"] else ["self", *self.inputs]
        code = "".join(self.body).lstrip("\n") or "pass\n"
        lines = "\n".join(f"    {line}" for line in code.split("\n"))
        return PythonCode(
            f"\n\n\ndef forward({', '.join(inputs)}){self.result}:\n{lines}", self.globals
        )

    def forgotten(self, node: Node) -> str:
        """The end of a line, which drops the values that no later line uses."""
        if node.op == "output":
            return "\n"
        dead = list(self.last_uses.get(node, ()))
        if not node.users:
            dead.append(node)
        return f";  {' = '.join([*map(repr, dead), 'None'])}\n" if dead else "\n"

    def name_of(self, hint: str, value: Any) -> str:
        """The name of a global value; of a public function of torch its path there."""
        if hint.startswith("torch.") and value is not Device:
            return hint
        name = self.names.create_name(hint.replace(".", "_"), value)
        self.globals[name] = value
        return name

    def text(self, argument: Any) -> str:
        """How code writes an argument."""
        if isinstance(argument, tuple):
            if hasattr(argument, "_fields"):
                kind = self.name_of(type(argument).__qualname__, type(argument))
                return f"{kind}({self.texts(argument)})"
            return f"({self.texts(argument)}{',' if len(argument) == 1 else ''})"
        if isinstance(argument, list):
            return f"[{self.texts(argument)}]"
        if isinstance(argument, dict):
            return "{" + ", ".join(f"{k!r}: {self.text(v)}" for k, v in argument.items()) + "}"
        if isinstance(argument, slice):
            return f"slice({self.texts((argument.start, argument.stop, argument.step))})"
        if argument is None or isinstance(
            argument, (Node, str, bool, int, float, complex, DType, Device, range)
        ):
            return repr(argument)
        if argument is ...:
            return "Ellipsis"
        if callable(argument):
            return self.name_of(_qualified_name(argument), argument)
        kind = type(argument).__module__.partition(".")[0]
        return (
            repr(argument)
            if kind == "numbagrad"
            else self.name_of(type(argument).__name__, argument)
        )

    def texts(self, arguments: Any) -> str:
        return ", ".join(map(self.text, arguments))

    def call(self, args: Any, kwargs: Any) -> str:
        named = ", ".join(f"{k} = {self.text(v)}" for k, v in kwargs.items())
        return ", ".join(x for x in (self.texts(args), named) if x)

    def annotation(self, node: Node) -> str:
        return "" if node.type is None else f" : {self.type_name(node.type)}"

    def type_name(self, kind: Any) -> str:
        if kind is numbagrad.Tensor:
            return "torch.Tensor"
        if kind is None or kind is type(None):
            return "NoneType"
        if isinstance(kind, str):
            return repr(kind)
        return self.name_of(_type_repr(kind), kind)

    # --- nodes by op --------------------------------------------------------------------------

    def write_placeholder(self, node: Node) -> None:
        default = f" = {self.text(node.args[0])}" if node.args else ""
        self.inputs.append(f"{node.target}{self.annotation(node)}{default}")
        raw = str(node.target).replace("*", "")
        if raw != node.name:
            self.body.append(f"{node} = {raw}\n")

    def write_get_attr(self, node: Node) -> None:
        self.body.append(f"{node}{self.annotation(node)} = {_dotted(self.root, str(node.target))}")

    def write_call_module(self, node: Node) -> None:
        called = _dotted(self.root, str(node.target))
        self.body.append(
            f"{node}{self.annotation(node)} = {called}({self.call(node.args, node.kwargs)})"
        )

    def write_call_method(self, node: Node) -> None:
        called = _dotted(self.text(node.args[0]), str(node.target))
        self.body.append(
            f"{node}{self.annotation(node)} = {called}({self.call(node.args[1:], node.kwargs)})"
        )

    def write_call_function(self, node: Node) -> None:
        target: Any = node.target
        name, args = getattr(target, "__name__", ""), node.args
        begin = f"{node}{self.annotation(node)} = "
        is_operator = getattr(target, "__module__", None) == "_operator" and not node.kwargs
        if is_operator and name in magic_methods:
            self.body.append(begin + magic_methods[name].format(*map(self.text, args)))
        elif is_operator and name in inplace_methods:
            end = "None" if name == "setitem" else self.text(args[0])
            self.body.append(
                f"{inplace_methods[name].format(*map(self.text, args))};  {node} = {end}"
            )
        elif (
            target is getattr
            and len(args) == 2
            and isinstance(args[1], str)
            and args[1].isidentifier()
        ):
            self.body.append(begin + _dotted(self.text(args[0]), args[1]))
        else:
            called = self.name_of(_qualified_name(target), target)
            self.body.append(f"{begin}{called}({self.call(args, node.kwargs)})")

    def write_output(self, node: Node) -> None:
        if node.type is not None:
            self.result = f" -> {self.type_name(node.type)}"
        self.body.append(f"return {self.text(node.args[0])}")


def _dotted(base: str, target: str) -> str:
    """``base.a.b``, with ``getattr`` for parts that are no identifiers."""
    for part in target.split("."):
        base = f"{base}.{part}" if part.isidentifier() else f'getattr({base}, "{part}")'
    return base
