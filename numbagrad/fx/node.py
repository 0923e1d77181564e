"""``torch.fx.node``: one call of a graph, its arguments, and who uses it."""

from __future__ import annotations

import builtins
import operator
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .immutable_collections import immutable_dict, immutable_list

if TYPE_CHECKING:
    from .graph import Graph

__all__ = ["Argument", "Node", "Target", "has_side_effect", "map_aggregate", "map_arg"]

Target = Callable[..., Any] | str
Argument = Any
OPCODES = frozenset(
    "placeholder get_attr call_function call_module call_method output root".split()
)
#: Functions whose calls stay though nobody uses their result.
_with_effects: set[Any] = set()


def has_side_effect(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Keep calls of a function when dead code is removed; a decorator."""
    _with_effects.add(fn)
    return fn


def map_arg(a: Argument, fn: Callable[[Node], Argument]) -> Argument:
    """Apply ``fn`` to the nodes in an argument."""
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


def map_aggregate(a: Argument, fn: Callable[[Argument], Argument]) -> Argument:
    """Apply ``fn`` to what lies in containers and slices; lists become immutable."""
    if isinstance(a, tuple):
        found = [map_aggregate(x, fn) for x in a]
        return type(a)(*found) if hasattr(a, "_fields") else tuple(found)
    if isinstance(a, list):
        return immutable_list([map_aggregate(x, fn) for x in a])
    if isinstance(a, dict):
        return immutable_dict((k, map_aggregate(v, fn)) for k, v in a.items())
    if isinstance(a, slice):
        return slice(*(map_aggregate(x, fn) for x in (a.start, a.stop, a.step)))
    return fn(a)


class Node:
    """A value of a graph: an input, an attribute, a call, or the output.

    Attributes:
        graph: whose node it is.
        name: the variable of its value in generated code, unique in the graph.
        op: what kind of node: one of ``placeholder``, ``get_attr``, ``call_function``,
            ``call_module``, ``call_method`` and ``output``.
        target: what is called or read: a function, or a name.
        users: the nodes that have it among their arguments, as keys.
        type: an annotation for generated code, or None.
        meta: whatever passes note.
    """

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: str,
        target: Target,
        args: Any,
        kwargs: Any,
        return_type: Any = None,
    ) -> None:
        if op not in OPCODES:
            raise AssertionError(f"op '{op}' is not a valid opcode")
        if op == "call_function":
            if not callable(target):
                raise ValueError(
                    f"Node [graph = {graph}, name = '{name}'] target {target} has type "
                    f"{builtins.type(target)} but a Callable is expected"
                )
        elif not isinstance(target, str):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type "
                f"{builtins.type(target)} but a str is expected"
            )
        self.graph, self.name, self.op, self.target, self.type = (
            graph,
            name,
            op,
            target,
            return_type,
        )
        self._input_nodes: dict[Node, None] = {}
        self.users: dict[Node, None] = {}
        self._prev = self._next = self
        self._erased = False
        self.meta: dict[str, Any] = {}
        self._args: Any = ()
        self._kwargs: Any = {}
        self._update(args, kwargs)

    # --- the list of a graph ------------------------------------------------------------------

    @property
    def next(self) -> Node:
        """The node after this one; the graph's root after the last."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one."""
        return self._prev

    def prepend(self, x: Node) -> None:
        """Put a node of the same graph right before this one."""
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if self is x:
            return
        x._remove_from_list()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x

    def append(self, x: Node) -> None:
        """Put a node of the same graph right after this one."""
        self._next.prepend(x)

    def _remove_from_list(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    # --- arguments ----------------------------------------------------------------------------

    @property
    def args(self) -> Any:
        """The arguments by position, in which nodes stand for values; assign to change."""
        return self._args

    @args.setter
    def args(self, a: Any) -> None:
        self._update(a, self._kwargs)

    @property
    def kwargs(self) -> Any:
        """The arguments by name; assign to change them."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k: Any) -> None:
        self._update(self._args, k)

    def _update(self, args: Any, kwargs: Any) -> None:
        """Take new arguments, and note with each node in them that it is used."""
        for old in self._input_nodes:
            old.users.pop(self, None)
        self._input_nodes = {}

        def use(node: Node) -> Node:
            self._input_nodes[node] = None
            node.users[self] = None
            return node

        self._args = map_arg(tuple(args), use)
        self._kwargs = map_arg(dict(kwargs), use)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments, each once."""
        return list(self._input_nodes)

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Replace one argument by position."""
        args = list(self._args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Put an argument before the one at a position."""
        args = list(self._args)
        args.insert(idx, arg)
        self.args = tuple(args)

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Set one argument by name."""
        self.kwargs = {**self._kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Take another node wherever a node stands among the arguments."""

        def replaced(node: Node) -> Node:
            return new_input if node is old_input else node

        self._update(map_arg(self._args, replaced), map_arg(self._kwargs, replaced))

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] = lambda user: True,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Have the users for which the callback is true use another; returns them."""
        if propagate_meta:
            replace_with.meta.update(
                {k: v for k, v in self.meta.items() if k not in replace_with.meta}
            )
        changed = [user for user in list(self.users) if delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether it must stay though nobody uses it: inputs, outputs, and calls with effects."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            name = getattr(self.target, "__name__", "")
            return self.target in _with_effects or (
                name in _WRITES and "_operator" in _module_of(self.target)
            )
        if self.op == "call_module":
            owner = self.graph.owning_module
            if owner is None:
                raise AssertionError("self.graph.owning_module not set for purity check")
            return bool(getattr(owner.get_submodule(str(self.target)), "_is_impure", False))
        return False

    # --- texts --------------------------------------------------------------------------------

    @property
    def stack_trace(self) -> str | None:
        """Where the call was traced, if a pass noted it."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def __repr__(self) -> str:
        return self.name

    def _rename(self, candidate: str) -> None:
        if candidate != self.name:
            self.name = self.graph._graph_namespace.create_name(candidate, None)

    def _pretty_print_target(self, target: Any) -> str:
        if isinstance(target, str):
            return target
        name = _qualified_name(target)
        return f"builtins.{name}" if "." not in name else name

    def format_node(self, *_: Any) -> str:
        """A line that describes the node."""
        if self.op == "placeholder":
            kind = f" : {_type_repr(self.type)}" if self.type else " :"
            default = f"(default={self.args[0]})" if self.args else ""
            users = f"[num_users={len(self.users)}]"
            return f"%{self.name}{kind} {users} = {self.op}[target={self.target}]{default}"
        if self.op == "get_attr":
            return f"%{self.name} : [num_users={len(self.users)}] = {self.op}[target={self.target}]"
        if self.op == "output":
            return f"return {self.args[0]}"
        return (
            f"%{self.name} : [num_users={len(self.users)}] = {self.op}[target="
            f"{self._pretty_print_target(self.target)}](args = {_with_signs(self.args)}, "
            f"kwargs = {_with_signs(self.kwargs)})"
        )


#: Operators that change their first argument.
_WRITES = frozenset("setitem delitem iadd iand ifloordiv ilshift imod imul imatmul ior ipow irshift"
                    " isub itruediv ixor"
                    .split())  # fmt: skip


def _module_of(function: Any) -> str:
    return getattr(function, "__module__", None) or ""


def _with_signs(argument: Any) -> str:
    """The text of arguments, with % before nodes."""
    if isinstance(argument, (list, tuple)) and not hasattr(argument, "_fields"):
        texts = ", ".join(map(_with_signs, argument))
        if isinstance(argument, list):
            return f"[{texts}]"
        return f"({texts}{',' if len(argument) == 1 else ''})"
    if isinstance(argument, dict):
        return "{" + ", ".join(f"{k}: {_with_signs(v)}" for k, v in argument.items()) + "}"
    return f"%{argument}" if isinstance(argument, Node) else str(argument)


def _type_repr(kind: Any) -> str:
    """How an annotation is written."""
    if isinstance(kind, type) and not isinstance(kind, types.GenericAlias):
        if kind.__module__ == "builtins":
            return kind.__qualname__
        return f"{kind.__module__}.{kind.__qualname__}"
    if kind is ...:
        return "..."
    return kind.__name__ if isinstance(kind, types.FunctionType) else repr(kind)


def _qualified_name(function: Callable[..., Any]) -> str:
    """The dotted name of a function: that of torch if it is public there."""
    from .names import public_name

    if (known := public_name(function)) is not None:
        return known
    name = getattr(function, "__name__", type(function).__name__)
    if getattr(builtins, name, None) is function:
        return name
    module = _module_of(function).replace("_operator", "operator")
    if module == "operator" and not hasattr(operator, name):
        module = "_operator"
    return f"{module}.{name}" if module else name
