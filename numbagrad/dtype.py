"""Element types: the twelve dtypes, how they mix, and what their numbers can hold.

Everything that makes or inspects arrays calls this module; it calls NumPy only. The package binds
torch's short names (``float``, ``long``, ``bool``, ...) from ``ALIASES``: here they would hide
Python's. The package also exports the class ``dtype``, so import from this module by name
(``from numbagrad.dtype import float32``) rather than as an attribute of the package.

NumPy has no bfloat16. Its arrays are of the void type of two bytes, kind ``"V"``, which NumPy
moves, indexes and joins but refuses to compute with: a way that does not know of it raises. Kernels
read and write it as float32 (``codegen/intrinsics.py``); ``half_precision.py`` does the same for
what NumPy computes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NoReturn

import numpy as np


class dtype:
    """The element type of a tensor. There is one object per type; compare with ``is``."""

    __slots__ = (
        "name",
        "numpy",
        "itemsize",
        "type_num",
        "is_floating_point",
        "is_complex",
        "is_signed",
        "has_fractions",
        "is_half",
        "abbr",
        "_text",
    )

    name: str
    numpy: np.dtype[Any]
    itemsize: int
    type_num: int
    is_floating_point: bool
    is_complex: bool
    is_signed: bool
    has_fractions: bool
    #: Dtypes of two bytes that are computed with in float32: float16 and bfloat16.
    is_half: bool
    abbr: str
    _text: str

    def __new__(cls, *args: object, **kwargs: object) -> dtype:
        raise TypeError("cannot create 'torch.dtype' instances")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"'torch.dtype' object attribute '{name}' is read-only")

    def __repr__(self) -> str:
        return self._text

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return dtype_from_name, (self.name,)

    def to_real(self) -> dtype:
        """The dtype of the parts of this complex dtype; a real one itself."""
        return real_of(self)

    def to_complex(self) -> dtype:
        """The complex dtype with parts of this dtype; a complex one itself.

        Raises:
            RuntimeError: for integers, bool, and float16, of which there is none here.
        """
        if self is float16 or not self.has_fractions:
            raise RuntimeError(f"Unknown Complex ScalarType for {self.name}")
        return complex_of(self)


def _make_dtype(name: str) -> dtype:
    """Make the single object of a type; NumPy has the same names for all but one."""
    array_type = np.dtype("V2" if name == "bfloat16" else name)
    kind = "f" if name == "bfloat16" else array_type.kind
    made: dtype = object.__new__(dtype)
    fields = {
        "name": name,
        "numpy": array_type,
        "itemsize": array_type.itemsize,
        "type_num": array_type.num,
        "is_floating_point": kind == "f",
        "is_complex": kind == "c",
        "is_signed": kind in "ifc",
        "has_fractions": kind in "fc",
        "is_half": kind == "f" and array_type.itemsize == 2,
        "abbr": "bf16" if name == "bfloat16" else f"{kind}{8 * array_type.itemsize}",
        "_text": f"torch.{name}",
    }
    for field, value in fields.items():
        object.__setattr__(made, field, value)
    return made


float16 = _make_dtype("float16")
bfloat16 = _make_dtype("bfloat16")
float32 = _make_dtype("float32")
float64 = _make_dtype("float64")
int8 = _make_dtype("int8")
int16 = _make_dtype("int16")
int32 = _make_dtype("int32")
int64 = _make_dtype("int64")
uint8 = _make_dtype("uint8")
bool_ = _make_dtype("bool")
complex64 = _make_dtype("complex64")
complex128 = _make_dtype("complex128")

#: In the order in which torch lists them in its messages.
DTYPES = (
    float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint8, bool_,
    bfloat16,
)  # fmt: skip

#: torch's other names for the types.
ALIASES = {
    "half": float16,
    "float": float32,
    "double": float64,
    "short": int16,
    "int": int32,
    "long": int64,
    "bool": bool_,
    "cfloat": complex64,
    "cdouble": complex128,
}

_FROM_NAME = {each.name: each for each in DTYPES}


def dtype_from_name(name: str) -> dtype:
    """Return the dtype called `name`, such as ``"float32"``."""
    return _FROM_NAME[name]


# ---------------------------------------------------------------------------------------------
# NumPy's types
# ---------------------------------------------------------------------------------------------

_FROM_NUMPY: dict[np.dtype[Any], dtype] = {each.numpy: each for each in DTYPES}


def _table_by_type_num() -> list[dtype]:
    """C types of equal width have numbers of their own (``long`` and ``long long``)."""
    supported = [np.dtype(code) for code in "?bBhilqefdFD"]
    table: list[Any] = [None] * (1 + max(array_type.num for array_type in supported))
    for array_type in supported:
        table[array_type.num] = _FROM_NUMPY[array_type]
    table[bfloat16.type_num] = bfloat16
    return table


#: The dtype of an array made by this package: ``FROM_TYPE_NUM[array.dtype.num]``. Foreign arrays go
#: through `from_numpy`, since a number says nothing of the byte order and may be off the table.
FROM_TYPE_NUM = _table_by_type_num()


def from_numpy(array_type: np.dtype[Any]) -> dtype:
    """Return the dtype of a NumPy type.

    Raises TypeError for a type that tensors cannot hold, ValueError for a foreign byte order.
    """
    found = _FROM_NUMPY.get(array_type)
    return dtype_from_user(array_type) if found is None else found


def dtype_from_user(array_type: np.dtype[Any]) -> dtype:
    """The same for an array from outside, where two bytes of void are no bfloat16."""
    found = _FROM_NUMPY.get(array_type)
    if found is not None and found is not bfloat16:
        return found
    if array_type.kind != "V" and array_type.newbyteorder("=") in _FROM_NUMPY:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. "
            "Conversion between byte orders is currently not supported."
        )
    supported = ", ".join(each.name for each in DTYPES if each not in (bool_, bfloat16))
    raise TypeError(
        f"can't convert np.ndarray of type numpy.{array_type.type.__name__}. "
        f"The only supported types are: {supported}, and bool."
    )


def name_of(array_type: np.dtype[Any]) -> str:
    """Return the name of the dtype of a NumPy type, which has another for bfloat16."""
    return from_numpy(array_type).name


# ---------------------------------------------------------------------------------------------
# Promotion
# ---------------------------------------------------------------------------------------------


@cache
def _promote(first: dtype, second: dtype) -> dtype:
    # NumPy's own rule widens the float instead (int32 with float32 gives float64).
    if first.has_fractions != second.has_fractions:
        return first if first.has_fractions else second
    if bfloat16 in (first, second):
        other = second if first is bfloat16 else first
        return float32 if other is float16 else other
    return _FROM_NUMPY[np.promote_types(first.numpy, second.numpy)]


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """Return the smallest dtype that holds both; a float with an integer keeps the float."""
    _require_dtype("promote_types", "type1", 1, type1)
    _require_dtype("promote_types", "type2", 2, type2)
    return _promote(type1, type2)


def can_cast(from_: dtype, to: dtype) -> bool:
    """Say whether a result of dtype `from_` may be stored in a tensor of dtype `to`."""
    _require_dtype("can_cast", "from_", 1, from_)
    _require_dtype("can_cast", "to", 2, to)
    if from_.is_complex and not to.is_complex:
        return False
    if from_.has_fractions and not to.has_fractions:
        return False
    return to is not bool_ or from_ is bool_


@cache
def _prefer(higher: dtype | None, lower: dtype | None) -> dtype | None:
    """Let `lower` decide only where it is of a higher kind (complex, float, integer, bool)."""
    if higher is None or lower is None:
        return higher or lower
    if higher.is_floating_point and lower.is_complex:
        return complex_of(higher)
    if higher.has_fractions:
        return higher
    if higher is bool_ or lower.has_fractions:
        return _promote(higher, lower)
    return higher


@cache
def result_type_of(
    dimensioned: dtype | None = None,
    zero_dim: dtype | None = None,
    scalar: dtype | None = None,
) -> dtype:
    """Return the dtype in which operands of the three categories are computed.

    Each argument is the promoted dtype of one category, or None where it has no member: tensors
    with dimensions, tensors without, and Python numbers (see `scalar_dtype`). An earlier category
    decides the width; a later one changes it only by being of a higher kind.
    """
    result = _prefer(_prefer(dimensioned, zero_dim), scalar)
    if result is None:
        raise ValueError("result_type_of() needs the dtype of at least one operand")
    return result


_COMPLEX_OF = {float16: complex64, bfloat16: complex64, float32: complex64, float64: complex128}
_REAL_OF = {complex64: float32, complex128: float64}


def complex_of(real: dtype) -> dtype:
    """Return the complex dtype whose parts are of this float dtype (float32 for half ones)."""
    return _COMPLEX_OF.get(real, real)


def real_of(value: dtype) -> dtype:
    """Return the dtype of the parts of a complex dtype; a real one itself."""
    return _REAL_OF.get(value, value)


def computed_as(of: dtype) -> dtype:
    """Return the dtype in which numbers of a dtype are computed with: float32 for half ones."""
    return float32 if of.is_half else of


_SCALAR_TYPE_NAMES = {
    "float16": "Half", "bfloat16": "BFloat16", "float32": "Float", "float64": "Double",
    "int8": "Char", "uint8": "Byte", "int16": "Short", "int32": "Int", "int64": "Long",
    "bool": "Bool", "complex32": "ComplexHalf", "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
}  # fmt: skip


def scalar_type_name(kind: dtype) -> str:
    """The name torch's messages use for a dtype, as ``Float``."""
    return _SCALAR_TYPE_NAMES[kind.name]


def python_number(value: np.generic) -> Any:
    """The Python number that a scalar of NumPy stands for as an operand.

    The bool of NumPy is none to torch, which takes it for what has a float.
    """
    return float(value) if isinstance(value, np.bool_) else value.item()


def scalar_dtype(value: bool | int | float | complex) -> dtype:
    """Return the dtype of a Python number among tensors: bool, int64 or one of the defaults."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return int64
    if isinstance(value, (float, np.bool_)):  # see `python_number`
        return _default_dtype
    if isinstance(value, complex):
        return complex_of(_default_dtype)
    raise TypeError(
        f"a Python number must be bool, int, float or complex, not {type(value).__name__}"
    )


# ---------------------------------------------------------------------------------------------
# The default dtype
# ---------------------------------------------------------------------------------------------

_default_dtype = float32
#: Called when another dtype becomes the default.
_listeners: list[Callable[[], None]] = []


def when_default_changes(function: Callable[[], None]) -> None:
    """Have ``function`` called after another dtype became the default."""
    _listeners.append(function)


def get_default_dtype() -> dtype:
    """Return the dtype of tensors made from Python floats."""
    return _default_dtype


def set_default_dtype(d: dtype) -> None:
    """Choose the dtype of tensors made from Python floats; it must be a floating-point one."""
    global _default_dtype
    if not isinstance(d, dtype):
        raise TypeError(
            "invalid dtype object: only floating-point types are supported as the default type"
        )
    if not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    if d is not _default_dtype:
        _default_dtype = d
        for listener in _listeners:
            listener()


# ---------------------------------------------------------------------------------------------
# Type strings of the older API: tensor.type() == "torch.FloatTensor"
# ---------------------------------------------------------------------------------------------

_CLASS_NAMES = {
    float16: "HalfTensor",
    bfloat16: "BFloat16Tensor",
    float32: "FloatTensor",
    float64: "DoubleTensor",
    int8: "CharTensor",
    int16: "ShortTensor",
    int32: "IntTensor",
    int64: "LongTensor",
    uint8: "ByteTensor",
    bool_: "BoolTensor",
    complex64: "ComplexFloatTensor",
    complex128: "ComplexDoubleTensor",
}

_MODULE_NAMES = {"cpu": "torch.", "cuda": "torch.cuda.", "meta": "torch.meta."}

_FROM_TYPE_STRING = {
    prefix + class_name: (each, device_type)
    for each, class_name in _CLASS_NAMES.items()
    for device_type, prefix in _MODULE_NAMES.items()
}


def type_string(of: dtype, device_type: str = "cpu") -> str:
    """Return the older API's name of a tensor type: ``"torch.FloatTensor"``."""
    return _MODULE_NAMES[device_type] + _CLASS_NAMES[of]


def from_type_string(text: str) -> tuple[dtype, str]:
    """Return the dtype and the device type that an older name stands for.

    ``"torch.Tensor"`` is the default dtype on the CPU. Raises ValueError for other text.
    """
    if text == "torch.Tensor":
        return _default_dtype, "cpu"
    if text not in _FROM_TYPE_STRING:
        raise ValueError(f"invalid type: '{text}'")
    return _FROM_TYPE_STRING[text]


# ---------------------------------------------------------------------------------------------
# Limits
# ---------------------------------------------------------------------------------------------


class finfo:
    """The limits of a float dtype, or of the parts of a complex one; by default the default's."""

    __slots__ = ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, type: dtype | None = None) -> None:
        of = _default_dtype if type is None else _of_python(type)
        _require_dtype("finfo", "type", 1, of)
        if not of.has_fractions:
            raise TypeError(
                "torch.finfo() requires a floating point input type. "
                f"Use torch.iinfo to handle '{of}'"
            )
        of = real_of(of)
        self.bits = 8 * of.itemsize
        self.dtype = of.name
        if of is bfloat16:  # the exponents of float32, and eight bits of the number
            self.eps, self.resolution = 2.0**-7, 1e-2
            self.max, self.min = (2 - 2.0**-7) * 2.0**127, -(2 - 2.0**-7) * 2.0**127
            self.smallest_normal = self.tiny = 2.0**-126
            return
        if of.__class__ is not dtype:  # one that no tensor has
            self.eps, self.max, self.smallest_normal = of.limits  # type: ignore[attr-defined]
            self.min, self.tiny, self.resolution = -self.max, self.smallest_normal, 1.0
            return
        limits = np.finfo(of.numpy)
        self.eps = float(limits.eps)
        self.max = float(limits.max)
        self.min = float(limits.min)
        self.resolution = float(f"1e-{limits.precision}")
        self.smallest_normal = float(limits.smallest_normal)
        self.tiny = self.smallest_normal

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and other.dtype == self.dtype

    def __repr__(self) -> str:
        names = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        numbers = ", ".join(f"{name}={getattr(self, name):g}" for name in names)
        return f"finfo({numbers}, dtype={self.dtype})"


class iinfo:
    """The limits of an integer dtype."""

    __slots__ = ("bits", "dtype", "max", "min")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, type: dtype) -> None:
        type = _of_python(type)
        _require_dtype("iinfo", "type", 1, type)
        if type is bool_:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if type.is_floating_point:
            raise TypeError(
                f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{type}'"
            )
        limits = np.iinfo(type.name)
        self.bits = 8 * type.itemsize
        self.dtype = type.name
        self.max = int(limits.max)
        self.min = int(limits.min)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and other.dtype == self.dtype

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


#: Dtypes for the types of Python's numbers, which may stand where a dtype is expected.
PYTHON_TYPES = {bool: bool_, int: int64, float: float64, complex: complex128}


def _of_python(value: Any) -> Any:
    """The dtype that a type of Python's numbers stands for; anything else as it is."""
    return PYTHON_TYPES.get(value, value) if isinstance(value, type) else value


def _require_dtype(function: str, argument: str, position: int, value: object) -> None:
    if not isinstance(value, dtype):
        raise TypeError(
            f"{function}(): argument '{argument}' (position {position}) must be torch.dtype, "
            f"not {type(value).__name__}"
        )
