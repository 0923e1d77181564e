"""What people train with: modules, their parameters, layers, losses and initial values."""

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
