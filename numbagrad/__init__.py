"""numbagrad: torch's autograd interface on kernels compiled by Numba.

``import numbagrad as torch`` runs autograd code written for torch. This file is the public
namespace; every name comes from the room that defines it. The rooms are imported from the bottom
up: what computes, then what is built from it.
"""

import sys as _sys
from math import e, inf, nan, pi

# An import that an interrupt or an error ended leaves modules that know of each other, but not of
# those that this one makes: it begins anew. (A reload, which has its names already, keeps them.)
if "Tensor" not in globals():
    for _name in [name for name in _sys.modules if name.startswith(f"{__name__}.")]:
        del _sys.modules[_name]

from . import _C, autograd, cuda, executor, random
from . import torch_alias as _torch_alias
from .native_stack import grow_stack as _grow_stack
from .autograd.anomaly_mode import (
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    set_anomaly_enabled,
)
from .autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .autograd.graph.picture import graph
from .device import device, get_default_device, set_default_device
from .dtype import (
    bfloat16,
    can_cast,
    complex64,
    complex128,
    dtype,
    finfo,
    float16,
    float32,
    float64,
    get_default_dtype,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    set_default_dtype,
    uint8,
)
from .dtype import bool_ as bool
from .dtype import complex64 as cfloat
from .dtype import complex128 as cdouble
from .dtype import float16 as half
from .dtype import float32 as float
from .dtype import float64 as double
from .dtype import int16 as short
from .dtype import int32 as int
from .dtype import int64 as long
from .executor import profile
from .executor.threads.pool import get_num_threads, set_num_threads
from .layout import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    jagged,
    layout,
    memory_format,
    preserve_format,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)
from .ops.products.added_products import *
from .ops.complex.complex_numbers import *
from .ops.products.contraction import *
from .ops.conversion.dtypes import *
from .ops.reductions.counting import *
from .ops.creation.filled import *
from .ops.products.distance import *
from .ops.views.expand import *
from .ops.reductions.extremum import *
from .ops.writing.foreach import *
from .ops.creation.from_data import *
from .ops.creation.from_memory import *
from .ops.pointwise.functions import *
from .ops.pointwise.selection import *
from .ops.pointwise import python_operators as _python_operators
from .ops.indexing.gather import *
from .ops.indexing.index_write import *
from .ops.pointwise.incomplete_gamma import *
from .ops.indexing.items import *
from .ops.writing.inplace import *
from .ops.writing.resizing import *
from .ops.views.join import *
from .ops.methods.legacy import *
from .ops.linear_algebra.decompositions import *
from .ops.linear_algebra.systems import *
from .ops.linear_algebra.lobpcg import *
from .ops.indexing.mask_read import *
from .ops.indexing.mask_write import *
from .ops.products.matmul import *
from .ops.views.parts import *
from .ops.complex.lazy_conj import *
from .ops.conversion.other_devices import *
from .ops.conversion.query import *
from .ops.creation.random import *
from .ops.creation import random_writes as _random_writes
from .ops.views.rearrange import *
from .ops.reductions.reduction import *
from .ops.reductions.scan import *
from .ops.indexing.scatter import *
from .ops.creation.sequences import *
from .ops.reductions.softmax import *
from .ops.reductions.sorting import *
from .ops.views.splitting import *
from .ops.reductions.statistics import *
from .ops.linear_algebra.norm import *
from .ops.conversion.storage import *
from .ops.views.strided import *
from .ops.methods.subclass import *
from .ops.views.view import *
from .ops.views.view_copies import *
from .ops.views.view_functions import *
from .ops.methods.method_functions import *
from .ops.creation.sequences import range_ as range
from .ops.operators import autograd_interface as _autograd_interface
from . import func, linalg, nn, optim, utils
from .func.vmap import vmap
from .nn.functional import (
    bilinear,
    celu_,
    channel_shuffle,
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
    cosine_similarity,
    pairwise_distance,
    pixel_shuffle,
    pixel_unshuffle,
    rrelu_,
    selu_,
    threshold_,
)
from .nn.functional.activation import celu, hardshrink, rrelu, selu, threshold
from .absent_names import NAMES as _ABSENT_NAMES
from .compiling import compile, explain
from .ops.arguments.check import check_namespace
from .ops.arguments.check import public_function as _public_function
from .ops.methods.on_demand import homes as _homes
from .lazy import lazy_names as _lazy_names
from .ops.operators.user_kernel import kernel
from .serialization import load, save
from .printing import get_printoptions, printoptions, set_printoptions
from .size import Size
from .tensor import Tensor
from .warn_once import is_warn_always_enabled, set_warn_always

newaxis = None
del default_generator  # noqa: F821 - the function; see ``__getattr__``
check_namespace(globals(), f"{__name__}.ops")
# Other functions than those of nn.functional: some take an ``out``, and classes see them apart.
celu, rrelu, selu = [_public_function(f, __name__, __name__) for f in (celu, rrelu, selu)]
hardshrink = _public_function(hardshrink, __name__, __name__)
threshold = _public_function(threshold, __name__, __name__)
del check_namespace
_grow_stack()

# Imported when a program first asks for them. Overrides change what a call of a function does.
# Autocast changes some as well, and most programs do without.
_AUTOCAST = (
    "autocast", "autocast_decrement_nesting", "autocast_increment_nesting", "clear_autocast_cache",
    "get_autocast_cpu_dtype", "get_autocast_dtype", "get_autocast_gpu_dtype",
    "is_autocast_cache_enabled", "is_autocast_cpu_enabled", "is_autocast_enabled",
    "set_autocast_cache_enabled", "set_autocast_cpu_dtype", "set_autocast_cpu_enabled",
    "set_autocast_dtype", "set_autocast_enabled", "set_autocast_gpu_dtype",
)  # fmt: skip
#: Rooms that programs of torch import, most of them for a few names.
_MODULES = (
    "__config__", "_dynamo", "_inductor", "_jit_internal", "_logging", "_ops", "_tensor",
    "_tensor_str", "_utils",
    "accelerator", "ao", "array_api", "backends", "compiler", "cpu", "distributed",
    "distributions", "export",
    "functional", "futures", "fx", "hub", "jit", "library", "masked", "monitor", "mps", "mtia",
    "multiprocessing", "nested", "onnx", "package", "profiler", "quantization", "quasirandom",
    "return_types", "serialization", "signal", "sparse", "storage", "testing", "torch_version",
    "types", "version", "xpu",
)  # fmt: skip
_find, __dir__ = _lazy_names(
    __name__,
    {
        **_homes(),
        **dict.fromkeys(
            (
                "are_deterministic_algorithms_enabled", "get_deterministic_debug_mode",
                "get_float32_matmul_precision", "get_num_interop_threads",
                "is_deterministic_algorithms_warn_only_enabled", "set_deterministic_debug_mode",
                "set_float32_matmul_precision", "set_flush_denormal", "set_num_interop_threads",
                "use_deterministic_algorithms",
            ),
            ".switches",
        ),
        **dict.fromkeys(
            (
                "_assert", "_assert_async", "_check", "_check_index", "_check_is_size",
                "_check_not_implemented", "_check_tensor_all", "_check_type", "_check_value",
                "_has_compatible_shallow_copy_type", "_shape_as_tensor", "get_device_module",
                "sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not",
            ),
            ".program_checks",
        ),
        "Future": ".futures",
        **dict.fromkeys(
            (
                "_chunk_cat", "_native_batch_norm_legit", "_sample_dirichlet",
                "_unsafe_masked_index", "_unsafe_masked_index_put_accumulate",
            ),
            ".aten_functions",
        ),
        "_VF": "._VF",
        "_unique": "._VF",
        "_unique2": "._VF",
        "_vmap_internals": "._vmap_internals",
        "amp": ".amp",
        "fft": ".fft",
        "functions": ".functions",
        "overrides": ".overrides",
        "special": ".special",
        **{name: f".{name}" for name in _MODULES},
        **dict.fromkeys(_ABSENT_NAMES, ".absent_names"),
        **dict.fromkeys(
            (
                "complex32", "float4_e2m1fn_x2", "float8_e4m3fn", "float8_e4m3fnuz",
                "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "int1", "int2", "int3", "int4",
                "int5", "int6", "int7", "qint32", "qint8", "quint2x4", "quint4x2", "quint8",
                "uint1", "uint2", "uint3", "uint4", "uint5", "uint6", "uint7",
                "uint16", "uint32", "uint64",
            ),
            ".absent_dtypes",
        ),
        "AcceleratorError": ".errors",
        "ScriptModule": ".jit",
        "ScriptFunction": ".jit",
        "GradScaler": ".amp.grad_scaler",
        "OutOfMemoryError": ".errors",
        "UntypedStorage": ".untyped_storage",
        **dict.fromkeys(("dsmm", "spmm"), ".sparse.products:spmm"),
        **dict.fromkeys(("hsmm", "hspmm"), ".sparse.products:hspmm"),
        "saddmm": ".sparse:addmm",
        **dict.fromkeys(("smm", "sspaddmm"), ".sparse.products"),
        "sparse_coo_tensor": ".sparse",
        "sparse_csr_tensor": ".sparse",
        "from_dlpack": ".utils.dlpack",
        "to_dlpack": ".utils.dlpack",
        **dict.fromkeys(
            (
                "install_as_torch", "load_ipython_extension", "uninstall_as_torch",
                "unload_ipython_extension",
            ),
            ".running",
        ),
        **dict.fromkeys(_AUTOCAST, ".amp.autocast_mode"),
    },
    lambda value, name: _public_function(value, __name__, __name__, name),
)  # fmt: skip


def __getattr__(name):
    if name == "__version__":  # asked each time: what it says depends on the package's name
        return _torch_alias.seen_version()
    if name == "default_generator":  # made when it is asked for
        return random.default_generator()
    if name == "torch":  # ``torch.torch``, which annotations of programs have
        return _torch_alias.package()
    return _find(name)


_torch_alias.register()
