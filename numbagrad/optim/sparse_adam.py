"""``torch.optim.sparse_adam``: Adam for sparse gradients; not there."""

from ..absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "gradients are dense; use Adam",
    """SparseAdam""",
)
