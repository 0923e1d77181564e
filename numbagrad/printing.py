"""The text of a tensor, letter for letter as torch prints it.

`Tensor.__repr__` calls `tensor_text`, `Tensor.__format__` calls `format_scalar`, and users call
`set_printoptions`; the module calls `dtype` for the default dtype. A long tensor is first cut down
to the elements that will be shown, so that the cost does not grow with its size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from numbagrad import half_precision as half
from numbagrad.dtype import bool_, complex_of, dtype, get_default_dtype, int64


@dataclass
class _Options:
    """The options that `set_printoptions` sets."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_PROFILES = {
    "default": _Options(),
    "short": _Options(precision=2, edgeitems=2),
    "full": _Options(threshold=math.inf),
}

#: The options in force: one object, which libraries hold as ``torch._tensor_str.PRINT_OPTS``.
_options = _Options()


def _use(options: _Options) -> None:
    vars(_options).update(vars(options))


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Choose how tensors are printed. An argument that is left out keeps its setting, but
    `sci_mode` goes back to being chosen by the values.

    Args:
        precision: digits after the decimal point (4).
        threshold: the number of elements above which a tensor is summarised (1000).
        edgeitems: elements shown at each end of a summarised dimension (3).
        linewidth: characters a line may have (80).
        profile: ``"default"``, ``"short"`` or ``"full"``, applied before the other arguments.
        sci_mode: always (True) or never (False) print floats with exponents.
    """
    if profile is not None and profile not in _PROFILES:
        raise ValueError(
            f"set_printoptions(): unknown profile {profile!r}, choose from {', '.join(_PROFILES)}"
        )
    chosen = _options if profile is None else _PROFILES[profile]
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    _use(replace(chosen, sci_mode=sci_mode, **changes))


def get_printoptions() -> dict[str, Any]:
    """Return the settings as a dictionary that `set_printoptions` takes."""
    return asdict(_options)


@contextmanager
def printoptions(**settings: Any) -> Iterator[None]:
    """Apply `set_printoptions` for the length of a ``with`` block."""
    before = replace(_options)
    try:
        set_printoptions(**settings)
        yield
    finally:
        _use(before)


def tensor_text(
    array: np.ndarray,
    dtype: dtype,
    *,
    requires_grad: bool = False,
    grad_fn_name: str | None = None,
    tensor_name: str = "tensor",
    device_text: str | None = None,
    is_parameter: bool = False,
    tangent_text: str | None = None,
    has_elements: bool = True,
) -> str:
    """Return torch's text of a tensor with the elements of `array`.

    Args:
        array: the elements, of any shape and strides, in main memory.
        dtype: the tensor's dtype; it is printed where the elements do not give it away.
        requires_grad: mentioned when there is no `grad_fn_name`.
        grad_fn_name: the name of the node that made the tensor, such as ``"MulBackward0"``.
        tensor_name: what stands before the bracket; a subclass gives its own name.
        device_text: the device, such as ``"cuda:0"``, where it is not the default one.
        is_parameter: put ``Parameter containing:`` before the text.
        tangent_text: the text of its tangent, for a dual tensor.
        has_elements: False for an array that has a form alone.
    """
    prefix = f"{tensor_name}("
    indent = len(prefix)
    suffixes = [] if device_text is None else [f"device='{device_text}'"]
    if has_elements:
        elements = "[]" if array.size == 0 else elements_text(array, indent)
        suffixes += _type_suffixes(array, dtype)
    else:
        elements = "..."
        suffixes += [f"size={array.shape}"]
        suffixes += [f"dtype={dtype}"] if dtype is not get_default_dtype() else []
    if grad_fn_name is not None:
        suffixes.append(f"grad_fn=<{grad_fn_name}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    if tangent_text is not None:
        suffixes.append(f"tangent={tangent_text}")
    text = append_suffixes(prefix + elements, suffixes, indent) + ")"
    if not is_parameter:
        return text
    return "Parameter containing:\n" + (text if tensor_name == "tensor" else f"Parameter({text})")


def format_scalar(array: np.ndarray, format_spec: str) -> str:
    """Format the single element of a 0-dimensional `array`, as ``f"{loss:.3f}"`` asks for."""
    return format(half.readable(array).item(), format_spec)


def _type_suffixes(array: np.ndarray, dtype: dtype) -> list[str]:
    """Say the shape and the dtype where a reader could not tell them from the elements."""
    default = get_default_dtype()
    if array.size == 0:
        shows_shape = array.ndim != 1
        shows_dtype = dtype is not default
    else:
        shows_shape = not _options.edgeitems
        shows_dtype = dtype not in (default, complex_of(default), int64, bool_)
    suffixes = [f"size={array.shape}"] if shows_shape else []
    return suffixes + ([f"dtype={dtype}"] if shows_dtype else [])


def append_suffixes(
    text: str, suffixes: list[str], indent: int, force_newline: bool = False
) -> str:
    """Append each suffix to the last line, or to a new one where it would be too long.

    With `force_newline` the first one is on a new line in any case.
    """
    # torch starts two characters past the end of the elements and does not count the bracket.
    column = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if force_newline or column + len(suffix) + 2 > _options.linewidth:
            text += ",\n" + " " * indent + suffix
            column = indent + len(suffix)
            force_newline = False
        else:
            text += ", " + suffix
            column += len(suffix) + 2
    return text


def elements_text(array: np.ndarray, indent: int) -> str:
    is_cut = [False] * array.ndim
    if array.size > _options.threshold:
        array, is_cut = _cut_to_edges(array)
    array = half.readable(array)
    return _Layout(array, is_cut).text(array.tolist(), 0, indent)


def _cut_to_edges(array: np.ndarray) -> tuple[np.ndarray, list[bool]]:
    """Keep the first and last `edgeitems` along each long axis; say which axes were long."""
    edge = _options.edgeitems
    is_cut = [length > 2 * edge for length in array.shape]
    for axis, long in enumerate(is_cut):
        if long:
            length = array.shape[axis]
            kept = [*range(edge), *range(length - edge, length)]
            array = array.take(kept, axis=axis)
    return array, is_cut


class _Layout:
    """Spells the elements of one tensor at a common width and nests them in brackets."""

    width: int
    #: The text of one element at the common width.
    padded: Callable[[Any], str]

    def __init__(self, array: np.ndarray, is_cut: list[bool]) -> None:
        self.is_cut = is_cut
        if array.dtype.kind == "c":
            real, imaginary = _Layout(array.real, is_cut), _Layout(array.imag, is_cut)
            self.width = real.width + imaginary.width + 1
            self.padded = lambda value: _joined_parts(
                real.padded(value.real), imaginary.padded(value.imag)
            )
            return
        if array.dtype.kind in "fV":
            # Zeros, infinities and NaNs have no say in the style or the width.
            deciding = array[np.isfinite(array) & (array != 0)].astype(np.float64)
            spell = _float_style(deciding)
        else:
            deciding = array.reshape(-1)
            spell = str
        width = self.width = max([1, *(len(spell(value)) for value in deciding.tolist())])
        self.padded = lambda value: spell(value).rjust(width)

    def text(self, elements: Any, axis: int, indent: int) -> str:
        """Return the text of nested lists of elements, the outermost of which is `axis`."""
        remaining = len(self.is_cut) - axis
        if remaining == 0:
            return self.padded(elements)
        if remaining == 1:
            return self._row(elements, indent)
        blocks = [self.text(inner, axis + 1, indent + 1) for inner in elements]
        if self.is_cut[axis]:
            blocks.insert(_options.edgeitems, "...")
        gap = "," + "\n" * (remaining - 1) + " " * (indent + 1)
        return f"[{gap.join(blocks)}]"

    def _row(self, elements: list[Any], indent: int) -> str:
        words = [self.padded(value) for value in elements]
        if self.is_cut[-1]:
            words.insert(_options.edgeitems, " ..." if words else "...")
        per_line = max(1, math.floor((_options.linewidth - indent) / (self.width + 2)))
        lines = [", ".join(words[k : k + per_line]) for k in range(0, len(words), per_line)]
        gap = ",\n" + " " * (indent + 1)
        return f"[{gap.join(lines)}]"


def _joined_parts(real: str, imaginary: str) -> str:
    """A complex number from the texts of its parts."""
    imaginary = imaginary.lstrip()
    return f"{real}{'' if imaginary[0] in '+-' else '+'}{imaginary}j"


def _float_style(deciding: np.ndarray) -> Callable[[float], str]:
    """Choose between whole numbers, fixed point and exponents from the nonzero finite values."""
    if deciding.size == 0:
        return _spell_whole
    precision = _options.precision
    scientific = _options.sci_mode
    if scientific is None:
        magnitudes = np.abs(deciding)
        smallest, largest = float(magnitudes.min()), float(magnitudes.max())
        scientific = largest / smallest > 1000.0 or largest > 1e8 or smallest < 1e-4
    if scientific:
        return f"{{:.{precision}e}}".format
    if (deciding == np.ceil(deciding)).all():
        return _spell_whole
    return f"{{:.{precision}f}}".format


def _spell_whole(value: float) -> str:
    """The point tells a whole float from an integer."""
    return f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}"
