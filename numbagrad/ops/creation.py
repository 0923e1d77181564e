"""Tensors made from nothing or from data: ``tensor``, ``zeros``, ``arange`` and their relatives.

Users call them; ``ops/random.py`` and ``ops/conversion.py`` share the handling of sizes, dtypes and
devices. Memory is allocated and filled by NumPy; nothing here is recorded.
"""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from ..autograd.tensor_interface import bump_version
from ..cuda import require_cpu
from ..dtype import bool_, float64, get_default_dtype, int64, promote_types, scalar_dtype
from ..dtype import dtype as DType
from ..dtype import from_numpy as dtype_of
from ..layout import contiguous_format
from ..tensor import Tensor, new_tensor
from .registry import method

__all__ = [
    "arange", "as_tensor", "asarray", "empty", "empty_like", "empty_strided", "eye", "from_numpy",
    "frombuffer", "full", "full_like", "linspace", "logspace", "ones", "ones_like", "scalar_tensor",
    "tensor", "tril_indices", "triu_indices", "zeros", "zeros_like",
]  # fmt: skip

Number = bool | int | float

# --- what the arguments mean ----------------------------------------------------------------------

_PYTHON_TYPES = {bool: bool_, int: int64, float: float64}


def numpy_dtype(function: str, dtype: Any, default: np.dtype[Any] | None = None) -> np.dtype[Any]:
    """The NumPy type of a ``dtype`` argument; None stands for ``default`` or the default dtype."""
    if dtype is None:
        return get_default_dtype().numpy if default is None else default
    if isinstance(dtype, DType):
        return dtype.numpy
    if isinstance(dtype, type) and dtype in _PYTHON_TYPES:
        return _PYTHON_TYPES[dtype].numpy
    raise TypeError(
        f"{function}(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}"
    )


def shape_of(function: str, arguments: tuple[Any, ...], size: Any = None) -> tuple[int, ...]:
    """The shape given as ``(2, 3)``, ``([2, 3],)`` or ``size=(2, 3)``."""
    given: Sequence[Any] = arguments
    if size is not None:
        given = size if isinstance(size, (tuple, list)) else (size,)
    elif not arguments:
        raise TypeError(f'{function}() missing 1 required positional arguments: "size"')
    elif len(arguments) == 1 and isinstance(arguments[0], (tuple, list)):
        given = arguments[0]
    lengths = tuple([_length(function, k, length) for k, length in enumerate(given, 1)])
    if lengths and min(lengths) < 0:
        raise RuntimeError(
            f"{function}: Dimension size must be non-negative, but got shape {list(lengths)}."
        )
    return lengths


def _length(function: str, position: int, length: Any) -> int:
    try:
        return operator.index(length)
    except TypeError:
        raise TypeError(
            f"{function}(): argument 'size' must be tuple of ints, but found element of type "
            f"{type(length).__name__} at pos {position}"
        ) from None


def require_tensor(function: str, value: Any, argument: str = "input") -> None:
    """Raise torch's TypeError unless ``value`` is a Tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"{function}(): argument '{argument}' (position 1) must be Tensor, not "
            f"{type(value).__name__}"
        )


def leaf(array: np.ndarray[Any, Any], requires_grad: bool, out: Tensor | None = None) -> Tensor:
    """A new leaf of this memory; or ``out``, resized if need be, with these elements."""
    if out is not None:
        return write(out, array)
    if requires_grad and array.dtype.kind != "f":
        raise RuntimeError(
            "Only Tensors of floating point and complex dtype can require gradients"
        )
    return new_tensor(array, bool(requires_grad))


def write(out: Tensor, array: np.ndarray[Any, Any]) -> Tensor:
    """Put the elements of ``array`` into ``out``, which gets their shape."""
    if out._array.shape != array.shape:
        out._array = np.empty(array.shape, out._array.dtype)
    np.copyto(out._array, array, casting="unsafe")
    bump_version(out)
    return out


# --- filled -------------------------------------------------------------------------------------


def _uniform(name: str, allocate: Callable[..., np.ndarray[Any, Any]], content: str) -> Any:
    """``zeros``, ``ones`` or ``empty``."""

    def function(
        *sizes: Any,
        size: Any = None,
        out: Tensor | None = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
        memory_format: Any = None,
    ) -> Tensor:
        require_cpu(device)
        default = None if out is None else out._array.dtype
        kind = numpy_dtype(name, dtype, default)
        return leaf(allocate(shape_of(name, sizes, size), kind), requires_grad, out)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"A tensor of the given sizes, {content}."
    return function


def _uniform_like(name: str, fill: Number | None, content: str) -> Any:
    """``zeros_like``, ``ones_like`` or ``empty_like``."""

    def function(
        input: Tensor,
        *,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        memory_format: Any = None,
    ) -> Tensor:
        require_tensor(name, input)
        array = empty_array_like(name, input, dtype, device, memory_format)
        if fill is not None:
            array.fill(fill)
        return leaf(array, requires_grad)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"A tensor of the size, and by default the dtype, of ``input``, {content}."
    return function


def empty_array_like(
    function: str, input: Tensor, dtype: Any, device: Any, memory_format: Any
) -> np.ndarray[Any, Any]:
    """Memory of the shape of ``input``, in the order of its strides unless told otherwise."""
    require_cpu(device)
    array = input._array
    kind = numpy_dtype(function, dtype, array.dtype)
    if memory_format is contiguous_format:
        return np.empty(array.shape, kind)
    return np.empty_like(array, kind)


zeros = _uniform("zeros", np.zeros, "filled with 0")
ones = _uniform("ones", np.ones, "filled with 1")
empty = _uniform("empty", np.empty, "whose elements are not set")
zeros_like = _uniform_like("zeros_like", 0, "filled with 0")
ones_like = _uniform_like("ones_like", 1, "filled with 1")
empty_like = _uniform_like("empty_like", None, "whose elements are not set")


def full(
    size: Any,
    fill_value: Any,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of the given sizes filled with one number, whose type decides the dtype."""
    require_cpu(device)
    value = fill_value.item() if isinstance(fill_value, Tensor) else fill_value
    if out is not None and dtype is None:
        kind = out._array.dtype
    elif isinstance(fill_value, Tensor):
        kind = numpy_dtype("full", dtype, fill_value._array.dtype)
    else:
        kind = numpy_dtype("full", dtype, _dtype_of_number("full", value).numpy)
    array = np.empty(shape_of("full", (), size), kind)
    array.fill(checked_number(value, kind))
    return leaf(array, requires_grad, out)


def full_like(
    input: Tensor,
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor of the size and the dtype of ``input`` filled with one number."""
    require_tensor("full_like", input)
    array = empty_array_like("full_like", input, dtype, device, memory_format)
    value = fill_value.item() if isinstance(fill_value, Tensor) else fill_value
    array.fill(checked_number(value, array.dtype))
    return leaf(array, requires_grad)


def scalar_tensor(
    s: Number,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor without dimensions; by default of the default dtype, for ints too."""
    kind = dtype if dtype is not None else get_default_dtype()
    return full((), s, dtype=kind, device=device, requires_grad=requires_grad)


def empty_strided(
    size: Any,
    stride: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of the given sizes and strides (in elements) whose elements are not set."""
    require_cpu(device)
    kind = numpy_dtype("empty_strided", dtype)
    shape = shape_of("empty_strided", (), size)
    steps = tuple(stride)
    if len(steps) != len(shape) or any(step < 0 for step in steps):
        raise RuntimeError(
            f"empty_strided: expected one stride >= 0 a dimension, but got size {list(shape)} and "
            f"stride {list(steps)}"
        )
    reach = 0 if 0 in shape else 1 + sum((n - 1) * s for n, s in zip(shape, steps, strict=True))
    strides = [step * kind.itemsize for step in steps]
    array: np.ndarray[Any, Any] = np.ndarray(
        shape, kind, np.empty(max(reach, 1), kind), 0, strides
    )
    return leaf(array, requires_grad)


def _dtype_of_number(function: str, value: Any) -> DType:
    if isinstance(value, np.generic):
        return dtype_of(value.dtype)
    if isinstance(value, (bool, int, float)):
        return scalar_dtype(value)
    raise TypeError(
        f"{function}(): argument 'fill_value' must be Number, not {type(value).__name__}"
    )


_C_NAMES = {"f": "", "i": "_t", "u": "_t", "b": ""}


def checked_number(value: Any, kind: np.dtype[Any]) -> Any:
    """``value`` as an element of a tensor of this type.

    Raises:
        RuntimeError: if it is too large. Negative numbers wrap around in unsigned types.
    """
    if kind.kind == "b":
        return bool(value)
    if kind.kind == "f":
        number = float(value)
        if math.isfinite(number) and abs(number) > float(np.finfo(kind).max):
            raise _overflow(kind)
        return number
    if not math.isfinite(value):
        raise _overflow(kind)
    limits = np.iinfo(kind)
    whole = int(value)
    least = limits.min if kind.kind == "i" else -limits.max
    if not least <= whole <= limits.max:
        raise _overflow(kind)
    return whole % (limits.max + 1) if kind.kind == "u" else whole


def _overflow(kind: np.dtype[Any]) -> RuntimeError:
    names = {"float16": "at::Half", "float32": "float", "float64": "double"}
    name = names.get(kind.name, kind.name + _C_NAMES[kind.kind])
    return RuntimeError(f"value cannot be converted to type {name} without overflow")


# --- from data ------------------------------------------------------------------------------------


def tensor(
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A new leaf with a copy of ``data``: a number, nested sequences of numbers, or an array.

    Without ``dtype``, Python floats become the default dtype, ints int64 and bools bool.

    Raises:
        ValueError: if nested sequences are ragged, or an int does not fit in 64 bits.
        TypeError, RuntimeError: for data that are not numbers, or too large for the dtype.
    """
    require_cpu(device)
    if isinstance(data, Tensor):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use "
            "sourceTensor.detach().clone() or sourceTensor.detach().clone().requires_grad_(True), "
            "rather than torch.tensor(sourceTensor).",
            UserWarning,
            stacklevel=2,
        )
    kind = None if dtype is None else numpy_dtype("tensor", dtype)
    return leaf(array_of(data, kind), requires_grad)


def array_of(data: Any, kind: np.dtype[Any] | None) -> np.ndarray[Any, Any]:
    """New memory with the elements of ``data``, of type ``kind`` or of the one they call for."""
    if isinstance(data, Tensor):
        return converted(data._array, kind or data._array.dtype)
    if isinstance(data, np.ndarray):
        _check_array(data)
        return converted(data, kind or data.dtype)
    if isinstance(data, (bool, int, float, np.generic)):
        return _array_of_leaves([data], kind).reshape(())
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if hasattr(data, "__array__") and not isinstance(data, Sequence):
        return array_of(np.asarray(data), kind)
    if not (hasattr(data, "__len__") and hasattr(data, "__getitem__")) or isinstance(data, dict):
        raise _no_number(data, kind)
    leaves, shape = _flattened(data)
    return _array_of_leaves(leaves, kind).reshape(shape)


def converted(array: np.ndarray[Any, Any], kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """A dense copy of ``array`` as ``kind``, without NumPy's warnings for what does not fit."""
    if array.dtype == kind:
        return array.copy("K")
    with np.errstate(invalid="ignore", over="ignore"):
        return array.astype(kind, order="K")


def _is_sequence(value: Any) -> bool:
    if isinstance(value, (list, tuple, range)):
        return True
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _flattened(data: Any) -> tuple[list[Any], tuple[int, ...]]:
    """The elements of nested sequences in order, and the shape of the nest.

    Raises:
        ValueError, TypeError: as torch for sequences whose lengths or depths differ.
    """
    level = [data]
    shape: list[int] = []
    while level and _is_sequence(level[0]):
        length = len(level[0])
        for one in level:
            if not _is_sequence(one):
                raise TypeError(
                    f"not a sequence: {one!r}, where its neighbours in dim {len(shape)} are"
                )
            if len(one) != length:
                raise ValueError(
                    f"expected sequence of length {length} at dim {len(shape)} (got {len(one)})"
                )
        shape.append(length)
        level = list(chain.from_iterable(level))
    if level and isinstance(level[0], str):
        raise ValueError(f"too many dimensions '{type(level[0]).__name__}'")
    for kind in set(map(type, level)):
        if issubclass(kind, (list, tuple)):
            raise TypeError(f"'{kind.__name__}' object cannot be interpreted as an integer")
    return level, tuple(shape)


def _array_of_leaves(leaves: list[Any], kind: np.dtype[Any] | None) -> np.ndarray[Any, Any]:
    types = set(map(type, leaves))
    if not types <= {bool, int, float}:
        leaves = [_plain(one, kind) for one in leaves]
    inferred = _inferred(leaves)
    if kind is None:
        kind = inferred.numpy if inferred is not None else get_default_dtype().numpy
    with np.errstate(over="ignore"):
        if kind.kind in "fb" or not leaves:
            return np.array(leaves, dtype=kind)
        values = np.array(leaves, dtype=np.float64) if float in types else _integers(leaves)
    return _as_integers(values, kind)


def _plain(value: Any, kind: np.dtype[Any] | None) -> Any:
    """A number from what counts as one; NumPy's numbers stay, since they have a dtype."""
    if isinstance(value, (bool, int, float)):
        return value
    array = value._array if isinstance(value, Tensor) else value
    if isinstance(array, np.ndarray):
        if array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        array = array.reshape(())[()]
    if not isinstance(array, np.generic) or array.dtype.kind not in "fiub":
        raise _no_number(value, kind)
    if kind is not None and kind.kind != "f" and array.dtype.kind == "f":
        raise TypeError(
            "only integer tensors of a single element can be converted to an index"
            if isinstance(value, Tensor)
            else f"'numpy.{type(array).__name__}' object cannot be interpreted as an integer"
        )
    return array


def _no_number(value: Any, kind: np.dtype[Any] | None) -> Exception:
    """The error for what is not a number where one of type ``kind`` is called for."""
    name = type(value).__name__
    if kind is None:
        if isinstance(value, str):
            return TypeError(f"new(): invalid data type '{name}'")
        return RuntimeError(f"Could not infer dtype of {name}")
    if kind.kind == "f":
        return TypeError(f"must be real number, not {name}")
    return TypeError(f"'{name}' object cannot be interpreted as an integer")


def _inferred(leaves: list[Any]) -> DType | None:
    """The dtype that these numbers call for, or None if there are none."""
    found: DType | None = None
    for each in set(map(type, leaves)):
        own = dtype_of(np.dtype(each)) if issubclass(each, np.generic) else _number_dtype(each)
        found = own if found is None else promote_types(found, own)
    return found


def _number_dtype(kind: type) -> DType:
    return bool_ if kind is bool else int64 if issubclass(kind, int) else get_default_dtype()


def _integers(leaves: list[Any]) -> np.ndarray[Any, Any]:
    try:
        return np.array(leaves, dtype=np.int64)
    except OverflowError:
        raise ValueError("Overflow when unpacking long long") from None


def _as_integers(values: np.ndarray[Any, Any], kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Numbers as an integer type that holds them all; negative ones wrap in unsigned types."""
    limits = np.iinfo(kind)
    least = limits.min if kind.kind == "i" else -limits.max
    # Not "any outside", which NaN would pass; and the largest int64 is no float64.
    bound = float(limits.max) if values.dtype.kind == "f" else limits.max
    inside = (values >= least) & (
        values < bound if kind == np.int64 and values.dtype.kind == "f" else values <= bound
    )
    if not inside.all():
        raise RuntimeError(f"value cannot be converted to type {kind.name} without overflow")
    return values.astype(np.int64).astype(kind)


def _check_array(array: np.ndarray[Any, Any]) -> None:
    """Raise torch's errors for arrays whose memory no tensor can describe."""
    dtype_of(array.dtype)
    if array.size == 0 or array.flags.c_contiguous:
        return
    for stride in array.strides:
        if stride < 0:
            raise ValueError(
                "At least one stride in the given numpy array is negative, and tensors with "
                "negative strides are not currently supported. (You can probably work around this "
                "by making a copy of your array  with array.copy().) "
            )
        if stride % array.itemsize:
            raise ValueError(
                "given numpy array strides not a multiple of the element byte size. Copy the numpy "
                "array to reallocate the memory."
            )


_warned_of_read_only = False


def from_numpy(ndarray: np.ndarray[Any, Any]) -> Tensor:
    """A tensor of the memory of a NumPy array: what one writes, the other reads.

    Raises:
        TypeError: if it is not an array, or of a dtype that tensors do not have.
        ValueError: for negative or odd strides, or a foreign byte order.
    """
    global _warned_of_read_only
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    _check_array(ndarray)
    if not ndarray.flags.writeable and not _warned_of_read_only:
        _warned_of_read_only = True
        warnings.warn(
            "The given NumPy array is not writable, and PyTorch does not support non-writable "
            "tensors. This means writing to this tensor will result in undefined behavior. You may "
            "want to copy the array to protect its data or make it writable before converting it "
            "to a tensor. This type of warning will be suppressed for the rest of this program.",
            UserWarning,
            stacklevel=2,
        )
    # A new ndarray object: its shape cannot be changed from outside.
    return new_tensor(ndarray.view(np.ndarray))


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """``data`` as a tensor: the same memory, and for a tensor its history, where dtypes agree."""
    require_cpu(device)
    kind = None if dtype is None else numpy_dtype("as_tensor", dtype)
    if isinstance(data, Tensor):
        return data if kind is None or data._array.dtype == kind else data.to(dtype)
    if isinstance(data, np.ndarray) and (kind is None or data.dtype == kind):
        return from_numpy(data)
    return new_tensor(array_of(data, kind))


def asarray(
    obj: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """``obj`` as a tensor; ``copy`` says whether memory must (True) or must not (False) be new."""
    if isinstance(obj, (Tensor, np.ndarray)):
        made = as_tensor(obj, dtype, device)
        source = obj._array if isinstance(obj, Tensor) else obj
        shared = np.may_share_memory(made._array, source)
        if copy is False and not shared:
            raise ValueError("can't alias arbitrary sequence or dtype: asarray(copy=False)")
        if shared and copy:
            made = made.clone()
        return made.requires_grad_() if requires_grad else made
    if copy is False:
        raise ValueError("can't alias arbitrary sequence: asarray(copy=False)")
    made = as_tensor(obj, dtype, device)
    return leaf(made._array, requires_grad)


def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A one-dimensional tensor of the memory of an object with the buffer protocol."""
    array = np.frombuffer(buffer, numpy_dtype("frombuffer", dtype), count, offset)
    return leaf(from_numpy(array)._array, requires_grad)


# --- sequences of numbers -------------------------------------------------------------------------


def _bound(value: Any) -> Any:
    return value.item() if isinstance(value, (Tensor, np.generic)) else value


def arange(
    start: Any,
    end: Any = None,
    step: Any = 1,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """``start, start + step, ...`` up to but not including ``end``; int64 if all are ints."""
    require_cpu(device)
    if end is None:
        start, end = 0, start
    start, end, step = _bound(start), _bound(end), _bound(step)
    if out is not None and dtype is None:
        kind = out._array.dtype
    else:
        fractional = any(isinstance(x, float) for x in (start, end, step))
        kind = numpy_dtype("arange", dtype, None if fractional else int64.numpy)
    count = _count("arange", start, end, step, kind)
    return leaf(_progression(start, step, count, kind), requires_grad, out)


def _count(function: str, start: Any, end: Any, step: Any, kind: np.dtype[Any]) -> int:
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if kind.kind in "iu" and int(step):
        whole, into = int(end) - int(start), int(step)
        if float(whole) == end - start and into == step:
            return -(-whole // into)
    count = math.ceil((end - start) / step)
    if count >= 1 << 48:
        raise RuntimeError(f"{function}: invalid size {count}, possible overflow?")
    return count


def _progression(start: Any, step: Any, count: int, kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
    if kind.kind in "iu":
        return (int(start) + int(step) * np.arange(count)).astype(kind)
    return converted(float(start) + float(step) * np.arange(count, dtype=np.float64), kind)


def range_(
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """``start, start + step, ...`` up to and including ``end``; use ``arange`` instead."""
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is "
        "inconsistent with Python's range builtin. Instead, use torch.arange, which produces "
        "values in [start, end).",
        UserWarning,
        stacklevel=2,
    )
    require_cpu(device)
    start, end, step = _bound(start), _bound(end), _bound(step)
    _count("range", start, end, step, float64.numpy)
    count = math.floor((end - start) / step) + 1
    return leaf(_progression(start, step, count, numpy_dtype("range", dtype)), requires_grad, out)


range_.__name__ = range_.__qualname__ = "range"


def _spaced(start: Any, end: Any, steps: int, kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Numbers at equal distances, in float64; symmetric about the middle and rounded as torch's."""
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    real = np.dtype(np.float32) if kind.kind == "f" and kind.itemsize < 8 else float64.numpy
    first, last = real.type(_bound(start)), real.type(_bound(end))
    if steps < 2:
        return np.full(steps, float(first))
    step = float((last - first) / real.type(steps - 1))
    # Products of float32 numbers are exact in float64, so these sums round once, as torch's do.
    places = np.arange(steps, dtype=np.float64)
    half = steps // 2
    made = float(first) + step * places
    made[half:] = float(last) - step * (steps - 1 - places[half:])
    return made


def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """``steps`` numbers from ``start`` to ``end``, both included, at equal distances."""
    require_cpu(device)
    kind = numpy_dtype("linspace", dtype, None if out is None else out._array.dtype)
    return leaf(converted(_spaced(start, end, steps, kind), kind), requires_grad, out)


def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """``base`` to the powers of ``linspace(start, end, steps)``."""
    require_cpu(device)
    kind = numpy_dtype("logspace", dtype, None if out is None else out._array.dtype)
    powers = np.power(float(base), _spaced(start, end, steps, kind))
    return leaf(converted(powers, kind), requires_grad, out)


def eye(
    n: int,
    m: int | None = None,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A matrix of n rows and m (or n) columns with ones on the diagonal and zeros elsewhere."""
    require_cpu(device)
    columns = n if m is None else m
    for name, size in (("n", n), ("m", columns)):
        if size < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {size}")
    kind = numpy_dtype("eye", dtype, None if out is None else out._array.dtype)
    return leaf(np.eye(n, columns, dtype=kind), requires_grad, out)


def tril_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: Any = None,
    device: Any = None,
    layout: Any = None,
) -> Tensor:
    """Rows and columns, as a tensor (2, count), of the lower triangle of a row x col matrix."""
    require_cpu(device)
    kind = numpy_dtype("tril_indices", dtype, int64.numpy)
    return new_tensor(np.array(np.tril_indices(row, offset, col), dtype=kind))


def triu_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: Any = None,
    device: Any = None,
    layout: Any = None,
) -> Tensor:
    """Rows and columns, as a tensor (2, count), of the upper triangle of a row x col matrix."""
    require_cpu(device)
    kind = numpy_dtype("triu_indices", dtype, int64.numpy)
    return new_tensor(np.array(np.triu_indices(row, offset, col), dtype=kind))


# --- like this tensor -----------------------------------------------------------------------------


def _new_filled(name: str, function: Callable[..., Tensor]) -> None:
    """``Tensor.new_zeros`` and its relatives."""

    def new(
        self: Tensor,
        *sizes: Any,
        size: Any = None,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        layout: Any = None,
        pin_memory: bool = False,
    ) -> Tensor:
        kind = self.dtype if dtype is None else dtype
        return function(
            *sizes, size=size, dtype=kind, device=device, requires_grad=requires_grad
        )

    new.__name__ = new.__qualname__ = name
    new.__doc__ = f"``{name[4:]}`` of the dtype of this tensor."
    method(name)(new)


for _function in (zeros, ones, empty):
    _new_filled(f"new_{_function.__name__}", _function)


@method("new_full")
def _new_full(
    self: Tensor,
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """``full`` of the dtype of this tensor."""
    kind = self.dtype if dtype is None else dtype
    return full(size, fill_value, dtype=kind, device=device, requires_grad=requires_grad)


@method("new_tensor")
def _new_tensor(
    self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """``tensor(data)`` of the dtype of this tensor."""
    kind = self.dtype if dtype is None else dtype
    return tensor(data, dtype=kind, device=device, requires_grad=requires_grad)
