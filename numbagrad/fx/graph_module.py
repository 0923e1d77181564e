"""``torch.fx.graph_module``: Modules whose forward is the code of a graph."""

from __future__ import annotations

import copy
import linecache
from typing import Any

import numbagrad

from ..nn.module import Module
from ..tensor import Tensor
from .graph import Graph, PythonCode
from .names import public_name
from .node import Node, map_aggregate, map_arg

__all__ = ["GraphModule"]

#: The qualified name of the classes that GraphModules have of their own.
_OWN_CLASS = "GraphModuleImpl"
#: How many pieces of code were made, for the names of their files in tracebacks.
_made = 0


class GraphModule(Module):
    """A Module of a graph; assigning ``graph``, or ``recompile``, makes its forward anew.

    Each one has a class of its own, which has that forward.

    Args:
        root: a Module, or a dictionary by dotted name, from which what the graph names is taken.
        graph: the graph.
        class_name: the name of its class.

    Raises:
        RuntimeError: for a dictionary without something that the graph names.
    """

    def __new__(cls, *arguments: Any, **keywords: Any) -> GraphModule:
        """An instance of a new class, which inherits from this one."""
        base = _below(cls)
        return super().__new__(type(_OWN_CLASS, (base,), {"__module__": base.__module__}))

    def __init__(
        self, root: Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule"
    ) -> None:
        super().__init__()
        type(self).__name__ = class_name
        targets = [str(n.target) for n in graph.nodes if n.op in ("get_attr", "call_module")]
        if isinstance(root, Module):
            self.training = getattr(root, "training", True)
            for target in targets:
                _copy_attr(root, self, target)
        else:
            for target in targets:
                if target not in root:
                    raise RuntimeError(
                        f"Node target {target} of the graph was not provided in root"
                    )
            for target in sorted(targets, key=lambda name: name.count(".")):
                _assign_attr(root[target], self, target)
        self.meta: dict[str, Any] = {}
        self.graph = graph
        self._tracer_cls = graph._tracer_cls

    # --- the graph ----------------------------------------------------------------------------

    @property
    def graph(self) -> Graph:
        """The graph; after it was changed call ``recompile``."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The code of the forward."""
        return self._code

    def recompile(self) -> PythonCode:
        """Make the forward of the graph as it is now."""
        global _made
        made = self._graph.python_code("self")
        self._code = made.src
        _made += 1
        name = f"<eval_with_key>.{_made}"
        linecache.cache[name] = len(made.src), None, made.src.splitlines(keepends=True), name
        space = dict(made.globals)
        exec(compile(made.src, name, "exec"), space)  # the code that was just written
        type(self).forward = space["forward"]  # type: ignore[method-assign]
        return made

    def print_readable(self, print_output: bool = True, *_: Any, **options: Any) -> str:
        """Print the code as that of a class, and return it."""
        lines = self._code.strip("\n").replace("\n", "\n    ")
        text = f"class {self._get_name()}(torch.nn.Module):\n    {lines}\n"
        if print_output:
            print(text)
        return text

    # --- submodules ---------------------------------------------------------------------------

    def add_submodule(self, target: str, m: Module) -> bool:
        """Add a module under a dotted name, through empty Modules; whether that was possible."""
        *path, last = target.split(".")
        owner: Any = self
        for part in path:
            if not hasattr(owner, part):
                setattr(owner, part, Module())
            owner = getattr(owner, part)
            if not isinstance(owner, Module):
                return False
        owner.add_module(last, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Remove the module of a dotted name; whether there was one."""
        *path, last = target.split(".")
        owner: Any = self
        for part in path:
            owner = getattr(owner, part, None)
        if not isinstance(owner, Module) or not isinstance(getattr(owner, last, None), Module):
            return False
        delattr(owner, last)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Remove the modules that no node calls or reads, and in which none lies that one does."""
        used: set[str] = set()
        for node in self._graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = str(node.target).split(".")
                used.update(".".join(parts[:i]) for i in range(1, len(parts) + 1))
                if node.op == "call_module":
                    inner = self.get_submodule(str(node.target))
                    used.update(
                        f"{node.target}.{name}" for name, _ in inner.named_modules() if name
                    )
        for name, _ in list(self.named_modules()):
            if name and name not in used:
                self.delete_submodule(name)

    # --- copies -------------------------------------------------------------------------------

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        made = GraphModule.__new__(_below(type(self)))
        memo[id(self)] = made
        Module.__init__(made)
        made.__dict__.update(
            copy.deepcopy({k: v for k, v in self.__dict__.items() if k != "_graph"}, memo)
        )
        type(made).__name__ = type(self).__name__
        made.graph = copy.deepcopy(self._graph, memo)
        return made

    def __copy__(self) -> GraphModule:
        made = GraphModule(self, copy.deepcopy(self._graph), type(self).__name__)
        made.meta = self.meta
        return made

    def __reduce__(self) -> Any:
        state = {k: v for k, v in self.__dict__.items() if k not in ("_graph", "_code")}
        return _rebuilt, (_below(type(self)), type(self).__name__, state, _written(self._graph))

    def __str__(self) -> str:
        return "\n".join([super().__str__(), self._code, "# To see more debug info, please use "
                          "`graph_module.print_readable()`"])  # fmt: skip


def _below(kind: type[GraphModule]) -> type[GraphModule]:
    """The class that a GraphModule's own inherits from; of another class that class."""
    return next(each for each in kind.__mro__ if each.__qualname__ != _OWN_CLASS)


class _Reference:
    """A node, or a public function by its dotted name, in a graph that is written to a file."""

    def __init__(self, name: str) -> None:
        self.name = name

    def function(self) -> Any:
        """The public function."""
        value: Any = numbagrad
        for part in self.name.split(".")[1:]:
            value = getattr(value, part)
        return value


def _written(graph: Graph) -> list[tuple[Any, ...]]:
    """The nodes of a graph as plain values."""

    def refer(node: Node) -> Any:
        return _Reference(node.name)

    def target(node: Node) -> Any:
        name = public_name(node.target) if callable(node.target) else None
        return node.target if name is None else _Reference(name)

    return [
        (n.name, n.op, target(n), map_arg(n.args, refer), map_arg(n.kwargs, refer), n.type)
        for n in graph.nodes
    ]


def _rebuilt(
    base: type[GraphModule], name: str, state: dict[str, Any], nodes: list[tuple[Any, ...]]
) -> GraphModule:
    """The GraphModule of a file."""
    graph = Graph()
    made: dict[str, Node] = {}
    for own, op, target, args, kwargs, kind in nodes:
        target = target.function() if isinstance(target, _Reference) else target
        args, kwargs = (
            map_aggregate(each, lambda x: made[x.name] if isinstance(x, _Reference) else x)
            for each in (args, kwargs)
        )
        made[own] = graph.create_node(op, target, args, kwargs, own, kind)
    module = GraphModule.__new__(base)
    Module.__init__(module)
    module.__dict__.update(state)
    type(module).__name__ = name
    module.graph = graph
    return module


def _copy_attr(from_module: Module, to_module: Module, target: str) -> None:
    """Set what a dotted name is in one module in another, with empty Modules on the way."""
    *path, last = target.split(".")
    source: Any = from_module
    owner: Any = to_module
    for part in path:
        source = getattr(source, part)
        if owner is source:
            return  # it lies in what is there already
        inner = getattr(owner, part, None)
        if inner is source:
            return
        if inner is None:
            setattr(owner, part, Module())
        owner = getattr(owner, part)
    _set(owner, last, getattr(source, last))


def _assign_attr(from_obj: Any, to_module: Module, target: str) -> None:
    """Set a value under a dotted name, with empty Modules on the way."""
    *path, last = target.split(".")
    owner: Any = to_module
    for part in path:
        if getattr(owner, part, None) is None:
            setattr(owner, part, Module())
        owner = getattr(owner, part)
    _set(owner, last, from_obj)


def _set(owner: Module, name: str, value: Any) -> None:
    from ..nn.parameter import Parameter

    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        owner.register_buffer(name, value)
    else:
        setattr(owner, name, value)
