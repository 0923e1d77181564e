"""``torch.fx.interpreter``: a graph run node by node, and one made of another in that way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..nn.module import Module
from ._symbolic_trace import Tracer
from .graph import Graph, _attribute
from .graph_module import GraphModule
from .node import Argument, Node, Target, map_aggregate, map_arg
from .proxy import Proxy

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs the nodes of a GraphModule; subclasses override what a kind of node does.

    Args:
        module: the module.
        garbage_collect_values: whether values are forgotten after their last use.
        graph: another graph to run with what the module has.
    """

    def __init__(
        self, module: Module, garbage_collect_values: bool = True, graph: Graph | None = None
    ) -> None:
        self.module: Any = module
        self.submodules = dict(module.named_modules())
        self.graph: Graph = graph if graph is not None else self.module.graph
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.user_to_last_uses: dict[Node, list[Node]] = {}
        if garbage_collect_values:
            seen: set[Node] = set()
            for user in reversed(self.graph.nodes):
                for used in user.all_input_nodes:
                    if used not in seen:
                        seen.add(used)
                        self.user_to_last_uses.setdefault(user, []).append(used)

    def run(
        self,
        *args: Any,
        initial_env: dict[Node, Any] | None = None,
        enable_io_processing: bool = True,
    ) -> Any:
        """The output for inputs.

        Args:
            args: the inputs, by position.
            initial_env: values of nodes that are known.
            enable_io_processing: kept; inputs are those of the graph.
        """
        self.env = dict(initial_env or {})
        self.args_iter: Iterator[Any] = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback and not hasattr(error, "_fx_node"):
                    error._fx_node = node  # type: ignore[attr-defined]
                    first = str(error.args[0]) if error.args else str(error)
                    if type(error).__init__ is Exception.__init__ or isinstance(
                        error, (RuntimeError, TypeError)
                    ):
                        error.args = (
                            f"{first}\n\nWhile executing {node.format_node()}",
                            *error.args[1:],
                        )
                raise
            for used in self.user_to_last_uses.get(node, ()):
                del self.env[used]
            if node.op == "output":
                return self.env[node]
        return None

    def boxed_run(self, args_list: list[Any]) -> Any:
        """``run`` of the inputs in a list, which is emptied."""
        args = tuple(args_list)
        args_list.clear()
        return self.run(*args)

    def run_node(self, n: Node) -> Any:
        """The value of a node, whose arguments are known."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
    ) -> Any:
        """The next input, or its default; the rest for ``*args``."""
        if str(target).startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(
                f"Expected positional argument for parameter {target}, but one was not passed in!"
            ) from None

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """An attribute of the module."""
        return self.fetch_attr(str(target))

    def call_function(self, target: Any, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """The result of the function."""
        return target(*args, **kwargs)

    def call_method(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
    ) -> Any:
        """The result of the method of the first argument."""
        owner, *rest = args
        return getattr(owner, str(target))(*rest, **kwargs)

    def call_module(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
    ) -> Any:
        """The result of the submodule."""
        return self.fetch_attr(str(target))(*args, **kwargs)

    def output(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """The output."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """An attribute of the module by its dotted name."""
        return _attribute(self.module, target, self.graph._root)

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a node with values in the place of nodes."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: Argument, n: Node) -> Any:
        """An argument with values in the place of nodes."""

        def value_of(used: Node) -> Any:
            if used not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {used}! Run Graph.lint() to "
                    "diagnose such issues"
                )
            return self.env[used]

        return _plain(map_arg(args, value_of))


def _plain(value: Any) -> Any:
    """Immutable lists and dictionaries as ordinary ones."""
    if isinstance(value, tuple):
        found = [_plain(x) for x in value]
        return type(value)(*found) if hasattr(value, "_fields") else type(value)(found)
    if isinstance(value, list):
        return [_plain(x) for x in value]
    if type(value).__name__ == "immutable_dict":
        return {k: _plain(v) for k, v in value.items()}
    return value


class _OfTransformer(Tracer):
    """Makes the nodes of a Transformer's new graph; every module is one node."""

    def __init__(self, graph: Graph, root: Module) -> None:
        super().__init__()
        self.graph, self.root, self.tensor_attrs = graph, root, {}
        self.submodule_paths = {module: name for name, module in root.named_modules()}

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Yes."""
        return True


class Transformer(Interpreter):
    """Makes a graph by running one with Proxies; subclasses say what a kind of node becomes."""

    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(self.graph._codegen)
        self.tracer = _OfTransformer(self.new_graph, module)
        self.tracer.root = module

    def placeholder(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
    ) -> Any:
        """The same input of the new graph."""
        default = args[:1]
        return Proxy(self.new_graph.create_node("placeholder", target, default), self.tracer)

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """The same attribute."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A call of the same module."""
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def call_function(self, target: Any, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """A call of the same function."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The GraphModule of the new graph."""
        result = self.run(enable_io_processing=False)
        if result is not None:
            self.new_graph.output(
                map_aggregate(result, lambda x: x.node if isinstance(x, Proxy) else x)
            )
        return GraphModule(self.module, self.new_graph, type(self.module).__name__)
