"""``view_copy``, ``select_copy`` and their like: what a view shows, in memory of its own.

Each is the view of that name and a copy of it, or of each of several.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tensor import Tensor
from .complex_numbers import view_as_complex, view_as_real
from .expand import expand
from .output import write_result
from .parts import diagonal, narrow, select, unfold
from .pending import _conj, _neg_view
from .registry import method
from .splitting import split, split_with_sizes, unbind
from .strided import as_strided
from .view import alias, contiguous, permute, squeeze, t, transpose, unsqueeze, view

__all__: list[str] = []


def _slice(
    input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """The elements from ``start`` to before ``end`` along one dimension, every ``step``-th."""
    key: list[Any] = [slice(None)] * input._array.ndim
    key[input._dimension(dim)] = slice(start, end, step)
    found: Tensor = input[tuple(key)]
    return found


def _detach(input: Tensor) -> Tensor:
    return input.detach()


def _copy_of(view: Callable[..., Any], name: str) -> Callable[..., Any]:
    def copied(input: Tensor, *arguments: Any, out: Any = None, **options: Any) -> Any:
        made = view(input, *arguments, **options)
        if isinstance(made, Tensor):
            return write_result(name, _own(made), out)
        several = [_own(each) for each in made]
        if out is None:
            return tuple(several)
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


_VIEWS: dict[str, Callable[..., Any]] = {
    "_conj": _conj, "_neg_view": _neg_view, "alias": alias, "as_strided": as_strided,
    "detach": _detach, "diagonal": diagonal, "expand": expand, "narrow": narrow,
    "permute": permute, "select": select, "slice": _slice, "split": split,
    "split_with_sizes": split_with_sizes, "squeeze": squeeze, "t": t, "transpose": transpose,
    "unbind": unbind, "unfold": unfold, "unsqueeze": unsqueeze, "view": view,
    "view_as_complex": view_as_complex, "view_as_real": view_as_real,
}  # fmt: skip

for _name, _view in _VIEWS.items():
    _function = _copy_of(_view, f"{_name}_copy")
    globals()[f"{_name}_copy"] = _function
    __all__.append(f"{_name}_copy")

method("narrow_copy")(globals()["narrow_copy"])
