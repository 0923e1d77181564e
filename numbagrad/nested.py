"""``torch.nested``: tensors of rows of different lengths; not there."""

from .absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "pad the rows, or use nn.utils.rnn",
    """as_nested_tensor masked_select narrow nested_tensor nested_tensor_from_jagged
    to_padded_tensor""",
)
