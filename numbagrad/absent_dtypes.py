"""dtypes of torch that no tensor here has: they can be named and compared, and say so when used.

Libraries list them in tables and ask whether a tensor is of one.
"""

from __future__ import annotations

from typing import Any, NoReturn

from .dtype import dtype

__all__ = [
    "complex32", "float4_e2m1fn_x2", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
    "float8_e5m2fnuz", "float8_e8m0fnu", "int1", "int2", "int3", "int4", "int5", "int6", "int7",
    "qint32", "qint8", "quint2x4", "quint4x2", "quint8", "uint1", "uint2", "uint3", "uint4",
    "uint5", "uint6", "uint7", "uint16", "uint32", "uint64",
]  # fmt: skip


#: By bits of exponent and of mantissa, and by what the largest exponent stands for.
_LIMITS = {
    "float8_e4m3fn": (2.0**-3, 448.0, 2.0**-6),
    "float8_e4m3fnuz": (2.0**-3, 240.0, 2.0**-7),
    "float8_e5m2": (2.0**-2, 57344.0, 2.0**-14),
    "float8_e5m2fnuz": (2.0**-3, 57344.0, 2.0**-15),
}


class _AbsentDtype(dtype):
    """A dtype with torch's properties and no array type."""

    __slots__ = ()

    @property
    def numpy(self) -> NoReturn:  # type: ignore[override]
        raise NotImplementedError(
            f"{self._text} is not available in numbagrad: use float32, float64, float16, bfloat16, "
            "complex64, complex128, int8, int16, int32, int64, uint8 or bool"
        )

    type_num = numpy

    @property
    def limits(self) -> tuple[float, float, float]:
        """``eps``, the largest number and the smallest normal one, for ``finfo``."""
        if self.name not in _LIMITS:
            raise NotImplementedError(
                f"torch.finfo() of {self._text} is not available in numbagrad"
            )
        return _LIMITS[self.name]

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return _named, (self.name,)


def _named(name: str) -> _AbsentDtype:
    return globals()[name]


def _make(name: str, kind: str, itemsize: int) -> _AbsentDtype:
    made: _AbsentDtype = object.__new__(_AbsentDtype)
    fields = {
        "name": name,
        "itemsize": itemsize,
        "is_floating_point": kind == "f",
        "is_complex": kind == "c",
        "is_signed": kind in "fci",
        "has_fractions": kind in "fc",
        "is_half": False,
        "abbr": name,
        "_text": f"torch.{name}",
    }
    for field, value in fields.items():
        object.__setattr__(made, field, value)
    return made


complex32 = _make("complex32", "c", 4)
float4_e2m1fn_x2 = _make("float4_e2m1fn_x2", "f", 1)
float8_e4m3fn = _make("float8_e4m3fn", "f", 1)
float8_e4m3fnuz = _make("float8_e4m3fnuz", "f", 1)
float8_e5m2 = _make("float8_e5m2", "f", 1)
float8_e5m2fnuz = _make("float8_e5m2fnuz", "f", 1)
float8_e8m0fnu = _make("float8_e8m0fnu", "f", 1)
uint16 = _make("uint16", "u", 2)
uint32 = _make("uint32", "u", 4)
uint64 = _make("uint64", "u", 8)
int1, int2, int3, int4, int5, int6, int7 = [_make(f"int{bits}", "i", 1) for bits in range(1, 8)]
uint1, uint2, uint3, uint4, uint5, uint6, uint7 = [
    _make(f"uint{bits}", "u", 1) for bits in range(1, 8)
]
qint8, qint32 = _make("qint8", "i", 1), _make("qint32", "i", 4)
quint8, quint4x2, quint2x4 = [_make(name, "u", 1) for name in ("quint8", "quint4x2", "quint2x4")]
