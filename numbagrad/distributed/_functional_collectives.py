"""``torch.distributed._functional_collectives``: collectives that return tensors; not there."""

from ..absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "torch.distributed.nn has collectives with gradients; see docs/distributed.md",
    """AsyncCollectiveTensor all_gather_tensor all_reduce all_to_all_single broadcast
    reduce_scatter_tensor wait_tensor""",
)
