"""``torch.distributed._tensor``: the path of ``torch.distributed.tensor`` of older torch."""

from .tensor import __all__ as __all__
from .tensor import __dir__ as __dir__
from .tensor import __getattr__ as __getattr__
