"""Module: the base class of everything with parameters.

Registration of parameters, buffers and submodules by assignment, walks over them, conversion and
text. Hooks are in ``module_hooks.py``, saving and loading in ``module_state.py``.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from ..autograd.grad_mode import no_grad
from ..dispatch import layers
from ..dtype import dtype as DType
from ..ops.arguments.check import check_constructor
from ..ops.conversion.dtypes import arguments_of_to
from ..ops.conversion.query import typename
from ..ops.creation.filled import empty_like
from ..tensor import Tensor
from . import module_hooks
from .module_hooks import EVERY_MODULE, ModuleHooks, as_hooks_say
from .module_state import ModuleState
from .parameter import Buffer, Parameter

__all__ = ["Module"]

Self = TypeVar("Self", bound="Module")

#: The package of the layers whose constructors say which argument is of another kind.
_HERE = __name__.rpartition(".")[0] + "."


def indented(text: str, spaces: int = 2) -> str:
    """``text`` with every line but the first indented."""
    return text.replace("\n", "\n" + " " * spaces)


class Module(ModuleHooks, ModuleState):
    """Base class of layers and networks.

    A subclass calls ``super().__init__()``, assigns parameters and submodules as attributes and
    defines ``forward``; calling the module runs ``forward`` and the hooks around it.
    """

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]
    _non_persistent_buffers_set: set[str]
    _is_full_backward_hook: bool | None
    #: Whether arguments of ``__init__`` go on to the next class in line.
    call_super_init = False
    #: The program that calls run in place of ``_call_impl``, from ``compile``.
    _compiled_call_impl: Callable[..., Any] | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and kwargs:
            raise TypeError(
                f"{type(self).__name__}.__init__() got an unexpected keyword argument "
                f"'{next(iter(kwargs))}'"
            )
        if not self.call_super_init and args:
            raise TypeError(
                f"{type(self).__name__}.__init__() takes 1 positional argument but "
                f"{len(args) + 1} were given"
            )
        # Past __setattr__, which looks for these tables.
        self.__dict__.update(
            training=True, _parameters={}, _buffers={}, _non_persistent_buffers_set=set(),
            _is_full_backward_hook=None, _modules={},
        )  # fmt: skip
        self.__dict__.update((name, OrderedDict()) for name in module_hooks.TABLES)
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if cls.__module__.startswith(_HERE):
            check_constructor(cls, _HERE)

    if TYPE_CHECKING:
        # A subclass takes what it likes, which type checkers grant to this signature alone.
        def forward(self, *args: Any, **kwargs: Any) -> Any: ...
    else:

        def forward(self, *inputs: Any) -> Any:
            """The forward of the module; defined by the subclass."""
            raise NotImplementedError(
                f'Module [{type(self).__name__}] is missing the required "forward" function'
            )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if layers.active and layers.active & layers.VOLATILE and layers.asks(Module.__call__):
            return layers.descend(Module.__call__, (self, *args), kwargs)
        if (
            self._forward_hooks
            or self._forward_pre_hooks
            or self._backward_hooks
            or self._backward_pre_hooks
            or EVERY_MODULE.of_calls
            or self._compiled_call_impl
        ):
            return (self._compiled_call_impl or self._call_impl)(*args, **kwargs)
        return self.forward(*args, **kwargs)

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        return module_hooks.call(self, args, kwargs)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Run the calls of this module as compiled programs from now on.

        The arguments are those of :func:`numbagrad.compile`, which makes another module instead. A
        copy of this one is not compiled.
        """
        from .. import compile

        self._compiled_call_impl = compile(self._call_impl, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)
        return state

    # --- registration -------------------------------------------------------------------------

    def _check_name(self, kind: str, name: Any, table: str, present: Mapping[str, Any]) -> None:
        if table not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
        if "." in name and kind != "module":
            raise KeyError(f'{kind} name can\'t contain "."')
        if name == "" and kind != "module":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if name not in present and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'module name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError('module name can\'t be empty string ""')

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter, or a place for one that is None and not part of the state.

        Raises:
            KeyError: if the name is taken, empty or has a dot.
            TypeError: if ``param`` is neither a Parameter nor None.
        """
        self._check_name("parameter", name, "_parameters", self.__dict__.get("_parameters", {}))
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{typename(param)}' object to parameter '{name}' "
                "(torch.nn.Parameter or None required)"
            )
        if param is not None and param._producer is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be "
                f"created explicitly. To express '{name}' as a function of another Tensor, compute "
                "the value in the forward() method."
            )
        if param is not None:
            param = as_hooks_say(EVERY_MODULE.parameters, self, name, param)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is not trained; if ``persistent``, it is part of the state."""
        self._check_name("buffer", name, "_buffers", self.__dict__.get("_buffers", {}))
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or "
                "None required)"
            )
        self._buffers[name] = as_hooks_say(EVERY_MODULE.buffers, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule under a name; it is an attribute then."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        self._check_name("module", name, "_modules", self.__dict__.get("_modules", {}))
        self._modules[name] = as_hooks_say(EVERY_MODULE.modules, self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Another name of ``add_module``."""
        self.add_module(name, module)

    def __getattr__(self, name: str) -> Any:
        attributes = self.__dict__
        for table in ("_parameters", "_buffers", "_modules"):
            if table in attributes and name in attributes[table]:
                return attributes[table][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        attributes = self.__dict__
        parameters = attributes.get("_parameters")
        if isinstance(value, Parameter):
            if parameters is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, but="_parameters")
            self.register_parameter(name, value)
        elif parameters is not None and name in parameters:
            self._require_none(value, "as parameter", name, "torch.nn.Parameter or None")
            self.register_parameter(name, None)
        elif isinstance(value, Module):
            if "_modules" not in attributes:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, but="_modules")
            self._modules[name] = as_hooks_say(EVERY_MODULE.modules, self, name, value)
        elif name in attributes.get("_modules", ()):
            self._require_none(value, "as child module", name, "torch.nn.Module or None")
            self._modules[name] = as_hooks_say(EVERY_MODULE.modules, self, name, None)
        elif isinstance(value, Buffer) or name in attributes.get("_buffers", ()):
            if not isinstance(value, Tensor):
                self._require_none(
                    value, "as buffer", name, "torch.nn.Buffer, torch.Tensor or None"
                )
            persistent = name not in self._non_persistent_buffers_set
            if isinstance(value, Buffer):
                persistent = value.persistent
            self._register_assigned_buffer(name, value, persistent)
        else:
            object.__setattr__(self, name, value)

    def _register_assigned_buffer(self, name: str, value: Any, persistent: bool) -> None:
        """``register_buffer``, which subclasses may define without ``persistent``.

        Raises:
            RuntimeError: if such a subclass is to hold a buffer that is not part of the state.
        """
        register = self.register_buffer
        if (
            getattr(register, "__func__", None) is Module.register_buffer
            or "persistent" in inspect.signature(register).parameters
        ):
            register(name, value, persistent)
        elif persistent:
            register(name, value)
        else:
            raise RuntimeError(
                "Registering a non-persistent buffer on a Module subclass that implements "
                "register_buffer() without the persistent argument is not allowed."
            )

    @staticmethod
    def _require_none(value: Any, position: str, name: str, expected: str) -> None:
        if value is not None:
            raise TypeError(
                f"cannot assign '{typename(value)}' {position} '{name}' ({expected} expected)"
            )

    def _forget(self, name: str, but: str) -> None:
        """Take ``name`` out of everything that could hold it, except one table."""
        self.__dict__.pop(name, None)
        for table in ("_parameters", "_buffers", "_modules"):
            if table != but:
                self.__dict__[table].pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def __delattr__(self, name: str) -> None:
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = [*dir(type(self)), *self.__dict__]
        names += [*self._parameters, *self._modules, *self._buffers]
        return sorted(name for name in names if not name[0].isdigit())

    # --- by name ------------------------------------------------------------------------------

    def get_submodule(self, target: str) -> Module:
        """The submodule of a dotted path, as ``"encoder.layers.0"``; this module for ``""``."""
        module: Any = self
        for name in target.split(".") if target else ():
            module = self._attribute(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    @staticmethod
    def _attribute(module: Module, name: str) -> Any:
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        return getattr(module, name)

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put ``module`` at a dotted path; with ``strict`` only where one is already."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict or hasattr(parent, name):
            if not isinstance(self._attribute(parent, name), Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter of a dotted path."""
        path, _, name = target.rpartition(".")
        found = self._attribute(self.get_submodule(path), name)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer of a dotted path."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        found = self._attribute(module, name)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    # --- walks --------------------------------------------------------------------------------

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all below it with their dotted paths, each once unless asked."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                path = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, path, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """This module and all below it."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The direct submodules with their names, each once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """The direct submodules."""
        for _, module in self.named_children():
            yield module

    def _named_members(
        self,
        get_members_fn: Callable[[Module], Iterable[tuple[str, Any]]],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        if recurse:
            modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        else:
            modules = iter([(prefix, self)])
        for path, module in modules:
            for name, member in get_members_fn(module):
                if member is None or id(member) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(member))
                yield (f"{path}.{name}" if path else name), member

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their dotted paths."""
        return self._named_members(
            lambda module: module._parameters.items(), prefix, recurse, remove_duplicate
        )

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters: what an optimizer takes."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their dotted paths."""
        return self._named_members(
            lambda module: module._buffers.items(), prefix, recurse, remove_duplicate
        )

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    # --- modes and conversions ----------------------------------------------------------------

    def apply(self: Self, fn: Callable[[Module], None]) -> Self:
        """Call ``fn`` on every module below and then on this one."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self: Self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace the memory of all parameters, gradients and buffers by what ``fn`` returns."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for parameter in self._parameters.values():
            if parameter is None:
                continue
            with no_grad():
                parameter.data = fn(parameter)
                if parameter._accumulated is not None:
                    parameter._accumulated.data = fn(parameter._accumulated)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self: Self, *args: Any, **kwargs: Any) -> Self:
        """Convert parameters and buffers of float dtype: ``to(dtype)``, ``to(device)``, ...

        A ``memory_format`` is that of parameters and buffers of four and five dimensions.

        Raises:
            TypeError: for a dtype that is not a float.
            AssertionError: for a device that is not the CPU.
        """
        named = {**arguments_of_to(args), **kwargs}
        if len(args) > 1 and isinstance(args[0], (DType, Tensor)) is not isinstance(args[1], bool):
            raise TypeError(
                "to() received an invalid combination of arguments: behind a device stands a dtype,"
                " behind a dtype or a tensor whether the copy may be asynchronous, but got "
                f"{type(args[1]).__name__}"
            )
        dtype, device = named.get("dtype"), named.get("device")
        if isinstance(named.get("tensor"), Tensor):
            dtype = named["tensor"].dtype
        if isinstance(dtype, DType) and not dtype.has_fractions:
            raise TypeError(
                "nn.Module.to only accepts floating point or complex dtypes, but got desired "
                f"dtype={dtype}"
            )
        return self._apply(
            lambda t: t.to(
                device=device,
                dtype=dtype if t.is_floating_point() or t.is_complex() else None,
                memory_format=named.get("memory_format") if t.ndim in (4, 5) else None,
            )
        )

    def type(self: Self, dst_type: Any) -> Self:
        """All parameters and buffers as ``dst_type``."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self: Self) -> Self:
        """Parameters and buffers of float dtype as float32."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self: Self) -> Self:
        """Parameters and buffers of float dtype as float64."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self: Self) -> Self:
        """Parameters and buffers of float dtype as float16."""
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self: Self) -> Self:
        """Parameters and buffers of float dtype as bfloat16."""
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def cpu(self: Self) -> Self:
        """The module itself: its tensors are on the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self: Self, device: Any = None) -> Self:
        """Move to a GPU; raises where there is none."""
        return self._apply(lambda t: t.cuda(device))

    def xpu(self: Self, device: Any = None) -> Self:
        """Move to a GPU of Intel; raises, as tensors cannot be there."""
        return self._move_to("xpu", device)

    def ipu(self: Self, device: Any = None) -> Self:
        """Move to a processor of Graphcore; raises, as tensors cannot be there."""
        return self._move_to("ipu", device)

    def mtia(self: Self, device: Any = None) -> Self:
        """Move to an accelerator of Meta; raises, as tensors cannot be there."""
        return self._move_to("mtia", device)

    def _move_to(self: Self, kind: str, device: Any) -> Self:
        return self._apply(lambda t: t.to(f"{kind}:{device}" if type(device) is int else kind))

    def to_empty(self: Self, *, device: Any, recurse: bool = True) -> Self:
        """Fresh memory with any values for all parameters and buffers."""
        return self._apply(lambda t: empty_like(t, device=device), recurse)

    def share_memory(self: Self) -> Self:
        """Move parameters and buffers into memory that other processes see.

        Raises:
            RuntimeError: if something else uses the memory of one; see ``Tensor.share_memory_``.
        """
        return self._apply(lambda t: t.share_memory_())

    def train(self: Self, mode: bool = True) -> Self:
        """Set training mode here and below; Dropout and normalization layers ask for it."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self: Self) -> Self:
        """Set evaluation mode here and below."""
        return self.train(False)

    def requires_grad_(self: Self, requires_grad: bool = True) -> Self:
        """Set ``requires_grad`` of all parameters."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or write zeros into them."""
        for parameter in self.parameters():
            forget_gradient(parameter, set_to_none)

    # --- text ---------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    #: The text of ``extra_repr`` for layers of this package: a format for the module.
    _repr_format = ""

    def extra_repr(self) -> str:
        """The text of a subclass between the parentheses."""
        return self._repr_format.format(self)

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        if len(lines) == 1 and not self._modules:
            return f"{self._get_name()}({extra})"
        lines += [f"({name}): {indented(repr(module))}" for name, module in self._modules.items()]
        body = "\n  " + "\n  ".join(lines) + "\n" if lines else ""
        return f"{self._get_name()}({body})"


def forget_gradient(parameter: Tensor, set_to_none: bool) -> None:
    """``zero_grad`` for one parameter; a subclass is asked, as its gradient may lie elsewhere."""
    plain = parameter.__class__ in (Parameter, Tensor)
    gradient = parameter._accumulated if plain else parameter.grad
    if gradient is None:
        return
    if set_to_none:
        if plain:
            parameter._accumulated = None
        else:
            parameter.grad = None
        return
    if gradient._producer is not None:
        gradient.detach_()
    else:
        gradient.requires_grad_(False)
    gradient.zero_()
