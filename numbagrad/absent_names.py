"""Classes of the namespace that are not there, and say so when they are used."""

from .absent import lacking

__all__, __getattr__, __dir__ = lacking(
    "numbagrad",
    "shapes are numbers, tensors own typed memory, and there is one device",
    """BFloat16Storage BoolStorage ByteStorage CharStorage DoubleStorage Event FloatStorage
    HalfStorage IntStorage LongStorage ShortStorage Stream SymBool SymFloat SymInt TypedStorage
    PyTorchFileReader PyTorchFileWriter""",
)
