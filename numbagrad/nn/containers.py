"""Modules that hold others, or parameters: Sequential, ModuleList, ModuleDict and their kin.

Their entries are registered like attributes, under their index or key.
"""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, TypeVar

from ..ops.conversion.query import typename
from ..tensor import Tensor
from .module import Module, indented
from .parameter import Parameter

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]

Self = TypeVar("Self", bound=Module)


class _Sequence(Module):
    """Base of Sequential and ModuleList: modules under the names "0", "1", ..."""

    def _name_at(self, index: Any) -> str:
        """The name of the module at an index, counted from the end if negative."""
        index = operator.index(index)
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range")
        return list(self._modules)[index]

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, self._name_at(idx), module)

    def __delitem__(self, idx: int | slice) -> None:
        names = list(self._modules)[idx] if isinstance(idx, slice) else [self._name_at(idx)]
        for name in names:
            delattr(self, name)
        self._renumber(self._modules.values())

    def _renumber(self, modules: Iterable[Any]) -> None:
        self.__dict__["_modules"] = {str(i): module for i, module in enumerate(modules)}

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def append(self: Self, module: Module) -> Self:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: int | slice) -> Any:
        """Remove and return the module at an index, or those of a slice."""
        found = self[key]  # type: ignore[index]
        del self[key]
        return found


class Sequential(_Sequence):
    """Modules called one after the other, each with what the one before returned.

    Args:
        args: the modules, or one OrderedDict of them by name.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            named: Iterable[tuple[str, Module]] = args[0].items()
        else:
            named = ((str(i), module) for i, module in enumerate(args))
        for name, module in named:
            self.add_module(name, module)

    def forward(self, input: Any) -> Any:
        """Call all modules in order."""
        for module in self._modules.values():
            input = module(input)  # type: ignore[misc]
        return input

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return type(self)(OrderedDict(list(self._modules.items())[idx]))
        return self._modules[self._name_at(idx)]

    def insert(self, index: int, module: Module) -> Sequential:
        """Put a module before the one at ``index``."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def extend(self, sequential: Iterable[Module]) -> Sequential:
        """Add modules at the end."""
        for module in list(sequential):
            self.append(module)
        return self

    @staticmethod
    def _require_sequential(other: Any) -> None:
        if not isinstance(other, Sequential):
            raise ValueError(
                "add operator supports only objects of Sequential class, but "
                f"{type(other)} is given."
            )

    def __add__(self, other: Any) -> Sequential:
        self._require_sequential(other)
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Sequential:
        self._require_sequential(other)
        return self.extend(other)

    def _check_factor(self, factor: Any) -> None:
        if not isinstance(factor, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(factor)}")
        if factor <= 0:
            raise ValueError(f"Non-positive multiplication factor {factor} for {type(self)}")

    def __mul__(self, other: int) -> Sequential:
        self._check_factor(other)
        return Sequential(*list(self) * other)

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Sequential:
        self._check_factor(other)
        return self.extend(list(self) * (other - 1))


class ModuleList(_Sequence):
    """A list of modules; it is not called itself."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return type(self)(list(self)[idx])
        return self._modules[self._name_at(idx)]

    def insert(self, index: int, module: Module) -> None:
        """Put a module before the one at ``index``."""
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)

    def extend(self, modules: Iterable[Module]) -> ModuleList:
        """Add modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleList.extend should be called with an iterable, but got "
                + type(modules).__name__
            )
        for module in list(modules):
            self.append(module)
        return self

    __iadd__ = extend

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, other))

    def __repr__(self) -> str:
        """As of any module, with equal neighbours written once."""
        blocks: list[tuple[int, int, str]] = []
        for position, module in enumerate(self):
            text = repr(module)
            if blocks and blocks[-1][2] == text:
                blocks[-1] = (blocks[-1][0], position, text)
            else:
                blocks.append((position, position, text))
        if not blocks:
            return f"{self._get_name()}()"
        lines = [
            f"({first}): {text}" if first == last else
            f"({first}-{last}): {last - first + 1} x {text}"
            for first, last, text in blocks
        ]  # fmt: skip
        return f"{self._get_name()}(\n  " + "\n  ".join(map(indented, lines)) + "\n)"


def _add_pairs(holder: str, entry: str, given: Any, add: Callable[[str, Any], None]) -> None:
    """Add what ``update`` of a dictionary takes besides mappings: pairs of key and value."""
    if not isinstance(given, Iterable):
        raise TypeError(
            f"{holder}.update should be called with an iterable of key/value pairs, but got "
            + type(given).__name__
        )
    for position, pair in enumerate(given):
        if not isinstance(pair, Iterable):
            raise TypeError(
                f"{entry} update sequence element #{position} should be Iterable; is"
                f"{type(pair).__name__}"
            )
        pair = tuple(pair)
        if len(pair) != 2:
            raise ValueError(
                f"{entry} update sequence element #{position} has length {len(pair)}; 2 is required"
            )
        add(*pair)


class ModuleDict(Module):
    """Modules by name, in the order in which they were added."""

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Remove and return the module of a key."""
        return self._modules.pop(key)

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._modules.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Names and modules."""
        return self._modules.items()

    def values(self) -> Iterable[Any]:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add modules from a mapping, or from pairs of name and module."""
        if isinstance(modules, (Mapping, ModuleDict)):
            modules = modules.items()
        _add_pairs("ModuleDict", "ModuleDict", modules, self.__setitem__)


def _trained(value: Any) -> Any:
    """A tensor as a Parameter; anything else as it is."""
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        return Parameter(value)
    return value


def _entry(key: Any, value: Any, kind: Callable[[Any], Any]) -> str:
    """The line of an entry in the text of its holder."""
    if not isinstance(value, Tensor):
        return f"  ({key}): Object of type: {type(value).__name__}"
    sizes = "x".join(str(size) for size in value.shape)
    name = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"  ({key}): {name} containing: [{kind(value)} of size {sizes}]"


class ParameterList(Module):
    """A list of parameters; tensors become parameters, other values are kept as they are."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _name_at(self, index: Any) -> str:
        index = operator.index(index)
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range")
        return str(index % len(self))

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return type(self)([self[i] for i in range(len(self))[idx]])
        return getattr(self, self._name_at(idx))

    def __setitem__(self, idx: int, param: Any) -> None:
        setattr(self, self._name_at(idx), _trained(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def append(self, value: Any) -> ParameterList:
        """Add a value at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Add values at the end."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(
                "ParameterList.extend should be called with an iterable, but got "
                + type(values).__name__
            )
        for value in list(values):
            self.append(value)
        return self

    __iadd__ = extend

    def extra_repr(self) -> str:
        """One line an entry."""
        return "\n".join(_entry(i, value, lambda p: p.dtype) for i, value in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """Parameters by name; tensors become parameters, other values are kept as they are."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    @staticmethod
    def _checked(key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string (type "
                f"is '{type(key).__name__}'). Open an issue on github if you need non-string keys."
            )
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._checked(key))

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self, self._checked(key), _trained(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """A ParameterDict with the same entries."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of a key, which gets the default if it is missing."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Remove all entries."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Remove and return the value of a key."""
        found = self[key]
        del self[key]
        return found

    def popitem(self) -> tuple[str, Any]:
        """Remove and return the last key and its value."""
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, or the default."""
        return self[key] if key in self else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A ParameterDict with these keys and one value."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Names and values."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """The values."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Add entries from a mapping (a plain one in the order of its keys), or from pairs."""
        if isinstance(parameters, (OrderedDict, ParameterDict)):
            parameters = parameters.items()
        elif isinstance(parameters, Mapping):
            parameters = sorted(parameters.items())
        _add_pairs("ParametersDict", "ParameterDict", parameters, self.__setitem__)

    def extra_repr(self) -> str:
        """One line an entry."""
        return "\n".join(_entry(key, value, typename) for key, value in self.items())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: ParameterDict) -> ParameterDict:
        merged = self.copy()
        merged.update(other)
        return merged

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        return other.copy() | self

    def __ior__(self, other: ParameterDict) -> ParameterDict:
        self.update(other)
        return self
