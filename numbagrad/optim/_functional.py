"""``torch.optim._functional``: steps of optimizers as functions; not there."""

from ..absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "use the optimizers, which run compiled kernels",
    """adadelta adagrad adam adamax adamw asgd nadam radam rmsprop rprop sgd sparse_adam""",
)
