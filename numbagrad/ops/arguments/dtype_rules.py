"""Dtypes that public functions refuse although what they compute would take them, as torch does.

Their forwards promote, or divide where torch has a kernel for floats only; ``check.py``
asks here before a call. Functions with errors of their own for this are not listed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...dtype import scalar_type_name
from ...tensor import Tensor

__all__ = ["rule_of"]

Rule = Callable[[str, Sequence[Any]], None]


def _same(name: str, arguments: Sequence[Any]) -> None:
    """All Tensors are of one dtype."""
    dtypes = [x._array.dtype for x in arguments if isinstance(x, Tensor)]
    if dtypes and any([dtype != dtypes[0] for dtype in dtypes]):
        names = [x.dtype.name for x in arguments if isinstance(x, Tensor)]
        raise RuntimeError(
            f"{name}(): expected dtype {names[0]} for all tensors but got {', '.join(names)}"
        )


def _same_but_numbers(name: str, arguments: Sequence[Any]) -> None:
    """All Tensors are of one dtype, but for a weight without dimensions."""
    _same(name, [*arguments[:2], *[x for x in arguments[2:] if _has_dimensions(x)]])


def _has_dimensions(value: Any) -> bool:
    return isinstance(value, Tensor) and value._array.ndim > 0


def _all_floating(name: str, arguments: Sequence[Any]) -> None:
    """Tensors beside an input of floats are of floats, too."""
    kinds = [x._array.dtype.kind for x in arguments if isinstance(x, Tensor)]
    if kinds and kinds[0] in "fV" and any([kind not in "fV" for kind in kinds]):
        names = ", ".join([x.dtype.name for x in arguments if isinstance(x, Tensor)])
        raise RuntimeError(f"{name}(): expected Tensors of floating dtypes, but got {names}")


def _without(kinds: str) -> Rule:
    """The input is of none of these kinds, which are NumPy's letters."""

    def rule(name: str, arguments: Sequence[Any]) -> None:
        if arguments and isinstance(arguments[0], Tensor):
            if arguments[0]._array.dtype.kind in kinds:
                kind = scalar_type_name(arguments[0].dtype)
                raise NotImplementedError(f"\"{name}\" not implemented for '{kind}'")

    return rule


_RULES: dict[str, Rule] = {
    **dict.fromkeys(
        """
        bilinear cholesky_solve cross householder_product isclose orgqr solve solve_ex tensorsolve
        triangular_solve vecdot
        """.split(),
        _same,
    ),
    "lerp": _same_but_numbers,
    **dict.fromkeys(
        """
        kl_div prelu
        """.split(),
        _all_floating,
    ),
    **dict.fromkeys(
        """
        adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d max_unpool1d max_unpool2d
        max_unpool3d glu
        """.split(),
        _without("biuc"),
    ),
    **dict.fromkeys("avg_pool1d avg_pool2d avg_pool3d local_response_norm".split(),
                    _without("bc")),
    **dict.fromkeys(
        """
        dropout dropout1d dropout2d dropout3d alpha_dropout feature_dropout
        unique unique_consecutive bucketize
        """.split(),
        _without("c"),
    ),
}  # fmt: skip


def rule_of(name: str) -> Rule | None:
    """The rule by which a function of this name refuses dtypes, or None."""
    return _RULES.get(name)
