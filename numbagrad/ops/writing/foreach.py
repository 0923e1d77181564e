"""``_foreach_*``: an operator for each Tensor of a list, as optimisers of torch programs call them.

Every entry of the tables below is an operator of Tensors; the functions on lists, and those that
write in place, follow from it. A further operand is one for all Tensors (a number, or a Tensor
without dimensions) or a list with one for each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...autograd.writes.inplace import apply_inplace
from ...tensor import Tensor
from ..operators.pointwise_operator import pointwise
from ..reductions import statistics

_UNARY = (
    "abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor",
    "frac", "lgamma", "log", "log10", "log1p", "log2", "neg", "reciprocal", "round", "rsqrt",
    "sigmoid", "sign", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
)  # fmt: skip
_BINARY = ("add", "clamp_max", "clamp_min", "div", "maximum", "minimum", "mul", "sub")

_NUMBERS = (bool, int, float, complex)


def _check_list(name: str, tensors: Any) -> Sequence[Tensor]:
    if not isinstance(tensors, (list, tuple)):
        raise TypeError(
            f"{name}(): argument 'self' (position 1) must be a list of Tensors, not "
            f"{type(tensors).__name__}"
        )
    if len(tensors) == 0:  # lists of libraries may refuse to be asked for their truth
        raise RuntimeError("Tensor list must have at least one tensor.")
    for position, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"expected Tensor as element {position} in argument 0, but got "
                f"{type(tensor).__name__}"
            )
    return tensors


def _for_each(name: str, tensors: Sequence[Tensor], operand: Any) -> Sequence[Any]:
    """A further operand of each of ``tensors``.

    Raises:
        RuntimeError: for a list of another length, and for a Tensor with dimensions.
        TypeError: if it is neither a number nor a Tensor nor a list of them.
    """
    if isinstance(operand, Tensor):
        if operand.ndim:
            raise RuntimeError(
                f"scalar tensor expected to be 0 dim but it has {operand.ndim} dimensions and "
                f"{operand.numel()} elements."
            )
        return [operand] * len(tensors)
    if isinstance(operand, _NUMBERS):
        return [operand] * len(tensors)
    if not isinstance(operand, (list, tuple)):
        raise TypeError(
            f"{name}() takes a number, a Tensor or a list of them for each Tensor, not "
            f"{type(operand).__name__}"
        )
    if len(operand) == len(tensors):
        return operand
    if all([isinstance(item, Tensor) for item in operand]):
        raise RuntimeError(
            "Tensor lists must have the same number of tensors, got "
            f"{len(tensors)} and {len(operand)}"
        )
    raise RuntimeError("Tensor list must have same number of elements as scalar list.")


#: The larger, or the smaller, of a tensor and a number.
_OF_NUMBER = {"maximum": "clamp_min", "minimum": "clamp_max"}


def _bound(name: str) -> Callable[..., Tensor]:
    """``maximum`` or ``minimum``, of a Tensor and a Tensor or a number."""
    of_tensors, of_number = pointwise(name), pointwise(_OF_NUMBER[name])
    return lambda x, other: (of_tensors if isinstance(other, Tensor) else of_number)(x, other)


def _bound_in_place(name: str) -> Callable[..., Tensor]:
    of_tensors, of_number = pointwise(name), pointwise(_OF_NUMBER[name])
    return lambda x, other: apply_inplace(
        x, of_tensors if isinstance(other, Tensor) else of_number, (x, other)
    )


#: Operators that are no methods of Tensor of the same name.
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "maximum": _bound("maximum"),
    "minimum": _bound("minimum"),
    "maximum_": _bound_in_place("maximum"),
    "minimum_": _bound_in_place("minimum"),
}


def _operator(name: str) -> Callable[..., Tensor]:
    """The operator on one Tensor that an entry of the tables names."""
    found = _FUNCTIONS.get(name)
    return getattr(Tensor, name) if found is None else found


def _unary(name: str, public: str) -> Callable[..., Any]:
    operator = _operator(name)

    def each(self: Sequence[Tensor]) -> Any:
        return [operator(x) for x in _check_list(public, self)]

    return each


def _binary(name: str, public: str) -> Callable[..., Any]:
    operator = _operator(name)

    def each(self: Sequence[Tensor], other: Any, **options: Any) -> Any:
        tensors = _check_list(public, self)
        return [
            operator(x, y, **options)
            for x, y in zip(tensors, _for_each(public, tensors, other), strict=True)
        ]

    return each


def _pow(name: str, public: str) -> Callable[..., Any]:
    """``pow``, whose base may be the number."""
    of_tensors = _binary(name, public)

    def each(self: Any, exponent: Any) -> Any:
        if isinstance(self, _NUMBERS):
            return [Tensor.__rpow__(x, self) for x in _check_list(public, exponent)]
        return of_tensors(self, exponent)

    return each


def _lerp(name: str, public: str) -> Callable[..., Any]:
    operator = _operator(name)

    def each(self: Sequence[Tensor], tensors1: Sequence[Tensor], weight: Any) -> Any:
        tensors = _check_list(public, self)
        ends, weights = [_for_each(public, tensors, x) for x in (tensors1, weight)]
        return [operator(*xs) for xs in zip(tensors, ends, weights, strict=True)]

    return each


def _with_value(name: str, public: str) -> Callable[..., Any]:
    """``addcmul`` and ``addcdiv``: the factor in front of the product or the quotient is last."""
    operator = _operator(name)

    def each(
        self: Sequence[Tensor],
        tensor1: Sequence[Tensor],
        tensor2: Sequence[Tensor],
        value: Any = 1,
        *,
        scalars: Any = None,
    ) -> Any:
        tensors = _check_list(public, self)
        factor = value if scalars is None else scalars
        if isinstance(factor, Tensor):
            factor = factor.tolist()
        first, second, factors = [_for_each(public, tensors, x) for x in (tensor1, tensor2, factor)]
        return [
            operator(x, y, z, value=number)
            for x, y, z, number in zip(tensors, first, second, factors, strict=True)
        ]

    return each


def _norm(name: str, public: str) -> Callable[..., Any]:
    def each(self: Sequence[Tensor], ord: float = 2, dtype: Any = None) -> Any:
        return [statistics.vector_norm(x, ord, dtype=dtype) for x in _check_list(public, self)]

    return each


def _pairs(name: str, public: str) -> Callable[..., Any]:
    """An operator of one Tensor from each of two lists."""
    operator = _operator(name)

    def each(self: Sequence[Tensor], other: Sequence[Tensor], *options: Any, **named: Any) -> Any:
        tensors = _check_list(public, self)
        others = _for_each(public, tensors, list(other))
        return [operator(x, y, *options, **named) for x, y in zip(tensors, others, strict=True)]

    return each


#: How the functions on lists are made: which operators, and whether there are those in place.
_FAMILIES: tuple[tuple[Callable[[str, str], Callable[..., Any]], tuple[str, ...], bool], ...] = (
    (_unary, _UNARY, True),
    (_unary, ("clone", "max"), False),
    (_unary, ("zero_",), False),
    (_binary, _BINARY, True),
    (_pow, ("pow",), True),
    (_lerp, ("lerp",), True),
    (_with_value, ("addcdiv", "addcmul"), True),
    (_norm, ("norm",), False),
    (_pairs, ("copy_", "mm"), False),
)


def _install(make: Callable[[str, str], Callable[..., Any]], name: str) -> None:
    """Define ``_foreach_<name>``; what ends in an underscore returns the list it was given."""
    public = f"_foreach_{name}"
    function = make(name, public)
    writes = name.endswith("_")

    def foreach(self: Any, *arguments: Any, **options: Any) -> Any:
        made = function(self, *arguments, **options)
        return self if writes else tuple(made)

    how = "in place, for" if writes else "of"
    foreach.__name__ = foreach.__qualname__ = public
    foreach.__doc__ = f"``{name}`` {how} each Tensor of a list."
    globals()[public] = foreach
    __all__.append(public)


__all__: list[str] = []
for _make, _names, _in_place in _FAMILIES:
    for _name in _names:
        _install(_make, _name)
        if _in_place:
            _install(_make, f"{_name}_")
