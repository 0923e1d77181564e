"""Names of torch's main namespace that are not there, and say so when they are used."""

from __future__ import annotations

from typing import Any

from .absent import absent

__all__ = ["NAMES"]

#: By what is missing, or what to do instead, the names.
_BY_REASON = {
    "shapes are numbers, tensors own typed memory, and there is one device": """
        BFloat16Storage BoolStorage ByteStorage CharStorage DeviceObjType DoubleStorage Event
        FloatStorage HalfStorage IntStorage LongStorage ShortStorage StorageBase Stream SymBool
        SymFloat SymInt TypedStorage PyTorchFileReader PyTorchFileWriter""",
    "sparse tensors are of the layouts COO and CSR": """
        sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_csc_tensor""",
    "no tensor holds quantised numbers; fake_quantize_per_tensor_affine rounds floats so": """
        dequantize empty_quantized int_repr per_channel_affine per_channel_symmetric
        per_tensor_affine per_tensor_symmetric q_per_channel_axis q_per_channel_scales
        q_per_channel_zero_points q_scale q_zero_point quantize_per_channel quantize_per_tensor
        quantize_per_tensor_dynamic""",
    "there is no TorchScript": """
        AnyType Argument Block BoolType ClassType ComplexType DictType EnumType FloatType
        FunctionSchema FutureType Graph InferredType IntType InterfaceType ListType Node NoneType
        NumberType OptionalType PyObjectType RRefType ScriptMethod ScriptObject StringType
        TensorType TupleType Type UnionType Value""",
}  # fmt: skip
_REASONS = {name: reason for reason, names in _BY_REASON.items() for name in names.split()}
#: All of them.
NAMES = tuple(_REASONS)


def __getattr__(name: str) -> Any:
    if name not in _REASONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = globals()[name] = absent(f"torch.{name}", _REASONS[name])
    return made


def __dir__() -> list[str]:
    return sorted({*globals(), *NAMES})
