"""``torch.ao.nn``: layers of quantized numbers; not there."""

from ...absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "there is no quantization",
    """intrinsic qat quantizable quantized sparse""",
)
