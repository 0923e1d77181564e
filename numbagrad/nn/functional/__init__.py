"""The functions of ``torch.nn.functional``: layers, activations, normalization and losses.

One file an idea; this one is their namespace, in which a name that a file and a function share is
the function. The layers of ``nn/`` call these functions.
"""

from ...ops.argument_check import check_namespace
from .activation import *
from .attention import *
from .class_loss import *
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
