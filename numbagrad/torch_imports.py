"""Names that files of torch have because they import them, as programs find them under its name.

``from torch.nn.modules.conv import Parameter`` works in torch, whose file imports it. Modules of
this package import other things: under torch's name they find such a name at its home. The table is
written by ``tools/write_torch_imports.py``.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

__all__ = ["at_home", "show_imports", "table"]

_OURS = __name__.partition(".")[0]
#: Modules that find the names already.
_done: set[str] = set()


@functools.cache
def table() -> dict[str, dict[str, str]]:
    """By module of this package, by name the home, as ``nn.parameter:Parameter``."""
    found: dict[str, dict[str, str]] = {}
    for line in _TABLE.replace("\n  ", " ").splitlines():
        entry, *paths = line.split()
        name, _, home = entry.partition("=")
        for path in paths:
            found.setdefault(f"{_OURS}.{path}", {})[name] = home
    return found


def show_imports() -> None:
    """Let the modules that are loaded find the names that torch's files import."""
    for module, homes in table().items():
        if module in sys.modules and module not in _done:
            _done.add(module)
            _show(sys.modules[module], homes)


def _show(module: ModuleType, homes: dict[str, str]) -> None:
    own: Callable[[str], Any] | None = vars(module).get("__getattr__")

    def find(name: str) -> Any:
        if name in homes:
            value = at_home(homes[name])
            setattr(module, name, value)
            return value
        if name == "torch":  # which every file of torch imports
            return sys.modules[_OURS]
        if own is not None:
            return own(name)
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

    module.__getattr__ = find  # type: ignore[method-assign]


def at_home(home: str) -> Any:
    """The object at a home of the table."""
    path, _, name = home.partition(":")
    module = importlib.import_module(f"{_OURS}.{path}" if path else _OURS)
    return getattr(module, name) if name else module


#: ``name=home:name there``, without a name for a module, and the paths that import it.
_TABLE = """\
Adam=optim.adam:Adam optim.adamw
Buffer=nn.parameter:Buffer nn.modules.module
DType=:dtype nested
Dataset=utils.data.dataset:Dataset utils.data.dataloader utils.data.distributed
Device=:device nested
Dropout=nn.modules.dropout:Dropout nn.modules.transformer
ExceptionWrapper=_utils:ExceptionWrapper utils.data._utils utils.data._utils.worker
  utils.data.dataloader
F=nn.functional: nested nn.modules.activation nn.modules.adaptive nn.modules.batchnorm
  nn.modules.channelshuffle nn.modules.conv nn.modules.distance nn.modules.dropout
  nn.modules.fold nn.modules.instancenorm nn.modules.linear nn.modules.loss
  nn.modules.normalization nn.modules.padding nn.modules.pixelshuffle nn.modules.pooling
  nn.modules.sparse nn.modules.transformer nn.modules.upsampling
F=optim._functional: optim.sparse_adam
Function=autograd.function:Function nn.parallel.distributed
Future=jit:Future autograd.profiler
GetAttrKey=utils._pytree:GetAttrKey nn.attention.flex_attention
LayerNorm=nn.modules.normalization:LayerNorm nn.modules.transformer
LazyModuleMixin=nn.modules.lazy:LazyModuleMixin nn.modules.batchnorm nn.modules.conv
  nn.modules.linear
Linear=nn.modules.linear:Linear nn.modules.adaptive nn.modules.loss nn.modules.transformer
MaxPool2d=nn.modules.pooling:MaxPool2d nn.quantized
Module=nn.modules.module:Module nn.modules.activation nn.modules.adaptive nn.modules.batchnorm
  nn.modules.channelshuffle nn.modules.container nn.modules.conv nn.modules.distance
  nn.modules.dropout nn.modules.flatten nn.modules.fold nn.modules.linear nn.modules.loss
  nn.modules.normalization nn.modules.padding nn.modules.pixelshuffle nn.modules.pooling
  nn.modules.rnn nn.modules.sparse nn.modules.transformer nn.modules.upsampling
  nn.parallel.data_parallel nn.parallel.distributed
ModuleList=nn.modules.container:ModuleList nn.modules.adaptive nn.modules.transformer
MultiheadAttention=nn.modules.activation:MultiheadAttention nn.modules.transformer
NonDynamicallyQuantizableLinear=nn.modules.linear:NonDynamicallyQuantizableLinear
  nn.modules.activation
Optimizer=optim.optimizer:Optimizer optim.lr_scheduler optim.sparse_adam profiler
PackedSequence=nn.utils.rnn:PackedSequence nn.modules.rnn
PairwiseDistance=nn.modules.distance:PairwiseDistance nn.modules.loss
Parameter=nn.parameter:Parameter nn.modules.activation nn.modules.batchnorm nn.modules.container
  nn.modules.conv nn.modules.linear nn.modules.module nn.modules.normalization nn.modules.rnn
  nn.modules.sparse
RemovableHandle=utils.hooks:RemovableHandle nn.modules.module
SavedTensor=_C._autograd:SavedTensor utils.checkpoint
Sequential=nn.modules.container:Sequential nn.modules.adaptive
Size=:Size nn.modules.normalization
Storage=types:Storage serialization storage
Tensor=:Tensor functional nested nn.attention.flex_attention nn.functional nn.modules.activation
  nn.modules.adaptive nn.modules.batchnorm nn.modules.channelshuffle nn.modules.conv
  nn.modules.distance nn.modules.dropout nn.modules.flatten nn.modules.fold
  nn.modules.instancenorm nn.modules.linear nn.modules.loss nn.modules.module
  nn.modules.normalization nn.modules.padding nn.modules.pixelshuffle nn.modules.pooling
  nn.modules.rnn nn.modules.sparse nn.modules.transformer nn.modules.upsampling
  nn.utils.stateless optim._functional optim.adamw optim.lr_scheduler optim.sparse_adam sparse
  utils.data.dataset utils.weak
TorchVersion=torch_version:TorchVersion utils.cpp_extension
TreeSpec=utils._pytree:TreeSpec nn.attention.flex_attention
UninitializedBuffer=nn.parameter:UninitializedBuffer nn.modules.batchnorm
UninitializedParameter=nn.parameter:UninitializedParameter nn.modules.batchnorm nn.modules.conv
  nn.modules.linear nn.utils.weight_norm
Variable=autograd.variable:Variable autograd.graph nn.parallel.distributed
_C=_C: _tensor autograd.function
_DatasetKind=utils.data.dataloader:_DatasetKind utils.data
_DecoratorContextManager=utils._contextlib:_DecoratorContextManager autograd.forward_ad
  autograd.grad_mode
_LazyNormBase=nn.modules.batchnorm:_LazyNormBase nn.modules.instancenorm
_NoParamDecoratorContextManager=utils._contextlib:_NoParamDecoratorContextManager
  autograd.grad_mode
_NormBase=nn.modules.batchnorm:_NormBase nn.modules.instancenorm
_Reduction=nn._reduction: nn.functional nn.modules.loss
_TorchVersion=torch_version:TorchVersion utils._pytree
_VF=_VF: functional nn.functional nn.modules.rnn nn.utils.rnn
_copy_to_script_wrapper=_jit_internal:_copy_to_script_wrapper nn.modules.container
_default_to_fused_or_foreach=optim.optimizer:_default_to_fused_or_foreach optim.adadelta
  optim.adagrad optim.adam optim.adamax optim.asgd optim.nadam optim.radam optim.rmsprop
  optim.rprop optim.sgd
_device=:device cpu
_disabled_torch_function_impl=_C:_disabled_torch_function_impl nn.parameter
_dtype=:dtype amp.autocast_mode library
_functions=_C._functions: autograd.function
_functorch=_functorch: autograd.function
_get_available_device_type=_utils:_get_available_device_type nn.parallel.data_parallel
_get_capturable_supported_devices=optim.optimizer:_get_capturable_supported_devices
  optim.adadelta optim.adam optim.adamax optim.asgd optim.nadam optim.radam optim.rmsprop
  optim.rprop
_get_device_index=_utils:_get_device_index nn.parallel.data_parallel nn.parallel.distributed
_get_foreach_kernels_supported_devices=utils._foreach_utils:_get_foreach_kernels_supported_devices
  optim.optimizer optim.swa_utils
_get_fused_kernels_supported_devices=utils._foreach_utils:_get_fused_kernels_supported_devices
  optim.optimizer
_get_scalar_dtype=optim.optimizer:_get_scalar_dtype optim.adadelta optim.adagrad optim.adam
  optim.adamax optim.asgd optim.nadam optim.radam optim.rmsprop optim.rprop
_get_value=optim.optimizer:_get_value optim.adagrad optim.adam optim.adamax optim.asgd
  optim.nadam optim.radam
_group_tensors_by_device_and_dtype=utils._foreach_utils:_group_tensors_by_device_and_dtype
  nn.utils.clip_grad optim.optimizer optim.swa_utils
_has_foreach_support=utils._foreach_utils:_has_foreach_support nn.utils.clip_grad
_is_torch_function_mode_enabled=_C:_is_torch_function_mode_enabled overrides
_jit_unused=_jit_internal:unused nn.functional
_list_with_default=nn.modules.utils:_list_with_default nn.functional
_ntuple=nn.modules.utils:_ntuple nn.modules.padding
_overload=_jit_internal:_overload nn.functional
_pair=nn.modules.utils:_pair nn.functional nn.grad nn.modules.conv nn.modules.padding
  nn.modules.pooling
_quadruple=nn.modules.utils:_quadruple nn.modules.padding
_reverse_repeat_tuple=nn.modules.utils:_reverse_repeat_tuple nn.modules.conv
_single=nn.modules.utils:_single nn.functional nn.grad nn.modules.conv nn.modules.pooling
_stack_if_compiling=optim.optimizer:_stack_if_compiling optim.adam optim.nadam
_sym_int=:sym_int nn.functional
_to_scalar=optim.optimizer:_to_scalar optim.adadelta optim.adagrad optim.adam optim.adamax
  optim.asgd optim.lbfgs optim.lr_scheduler optim.nadam optim.radam optim.rmsprop optim.rprop
  optim.sgd optim.sparse_adam
_triple=nn.modules.utils:_triple nn.functional nn.grad nn.modules.conv nn.modules.pooling
_use_grad_for_differentiable=optim.optimizer:_use_grad_for_differentiable optim.adadelta
  optim.adagrad optim.adam optim.adamax optim.asgd optim.nadam optim.radam optim.rmsprop
  optim.rprop optim.sgd
_utils=utils.data._utils: utils.data.dataloader
_view_as_real=optim.optimizer:_view_as_real optim.adadelta optim.adagrad optim.adam optim.adamax
  optim.asgd optim.nadam optim.radam optim.rmsprop optim.rprop
_vmap=_vmap_internals:_vmap autograd.functional autograd.gradcheck
_vmap_internals=_vmap_internals: autograd
aten=ops.aten: utils.flop_counter
boolean_dispatch=_jit_internal:boolean_dispatch functional nn.functional
can_use_efficient_attention=backends.cuda:can_use_efficient_attention nn.attention
can_use_flash_attention=backends.cuda:can_use_flash_attention nn.attention
constant_=nn.init:constant_ nn.modules.activation
device=:device nn.modules.module
dist=distributed: nn.parallel.distributed utils.data.dataloader utils.data.distributed
dtype=:dtype nn.modules.module
fwAD=autograd.forward_ad: autograd.functional
get_default_nowrap_functions=overrides:get_default_nowrap_functions _tensor
grad=nn.grad: nn.functional
handle_torch_function=overrides:handle_torch_function _tensor autograd functional nn.functional
  utils.backend_registration
hooks=utils.hooks: autograd.function optim.optimizer
init=nn.init: nn.modules.batchnorm nn.modules.conv nn.modules.linear nn.modules.normalization
  nn.modules.rnn nn.modules.sparse
init_reductions=multiprocessing.reductions:init_reductions multiprocessing
is_lazy=nn.parameter:is_lazy nn.modules.lazy
is_tensor_like=overrides:is_tensor_like autograd autograd.gradcheck
is_traceable_wrapper_subclass=utils._python_dispatch:is_traceable_wrapper_subclass
  nn.modules.module nn.utils.parametrize
overload=_jit_internal:_overload functional
parametrize=nn.utils.parametrize: nn.utils.parametrizations
register_module_forward_hook=nn.modules.module:register_module_forward_hook utils.module_tracker
register_module_forward_pre_hook=nn.modules.module:register_module_forward_pre_hook
  utils.module_tracker
register_multi_grad_hook=autograd.graph:register_multi_grad_hook utils.module_tracker
scatter_gather=nn.parallel.scatter_gather: nn.parallel
tree_flatten=utils._pytree:tree_flatten nn.attention.flex_attention nn.parallel.distributed
  utils.flop_counter utils.module_tracker
tree_map=utils._pytree:tree_map utils.checkpoint utils.flop_counter
tree_map_only=utils._pytree:tree_map_only nn.attention.flex_attention
tree_unflatten=utils._pytree:tree_unflatten nn.attention.flex_attention nn.parallel.distributed
  utils.flop_counter
vmap=_functorch.vmap: _functorch
vmap=_vmap_internals:vmap autograd.gradcheck
xavier_normal_=nn.init:xavier_normal_ nn.modules.activation
xavier_uniform_=nn.init:xavier_uniform_ nn.modules.activation nn.modules.transformer
"""
