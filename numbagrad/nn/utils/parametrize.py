"""Tensors of a module as functions of others: a weight that is orthogonal, or of a given norm.

``register_parametrization`` puts a property in the place of a parameter or buffer. What it is
computed from is kept in ``module.parametrizations``, and trained instead.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

from ...autograd.grad_mode import no_grad
from ...tensor import Tensor
from ..containers import ModuleDict, ModuleList
from ..module import Module
from ..parameter import Parameter

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization",
    "remove_parametrizations", "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]  # fmt: skip


class _Cache:
    """Values of parametrized tensors, by module and name, while some ``cached()`` is open."""

    depth = 0
    values: dict[tuple[int, str], Tensor]


_CACHE = _Cache()
_CACHE.values = {}


@contextlib.contextmanager
def cached() -> Iterator[None]:
    """Compute each parametrized tensor once inside the ``with`` block, and keep it there."""
    _CACHE.depth += 1
    try:
        yield
    finally:
        _CACHE.depth -= 1
        if not _CACHE.depth:
            _CACHE.values = {}


def _register(module: Module, name: str, tensor: Tensor | None) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _check_kept(what: str, flag: str, names: tuple[str, str], old: Tensor, new: Any) -> None:
    """Check that a new value is a tensor, of the dtype and shape of the old one."""
    for attribute in ("dtype", "shape"):
        before, after = getattr(old, attribute), getattr(new, attribute)
        if before != after:
            position = [name.format(attribute=attribute) for name in names]
            raise ValueError(
                f"{what} may not change the {attribute} of the tensor, unless {flag}`unsafe` flag "
                f"is enabled.\n{position[0]}: {before}\n{position[1]}: {after}"
            )


def _require_tensor(value: Any) -> None:
    if not isinstance(value, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(value).__name__}.")


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, applied in order, and what they are applied to.

    That is ``original``, or ``original0``, ``original1``, ... where the ``right_inverse`` of the
    first returns several tensors. ``register_parametrization`` makes these lists.

    Raises:
        ValueError: without modules, for a ``right_inverse`` that returns no tensors or one of
            another dtype and, unless ``unsafe``, for a parametrization that changes dtype or shape.
    """

    original: Tensor

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shown = original.detach()
        found: Any = original
        with no_grad():
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    with contextlib.suppress(NotImplementedError):
                        found = module.right_inverse(found)
        if not isinstance(found, (Tensor, Sequence)):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(found).__name__}"
            )
        self.is_tensor = isinstance(found, Tensor)
        self.ntensors = 1 if self.is_tensor else len(found)
        if isinstance(found, Tensor):
            self._keep_one(original, found)
        else:
            self._keep_several(original, found)
        if not unsafe:
            value = self()
            _require_tensor(value)
            names = ("unparametrized {attribute}", "parametrized {attribute}")
            _check_kept("Registering a parametrization", "", names, shown, value)

    def _keep_one(self, original: Tensor, found: Tensor) -> None:
        if original.dtype != found.dtype:
            raise ValueError(
                "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                f"original.dtype: {original.dtype}\n"
                f"right_inverse(original).dtype: {found.dtype}"
            )
        with no_grad():
            original.set_(found)
        _register(self, "original", original)

    def _keep_several(self, original: Tensor, found: Sequence[Any]) -> None:
        for number, each in enumerate(found):
            if not isinstance(each, Tensor):
                raise ValueError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors (list, "
                    f"tuple...). Got element {number} of the sequence with type "
                    f"{type(each).__name__}."
                )
            if isinstance(original, Parameter):
                each = Parameter(each, original.requires_grad)  # noqa: PLW2901
            each.requires_grad_(original.requires_grad)
            _register(self, f"original{number}", each)

    def _originals(self) -> list[Tensor]:
        if self.is_tensor:
            return [self.original]
        return [getattr(self, f"original{number}") for number in range(self.ntensors)]

    @no_grad()
    def right_inverse(self, value: Any) -> None:
        """Let the originals be such that the parametrized tensor is ``value``.

        Raises:
            RuntimeError: if a parametrization has no ``right_inverse``.
            ValueError: if one returns other tensors than those that are kept.
        """
        for module in reversed(list(self)):
            if not hasattr(module, "right_inverse"):
                raise RuntimeError(
                    f"parametrization {type(module).__name__} does not implement right_inverse."
                )
            value = module.right_inverse(value)
        if self.is_tensor:
            if not isinstance(value, Tensor):
                raise ValueError(
                    f"`right_inverse` should return a tensor. Got {type(value).__name__}"
                )
            if value.dtype != self.original.dtype:
                raise ValueError(
                    f"The tensor returned by `right_inverse` has dtype {value.dtype} "
                    f"while `original` has dtype {self.original.dtype}"
                )
            self.original.set_(value)
            return
        if not isinstance(value, Sequence):
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}."
            )
        if len(value) != self.ntensors:
            raise ValueError(
                "'right_inverse' must return a sequence of tensors of length "
                f"{self.ntensors}. Got a sequence of length {len(value)}."
            )
        for number, (original, each) in enumerate(zip(self._originals(), value, strict=True)):
            if not isinstance(each, Tensor):
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors or reference-type opaques. "
                    f"Got element {number} of type {type(each).__name__}."
                )
            if original.dtype != each.dtype:
                raise ValueError(
                    f"Tensor {number} returned by `right_inverse` has dtype {each.dtype} "
                    f"while `original{number}` has dtype {original.dtype}"
                )
            original.set_(each)

    def forward(self) -> Any:
        """The parametrized tensor."""
        first, *others = list(self)
        value = first(*self._originals())
        for module in others:
            value = module(value)
        return value


def _parametrized_class(base: type[Module]) -> type[Module]:
    """A class for one module, which holds the properties of its parametrized tensors."""

    def copied(self: Module, memo: dict[int, Any]) -> Module:
        made = object.__new__(type(self))
        memo[id(self)] = made
        made.__dict__ = deepcopy(self.__dict__, memo)
        # A class of its own: what is registered or removed on one is not on the other.
        made.__class__ = _parametrized_class(base)
        for name in made.parametrizations:
            _add_property(made, name)
        return made

    def refuse(self: Module, *protocol: Any) -> Any:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(). See:\n"
            "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
            "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
        )

    members: dict[str, Any] = {"__deepcopy__": copied, "__getstate__": refuse}
    return type(f"Parametrized{base.__name__}", (base,), members)


def _add_property(module: Module, name: str) -> None:
    def value(self: Module) -> Any:
        parametrization = self.parametrizations[name]
        if not _CACHE.depth:
            return parametrization()
        key = (id(self), name)
        if key not in _CACHE.values:
            _CACHE.values[key] = parametrization()
        return _CACHE.values[key]

    def assign(self: Module, given: Tensor) -> None:
        self.parametrizations[name].right_inverse(given)

    setattr(type(module), name, property(value, assign))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Let a parameter or buffer be what ``parametrization`` makes of the tensor it was.

    Args:
        module: the module, whose class becomes one with a property of that name.
        tensor_name: the name.
        parametrization: a module of one tensor, or of those its ``right_inverse`` returns. That
            method says what to keep for a given value, when this is called and when the tensor is
            assigned to; without it the tensor is kept as it is. Several are applied one after
            another.
        unsafe: whether dtype and shape may change, so that nothing is called to find out.

    Raises:
        ValueError: if there is no such tensor, or dtype or shape change.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_another(module, tensor_name, parametrization)
        entries: Any = module.parametrizations[tensor_name]
        entries.append(parametrization)
        entries.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        made = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            module.__class__ = _parametrized_class(type(module))
            module.parametrizations = ModuleDict()
        _add_property(module, tensor_name)
        module.parametrizations[tensor_name] = made
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element "
            f"with name '{tensor_name}'"
        )
    return module


def _check_another(module: Module, name: str, parametrization: Module) -> None:
    """Check that a further parametrization keeps dtype and shape, and its inverse as well."""
    before = getattr(module, name)
    after = parametrization(before)
    _require_tensor(after)
    own = f"module.{name}.{{attribute}}"
    names = (own, f"parametrization(module.{name}).{{attribute}}")
    _check_kept("Registering a parametrization", "the ", names, before, after)
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        back = parametrization.right_inverse(after)
    except NotImplementedError:
        return
    if not isinstance(back, Tensor):
        raise ValueError(
            f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}"
        )
    for attribute in ("dtype", "shape"):
        wanted, found = getattr(before, attribute), getattr(back, attribute)
        if wanted != found:
            raise ValueError(
                "The tensor returned by parametrization.right_inverse must have the same "
                f"{attribute} as module.{name}, unless the `unsafe` flag is enabled.\n"
                f"module.{name}.{attribute}: {wanted}\nreturned {attribute}: {found}"
            )


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a tensor of a module is parametrized, or any of them."""
    entries = getattr(module, "parametrizations", None)
    if not isinstance(entries, ModuleDict):
        return False
    return len(entries) > 0 if tensor_name is None else tensor_name in entries


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Let a tensor be a parameter or buffer again, with the value it has.

    With ``leave_parametrized=False`` it is the original.

    Raises:
        ValueError: if it is not parametrized, or if there is more than one original to leave.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    entries: Any = module.parametrizations[tensor_name]
    if entries.is_tensor:
        left = entries.original
        if leave_parametrized:
            with no_grad():
                left.set_(getattr(module, tensor_name))
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        left = Parameter(value.detach()) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
            "parametrized in terms of a sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, left)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class that a module had before its tensors were parametrized."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Parametrize another module in the same way, by the same originals.

    One tensor of that name, or all; parameters that the other module lacks are made.
    """
    if not is_parametrized(from_module):
        return to_module
    names = list(from_module.parametrizations) if tensor_name is None else [tensor_name]
    for name in names:
        source: Any = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach()))
        for parametrization in source:
            register_parametrization(to_module, name, parametrization)
        target: Any = to_module.parametrizations[name]
        originals = [x for x in (*source._parameters, *source._buffers) if x.startswith("original")]
        for original in originals:
            setattr(target, original, getattr(source, original))
    return to_module
