"""Pruning: parameters whose elements, or whole channels, are held at zero by a mask.

A pruned parameter ``name`` is ``name_orig``, which is trained, times the buffer ``name_mask``; a
hook computes it before each call.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Iterator
from typing import Any

from ...ops.creation.filled import ones_like, zeros_like
from ...ops.creation.random import rand, rand_like
from ...ops.views.join import cat
from ...tensor import Tensor
from ..module import Module

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured",
    "PruningContainer", "RandomStructured", "RandomUnstructured", "custom_from_mask",
    "global_unstructured", "identity", "is_pruned", "l1_unstructured", "ln_structured",
    "random_structured", "random_unstructured", "remove",
]  # fmt: skip


class BasePruningMethod:
    """A way to choose what is pruned: a subclass defines ``compute_mask`` and ``PRUNING_TYPE``.

    That is "unstructured" (elements that are left), "structured" (channels along ``self.dim`` that
    are left) or "global" (everything).
    """

    PRUNING_TYPE: str
    _tensor_name: str | None = None

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, str(self._tensor_name), self.apply_mask(module))

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask for scores ``t`` over what ``default_mask`` has left."""
        raise NotImplementedError(f"{type(self).__name__} defines no compute_mask")

    def apply_mask(self, module: Module) -> Tensor:
        """The pruned tensor of a module."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask = getattr(module, f"{self._tensor_name}_mask")
        original: Tensor = getattr(module, f"{self._tensor_name}_orig")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any
    ) -> BasePruningMethod:
        """Prune a parameter, in addition to what was pruned before; returns the hook."""
        made: BasePruningMethod = cls(*args, **kwargs)
        made._tensor_name = name
        before = _hook_of(module, name)
        current = getattr(module, name)
        if importance_scores is None:
            importance_scores = current
        elif importance_scores.shape != current.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, "
                f"got {importance_scores.shape} vs {current.shape}"
            )
        if before is None:
            mask = made.compute_mask(importance_scores, default_mask=ones_like(current))
            module.register_parameter(f"{name}_orig", current)
            del module._parameters[name]
        else:
            key, hook = before
            container = hook if isinstance(hook, PruningContainer) else PruningContainer(hook)
            container.add_pruning_method(made)
            made = container
            kept = getattr(module, f"{name}_mask").detach().clone()
            mask = made.compute_mask(importance_scores, default_mask=kept)
            del module._forward_pre_hooks[key]
        module.register_buffer(f"{name}_mask", mask.detach())
        setattr(module, name, made.apply_mask(module))
        module.register_forward_pre_hook(made)
        return made

    def prune(
        self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Any = None
    ) -> Tensor:
        """A tensor times its mask, without a module."""
        if importance_scores is None:
            importance_scores = t
        elif importance_scores.shape != t.shape:
            raise AssertionError(
                "importance_scores should have the same shape as tensor t, got "
                f"{importance_scores.shape} vs {t.shape}"
            )
        mask = ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(importance_scores, default_mask=mask)

    def remove(self, module: Module) -> None:
        """Let the tensor be a parameter again, with the zeros in it."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        pruned = self.apply_mask(module).detach()
        delattr(module, name)
        original: Any = module._parameters[f"{name}_orig"]
        original.data = pruned
        del module._parameters[f"{name}_orig"], module._buffers[f"{name}_mask"]
        setattr(module, name, original)


def _hook_of(module: Module, name: str) -> tuple[Any, BasePruningMethod] | None:
    """The pruning hook of a parameter and its key, or None."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return key, hook
    return None


class PruningContainer(BasePruningMethod):
    """Several ways of pruning one parameter, one after another."""

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Add a method for the same parameter."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if self._tensor_name != method._tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' "
                f"to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: int) -> BasePruningMethod:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of the last method over what those before have left."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        position = _left(method, t, default_mask)
        mask[position] = method.compute_mask(t[position], default_mask=default_mask[position]).to(
            mask.dtype
        )
        return mask


def _left(method: Any, t: Tensor, mask: Tensor) -> Any:
    """The index of what a method may still prune."""
    whole: list[Any] = [slice(None)] * t.ndim
    if method.PRUNING_TYPE == "unstructured":
        return mask == 1
    if method.PRUNING_TYPE == "structured":
        dim = method.dim % t.ndim
        whole[dim] = mask.sum([k for k in range(t.ndim) if k != dim]) != 0
    elif method.PRUNING_TYPE != "global":
        raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
    return tuple(whole)


class _ByAmount(BasePruningMethod):
    """Prunes a share of what there is, or a number."""

    def __init__(self, amount: Any) -> None:
        if not isinstance(amount, numbers.Real):
            raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
        whole = isinstance(amount, numbers.Integral)
        if float(amount) < 0 or (not whole and float(amount) > 1):
            raise ValueError(
                f"amount={amount} should either be a float in the range [0, 1] or a non-negative "
                "integer"
            )
        self.amount: Any = amount

    def _count(self, size: int) -> int:
        if not isinstance(self.amount, numbers.Integral):
            return round(float(self.amount) * size)
        if int(self.amount) > size:
            raise ValueError(
                f"amount={self.amount} should be smaller than the number of parameters to "
                f"prune={size}"
            )
        return int(self.amount)


class Identity(BasePruningMethod):
    """Prunes nothing, but makes the mask."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask that there is."""
        return default_mask


class RandomUnstructured(_ByAmount):
    """Prunes elements at random."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask without some of its elements."""
        count = self._count(t.numel())
        mask = default_mask.clone().contiguous()
        if count:
            mask.view(-1)[rand_like(t).view(-1).topk(count).indices] = 0
        return mask


class L1Unstructured(_ByAmount):
    """Prunes the elements of the least magnitude."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask without the least elements."""
        count = self._count(t.numel())
        mask = default_mask.clone().contiguous()
        if count:
            mask.view(-1)[t.detach().abs().reshape(-1).topk(count, largest=False).indices] = 0
        return mask


class _OfChannels(_ByAmount):
    """Prunes channels along a dimension."""

    PRUNING_TYPE = "structured"
    dim: int

    def _keep(self, t: Tensor, count: int) -> Tensor:
        """The channels that are kept, as an index or a mask."""
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask without some channels."""
        if t.ndim <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor "
                f"of shape {t.shape} with {t.ndim} dims"
            )
        if self.dim >= t.ndim:
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        count = self._count(t.shape[self.dim])
        if not count:
            return default_mask
        position: list[Any] = [slice(None)] * t.ndim
        position[self.dim] = self._keep(t.detach(), count)
        mask = zeros_like(t, requires_grad=False)
        mask[tuple(position)] = 1
        return mask * default_mask.to(dtype=mask.dtype)


class RandomStructured(_OfChannels):
    """Prunes channels at random."""

    def __init__(self, amount: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def _keep(self, t: Tensor, count: int) -> Tensor:
        drawn = rand(t.shape[self.dim])
        return drawn > drawn.kthvalue(count).values


class LnStructured(_OfChannels):
    """Prunes the channels of the least norm of order ``n``."""

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.n = n
        self.dim = dim

    def _keep(self, t: Tensor, count: int) -> Tensor:
        dim = self.dim % t.ndim
        norm = t.norm(self.n, [k for k in range(t.ndim) if k != dim])
        indices: Tensor = norm.topk(t.shape[dim] - count).indices
        return indices


class CustomFromMask(BasePruningMethod):
    """Prunes what a given mask says."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask that there is times the given one."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape "
                f"{self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def identity(module: Module, name: str) -> Module:
    """Prune nothing, but make the mask of a parameter."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: Any) -> Module:
    """Prune a share or a number of elements of a parameter at random."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: Module, name: str, amount: Any, importance_scores: Tensor | None = None
) -> Module:
    """Prune the elements of a parameter of the least magnitude, or of the least scores."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: Any, dim: int) -> Module:
    """Prune channels of a parameter at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module,
    name: str,
    amount: Any,
    n: Any,
    dim: int,
    importance_scores: Tensor | None = None,
) -> Module:
    """Prune the channels of a parameter of the least norm of order ``n``."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: Any,
    importance_scores: Any = None,
    **kwargs: Any,
) -> None:
    """Prune elements of several parameters together: the least scores of all of them go.

    Args:
        parameters: pairs of a module and the name of its parameter.
        pruning_method: a subclass of ``BasePruningMethod`` whose ``PRUNING_TYPE`` is
            "unstructured".
        importance_scores: by such a pair the scores, of the parameter's shape; its numbers by
            default.
        kwargs: arguments of the method, as ``amount``.

    Raises:
        TypeError: for what is no such method, no pairs, or no dictionary of scores.
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    pairs = list(parameters)
    given = {} if importance_scores is None else importance_scores
    if not isinstance(given, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    tensors = [getattr(module, name) for module, name in pairs]
    before = [
        getattr(module, f"{name}_mask", ones_like(tensor))
        for (module, name), tensor in zip(pairs, tensors, strict=True)
    ]
    scores = [given.get(pair, tensor) for pair, tensor in zip(pairs, tensors, strict=True)]
    method._tensor_name = "all"
    together = PruningContainer(method)
    mask = together.compute_mask(
        cat([score.flatten() for score in scores]), cat([part.flatten() for part in before])
    )
    parts = mask.split([tensor.numel() for tensor in tensors])
    for (module, name), tensor, part in zip(pairs, tensors, parts, strict=True):
        custom_from_mask(module, name, part.view_as(tensor))


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune a parameter where a mask is zero."""
    CustomFromMask.apply(module, name, mask)
    return module


def remove(module: Module, name: str) -> Module:
    """Let a pruned parameter be an ordinary one again, with the zeros in it.

    Raises:
        ValueError: if it is not pruned.
    """
    found = _hook_of(module, name)
    if found is None:
        raise ValueError(
            f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
        )
    key, hook = found
    hook.remove(module)
    del module._forward_pre_hooks[key]
    return module


def is_pruned(module: Module) -> bool:
    """Whether a parameter of a module, or of one below it, is pruned."""
    return any(
        isinstance(hook, BasePruningMethod)
        for below in module.modules()
        for hook in below._forward_pre_hooks.values()
    )
