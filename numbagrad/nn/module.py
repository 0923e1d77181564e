"""Module: the base class of everything with parameters.

Registration of parameters, buffers and submodules by assignment, walks over them, conversion,
saving and loading of their state, and text. What hooks do in a call is in ``module_hooks.py``.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from ..autograd.grad_mode import no_grad
from ..autograd.hooks import RemovableHandle, add_hook
from ..dtype import dtype as DType
from ..ops.conversion import _arguments_of_to as arguments_of_to
from ..ops.creation import empty_like
from ..ops.query import typename
from ..tensor import Tensor
from . import module_hooks
from .parameter import Buffer, Parameter

__all__ = ["Module"]

Self = TypeVar("Self", bound="Module")

#: Key of what ``get_extra_state`` returns, behind the prefix of its module.
_EXTRA_STATE = "_extra_state"


class _Keys(NamedTuple):
    missing_keys: list[str]
    unexpected_keys: list[str]


class IncompatibleKeys(_Keys):
    """What ``load_state_dict`` found missing, and what it had no place for."""

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return (
            f"_IncompatibleKeys(missing_keys={self.missing_keys!r}, "
            f"unexpected_keys={self.unexpected_keys!r})"
        )

    __str__ = __repr__


def indented(text: str, spaces: int = 2) -> str:
    """``text`` with every line but the first indented."""
    return text.replace("\n", "\n" + " " * spaces)


class Module:
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
    #: Version of the layout of the state, kept in the metadata of a state dict.
    _version = 1
    #: Whether arguments of ``__init__`` go on to the next class in line.
    call_super_init = False

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

    def forward(self, *inputs: Any) -> Any:
        """What a call computes; defined by the subclass."""
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if (
            self._forward_hooks
            or self._forward_pre_hooks
            or self._backward_hooks
            or self._backward_pre_hooks
            or module_hooks.EVERY_MODULE.any
        ):
            return module_hooks.call(self, args, kwargs)
        return self.forward(*args, **kwargs)

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
        if param is not None and param._grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be "
                f"created explicitly. To express '{name}' as a function of another Tensor, compute "
                "the value in the forward() method."
            )
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is not trained; if ``persistent``, it is part of the state."""
        self._check_name("buffer", name, "_buffers", self.__dict__.get("_buffers", {}))
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or "
                "None required)"
            )
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule under a name; it is an attribute then."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        self._check_name("module", name, "_modules", self.__dict__.get("_modules", {}))
        self._modules[name] = module

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
            self._modules[name] = value
        elif name in attributes.get("_modules", ()):
            self._require_none(value, "as child module", name, "torch.nn.Module or None")
            self._modules[name] = None
        elif isinstance(value, Buffer) or name in attributes.get("_buffers", ()):
            if not isinstance(value, Tensor):
                self._require_none(
                    value, "as buffer", name, "torch.nn.Buffer, torch.Tensor or None"
                )
            persistent = name not in self._non_persistent_buffers_set
            if isinstance(value, Buffer):
                persistent = value.persistent
            self.register_buffer(name, value, persistent)
        else:
            object.__setattr__(self, name, value)

    @staticmethod
    def _require_none(value: Any, place: str, name: str, expected: str) -> None:
        if value is not None:
            raise TypeError(
                f"cannot assign '{typename(value)}' {place} '{name}' ({expected} expected)"
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
                if parameter._grad is not None:
                    parameter._grad.data = fn(parameter._grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self: Self, *args: Any, **kwargs: Any) -> Self:
        """Convert parameters and buffers of float dtype: ``to(dtype)``, ``to(device)``, ...

        Raises:
            TypeError: for a dtype that is not a float.
            AssertionError: for a device that is not the CPU.
        """
        named = {**arguments_of_to(args), **kwargs}
        dtype, device = named.get("dtype"), named.get("device")
        if isinstance(named.get("tensor"), Tensor):
            dtype = named["tensor"].dtype
        if isinstance(dtype, DType) and not dtype.is_floating_point:
            raise TypeError(
                "nn.Module.to only accepts floating point or complex dtypes, but got desired "
                f"dtype={dtype}"
            )
        return self._apply(
            lambda t: t.to(device=device, dtype=dtype if t.is_floating_point() else None)
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

    def cpu(self: Self) -> Self:
        """The module itself: its tensors are on the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self: Self, device: Any = None) -> Self:
        """Move to a GPU; raises where there is none."""
        return self._apply(lambda t: t.cuda(device))

    def to_empty(self: Self, *, device: Any, recurse: bool = True) -> Self:
        """Fresh memory with any values for all parameters and buffers."""
        return self._apply(lambda t: empty_like(t, device=device), recurse)

    def share_memory(self: Self) -> Self:
        """Raises: tensors of this package are not shared between processes."""
        raise NotImplementedError(
            "share_memory: tensors live in the memory of one process; save() and load() the "
            "state_dict in the other one"
        )

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

    # --- state --------------------------------------------------------------------------------

    def get_extra_state(self) -> Any:
        """What a subclass adds to the state; defined together with ``set_extra_state``."""
        raise RuntimeError(f"{type(self).__name__} defines set_extra_state but no get_extra_state")

    def set_extra_state(self, state: Any) -> None:
        """Take back what ``get_extra_state`` returned."""
        raise RuntimeError(f"{type(self).__name__} defines get_extra_state but no set_extra_state")

    def _state(self) -> Iterator[tuple[str, Tensor]]:
        """Parameters and persistent buffers of this module alone."""
        for name, parameter in self._parameters.items():
            if parameter is not None:
                yield name, parameter
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                yield name, buffer

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, tensor in self._state():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if type(self).get_extra_state is not Module.get_extra_state:
            destination[prefix + _EXTRA_STATE] = self.get_extra_state()

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> Any:
        """Parameters and persistent buffers by dotted path; the tensors share their memory."""
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead.",
                FutureWarning,
                stacklevel=2,
            )
            given = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
            destination = given.get("destination", destination)
            prefix = given.get("prefix", prefix)
            keep_vars = given.get("keep_vars", keep_vars)
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        for hook in self._state_dict_hooks.values():
            result = hook(self, destination, prefix, metadata)
            if result is None:
                continue
            if getattr(hook, "_from_public_api", False):
                raise RuntimeError("state_dict post-hook must return None")
            destination = result
        return destination

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copy a state into this module; with ``assign``, use its tensors themselves.

        Raises:
            RuntimeError: naming every tensor of another shape and, if ``strict``, every key that
                is missing or has no place.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", {})
        state_dict = OrderedDict(state_dict)
        keys = IncompatibleKeys([], [])
        errors: list[str] = []
        self._load(state_dict, "", metadata, assign, keys, errors)
        if strict:
            for title, names in (
                ("Missing", keys.missing_keys),
                ("Unexpected", keys.unexpected_keys),
            )[::-1]:
                if names:
                    quoted = ", ".join(f'"{name}"' for name in names)
                    errors.insert(0, f"{title} key(s) in state_dict: {quoted}. ")
        if errors:
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t"
                + "\n\t".join(errors)
            )
        return keys

    def _load(
        self,
        state_dict: OrderedDict[str, Any],
        prefix: str,
        metadata: Mapping[str, Any],
        assign: bool,
        keys: IncompatibleKeys,
        errors: list[str],
    ) -> None:
        """Load this module and those below; post hooks may change the keys."""
        local = dict(metadata.get(prefix[:-1], {}))
        if assign:
            local["assign_to_params_buffers"] = True
        self._load_from_state_dict(
            state_dict, prefix, local, True, keys.missing_keys, keys.unexpected_keys, errors
        )
        for name, module in self._modules.items():
            if module is not None:
                below = f"{prefix}{name}."
                part = OrderedDict((k, v) for k, v in state_dict.items() if k.startswith(below))
                module._load(part, below, metadata, assign, keys, errors)
        for hook in self._load_state_dict_post_hooks.values():
            if hook(self, keys) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected "
                    "to return new values, if incompatible_keys need to be modified, it should be "
                    "done inplace."
                )

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Mapping[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load this module alone; layers whose state changed its layout override it."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(
                state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
                error_msgs,
            )  # fmt: skip
        assign = local_metadata.get("assign_to_params_buffers", False)
        own = dict(self._state())
        for name, tensor in own.items():
            key = prefix + name
            if key in state_dict:
                error = self._load_tensor(name, tensor, key, state_dict[key], assign)
                if error:
                    error_msgs.append(error)
            elif strict:
                missing_keys.append(key)
        extra = prefix + _EXTRA_STATE
        if type(self).set_extra_state is not Module.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra:
                    first, *rest = key[len(prefix) :].split(".", 1)
                    if first not in (self._modules if rest else own):
                        unexpected_keys.append(key)

    def _load_tensor(self, name: str, own: Tensor, key: str, given: Any, assign: bool) -> str:
        """Load one tensor; returns why it could not be, or an empty text."""
        if not isinstance(given, Tensor):
            return (
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like '
                f"object from checkpoint but received {type(given)}"
            )
        if own._array.ndim == 0 and given._array.shape == (1,):
            given = given[0]  # scalars were saved as vectors of one element long ago
        if given._array.shape != own._array.shape:
            return (
                f"size mismatch for {key}: copying a param with shape {given.shape} from "
                f"checkpoint, the shape in current model is {own.shape}."
            )
        with no_grad():
            if not assign:
                own.copy_(given)
            elif isinstance(own, Parameter) and not isinstance(given, Parameter):
                setattr(self, name, Parameter(given, own.requires_grad))
            else:
                setattr(self, name, given.requires_grad_(own.requires_grad))
        return ""

    # --- hooks --------------------------------------------------------------------------------

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before ``forward``; it may return other arguments.

        With ``with_kwargs``, ``hook(module, args, kwargs)``, which returns None or both.
        """
        handle = add_hook(self._forward_pre_hooks, hook, prepend)
        if with_kwargs:
            self._forward_pre_hooks_with_kwargs[handle.id] = True
        return handle

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after ``forward``; it may return another output.

        With ``with_kwargs``, ``hook(module, args, kwargs, output)``; with ``always_call`` also when
        ``forward`` raises.
        """
        handle = add_hook(self._forward_hooks, hook, prepend)
        if with_kwargs:
            self._forward_hooks_with_kwargs[handle.id] = True
        if always_call:
            self._forward_hooks_always_called[handle.id] = True
        return handle

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` before the gradients of the module are computed."""
        return add_hook(self._backward_pre_hooks, hook, prepend)

    def _choose_backward_hooks(self, full: bool) -> None:
        if self._is_full_backward_hook is not None and self._is_full_backward_hook != full:
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single "
                "Module. Please use only one of them."
            )
        self._is_full_backward_hook = full

    def register_full_backward_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` in backward; it may return others."""
        self._choose_backward_hooks(True)
        return add_hook(self._backward_hooks, hook, prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """The old backward hook: sees the node that made the output, not the whole module."""
        self._choose_backward_hooks(False)
        return add_hook(self._backward_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before the state is collected."""
        return add_hook(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata)`` after it was collected."""
        hook._from_public_api = True  # type: ignore[attr-defined]
        return add_hook(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was "
                "previously registered via register_state_dict_post_hook"
            )
        return add_hook(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs)`` before loading."""
        bound = module_hooks.WithModule(hook, self)
        return add_hook(self._load_state_dict_pre_hooks, bound)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        if with_module:
            return self.register_load_state_dict_pre_hook(hook)
        return add_hook(self._load_state_dict_pre_hooks, hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` after loading; it may change the keys."""
        return add_hook(self._load_state_dict_post_hooks, hook)

    # --- text ---------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What a subclass says of itself between the parentheses."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        if len(lines) == 1 and not self._modules:
            return f"{self._get_name()}({extra})"
        lines += [f"({name}): {indented(repr(module))}" for name, module in self._modules.items()]
        body = "\n  " + "\n  ".join(lines) + "\n" if lines else ""
        return f"{self._get_name()}({body})"


def forget_gradient(parameter: Tensor, set_to_none: bool) -> None:
    """What ``zero_grad`` does to one parameter."""
    gradient = parameter._grad
    if gradient is None:
        return
    if set_to_none:
        parameter._grad = None
        return
    if gradient._grad_fn is not None:
        gradient.detach_()
    else:
        gradient.requires_grad_(False)
    gradient.zero_()
