"""Neural networks: modules, their parameters, layers, losses and initial values."""

from ..lazy import lazy_names
from . import functional, init, module_hooks, parameter, utils
from .activation import *
from .attention import *
from .containers import *
from .convolution import *
from .data_parallel import DataParallel
from .distance import *
from .dropout import *
from .embedding import *
from .linear import *
from .loss import *
from .module import Module
from .normalization import *
from .padding import *
from .parameter import Buffer, Parameter
from .pooling import *
from .recurrent import *
from .resampling import *
from .transformer import *

_LAZY = (
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d",
    "ConvTranspose2d", "ConvTranspose3d", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d",
    "Linear",
)  # fmt: skip
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        **{f"Lazy{name}": ".lazy" for name in _LAZY},
        **{
            name: f".{name}"
            for name in ("common_types", "grad", "intrinsic", "modules", "parallel", "qat",
                         "quantized")
        },
        "SyncBatchNorm": ".sync_batchnorm",
        "AdaptiveLogSoftmaxWithLoss": ".adaptive_softmax",
        "LinearCrossEntropyLoss": ".linear_loss",
        "LinearCrossEntropyOptions": ".linear_loss",
        **dict.fromkeys(("Container", "CrossMapLRN2d", "NLLLoss2d"), ".older_layers"),
        **dict.fromkeys(
            (
                "FractionalMaxPool2d", "FractionalMaxPool3d", "MaxUnpool1d", "MaxUnpool2d",
                "MaxUnpool3d",
            ),
            ".unpooling",
        ),
        "UninitializedBuffer": ".uninitialized",
        "UninitializedParameter": ".uninitialized",
    },
)  # fmt: skip
