"""``torch.cuda.streams``: queues of a GPU; not there."""

from ..absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "there is no GPU",
    """Event ExternalStream Stream""",
)
