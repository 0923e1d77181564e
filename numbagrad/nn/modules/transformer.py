"""``torch.nn.modules.transformer``: transformers, at torch's path."""

from .. import transformer as _transformer
from ..transformer import *
from ..transformer import (
    _activation as _get_activation_fn,
)

__all__ = [*_transformer.__all__]
