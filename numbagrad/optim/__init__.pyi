# Written by tools/write_stubs.py; do not edit.
"""The names of ``numbagrad.optim``."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from numbagrad.dtype import dtype as DType
from numbagrad.ops.arguments.kinds import Ints, Real
from numbagrad.random import Generator
from numbagrad.tensor import Tensor

Number = builtins.bool | builtins.int | builtins.float

from numbagrad.optim import lr_scheduler as lr_scheduler
from numbagrad.optim import swa_utils as swa_utils
from numbagrad.optim.adadelta import Adadelta as Adadelta
from numbagrad.optim.adafactor import Adafactor as Adafactor
from numbagrad.optim.adagrad import Adagrad as Adagrad
from numbagrad.optim.adam import Adam as Adam
from numbagrad.optim.adam import AdamW as AdamW
from numbagrad.optim.adamax import Adamax as Adamax
from numbagrad.optim.asgd import ASGD as ASGD
from numbagrad.optim.lbfgs import LBFGS as LBFGS
from numbagrad.optim.muon import Muon as Muon
from numbagrad.optim.nadam import NAdam as NAdam
from numbagrad.optim.optimizer import Optimizer as Optimizer
from numbagrad.optim.radam import RAdam as RAdam
from numbagrad.optim.rmsprop import RMSprop as RMSprop
from numbagrad.optim.rprop import Rprop as Rprop
from numbagrad.optim.sgd import SGD as SGD
from numbagrad.optim.sparse_adam import SparseAdam as SparseAdam

class swap_in_optimizer_params_and_state:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
