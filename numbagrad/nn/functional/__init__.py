"""The functions of ``torch.nn.functional``: layers, activations, normalization and losses.

One file an idea; this one is their namespace, in which a name that a file and a function share is
the function. The layers of ``nn/`` call these functions.
"""

from ...lazy import lazy_names
from ...ops.arguments.check import check_namespace
from ...ops.arguments.check import public_function as _public_function
from .activation import *
from .adaptive_pooling import *
from .attention import *
from .class_loss import *
from .columns import *
from .convolution import *
from .distance import *
from .dropout import *
from .embedding import *
from .linear import *
from .loss import *
from .margin_loss import *
from .normalization import *
from .padding import *
from .pooling import *
from .reduction import reduction_name
from .resampling import *
from .sequence_loss import *

check_namespace(globals(), __name__.partition(".")[0])
del check_namespace

# Imported when a program first asks for them.
_ON_DEMAND = {
    ".grid": ("affine_grid", "grid_sample"),
    ".older_names": (
        "GRID_SAMPLE_INTERPOLATION_MODES", "GRID_SAMPLE_PADDING_MODES", "conv_tbc",
        "native_channel_shuffle",
    ),
    ".linear_loss": ("linear_cross_entropy",),
    ".unpooling": (
        "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d_with_indices",
        "adaptive_max_pool3d_with_indices",
        "fractional_max_pool2d", "fractional_max_pool2d_with_indices", "fractional_max_pool3d",
        "fractional_max_pool3d_with_indices", "max_pool1d_with_indices",
        "max_pool2d_with_indices", "max_pool3d_with_indices", "max_unpool1d", "max_unpool2d",
        "max_unpool3d",
    ),
}  # fmt: skip
__getattr__, __dir__ = lazy_names(
    __name__,
    {name: home for home, names in _ON_DEMAND.items() for name in names},
    lambda value, name: _public_function(value, __name__, __name__.partition(".")[0], name),
)
