"""``torch.fx.proxy``: stand-ins for values, whose operations become nodes of a graph.

A Proxy takes part in public functions by ``__torch_function__``; ``dispatch/overriding.py``, which
asks classes for it, is woken where this file is imported.
"""

from __future__ import annotations

import dis
import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any

from .. import overrides
from ..device import device as Device
from ..dtype import dtype as DType
from ..layout import layout as Layout
from ..layout import memory_format as MemoryFormat
from ..tensor import Tensor
from .graph import Graph, magic_methods, reflectable_magic_methods
from .names import public_name
from .node import Argument, Node, Target

__all__ = [
    "Attribute",
    "GraphAppendingTracer",
    "ParameterProxy",
    "Proxy",
    "TraceError",
    "TracerBase",
    "base_types",
]

#: Types whose instances stand in arguments as they are.
base_types = (
    str,
    int,
    float,
    bool,
    complex,
    DType,
    Device,
    Layout,
    MemoryFormat,
    range,
    type(None),
    type(...),
)


class TraceError(ValueError):
    """Python would have to know a value that is not there while a function is traced."""


class TracerBase:
    """Makes nodes of operations on Proxies; subclasses say of which function."""

    graph: Graph
    record_stack_traces = False
    #: Functions below which nothing of torch's dispatcher is traced; kept.
    check_mutable_operations = False

    def create_node(
        self,
        kind: str,
        target: Target,
        args: Any,
        kwargs: Any,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A new node of the graph."""
        return self.graph.create_node(kind, target, args, kwargs, name, type_expr)

    def proxy(self, node: Node) -> Proxy:
        """The Proxy of a node."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Target,
        args: Any,
        kwargs: Any,
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Proxy:
        """A Proxy of a new node, whose arguments may hold Proxies."""
        args, kwargs = self.create_arg(tuple(args)), self.create_arg(dict(kwargs))
        node = self.create_node(kind, target, args, kwargs, name, type_expr)
        return proxy_factory_fn(node) if proxy_factory_fn else self.proxy(node)

    def create_arg(self, a: Any) -> Argument:
        """An argument as nodes have it: Proxies become their nodes.

        Raises:
            NotImplementedError: for what is no part of a graph.
        """
        if hasattr(a, "__fx_create_arg__") and not isinstance(a, (Proxy, type)):
            return a.__fx_create_arg__(self)
        if isinstance(a, Proxy):
            return a.node
        if isinstance(a, Node):
            return a
        if isinstance(a, tuple):
            found = [self.create_arg(x) for x in a]
            return type(a)(*found) if hasattr(a, "_fields") else type(a)(found)
        if isinstance(a, list):
            return [self.create_arg(x) for x in a]
        if isinstance(a, dict):
            if any(isinstance(key, (Node, Proxy)) for key in a):
                raise RuntimeError(
                    "Keys for dictionaries used as an argument cannot contain a Node. Got key in "
                    f"{list(a)}"
                )
            return {key: self.create_arg(value) for key, value in a.items()}
        if isinstance(a, slice):
            return slice(*map(self.create_arg, (a.start, a.stop, a.step)))
        if isinstance(a, base_types) or callable(a):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def to_bool(self, obj: Proxy) -> bool:
        """The truth of ``if proxy``; tracers that know a value may override it."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """The iterator of ``for x in proxy``."""
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a "
            "loop or as a *args or **kwargs function argument. See the torch.fx docs on "
            "pytorch.org for a more detailed explanation of what types of control flow can be "
            "traced, and check out the Proxy docstring for help troubleshooting Proxy iteration "
            "errors"
        )

    def keys(self, obj: Proxy) -> Any:
        """The keys of ``**proxy``."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """Makes nodes at the end of a graph that is there."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph


class Proxy:
    """A value that is not there yet: what is done with it becomes nodes.

    Attributes:
        node: its node.
        tracer: what makes nodes of its operations.
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        overrides.install()
        self.tracer = tracer if tracer is not None else GraphAppendingTracer(node.graph)
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Any:
        if k in ("tracer", "node") or (
            k.startswith("__array") and k.endswith("__")
        ):  # unpickled, or NumPy asks
            raise AttributeError(k)
        return Attribute(self, k)

    def __deepcopy__(self, memo: Any) -> Proxy:
        raise NotImplementedError("__deepcopy__ of a Proxy: copy the graph instead")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        frame = sys._getframe(1)
        for instruction in dis.get_instructions(frame.f_code):
            if instruction.offset == frame.f_lasti and instruction.opname == "UNPACK_SEQUENCE":
                anything: Any = self
                return iter([operator.getitem(anything, i) for i in range(instruction.argval)])
        return self.tracer.iter(self)

    def __abs__(self) -> Any:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        """The keys of ``**proxy``."""
        return self.tracer.keys(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be "
            "recorded, please call torch.fx.wrap('len') at module scope"
        )

    @classmethod
    def __torch_function__(
        cls, orig_method: Any, types: Any, args: Any = None, kwargs: Any = None
    ) -> Any:
        args, kwargs = args or (), kwargs or {}
        found: list[Proxy] = []
        _proxies_in((args, kwargs), found)
        tracer = found[0].tracer
        if public_name(orig_method) is None:
            name = getattr(orig_method, "__name__", "")
            if name == "__get__":
                return Attribute(args[0], orig_method.__self__.fget.__name__)
            if getattr(Tensor, name, None) is orig_method:
                return tracer.create_proxy("call_method", name, args, kwargs)
        return tracer.create_proxy("call_function", orig_method, args, kwargs, name=None)


def _proxies_in(value: Any, found: list[Proxy]) -> None:
    if isinstance(value, Proxy):
        found.append(value)
    elif isinstance(value, (tuple, list)):
        for each in value:
            _proxies_in(each, found)
    elif isinstance(value, dict):
        for each in value.values():
            _proxies_in(each, found)


class Attribute(Proxy):
    """An attribute of a Proxy, which is a node only if it is not called as a method."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node that reads the attribute; it is made when it is first asked for."""
        if self._node is None:
            self._node = self.tracer.create_proxy(
                "call_function", getattr, (self.root, self.attr), {}
            ).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A Proxy of a parameter, whose shape is known."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Any) -> None:
        super().__init__(node, tracer)
        self.param, self.name = param, name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        """The shape of the parameter."""
        return self.param.shape

    @property
    def ndim(self) -> int:
        """The number of its dimensions."""
        return int(self.param.ndim)

    def size(self, *dim: int) -> Any:
        """Its shape, or the length of one dimension."""
        return self.param.size(*dim)

    def dim(self) -> int:
        """The number of its dimensions."""
        return int(self.param.dim())

    def numel(self) -> int:
        """The number of its elements."""
        return int(self.param.numel())


def _define_operators() -> None:
    """The operators of Proxy, which make nodes of the functions of ``operator``."""

    def forward(target: Callable[..., Any]) -> Any:
        def operate(self: Proxy, *args: Any) -> Any:
            return self.tracer.create_proxy("call_function", target, (self, *args), {})

        return operate

    def reflected(target: Callable[..., Any]) -> Any:
        def operate(self: Proxy, left: Any) -> Any:
            return self.tracer.create_proxy("call_function", target, (left, self), {})

        return operate

    for name in magic_methods:
        setattr(Proxy, f"__{name.strip('_')}__", forward(getattr(operator, name)))
    for name in reflectable_magic_methods:
        setattr(Proxy, f"__r{name.strip('_')}__", reflected(getattr(operator, name)))
    Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]


_define_operators()
