"""``torch.nn.quantized``: layers of quantized numbers; not there."""

from ...absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "there is no quantization",
    """BatchNorm2d BatchNorm3d Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d
    ConvTranspose3d DeQuantize Dropout ELU Embedding EmbeddingBag FXFloatFunctional
    FloatFunctional GroupNorm Hardswish InstanceNorm1d InstanceNorm2d InstanceNorm3d LSTM
    LayerNorm LeakyReLU Linear MultiheadAttention PReLU QFunctional Quantize ReLU6 Sigmoid
    Softmax""",
)
