"""``torch.distributed.autograd``: gradients through remote calls; not there."""

from ..absent import lacking

_absent, __getattr__, __dir__ = lacking(
    __name__,
    "gradients go through collectives (distributed.nn.functional), not through remote calls",
    "backward context get_gradients",
)

__all__ = [*_absent, "is_available"]


def is_available() -> bool:
    """Whether gradients go through remote calls: they do not."""
    return False
