"""Arrays from data, numbers and shapes, and the dtype functions of the array API."""

from __future__ import annotations

import math
from collections import namedtuple
from typing import Any

import numpy as np

import numbagrad as torch

from ..dtype import dtype as DType
from ..tensor import Tensor
from ..utils.dlpack import from_dlpack as _from_dlpack
from .arguments import check_device, shape_of

__all__ = [
    "__array_namespace_info__", "arange", "asarray", "astype", "can_cast", "e", "empty",
    "empty_like", "eye", "finfo", "from_dlpack", "full", "full_like", "iinfo", "inf", "isdtype",
    "linspace", "meshgrid", "nan", "newaxis", "ones", "ones_like", "pi", "result_type", "tril",
    "triu", "zeros", "zeros_like",
]  # fmt: skip

REAL = (torch.float32, torch.float64)
COMPLEX = (torch.complex64, torch.complex128)
SIGNED = (torch.int8, torch.int16, torch.int32, torch.int64)
#: torch's unsigned integers of more than 8 bits are not there.
UNSIGNED = (torch.uint8,)
KINDS = {
    "bool": (torch.bool,),
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": SIGNED + UNSIGNED,
    "real floating": REAL,
    "complex floating": COMPLEX,
    "numeric": SIGNED + UNSIGNED + REAL + COMPLEX,
}

FloatLimits = namedtuple("FloatLimits", ["bits", "eps", "max", "min", "smallest_normal", "dtype"])
IntegerLimits = namedtuple("IntegerLimits", ["bits", "max", "min", "dtype"])

# --- creation -------------------------------------------------------------------------------------


def asarray(
    obj: Any,
    /,
    *,
    dtype: DType | None = None,
    device: Any = None,
    copy: bool | None = None,
) -> Tensor:
    """An array of an array, a number, nested sequences, or an object with memory to share.

    Args:
        obj: what to take the elements from.
        dtype: of the array; by default that of ``obj``.
        device: None or "cpu".
        copy: True for memory of its own, False for the memory of ``obj``, None for either.

    Raises:
        ValueError: if ``copy`` is False and the elements have to be copied.
    """
    check_device(device)
    if copy is True:
        if isinstance(obj, Tensor):
            return obj.clone() if dtype in (None, obj.dtype) else obj.to(dtype)
        made = torch.asarray(np.array(obj) if isinstance(obj, np.ndarray) else obj, dtype=dtype)
        return made.clone()
    if copy is False:
        sharing = isinstance(obj, (Tensor, np.ndarray, memoryview)) or hasattr(obj, "__dlpack__")
        shared = torch.asarray(obj) if sharing else None
        if shared is None or dtype not in (None, shared.dtype):
            raise ValueError(f"asarray(copy=False): the elements of {type(obj)} have to be copied")
        return shared
    if isinstance(obj, (bool, int, float, complex)) and dtype is None:
        return torch.tensor(obj)
    return torch.asarray(obj, dtype=dtype)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """An array on the memory of an object with ``__dlpack__``, or on a copy.

    Raises:
        ValueError: for a device other than the CPU.
    """
    check_device(device)
    made = _from_dlpack(x)
    return made.clone() if copy else made


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: DType | None = None,
    device: Any = None,
) -> Tensor:
    """The numbers from ``start`` on, below ``stop``; with one number from zero up to that."""
    check_device(device)
    if stop is None:
        start, stop = 0, start
    if (stop - start) * step <= 0:
        wanted = dtype or torch.arange(0, type(start + stop + step)(0)).dtype
        return torch.zeros(0, dtype=wanted)
    return torch.arange(start, stop, step, dtype=dtype)


def linspace(
    start: Any,
    stop: Any,
    /,
    num: int,
    *,
    dtype: DType | None = None,
    device: Any = None,
    endpoint: bool = True,
) -> Tensor:
    """``num`` numbers at equal distances from ``start`` to ``stop``, which counts if ``endpoint``.

    Numbers are computed in the double precision of their kind and then rounded.
    """
    check_device(device)
    is_complex = isinstance(start, complex) or isinstance(stop, complex)
    default = default_dtypes()["complex floating" if is_complex else "real floating"]
    wanted = dtype or default
    count = num if endpoint else num + 1
    numbers = np.linspace(start, stop, count, dtype=np.complex128 if is_complex else np.float64)
    if not (wanted.is_floating_point or wanted.is_complex):
        numbers = np.trunc(numbers)
    return torch.from_numpy(numbers[:num].copy()).to(wanted)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DType | None = None,
    device: Any = None,
) -> Tensor:
    """A matrix with ones on its k-th diagonal, and zeros elsewhere."""
    check_device(device)
    made = torch.zeros(n_rows, n_rows if n_cols is None else n_cols, dtype=dtype)
    if -made.shape[0] < k < made.shape[1]:
        made.diagonal(k).fill_(1)
    return made


def empty(
    shape: int | tuple[int, ...], *, dtype: DType | None = None, device: Any = None
) -> Tensor:
    """An array of any numbers."""
    check_device(device)
    return torch.empty(shape_of(shape), dtype=dtype)


def empty_like(x: Tensor, /, *, dtype: DType | None = None, device: Any = None) -> Tensor:
    """An array of any numbers in the shape of ``x``, and its dtype by default."""
    check_device(device)
    return torch.empty_like(x, dtype=dtype)


def full(
    shape: int | tuple[int, ...],
    fill_value: Any,
    *,
    dtype: DType | None = None,
    device: Any = None,
) -> Tensor:
    """An array of one number."""
    check_device(device)
    return torch.full(shape_of(shape), fill_value, dtype=dtype)


def full_like(
    x: Tensor, /, fill_value: Any, *, dtype: DType | None = None, device: Any = None
) -> Tensor:
    """An array of one number in the shape of ``x``, and its dtype by default."""
    check_device(device)
    return torch.full_like(x, fill_value, dtype=dtype)


def ones(shape: int | tuple[int, ...], *, dtype: DType | None = None, device: Any = None) -> Tensor:
    """An array of ones."""
    check_device(device)
    return torch.ones(shape_of(shape), dtype=dtype)


def ones_like(x: Tensor, /, *, dtype: DType | None = None, device: Any = None) -> Tensor:
    """An array of ones in the shape of ``x``, and its dtype by default."""
    check_device(device)
    return torch.ones_like(x, dtype=dtype)


def zeros(
    shape: int | tuple[int, ...], *, dtype: DType | None = None, device: Any = None
) -> Tensor:
    """An array of zeros."""
    check_device(device)
    return torch.zeros(shape_of(shape), dtype=dtype)


def zeros_like(x: Tensor, /, *, dtype: DType | None = None, device: Any = None) -> Tensor:
    """An array of zeros in the shape of ``x``, and its dtype by default."""
    check_device(device)
    return torch.zeros_like(x, dtype=dtype)


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> list[Tensor]:
    """The coordinates of a grid from those along each axis."""
    return list(torch.meshgrid(*arrays, indexing=indexing)) if arrays else []


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The lower triangles of matrices, up to the k-th diagonal."""
    return torch.tril(x, k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The upper triangles of matrices, from the k-th diagonal on."""
    return torch.triu(x, k)


# --- dtypes ---------------------------------------------------------------------------------------


def astype(x: Tensor, dtype: DType, /, *, copy: bool = True, device: Any = None) -> Tensor:
    """The array in another dtype; itself if nothing changes and ``copy`` is False."""
    check_device(device)
    if x.dtype.is_complex and not dtype.is_complex:
        if dtype is not torch.bool:
            raise TypeError(f"astype: complex numbers cannot become {dtype}; take real(x) first")
        return x != 0
    return x.to(dtype, copy=copy)


def can_cast(from_: DType | Tensor, to: DType, /) -> bool:
    """Whether a promotion leads from one dtype to the other."""
    given = from_.dtype if isinstance(from_, Tensor) else from_
    return torch.promote_types(given, to) is to


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype that arrays, dtypes and Python numbers have in common.

    Raises:
        ValueError: if there is neither an array nor a dtype.
    """
    found = [x.dtype if isinstance(x, Tensor) else x for x in arrays_and_dtypes]
    kinds = [x for x in found if isinstance(x, DType)]
    if not kinds:
        raise ValueError("result_type() needs an array or a dtype")
    common = kinds[0]
    for kind in kinds[1:]:
        common = torch.promote_types(common, kind)
    for number in found:
        if not isinstance(number, DType):
            common = torch.result_type(torch.empty(1, dtype=common), number)
    return common


def isdtype(dtype: DType, kind: Any) -> bool:
    """Whether a dtype is another one, or of a kind ("integral", ...), or of one in a tuple.

    Raises:
        ValueError: for a kind that is not there.
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ValueError(f"isdtype: unknown kind {kind!r}; there are {', '.join(KINDS)}")
        return dtype in KINDS[kind]
    return dtype is kind


def finfo(type: DType | Tensor, /) -> Any:  # noqa: A002
    """The limits of a float dtype, or of the parts of a complex one: floats and a dtype."""
    kind = type.dtype if isinstance(type, Tensor) else type
    found = torch.finfo(kind)
    return FloatLimits(
        found.bits, found.eps, found.max, found.min, found.smallest_normal,
        kind.to_real() if kind.is_complex else kind,
    )  # fmt: skip


def iinfo(type: DType | Tensor, /) -> Any:  # noqa: A002
    """The limits of an integer dtype: integers and the dtype."""
    kind = type.dtype if isinstance(type, Tensor) else type
    found = torch.iinfo(kind)
    return IntegerLimits(found.bits, found.max, found.min, kind)


# --- what the namespace can do --------------------------------------------------------------------


def default_dtypes(*, device: Any = None) -> dict[str, DType]:
    """The dtypes of arrays that are made without one."""
    check_device(device)
    floats = torch.get_default_dtype()
    return {
        "real floating": floats,
        "complex floating": torch.promote_types(floats, torch.complex64),
        "integral": torch.int64,
        "indexing": torch.int64,
    }


class Info:
    """The result of ``__array_namespace_info__``: capabilities, devices and dtypes."""

    def capabilities(self) -> dict[str, Any]:
        """Masks as indices and shapes that depend on elements are there; 64 dimensions."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Any:
        """The CPU."""
        return torch.device("cpu")

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        """The dtypes of arrays that are made without one."""
        return default_dtypes(device=device)

    def devices(self) -> list[Any]:
        """The CPU alone."""
        return [torch.device("cpu")]

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, DType]:
        """The dtypes by their names, of all kinds or of those asked for."""
        check_device(device)
        every = KINDS["bool"] + KINDS["numeric"]
        return {
            str(one).rpartition(".")[2]: one for one in every if kind is None or isdtype(one, kind)
        }


def __array_namespace_info__() -> Info:
    """Capabilities, devices and dtypes of the namespace."""
    return Info()


#: Constants of the standard.
e, inf, nan, pi, newaxis = math.e, math.inf, math.nan, math.pi, None
