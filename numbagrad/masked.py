"""``torch.masked``: tensors with elements that are masked; not there."""

from .absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "use where and masked_fill",
    """MaskedTensor amax amin argmax argmin as_masked_tensor cumprod cumsum is_masked_tensor
    log_softmax logaddexp logsumexp masked_tensor mean median norm normalize prod softmax
    softmin std sum var""",
)
