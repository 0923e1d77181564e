"""Orders of arguments that torch took before 2018 and still takes: ``addmm(beta, x, alpha, a, b)``.

Factors stood before what they multiply then, where they are keywords today. The table below has
torch's list of them (``deprecated.yaml``). A call in such an order fails in the function of today,
as it has more arguments by position than that takes; ``check.py`` asks here then, and so do the
sums, which are so short that nothing stands around them. Right calls pay nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ...tensor import Tensor
from ...type_names import type_name
from ...warn_once import warn_caller
from .errors import Form

__all__ = ["in_older_order", "rearranged"]

_NUMBER, _TENSOR = "float", "Tensor"


def _with_factors(a: str, b: str) -> tuple[str, ...]:
    """The orders of a product that is added to a tensor."""
    return f"beta input alpha {a} {b}", f"beta input {a} {b}"


#: For each function its orders, as names of today's parameters; methods leave out ``input``.
_ORDERS: dict[str, tuple[str, ...]] = {
    "add": ("input alpha other",),
    "sub": ("input alpha other",),
    "rsub": ("input number alpha",),
    "addcmul": ("input value tensor1 tensor2",),
    "addcdiv": ("input value tensor1 tensor2",),
    "addmm": _with_factors("mat1", "mat2"),
    "addmv": _with_factors("mat", "vec"),
    "addr": _with_factors("vec1", "vec2"),
    "addbmm": _with_factors("batch1", "batch2"),
    "baddbmm": _with_factors("batch1", "batch2"),
}
#: Functions whose last argument by position may be ``out``, as in programs of 2017: what lies
#: before it, in the order of today.
_BEFORE_OUT = {
    "add": "input other",
    "sub": "input other",
    "addcmul": "input tensor1 tensor2",
    "addcdiv": "input tensor1 tensor2",
}
_FACTORS = frozenset(("alpha", "beta", "value", "number"))
#: Today's names of parameters of the table, where they differ.
_TODAY = {"number": "other"}


def _form(names: str, out: str) -> Form:
    items = [f"{x}: {_NUMBER if x in _FACTORS else _TENSOR}" for x in names.split()]
    return Form(f"{', '.join(items)}{out}")


def _forms(name: str) -> Iterator[Form]:
    orders = _ORDERS[name]
    by_keyword = f", *, out?: {_TENSOR}"
    yield from [_form(order, by_keyword) for order in orders]
    if name in _BEFORE_OUT:
        yield from [_form(order, f", out: {_TENSOR}") for order in (*orders, _BEFORE_OUT[name])]


def in_older_order(
    name: str, arguments: Sequence[Any], keywords: Mapping[str, Any], *, of_tensor: bool = False
) -> tuple[list[Any], dict[str, Any]] | None:
    """The arguments of a call in an older order as the function of today takes them.

    Args:
        name: of the function, or of a method, with its underscore if it has one.
        arguments: those by position; of a method, its tensor first.
        keywords: those by name.
        of_tensor: whether it is a method.

    Returns:
        Arguments by position and by name; None if the call is in none of the older orders.
    """
    if name.removesuffix("_") not in _ORDERS or len(arguments) < 2:
        return None
    for form in _forms(name.removesuffix("_")):
        given = _given(form, arguments, keywords, of_tensor)
        if given is None or (name.endswith("_") and "out" in given):
            continue
        factors = {x: given.pop(x) for x in list(given) if x in _FACTORS}
        if any([isinstance(x, Tensor) and x.requires_grad for x in factors.values()]):
            continue
        numbers = {x: v.item() if isinstance(v, Tensor) else v for x, v in factors.items()}
        by_name = {_TODAY.get(x, x): value for x, value in numbers.items()}
        if "out" in given:
            by_name["out"] = given.pop("out")
        if numbers and "number" not in numbers:  # which torch does not call deprecated
            shown = ", ".join([f"{x}={v}" for x, v in numbers.items()])
            warn_caller(
                f"{name}() with its factors before the tensors that they multiply is deprecated; "
                f"pass them by keyword: {name}(..., {shown})"
            )
        return [given[x] for x in form.parameters if x in given], by_name
    return None


def _given(
    form: Form, arguments: Sequence[Any], keywords: Mapping[str, Any], of_tensor: bool
) -> dict[str, Any] | None:
    """The arguments by the names of a form; None if they are not of its number and kinds."""
    if of_tensor:
        names = list(form.parameters)
        position = names.index("input")
        arguments = [*arguments[1 : position + 1], arguments[0], *arguments[position + 1 :]]
    given = form.given(arguments, dict(keywords))
    return None if given is None or form.wrong(given) is not None else given


def rearranged(
    function: Callable[..., Tensor], name: str, arguments: Sequence[Any], keywords: dict[str, Any]
) -> Tensor:
    """Call a function that was given more arguments by position than it takes today.

    Raises:
        TypeError: if they are in no order that it ever took.
    """
    found = in_older_order(name, arguments, keywords, of_tensor=name.endswith("_"))
    if found is None:
        got = ", ".join(map(type_name, arguments))
        raise TypeError(
            f"{name}() takes its operands by position and factors by keyword; it has no order for "
            f"({got})"
        )
    return function(*found[0], **found[1])
