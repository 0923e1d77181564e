"""``torch.nn.intrinsic``: layers fused for quantization; not there."""

from ..absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "there is no quantization; nn.utils.fusion fuses norms into layers",
    """BNReLU2d BNReLU3d ConvBn1d ConvBn2d ConvBn3d ConvBnReLU1d ConvBnReLU2d ConvBnReLU3d
    ConvReLU1d ConvReLU2d ConvReLU3d LinearBn1d LinearReLU""",
)
