"""``view_copy``, ``select_copy`` and their like: what a view shows, in memory of its own.

Each is the view of that name and a copy of it, or of each of several.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...tensor import Tensor
from ...type_names import type_name
from ..arguments.kinds import takes
from ..arguments.output import write_result
from ..complex.complex_numbers import view_as_complex, view_as_real
from ..complex.lazy_conj import _conj, _neg_view
from ..methods.registry import method
from .expand import expand
from .parts import diagonal, narrow, select, unfold
from .splitting import split, split_with_sizes, unbind
from .strided import as_strided
from .view import alias, contiguous, permute, squeeze, t, transpose, unsqueeze, view

__all__: list[str] = []


def slice_of(
    input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """The elements from ``start`` to before ``end`` along one dimension, every ``step``-th."""
    key: list[Any] = [slice(None)] * input._array.ndim
    key[input._dimension(dim)] = slice(start, end, step)
    found: Tensor = input[tuple(key)]
    return found


def _narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """``narrow``; torch's copying one has an error of its own for dimensions that there are not."""
    if dim >= input._array.ndim > 0:
        raise RuntimeError(
            f"narrow_copy(): expected dim below {input._array.ndim}, the number of dimensions, but "
            f"got {dim}"
        )
    return narrow(input, dim, start, length)


def _detach(input: Tensor) -> Tensor:
    return input.detach()


def _copy_of(view: Callable[..., Any], name: str, forms: tuple[str, ...]) -> Callable[..., Any]:
    @takes(*forms)
    def copied(input: Tensor, *arguments: Any, out: Any = None, **options: Any) -> Any:
        made = view(input, *arguments, **options)
        if isinstance(made, Tensor):
            return write_result(name, _own(made), out)
        several = [_own(each) for each in made]
        if out is None:
            return tuple(several)
        if not isinstance(out, (tuple, list)):
            raise TypeError(
                f"{name}(): argument 'out' must be tuple of Tensors, not {type_name(out)}"
            )
        if len(out) != len(several):
            raise RuntimeError(
                f"{name}(): expected {len(several)} Tensors as out, one for each part, but got "
                f"{len(out)}"
            )
        for each, target in zip(several, out, strict=True):
            write_result(name, each, target)
        return None

    copied.__name__ = copied.__qualname__ = name
    copied.__doc__ = (
        f"What ``{name.removesuffix('_copy')}`` shows of ``input``, in memory of its own or in "
        "``out``."
    )
    return copied


def _own(view: Tensor) -> Tensor:
    """A copy of a view, without gaps and in the order of its indices."""
    made = contiguous(view)
    return made.clone() if made is view else made


#: By name the view, and what torch's function takes behind the input.
_VIEWS: dict[str, tuple[Any, ...]] = {
    "_conj": (_conj, ""),
    "_neg_view": (_neg_view, ""),
    "alias": (alias, ""),
    "as_strided": (as_strided, "size: Ints, stride: Ints, storage_offset?: int | None"),
    "detach": (_detach, ""),
    "diagonal": (diagonal, "offset?: int, dim1?: int, dim2?: int"),
    "expand": (expand, "size: Ints, *, implicit?: bool"),
    "narrow": (_narrow, "dim: int, start: int, length: int"),
    "permute": (permute, "dims: Ints"),
    "select": (select, "dim: int, index: int"),
    "slice": (slice_of, "dim?: int, start?: int | None, end?: int | None, step?: int"),
    "split": (split, "split_size: int, dim?: int"),
    "split_with_sizes": (split_with_sizes, "split_sizes: Ints, dim?: int"),
    "squeeze": (squeeze, "", "dim: Sizes"),
    "t": (t, ""),
    "transpose": (transpose, "dim0: int, dim1: int"),
    "unbind": (unbind, "dim?: int"),
    "unfold": (unfold, "dimension: int, size: int, step: int"),
    "unsqueeze": (unsqueeze, "dim: int"),
    "view": (view, "size: Ints", "dtype: dtype"),
    "view_as_complex": (view_as_complex, ""),
    "view_as_real": (view_as_real, ""),
}

for _name, (_view, *_forms) in _VIEWS.items():
    _texts = tuple([f"input: Tensor, {form}" if form else "input: Tensor" for form in _forms])
    _function = _copy_of(_view, f"{_name}_copy", _texts)
    globals()[f"{_name}_copy"] = _function
    __all__.append(f"{_name}_copy")

method("narrow_copy")(globals()["narrow_copy"])
