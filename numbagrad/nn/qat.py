"""``torch.nn.qat``: layers for training that ends quantized; not there."""

from ..absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "there is no quantization",
    """Conv1d Conv2d Conv3d Embedding EmbeddingBag Linear""",
)
