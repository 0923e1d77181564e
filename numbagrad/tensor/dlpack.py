"""DLPack: memory as a structure of C in a capsule, which other libraries read without a copy.

The one file that knows how the structures lie, and who frees them. ``capsule_of`` makes a capsule
of an array, of the version that the consumer knows; ``memory_of`` takes one, of the CPU or a GPU,
and ``array_of`` one of the CPU as an ndarray. The protocol is
described at https://dmlc.github.io/dlpack; structures of version 1 have flags, that of read-only
memory among them, and older ones have not.
"""

from __future__ import annotations

import ctypes
import enum
from typing import Any, NamedTuple

import numpy as np

from ..dtype import DTYPES, bfloat16, bool_
from ..dtype import dtype as DType

Array = np.ndarray[Any, Any]


class DLDeviceType(enum.IntEnum):
    """Where memory lies, as the protocol numbers it."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14


_VERSION = (1, 0)
_READ_ONLY, _COPIED = 1, 2
_OLD, _NEW = b"dltensor", b"dltensor_versioned"
#: Names of capsules that were taken; they keep the address of the name.
_USED = {_OLD: b"used_dltensor", _NEW: b"used_dltensor_versioned"}
#: The codes of kinds of elements, by NumPy's letters.
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_BFLOAT = 4


class _Device(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int32), ("index", ctypes.c_int32))


class _DType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _DType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    """Before version 1."""

    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


def _python(name: str, result: Any, *arguments: Any) -> Any:
    """A function of Python's own interface to C."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_CapsuleDestructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_new_capsule = _python(
    "PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
)
_is_valid = _python("PyCapsule_IsValid", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
_pointer = _python("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
_rename = _python("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
# The same for a capsule that is being freed, of which no reference may be made.
_is_valid_at = _python("PyCapsule_IsValid", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
_pointer_at = _python("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)

#: By the address of its structure, what was handed out and lives until its deleter is called.
_handed_out: dict[int, tuple[Any, ...]] = {}


@_Deleter
def _delete(address: int) -> None:
    _handed_out.pop(address, None)


@_CapsuleDestructor
def _destroy(capsule: int) -> None:
    """A capsule that nobody took is freed: so is what it holds."""
    for name in (_OLD, _NEW):
        if _is_valid_at(capsule, name):
            _handed_out.pop(_pointer_at(capsule, name), None)


def capsule_of(array: Any, dtype: DType, is_versioned: bool, is_copied: bool = False) -> Any:
    """A capsule with the memory of an array, to be taken once.

    Args:
        array: an ndarray, or an array of a GPU, of ``dtype``; it lives until the consumer frees
            what it took.
        dtype: of the elements.
        is_versioned: whether the consumer knows version 1.
        is_copied: whether nobody else has the memory.

    Raises:
        BufferError: for read-only memory, if the consumer cannot be told that.
    """
    if not array.flags.writeable and not is_versioned:
        raise BufferError("Can't export read-only memory to a consumer of DLPack before version 1")
    rank, size = array.ndim, dtype.itemsize
    shape = (ctypes.c_int64 * max(rank, 1))(*array.shape)
    steps = [step // size for step in array.strides]
    strides = (ctypes.c_int64 * max(rank, 1))(*steps)
    made: Any = _Versioned() if is_versioned else _Managed()
    code = _BFLOAT if dtype is bfloat16 else _CODES[array.dtype.kind]
    start = array.ctypes.data if isinstance(array, np.ndarray) else array.address
    made.tensor = _Tensor(
        start if array.size else None,
        _Device(*array.__dlpack_device__()),
        rank,
        _DType(code, 8 * size, 1),
        ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64)),
        ctypes.cast(strides, ctypes.POINTER(ctypes.c_int64)),
        0,
    )
    made.deleter = ctypes.cast(_delete, ctypes.c_void_p)
    if is_versioned:
        made.major, made.minor = _VERSION
        read_only = 0 if array.flags.writeable else _READ_ONLY
        made.flags = read_only | (_COPIED if is_copied else 0)
    address = ctypes.addressof(made)
    _handed_out[address] = made, array, shape, strides
    destructor = ctypes.cast(_destroy, ctypes.c_void_p)
    return _new_capsule(address, _NEW if is_versioned else _OLD, destructor)


class _Owner:
    """Frees what was taken out of a capsule once no array shows it."""

    __slots__ = ("_address", "_deleter", "__weakref__")

    def __init__(self, address: int, deleter: int | None) -> None:
        self._address, self._deleter = address, deleter

    def __del__(self, call: Any = _Deleter) -> None:
        if self._deleter:
            call(self._deleter)(self._address)


def is_capsule(value: Any) -> bool:
    """Whether it is a capsule of DLPack, taken or not."""
    return type(value).__name__ == "PyCapsule"


class Memory(NamedTuple):
    """The memory that a capsule hands over: strides in bytes, and an owner that frees it."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: DType
    is_read_only: bool
    owner: Any


def array_of(capsule: Any) -> tuple[Array, DType]:
    """The memory in a capsule as an array, and its dtype; the capsule cannot be taken again.

    Raises:
        RuntimeError: for what is no capsule, or was taken.
        BufferError: for memory of another device, or dtypes that tensors do not have.
    """
    memory = memory_of(capsule, DLDeviceType.kDLCPU)
    array = _array(memory)
    if memory.is_read_only:
        array.flags.writeable = False
    return array, memory.dtype


def memory_of(capsule: Any, kind_of_device: DLDeviceType) -> Memory:
    """The memory in a capsule, which cannot be taken again.

    Raises:
        RuntimeError: for what is no capsule, or was taken.
        BufferError: for memory of another kind of device, or dtypes that tensors do not have.
        ValueError: for negative strides.
    """
    if not is_capsule(capsule):
        raise RuntimeError(
            "from_dlpack received an invalid capsule. Pass an object with __dlpack__, or what it "
            f"returned, not a value of type {type(capsule).__name__}"
        )
    name = next((name for name in (_NEW, _OLD) if _is_valid(capsule, name)), None)
    if name is None:
        raise RuntimeError(
            "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed "
            "only once, so you might have already constructed a tensor from it once."
        )
    address = _pointer(capsule, name)
    kind = _Versioned if name == _NEW else _Managed
    managed: Any = kind.from_address(address)
    if name == _NEW and managed.major != _VERSION[0]:
        raise BufferError(f"from_dlpack: version {managed.major} of DLPack is not known")
    dtype = _checked(managed.tensor, kind_of_device)
    # From here on the memory is ours to free, whatever happens.
    _rename(capsule, _USED[name])
    owner = _Owner(address, managed.deleter)
    is_read_only = name == _NEW and bool(managed.flags & _READ_ONLY)
    return _described(managed.tensor, dtype, is_read_only, owner)


def capsule_from(source: Any, **stream: Any) -> Any:
    """The capsule that an object hands out, of version 1 if it knows that."""
    try:
        return source.__dlpack__(max_version=_VERSION, **stream)
    except TypeError:  # of before version 1
        return source.__dlpack__(**stream)


_MOST_DIMENSIONS = 64  # of NumPy


def _checked(tensor: _Tensor, kind_of_device: DLDeviceType) -> DType:
    """The dtype of a structure that this package can read."""
    if tensor.device.type != kind_of_device:
        raise BufferError(
            f"from_dlpack: memory of the device type {tensor.device.type} of DLPack is not read; "
            "move the array to the CPU first"
        )
    if not 0 <= tensor.ndim <= _MOST_DIMENSIONS or (tensor.ndim and not tensor.shape):
        raise BufferError(
            f"from_dlpack: a structure with {tensor.ndim} dimensions "
            f"and {'a' if tensor.shape else 'no'} shape is no tensor"
        )
    shape = tensor.shape[: tensor.ndim]
    if min(shape, default=0) < 0 or not tensor.data and 0 not in shape:
        raise BufferError(
            f"from_dlpack: a structure of the shape {shape} at the address {tensor.data or 0} is "
            "no tensor"
        )
    found = tensor.dtype
    for dtype in DTYPES:
        code = _BFLOAT if dtype is bfloat16 else _CODES[dtype.numpy.kind]
        if (found.code, found.bits, found.lanes) == (code, 8 * dtype.itemsize, 1):
            return dtype
    raise BufferError(
        f"from_dlpack: tensors have no dtype with the code {found.code} of {found.bits} bits and "
        f"{found.lanes} lanes"
    )


def _described(tensor: _Tensor, dtype: DType, is_read_only: bool, owner: _Owner) -> Memory:
    rank, size = tensor.ndim, dtype.itemsize
    shape = tuple(tensor.shape[:rank]) if rank else ()
    steps = [0] * rank
    step = 1
    for k in range(rank - 1, -1, -1):  # without strides, it is contiguous
        steps[k] = tensor.strides[k] if tensor.strides and 0 not in shape else step
        step *= max(shape[k], 1)
    if min(steps, default=0) < 0:
        raise ValueError(
            "from_dlpack: a stride is negative, and tensors with negative strides are not "
            "supported; make a copy of the array first"
        )
    strides = tuple([size * each for each in steps])
    address = (tensor.data or 0) + tensor.byte_offset
    return Memory(address, shape, strides, dtype, is_read_only, owner)


def _array(described: Memory) -> Array:
    address, shape, strides, dtype, _, owner = described
    if 0 in shape:
        return np.empty(shape, dtype.numpy)
    distances = [(n - 1) * step for n, step in zip(shape, strides, strict=True)]
    memory: Any = (ctypes.c_char * (dtype.itemsize + sum(distances))).from_address(address)
    memory.owner = owner  # which lives as long as an array on the memory
    held = np.frombuffer(memory, np.uint8)
    if dtype is bool_ and held.size and int(held.max()) > 1:
        raise BufferError("from_dlpack: an element of a bool array is neither 0 nor 1")
    return np.ndarray(shape, dtype.numpy, memory, 0, strides)
