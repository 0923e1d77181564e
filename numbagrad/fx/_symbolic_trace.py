"""``torch.fx._symbolic_trace``: the graph of a function or a module, called once with Proxies.

While a module is traced, its submodules ask the tracer what a call of them is (``module_hooks``),
and reading a parameter makes a node. Functions that were given to ``wrap`` are replaced in the
module where they are called until the end of the trace, as in torch.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any

from ..nn.module import Module
from ..nn.module_hooks import tracing
from ..nn.parameter import Parameter
from ..program_checks import _assert
from ..tensor import Tensor
from .graph import Graph
from .graph_module import GraphModule
from .node import Argument
from .proxy import ParameterProxy, Proxy, TracerBase, _proxies_in

__all__ = ["PH", "Tracer", "symbolic_trace", "wrap"]

#: Globals of modules, by identity and name, whose functions are not looked into.
_wrapped: dict[tuple[int, str], dict[str, Any]] = {}


class _Placeholder:
    """The mark of an argument that is traced though others are given."""

    def __repr__(self) -> str:
        return "PH"


PH = _Placeholder()


def wrap(fn_or_name: Any) -> Any:
    """Have calls of a function of the calling module become nodes instead of being looked into.

    Args:
        fn_or_name: the function, when this decorates it, or its name.

    Raises:
        RuntimeError: for what is neither.
        NotImplementedError: unless it is called at the top level of a module.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string name"
        )
    frame = sys._getframe(1)
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped[id(frame.f_globals), name] = frame.f_globals
    return fn_or_name


class Tracer(TracerBase):
    """Traces a module or a function; subclasses say which modules are looked into.

    Args:
        autowrap_modules: kept; functions of ``math`` refuse Proxies, which ``wrap`` is for.
        autowrap_functions: functions that become nodes where the traced function names them.
        param_shapes_constant: whether shapes of parameters are known while tracing.
    """

    def __init__(
        self,
        autowrap_modules: tuple[Any, ...] = (),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        super().__init__()
        self._autowrap_function_ids = {id(function) for function in autowrap_functions}
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Module, str] = {}
        self.root: Any = None

    # --- what subclasses decide ---------------------------------------------------------------

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a call of a submodule is one node: layers of ``torch.nn`` but ``Sequential``."""
        from ..nn import Sequential

        return m.__module__.startswith(
            ("numbagrad.nn.", "torch.nn", "torch.ao.nn")
        ) and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """The dotted name of a submodule.

        Raises:
            NameError: for a module that is none of the root's.
        """
        path = self.submodule_paths.get(mod)
        if path is None:
            raise NameError("module is not installed as a submodule")
        return path

    def call_module(self, m: Module, forward: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Make a call of a submodule a node, or the nodes of its forward."""
        path = self.path_of_module(m)
        if self.is_leaf_module(m, path):
            return self.create_proxy("call_module", path, args, kwargs)
        return forward(*args, **kwargs)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """Make reading a parameter a node, once."""
        for name, parameter in self.root.named_parameters():
            if parameter is attr_val:
                if name not in parameter_proxy_cache:
                    factory: Any = None
                    if self.param_shapes_constant:
                        factory = functools.partial(ParameterProxy, self, name=name, param=attr_val)
                    parameter_proxy_cache[name] = self.create_proxy(
                        "get_attr", name, (), {}, proxy_factory_fn=factory
                    )
                return parameter_proxy_cache[name]
        return attr_val

    def create_arg(self, a: Any) -> Argument:
        """As of every tracer; parameters, buffers and other tensors are read from the module."""
        if isinstance(a, Tensor):
            return self.create_node("get_attr", self._path_of_tensor(a), (), {})
        if isinstance(a, Module) and a in self.submodule_paths:
            return self.create_node("get_attr", self.submodule_paths[a], (), {})
        return super().create_arg(a)

    def _path_of_tensor(self, tensor: Tensor) -> str:
        named = (
            self.root.named_parameters()
            if isinstance(tensor, Parameter)
            else self.root.named_buffers()
        )
        for name, each in named:
            if each is tensor:
                return str(name)
        if id(tensor) not in self.tensor_attrs:
            number = 0
            while hasattr(self.root, f"_tensor_constant{number}"):
                number += 1
            name = f"_tensor_constant{number}"
            setattr(self.root, name, tensor)
            self.tensor_attrs[id(tensor)] = name, tensor
        return self.tensor_attrs[id(tensor)][0]

    # --- tracing ------------------------------------------------------------------------------

    def trace(self, root: Any, concrete_args: dict[str, Any] | None = None) -> Graph:
        """The graph of a module's forward, or of a function.

        Args:
            root: the Module or the function.
            concrete_args: values of arguments by name, which the graph asserts.

        Raises:
            TraceError: where Python asks for a value.
        """
        #: Tensors that are attributes but no buffers, by identity: dotted name, and the tensor.
        self.tensor_attrs: dict[int, tuple[str, Tensor]] = {}
        if isinstance(root, Module):
            self.root, function = root, type(root).forward
            self.submodule_paths = {module: name for name, module in root.named_modules()}
            for prefix, module in root.named_modules():
                for name, value in vars(module).items():
                    if isinstance(value, Tensor):
                        self.tensor_attrs[id(value)] = f"{prefix}.{name}".lstrip("."), value
        else:
            self.root, function, self.submodule_paths = Module(), root, {}
        self.graph = Graph(tracer_cls=type(self))
        arguments, function = self._arguments(
            function, isinstance(root, Module), concrete_args or {}
        )
        with tracing(self._call_of), self._reading_parameters(), self._wrapping(function):
            result = function(*arguments)
        kind = getattr(function, "__annotations__", {}).get("return")
        self.create_node("output", "output", (self.create_arg(result),), {}, type_expr=kind)
        return self.graph

    def _arguments(
        self, function: Callable[..., Any], is_method: bool, concrete: dict[str, Any]
    ) -> tuple[list[Any], Callable[..., Any]]:
        """Proxies of the arguments, and the function with all of them as ordinary ones."""
        inner = inspect.unwrap(function)
        code, signature = inner.__code__, inspect.signature(inner)
        count = code.co_argcount + code.co_kwonlyargcount
        names = list(code.co_varnames[:count])
        made = [self.root] if is_method else []
        made += [self._input(name, signature, concrete) for name in names[len(made) :]]
        flags = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
        variadic = 0
        for flag, stars in ((inspect.CO_VARARGS, "*"), (inspect.CO_VARKEYWORDS, "**")):
            if code.co_flags & flag:
                name = code.co_varnames[count + variadic]
                made.append(self.proxy(self.create_node("placeholder", f"{stars}{name}", (), {})))
                variadic += 1
        if not (variadic or code.co_kwonlyargcount):
            return made, function
        plain = code.replace(
            co_argcount=count + variadic,
            co_posonlyargcount=0,
            co_kwonlyargcount=0,
            co_flags=code.co_flags & ~flags,
        )
        rebuilt = type(inner)(plain, inner.__globals__, inner.__name__, None, inner.__closure__)
        rebuilt.__annotations__ = inner.__annotations__
        return made, rebuilt

    def _input(self, name: str, signature: inspect.Signature, concrete: dict[str, Any]) -> Any:
        parameter = signature.parameters[name]
        kind = parameter.annotation if isinstance(parameter.annotation, type) else None
        empty = inspect.Parameter.empty
        default = () if parameter.default is empty else (parameter.default,)
        kind = None if kind is empty else kind
        if name not in concrete or concrete[name] is PH:
            return self.proxy(self.create_node("placeholder", name, default, {}, type_expr=kind))
        value = concrete[name]
        seen = self.create_proxy("placeholder", f"{name}_1", default, {})
        if isinstance(value, (bool, int, float, str)):
            message = f"{name} has been specialized to have value {value} but got another value"
            self.create_proxy("call_function", _assert, (seen == value, message), {})
        return value

    def _call_of(self, module: Module, args: Any, kwargs: Any, forward: Callable[..., Any]) -> Any:
        return self.call_module(module, forward, args, kwargs)

    @contextlib.contextmanager
    def _reading_parameters(self) -> Iterator[None]:
        """Have reading a parameter of a submodule ask ``getattr``."""
        cache: dict[str, Any] = {}
        modules = list(self.root.modules())
        before = [module.__dict__["_parameters"] for module in modules]
        for module, parameters in zip(modules, before, strict=True):
            module.__dict__["_parameters"] = _Read(parameters, self, cache)
        try:
            yield
        finally:
            for module, parameters in zip(modules, before, strict=True):
                module.__dict__["_parameters"] = parameters

    @contextlib.contextmanager
    def _wrapping(self, function: Callable[..., Any]) -> Iterator[None]:
        """Have functions that were given to ``wrap`` become nodes."""
        places = [(table, name) for (_, name), table in _wrapped.items()]
        table = getattr(inspect.unwrap(function), "__globals__", {})
        places += [
            (table, name)
            for name, value in table.items()
            if id(value) in self._autowrap_function_ids
        ]
        before: list[tuple[dict[str, Any], str, Any]] = []
        for table, name in places:
            original = table.get(name, getattr(builtins, name, None))
            if original is not None and not hasattr(original, "_fx_wraps"):
                before.append((table, name, table.get(name, _MISSING)))
                table[name] = _noted(original)
        try:
            yield
        finally:
            for table, name, value in reversed(before):
                if value is _MISSING:
                    del table[name]
                else:
                    table[name] = value


_MISSING = object()


class _Read(dict[str, Any]):
    """The parameters of a module while it is traced: reading one asks the tracer."""

    def __init__(self, parameters: dict[str, Any], tracer: Tracer, cache: dict[str, Any]) -> None:
        super().__init__(parameters)
        self._tracer, self._cache = tracer, cache

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        return (
            self._tracer.getattr(name, value, self._cache)
            if isinstance(value, Parameter)
            else value
        )


def _noted(original: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose calls with Proxies are nodes."""

    def call(*args: Any, **kwargs: Any) -> Any:
        found: list[Proxy] = []
        _proxies_in((args, kwargs), found)
        if not found:
            return original(*args, **kwargs)
        made = found[0].tracer.create_proxy("call_function", original, args, kwargs)
        made.node.meta["is_wrapped"] = True
        return made

    call._fx_wraps = original  # type: ignore[attr-defined]
    return call


def symbolic_trace(root: Any, concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """A GraphModule that computes what a module, or a function, does for any input.

    The function is called once with Proxies: loops are unrolled, and branches on values raise.

    Args:
        root: the Module or the function.
        concrete_args: values of arguments, by name, for which the graph is made.
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
