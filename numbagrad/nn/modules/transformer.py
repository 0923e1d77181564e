"""``torch.nn.modules.transformer``: transformers, at torch's path."""

from .. import transformer as _transformer
from ..transformer import *
from ..transformer import (
    _activation as _get_activation_fn,
)
from ..transformer import (
    _causal_mask as _generate_square_subsequent_mask,
)
from ..transformer import (
    _copies as _get_clones,
)

__all__ = [*_transformer.__all__]
