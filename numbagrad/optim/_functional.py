"""``torch.optim._functional``: steps of optimizers as functions, at torch's path."""

from ..absent import lacking
from .adadelta import adadelta as adadelta
from .adagrad import adagrad as adagrad
from .adam import adam as adam
from .adamax import adamax as adamax
from .adamw import adamw as adamw
from .asgd import asgd as asgd
from .nadam import nadam as nadam
from .radam import radam as radam
from .rmsprop import rmsprop as rmsprop
from .rprop import rprop as rprop
from .sgd import sgd as sgd

__all__, __getattr__, __dir__ = lacking(
    __name__, "use SparseAdam, whose step changes the rows that have a gradient", "sparse_adam"
)
