"""``torch.cuda.comm``: tensors between GPUs; not there."""

from ..absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "there is no GPU",
    """broadcast broadcast_coalesced gather reduce_add reduce_add_coalesced scatter""",
)
