"""``torch.distributed.algorithms``: training in several processes; not there."""

from ..absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "there is no communication between processes",
    """Join JoinHook Joinable join model_averaging""",
)
