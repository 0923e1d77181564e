"""Lazy layers: sizes of inputs that are found at the first call, when the layer becomes ordinary.

``LazyModuleMixin`` is for layers of users as well: they give ``initialize_parameters`` and
``cls_to_become``.
"""

from __future__ import annotations

import inspect
from itertools import chain
from typing import Any

from ..autograd.grad_mode import no_grad
from ..dtype import int64
from ..ops.creation.from_data import tensor
from ..tensor import Tensor
from . import convolution, normalization
from .linear import Linear
from .uninitialized import UninitializedBuffer, UninitializedParameter, is_lazy

__all__ = [
    "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyConv1d", "LazyConv2d",
    "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d",
    "LazyInstanceNorm1d", "LazyInstanceNorm2d", "LazyInstanceNorm3d", "LazyLinear",
]  # fmt: skip


class LazyModuleMixin:
    """Base of lazy modules, in front of the class of the module in the list of bases.

    ``initialize_parameters`` is called with the arguments of the first call, and must give all
    parameters a shape (``materialize``). The module's class is ``cls_to_become`` from then on.
    """

    cls_to_become: Any = None
    _parameters: Any
    _buffers: Any

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(
            self._infer_parameters, with_kwargs=True
        )

    def _save_to_state_dict(self: Any, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, each in self._state():
            kept = keep_vars or is_lazy(each)
            destination[prefix + name] = each if kept else each.detach()

    def _lazy_load_hook(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        """Give what is loaded the shape of what is in the state."""
        for name, own in chain(self._parameters.items(), self._buffers.items()):
            given = state_dict.get(prefix + name)
            if is_lazy(own) and given is not None and not is_lazy(given):
                with no_grad():
                    own.materialize(given.shape)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give all parameters and buffers shapes and values; called with the first input."""
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}"
        )

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer has no shape yet."""
        return any(map(is_lazy, chain(self._parameters.values(), self._buffers.values())))

    def _infer_parameters(self: Any, module: Any, args: Any, kwargs: Any = None) -> None:
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        for name in ("_initialize_hook", "_load_hook"):
            getattr(module, name).remove()
            delattr(module, name)
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become


class _LazyLayer(LazyModuleMixin):
    """A layer of this package, one of whose options follows from the input."""

    #: The option.
    _size: str

    def reset_parameters(self: Any) -> None:
        """Draw new initial values, once there are shapes."""
        if not self.has_uninitialized_params() and getattr(self, self._size) != 0:
            super().reset_parameters()  # type: ignore[misc]

    def _postpone(self: Any, names: tuple[str, ...], device: Any, dtype: Any) -> None:
        for name in names:
            setattr(self, name, UninitializedParameter(device=device, dtype=dtype))


class LazyLinear(_LazyLayer, Linear):
    """A Linear whose ``in_features`` is the last size of the first input."""

    cls_to_become = Linear
    _size = "in_features"

    def __init__(
        self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(0, 0, False)
        self.out_features = out_features
        self._postpone(("weight", "bias") if bias else ("weight",), device, dtype)

    def initialize_parameters(self: Any, input: Tensor) -> None:
        """Take ``in_features`` from the input, and draw initial values."""
        if self.has_uninitialized_params():
            self.in_features = input.shape[-1]
            self.weight.materialize((self.out_features, self.in_features))
            if self.bias is not None:
                self.bias.materialize((self.out_features,))
            self.reset_parameters()
        if self.in_features == 0:  # a state was loaded before
            self.in_features = self.weight.shape[-1]


class _LazyConvolution(_LazyLayer):
    """A convolution whose ``in_channels`` are those of the first input."""

    _size = "in_channels"

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        # The arguments of the layer, but for the first; the bias is made later, too.
        base: Any = self.cls_to_become
        given = inspect.signature(base.__init__).bind(self, 0, *args, **kwargs).arguments
        options = {name: value for name, value in given.items() if name not in ("self", "bias")}
        out_channels = options.pop("out_channels")
        super().__init__(out_channels=0, bias=False, **options)
        self.out_channels = out_channels
        names = ("weight", "bias") if given.get("bias", True) else ("weight",)
        self._postpone(names, options.get("device"), options.get("dtype"))

    def initialize_parameters(self: Any, input: Tensor, *args: Any) -> None:
        """Take ``in_channels`` from the input, and draw initial values."""
        if not self.has_uninitialized_params():
            return
        self.in_channels = self._channels_of(input)
        if self.in_channels % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        outer, inner = self.out_channels, self.in_channels
        if self.transposed:
            outer, inner = inner, outer
        self.weight.materialize((outer, inner // self.groups, *self.kernel_size))
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()

    def _channels_of(self: Any, input: Tensor) -> int:
        single, batched = self.rank + 1, self.rank + 2
        if input.ndim not in (single, batched):
            raise RuntimeError(
                f"Expected {single}D (unbatched) or {batched}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {input.shape}"
            )
        return int(input.shape[0 if input.ndim == single else 1])


class _LazyNorm(_LazyLayer):
    """A norm whose ``num_features`` is the second size of the first input."""

    _size = "num_features"

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=False)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if self.affine:
            self._postpone(("weight", "bias") if bias else ("weight",), device, dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = tensor(0, dtype=int64, device=device)

    def initialize_parameters(self: Any, input: Tensor) -> None:
        """Take ``num_features`` from the input, and write initial values."""
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[1]
        for each in chain(self._parameters.values(), self._buffers.values()):
            if is_lazy(each):
                each.materialize((self.num_features,))
        self.reset_parameters()


def _lazy(mixin: type, base: type) -> Any:
    """The lazy form of a layer."""
    members = {
        "cls_to_become": base, "__module__": __name__,
        "__doc__": f"A {base.__name__} that takes the channels of its first input.",
    }  # fmt: skip
    made: Any = type(f"Lazy{base.__name__}", (mixin, base), members)
    if mixin is _LazyConvolution:  # its arguments are those of the layer, but for the channels
        whole = inspect.signature(base)
        made.__signature__ = whole.replace(parameters=list(whole.parameters.values())[1:])
    return made


LazyConv1d = _lazy(_LazyConvolution, convolution.Conv1d)
LazyConv2d = _lazy(_LazyConvolution, convolution.Conv2d)
LazyConv3d = _lazy(_LazyConvolution, convolution.Conv3d)
LazyConvTranspose1d = _lazy(_LazyConvolution, convolution.ConvTranspose1d)
LazyConvTranspose2d = _lazy(_LazyConvolution, convolution.ConvTranspose2d)
LazyConvTranspose3d = _lazy(_LazyConvolution, convolution.ConvTranspose3d)
LazyBatchNorm1d = _lazy(_LazyNorm, normalization.BatchNorm1d)
LazyBatchNorm2d = _lazy(_LazyNorm, normalization.BatchNorm2d)
LazyBatchNorm3d = _lazy(_LazyNorm, normalization.BatchNorm3d)
LazyInstanceNorm1d = _lazy(_LazyNorm, normalization.InstanceNorm1d)
LazyInstanceNorm2d = _lazy(_LazyNorm, normalization.InstanceNorm2d)
LazyInstanceNorm3d = _lazy(_LazyNorm, normalization.InstanceNorm3d)
