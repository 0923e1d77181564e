"""``assert_close``: values that are equal to within a tolerance, and a text that says where not."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..dtype import bfloat16, complex64, complex128, float16, float32, float64, promote_types
from ..ops.creation.from_data import as_tensor
from ..tensor import Tensor

__all__ = ["assert_allclose", "assert_close"]

#: Relative and absolute tolerances by dtype; other dtypes have to be equal.
_TOLERANCES = {
    float16: (1e-3, 1e-5),
    bfloat16: (1.6e-2, 1e-5),
    float32: (1.3e-6, 1e-5),
    float64: (1e-7, 1e-7),
    complex64: (1.3e-6, 1e-5),
    complex128: (1e-7, 1e-7),
}

_NUMBERS = (bool, int, float, complex, np.number)
_TENSORS = (Tensor, np.ndarray)


def _tolerances(actual: Tensor, expected: Tensor, rtol: Any, atol: Any) -> tuple[float, float]:
    if (rtol is None) != (atol is None):
        missing = "rtol" if rtol is None else "atol"
        raise ValueError(
            f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}."
        )
    if rtol is not None:
        return rtol, atol
    pairs = [_TOLERANCES.get(each.dtype, (0.0, 0.0)) for each in (actual, expected)]
    return max(p[0] for p in pairs), max(p[1] for p in pairs)


class _Comparison:
    """One call of ``assert_close``: its options, and the walk through containers."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options

    def fail(self, text: str, path: str, kind: type[Exception] = AssertionError) -> Any:
        """Raise with a text, and the place in containers."""
        text = f"{text}\n\nThe failure occurred for item {path}" if path else text
        msg = self.options["msg"]
        raise kind(msg(text) if callable(msg) else (msg or text))

    def compare(self, actual: Any, expected: Any, path: str = "") -> None:
        """Compare two values, or two containers entry by entry."""
        if isinstance(actual, Mapping) and isinstance(expected, Mapping):
            if set(actual) != set(expected):
                self.fail(_keys_text(actual, expected), path)
            for key in sorted(actual) if all(isinstance(k, str) for k in actual) else actual:
                self.compare(actual[key], expected[key], f"{path}[{key!r}]")
        elif _is_sequence(actual) and _is_sequence(expected):
            if len(actual) != len(expected):
                self.fail(
                    f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", path
                )
            for index, (mine, theirs) in enumerate(zip(actual, expected, strict=True)):
                self.compare(mine, theirs, f"{path}[{index}]")
        elif actual is None or expected is None:
            if actual is not expected:
                self.fail(f"None mismatch: {actual} is not {expected}", path)
        elif isinstance(actual, _NUMBERS) and isinstance(expected, _NUMBERS):
            if self.options["check_dtype"] and type(actual) is not type(expected):
                text = f"The (d)types do not match: {type(actual)} != {type(expected)}."
                self.fail(text, path)
            self.compare_tensors(actual, expected, path)
        elif isinstance(actual, _TENSORS) and isinstance(expected, _TENSORS):
            if not self.options["allow_subclasses"] and type(actual) is not type(expected):
                self.fail(_types_text(actual, expected), path, TypeError)
            self.compare_tensors(actual, expected, path)
        else:
            self.fail(_types_text(actual, expected), path, TypeError)

    def compare_tensors(self, actual: Any, expected: Any, path: str) -> None:
        """Compare tensors, arrays or numbers: attributes, then values."""
        mine, theirs = [_tensor(each) for each in (actual, expected)]
        numbers = isinstance(actual, _NUMBERS)
        self._attributes(mine, theirs, numbers, path)
        rtol, atol = _tolerances(mine, theirs, self.options["rtol"], self.options["atol"])
        common = promote_types(mine.dtype, theirs.dtype)
        mine, theirs = mine.detach().cpu().to(common), theirs.detach().cpu().to(common)
        self._values(mine, theirs, rtol, atol, path)

    def _attributes(self, mine: Tensor, theirs: Tensor, numbers: bool, path: str) -> None:
        names = ["shape"]
        if self.options["check_device"] and not numbers:
            names.append("device")
        if self.options["check_layout"]:
            names.append("layout")
        if self.options["check_dtype"] and not numbers:
            names.append("dtype")
        if self.options["check_stride"]:
            names.append("stride()")
        for name in names:
            pair = [x.stride() if name == "stride()" else getattr(x, name) for x in (mine, theirs)]
            if pair[0] != pair[1]:
                text = f"do not match: {pair[0]} != {pair[1]}."
                self.fail(f"The values for attribute '{name}' {text}", path)

    def _values(self, a: Tensor, b: Tensor, rtol: float, atol: float, path: str) -> None:
        x, y = [
            np.asarray((t.float() if t.dtype is bfloat16 else t).numpy(force=True)) for t in (a, b)
        ]
        if x.dtype.kind == "b":
            x, y = x.astype(np.int64), y.astype(np.int64)
        with np.errstate(all="ignore"):
            if x.dtype.kind in "iu" and rtol == 0 and atol == 0:
                close = x == y
            else:
                wide = np.complex128 if x.dtype.kind == "c" else np.float64
                close = np.isclose(
                    x.astype(wide), y.astype(wide), rtol=rtol, atol=atol,
                    equal_nan=self.options["equal_nan"],
                )  # fmt: skip
        if not close.all():
            self.fail(_mismatch_text(x, y, close, rtol, atol), path)


def _mismatch_text(x: Any, y: Any, close: Any, rtol: float, atol: float) -> str:
    """The elements that are not close: how many, and where they differ most."""
    exact = rtol == 0 and atol == 0
    with np.errstate(all="ignore"):
        absolute = np.abs(x - y)
        relative = absolute / np.abs(y)
    word = "equal!" if exact else "close!"
    differences = ("absolute", absolute, atol), ("relative", relative, rtol)
    limits = {name: "" if exact else f" (up to {most} allowed)" for name, _, most in differences}
    if x.ndim == 0:
        lines = [f"Expected {y.item()!r} but got {x.item()!r}."]
        for name, values, _ in differences:
            lines.append(f"{name.title()} difference: {values.item()}{limits[name]}")
        return "\n".join([f"Scalars are not {word}", "", *lines])
    wrong = int((~close).sum())
    lines = [f"Mismatched elements: {wrong} / {close.size} ({100 * wrong / close.size:.1f}%)"]
    for name, values, _ in differences:
        shown = np.where(close, 0, np.where(np.isnan(values), np.inf, values))
        position = tuple(int(i) for i in np.unravel_index(np.argmax(shown), shown.shape))
        most = values[position].item()
        lines.append(f"Greatest {name} difference: {most} at index {position}{limits[name]}")
    return "\n".join([f"Tensor-likes are not {word}", "", *lines])


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _tensor(value: Any) -> Tensor:
    if isinstance(value, float) or isinstance(value, complex):
        return as_tensor(np.asarray(value))  # in double precision, as Python computes
    return value if isinstance(value, Tensor) else as_tensor(value)


def _types_text(actual: Any, expected: Any) -> str:
    kinds = f"{type(actual)} and {type(expected)}"
    return f"No comparison pair was able to handle inputs of type {kinds}."


def _keys_text(actual: Mapping[Any, Any], expected: Mapping[Any, Any]) -> str:
    missing = sorted(set(expected) - set(actual), key=str)
    additional = sorted(set(actual) - set(expected), key=str)
    return (
        "The keys of the mappings do not match:\n"
        f"Missing keys in the actual mapping: {missing}\n"
        f"Additional keys in the actual mapping: {additional}"
    )


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise unless two values are equal to within ``atol + rtol * abs(expected)``.

    Tensors, arrays, numbers, and mappings and sequences of these. Without tolerances those of the
    dtypes are taken, the larger ones; integers have to be equal.

    Args:
        equal_nan: whether NaN equals NaN.
        check_device, check_dtype, check_layout, check_stride: whether these have to be equal
            too; values of several devices are compared in main memory.
        msg: the text of the error, or a function from the text that it would have.

    Raises:
        AssertionError: for values, shapes or dtypes that differ.
        TypeError: for values that cannot be compared.
    """
    __tracebackhide__ = True
    _Comparison(
        dict(allow_subclasses=allow_subclasses, rtol=rtol, atol=atol, equal_nan=equal_nan,
             check_device=check_device, check_dtype=check_dtype, check_layout=check_layout,
             check_stride=check_stride, msg=msg)
    ).compare(actual, expected)  # fmt: skip


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """``assert_close`` under its old name, which compares across dtypes."""
    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12; use "
        "`torch.testing.assert_close()` instead",
        FutureWarning,
        stacklevel=2,
    )
    assert_close(
        actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False,
        msg=msg or None,
    )  # fmt: skip
