"""The variants of an operator: a function with ``out``, a method, and the method in place.

All follow from one definition: a pointwise operator, whose parameters are its operands, or a
function under `variants` that says for its arguments which operator computes, and on which
operands; under `activation` it becomes a function with the option ``inplace``. What every variant
does with the two stands here once; its source is put together from the parameters, so that a call
costs what it would if it was written by hand.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from ...autograd.grad_mode import state as grad_mode
from ...autograd.writes.inplace import apply_inplace, compute_then_write
from ...dispatch import layers
from ...dtype import can_cast, scalar_type_name
from ...executor.builtin import LaunchMiss
from ...executor.plan.forms import ShapesDiffer, broadcast
from ...executor.plan.sharing import check_written_once, refuse_overlap
from ...tensor import Tensor
from ...transforms.reading import refuse_tangents
from ...type_names import type_name
from ..arguments.older_orders import rearranged
from ..arguments.output import write_result
from ..arguments.requirements import resize_output
from ..operators.pointwise_operator import PointwiseOperator
from ..pointwise.arguments import SAME_OUT, WITHOUT_OUT, check_out_dtype, check_same_dtype
from .registry import install_form, method

__all__: list[str] = []

#: The answer of a definition: an operator or a function that makes new tensors, and its operands.
Choice = tuple[Callable[..., Tensor], tuple[Any, ...]]

#: The names that the code of variants uses.
_NAMES = {
    "LaunchMiss": LaunchMiss,
    "PointwiseOperator": PointwiseOperator,
    "Tensor": Tensor,
    "apply_inplace": apply_inplace,
    "grad_mode": grad_mode,
    "layers": layers,
    "ndarray": np.ndarray,
    "__name__": __name__,
    "__builtins__": __builtins__,
}

# --- the text of a variant ------------------------------------------------------------------------

_SOURCE = """\
def around(choose, usual, name, {defaults}):
    def variant({parameters}):
        if layers.everywhere and layers.asks(variant):
            return layers.ask(variant, [{positional}], {{{keywords}}}, {more})
{body}
    return variant
"""

_ARRAYS = """
        if {second}.__class__ is ndarray:
            return NotImplemented"""

_OLDER = """
        if {more}:
            return in_an_older_order(variant, name, ({positional}, *{more}), {{{keywords}}})"""

_LAUNCH = """
        if {ordinary}:{write}
            try:
                result = usual.launch({operands}, grad_mode.enabled)
            except LaunchMiss:
                return usual.compute(({operands},))
            if result._requires_grad and result._producer is None:
                usual.record(result, ({operands},))
            return result"""

_OUT = """
            if out is not None:
                return write_out(name, out, usual, ({operands},))"""

_WRITE = """
        if {ordinary}:
            if grad_mode.enabled:
                return apply_inplace({first}, usual, ({operands},))
            usual.into({first}, ({operands},))
            return {first}"""

_CHOOSE = """
        operator, operands = choose({arguments})"""

_CALL = """
        if operator.__class__ is not PointwiseOperator:
            return operator(*operands)
        try:
            result = operator.launch(*operands, grad_mode.enabled)
        except LaunchMiss:
            return operator.compute(operands)
        if result._requires_grad and result._producer is None:
            operator.record(result, operands)
        return result"""

_ENDS = {
    "function": """
        if out is not None:
            return write_out(name, out, operator, operands)"""
    + _CALL,
    "method": _CALL,
    "activation": """
        if inplace:
            return apply_inplace({first}, operator, operands)"""
    + _CALL,
    "in place": """
        if operator.__class__ is PointwiseOperator:
            return apply_inplace({first}, operator, operands)
        return write_over(name, {first}, operator, operands)""",
}


@functools.cache
def _code(
    kind: str,
    positional: tuple[str, ...],
    more: str,
    options: tuple[str, ...],
    called: bool,
    chooses: bool,
    usual: tuple[str, tuple[str, ...]] | None,
    python: bool,
) -> CodeType:
    """The code of all variants of one kind that have these parameters.

    ``usual`` is a condition, and the operands where it holds.
    """
    when, operands = usual or ("", ())
    keywords = (*options, "out") if kind == "function" else options
    given = (*[x for x in positional if x != "inplace"], *[f"{x}={x}" for x in options])
    words = {
        "defaults": ", ".join([f"default_{x}" for x in keywords]),
        "parameters": ", ".join((*positional, *([f"*{more}"] if more else ["*"][: len(keywords)]),
                                 *keywords)),
        "positional": ", ".join(positional),
        "keywords": ", ".join([f"{x!r}: {x}" for x in keywords]),
        "more": more or "()",
        "first": positional[0],
        "second": positional[-1],
        "arguments": ", ".join(("name", *given) if called else given),
        "operands": ", ".join(operands),
        "ordinary": " and ".join(
            [f"{x} is default_{x}" for x in options] + ([when] if when else [])
        ) or "True",
    }  # fmt: skip
    words["write"] = _OUT.format(**words) if kind == "function" else ""
    body = _ARRAYS if python else ""
    body += _OLDER if more else ""
    body += (_WRITE if kind == "in place" else _LAUNCH) if usual else ""
    if chooses:
        body += _CHOOSE + _ENDS[kind]
    source = _SOURCE.format(**words, body=body.format(**words))
    code = compile(source, __file__, "exec")
    return next(x for x in code.co_consts if isinstance(x, CodeType))


def _variant(
    kind: str,
    name: str,
    signature: inspect.Signature,
    choose: Callable[..., Choice] | None,
    usual: PointwiseOperator | None,
    *,
    when: str = "",
    operands: tuple[str, ...] = (),
    called: bool = False,
    python: bool = False,
) -> Any:
    """A new function: the variant of a kind, called ``name``, with these parameters."""
    parameters = signature.parameters.values()
    positional = [x for x in parameters if x.kind is x.POSITIONAL_OR_KEYWORD]
    more = "".join([x.name for x in parameters if x.kind is x.VAR_POSITIONAL])
    options = [x for x in parameters if x.kind is x.KEYWORD_ONLY]
    names = tuple([x.name for x in positional])
    ordinary = None if usual is None else (when, operands or names)
    code = _code(
        kind, names, more, tuple([x.name for x in options]), called, choose is not None, ordinary,
        python,
    )  # fmt: skip
    defaults = {x.name: x.default for x in options}
    if kind == "function":
        defaults["out"] = None
    made = FunctionType(code, _NAMES)(choose, usual, name, *defaults.values())
    made.__name__ = made.__qualname__ = name
    made.__kwdefaults__ = defaults or None
    made.__defaults__ = tuple([x.default for x in positional if x.default is not x.empty]) or None
    return made


# --- what variants do -----------------------------------------------------------------------------


#: Functions whose ``out`` may have no dtype but bool, which others convert to.
_TRUTH_ALONE = frozenset(("signbit", "isposinf", "isneginf"))


def write_out(name: str, out: Tensor, operator: Any, operands: tuple[Any, ...]) -> Tensor:
    """Write what an operator or a function makes into ``out``, which has its shape then."""
    if operator.__class__ is not PointwiseOperator:
        read = [x for x in operands if isinstance(x, Tensor)]
        return write_result(name, operator(*operands), out, reads=read)
    if not isinstance(out, Tensor):
        raise TypeError(f"{operator.name}(): argument 'out' must be Tensor, not {type_name(out)}")
    if grad_mode.enabled and any(
        [isinstance(x, Tensor) and x.requires_grad for x in (out, *operands)]
    ):
        raise RuntimeError(
            f"{operator.definition.name}(): functions with out=... arguments don't support "
            "automatic differentiation, but one of the arguments requires grad."
        )
    check_out_dtype(operator.name, operands, out)
    refuse_tangents(operator.name, (out, *operands))
    operands = tuple(operator.with_tensor(operands))
    shapes = [x._array.shape for x in operands if isinstance(x, Tensor)]
    if operator.name in _TRUTH_ALONE and out._array.dtype.kind != "b":
        raise RuntimeError(
            f"{operator.name} does not support non-boolean outputs, but out is of {out.dtype}"
        )
    kinds = [x.dtype for x in operands if isinstance(x, Tensor)]
    if out.dtype not in kinds and (operator.name in SAME_OUT or _casts_result(out, kinds)):
        result = operator(*operands)
        if operator.name in SAME_OUT:
            check_same_dtype(operator.name, operands, result, out)
        read = [x for x in operands if isinstance(x, Tensor)]
        return write_result(operator.name, result, out, casts=True, reads=read)
    if (shape := _shape_of_output(shapes, out)) != out._array.shape:
        refuse_overlap(out._array, [x._array for x in operands if isinstance(x, Tensor)])
        resize_output(out, shape)
    operator.into(out, operands)
    return out


def _casts_result(out: Tensor, kinds: list[Any]) -> bool:
    """Whether a result is there in its own dtype first, if ``out`` has that of no operand.

    Kernels cast numbers as they write them, but not those of half precision, which they hold as
    float32, and if ``out`` is complex they are those of complex operands.
    """
    if out.dtype.is_complex:
        return not any([kind.is_complex for kind in kinds])
    return any([kind.is_half for kind in (out.dtype, *kinds)])


def _shape_of_output(shapes: list[tuple[int, ...]], out: Tensor) -> tuple[int, ...]:
    try:
        return broadcast(shapes)
    except ShapesDiffer:
        return out._array.shape  # the launcher names the shapes at fault


def write_over(name: str, tensor: Tensor, function: Any, operands: tuple[Any, ...]) -> Tensor:
    """Write what a function makes of ``tensor`` and other operands into the tensor."""
    others = [x for x in operands if isinstance(x, Tensor) and x is not tensor]
    return write_computed(
        name, tensor, lambda before: function(*[before if x is tensor else x for x in operands]),
        others,
    )  # fmt: skip


def write_computed(
    name: str,
    tensor: Tensor,
    compute: Callable[[Tensor], Tensor],
    others: Sequence[Tensor],
    *,
    repeats: bool = False,
    refused: str | None = "partly",
) -> Tensor:
    """Write ``compute(tensor)``, which is new memory, into ``tensor``; ``name`` is of the method.

    Raises for memory that several elements share, unless it ``repeats``; for a result that the
    dtype of the tensor cannot hold; and for another operand in the memory of the tensor: one that
    lies "partly" in it, or one that is the "whole" as well, or, with None, for none.
    """
    if not repeats and 0 in tensor._array.strides:
        check_written_once(tensor._array)

    def checked(before: Tensor) -> Tensor:
        value = compute(before)
        if not can_cast(value.dtype, tensor.dtype):
            raise RuntimeError(
                f"{name}: result type {scalar_type_name(value.dtype)} can't be cast to the "
                f"desired output type {scalar_type_name(tensor.dtype)}"
            )
        if refused is not None:  # after the errors of operands that do not fit
            refuse_overlap(tensor._array, [x._array for x in others], whole=refused == "whole")
        return value

    made: Tensor = compute_then_write(tensor, checked, *others)
    return made


# --- variants of an operator ----------------------------------------------------------------------


def _signature_of(operator: PointwiseOperator) -> inspect.Signature:
    """The operands under torch's names: ``input`` first, ``other`` second of two."""
    code = operator.definition.formula.__code__
    names = code.co_varnames[: code.co_argcount]
    public = ["input", "other"] if len(names) == 2 else ["input", *names[1:]]
    return inspect.Signature(
        [inspect.Parameter(x, inspect.Parameter.POSITIONAL_OR_KEYWORD) for x in public]
    )


def operator_variant(kind: str, name: str, operator: PointwiseOperator) -> Any:
    """A variant whose parameters are the operands: "function", "method" or "in place".

    A "function" has ``out`` if torch's has; one called as Python's ``__iadd__`` and its like leaves
    arrays of NumPy to NumPy.
    """
    signature = _signature_of(operator)
    if kind == "function" and name in WITHOUT_OUT:
        kind = "method"
    python = name.startswith("__")
    made = _variant(kind, name, signature, None, operator, python=python)
    taken = signature.parameters
    first = "Tensor" if len(taken) == 1 else "Any"
    made.__annotations__ = {**dict.fromkeys(taken, first), "return": "Tensor"}
    if kind == "in place":
        made.__doc__ = f"``{name[:-1]}`` written into the tensor."
        return made
    if kind == "function":
        out = inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None)
        signature = signature.replace(parameters=[*taken.values(), out])
        made.__annotations__["out"] = "Tensor | None"
    made.__module__ = "numbagrad"
    made.__signature__ = signature
    line, *_ = (operator.definition.formula.__doc__ or "").splitlines() or [""]
    made.__doc__ = line or (
        f"Pointwise ``{name}``; defined as one formula in ``ops/pointwise/``. Operands broadcast."
    )
    return made


# --- variants of a function that chooses ----------------------------------------------------------


def choosing_variant(
    kind: str,
    name: str,
    choose: Callable[..., Choice],
    usual: PointwiseOperator | None = None,
    when: str = "",
    operands: tuple[str, ...] = (),
) -> Any:
    """The same of a function that returns an operator and its operands, see `variants`.

    The kind "activation" is a function with the option ``inplace`` instead of ``out``.
    """
    signature = inspect.signature(choose)
    taken = list(signature.parameters.values())
    if kind == "activation":
        taken.append(inspect.Parameter("inplace", taken[0].kind, default=False))
    called = taken[0].name == "called"
    made = _variant(
        kind, name, signature.replace(parameters=taken[called:]), choose, usual, when=when,
        operands=operands, called=called, python=name.startswith("__"),
    )  # fmt: skip
    made.__module__, made.__doc__ = choose.__module__, choose.__doc__
    made.__annotations__ = {**choose.__annotations__, "return": "Tensor"}
    made.__annotations__.pop("called", None)
    if kind == "function":
        made.__annotations__["out"] = "Tensor | None"
    if kind == "activation":
        made.__module__ = choose.__module__.rpartition(".")[0]  # the namespace that users see
        made.__annotations__["inplace"] = "bool"
    return made


def activation(
    usual: PointwiseOperator | None = None, *operands: str, when: str = ""
) -> Callable[[Callable[..., Choice]], Callable[..., Tensor]]:
    """Decorate a function that returns an operator and its operands: it takes ``inplace`` then.

    Args:
        usual: the operator for arguments of which ``when`` holds, and that are not written.
        operands: its operands, each a parameter or a number; by default all parameters.
        when: a condition on the arguments.
    """

    def decorate(choose: Callable[..., Choice]) -> Callable[..., Tensor]:
        condition = f"not inplace and {when}" if when else "not inplace"
        made: Callable[..., Tensor] = choosing_variant(
            "activation", choose.__name__, choose, usual, condition,
            operands or tuple(inspect.signature(choose).parameters),
        )  # fmt: skip
        return made

    return decorate


def variants(
    *names: str,
    usual: PointwiseOperator | None = None,
    when: str = "",
    operands: tuple[str, ...] = (),
    out: bool = True,
) -> Callable[[Callable[..., Choice]], Callable[..., Tensor]]:
    """Decorate a function that returns an operator and its operands: it becomes the public one.

    Its methods are installed, and those in place with an underscore. A first parameter ``called``
    is given the name of the variant, for errors; further positional arguments, ``*older``, stand in
    an order of 2017 (``arguments/older_orders.py``).

    Args:
        names: the names of the methods, if not that of the function alone.
        usual: the operator where options are as by default.
        when: a condition on the arguments that must hold for it besides.
        operands: the names of its operands; by default all positional arguments.
        out: whether the function has ``out``.
    """

    def decorate(choose: Callable[..., Choice]) -> Callable[..., Tensor]:
        for name in names or (choose.__name__,):
            method(name)(choosing_variant("method", name, choose, usual, when, operands))
            in_place = [f"{name}_", *_PYTHON.get(name, ())]
            for each in in_place:
                made = choosing_variant("in place", each, choose, usual, when, operands)
                method(each)(made)
        function: Callable[..., Tensor] = choosing_variant(
            "function" if out else "method", choose.__name__, choose, usual, when, operands
        )
        return function

    return decorate


def install_in_place(
    function: Callable[..., Tensor],
    *,
    repeats: bool | Callable[..., Tensor] = False,
    refused: str | None = "partly",
    at_once: Callable[..., bool] | None = None,
) -> None:
    """Install the method with an underscore, which writes what ``function`` computes.

    ``refused`` is that of `write_computed`; ``repeats`` says that torch writes memory that several
    elements share, or is a function that does. ``at_once`` takes the same arguments, and says
    whether it wrote the ordinary case in one step.
    """

    def write(self: Tensor, *arguments: Any, **options: Any) -> Tensor:
        if at_once is not None and at_once(self, *arguments, **options):
            return self
        if callable(repeats) and 0 in self._array.strides:
            return repeats(self, *arguments, **options)
        return write_computed(
            public,
            self,
            lambda before: function(before, *arguments, **options),
            [x for x in (*arguments, *options.values()) if isinstance(x, Tensor)],
            repeats=bool(repeats),
            refused=refused,
        )

    public = f"{function.__name__}_"
    write.__doc__ = f"``{function.__name__}`` written into the tensor."
    install_form(write, function, public)


#: Operators of Python in place whose definition has options.
_PYTHON = {"pow": ("__ipow__",)}


def in_an_older_order(
    function: Any, name: str, arguments: tuple[Any, ...], options: dict[str, Any]
) -> Tensor:
    """Call a variant that was given more arguments by position than it takes today."""
    defaults = function.__kwdefaults__
    given = {x: value for x, value in options.items() if value is not defaults[x]}
    return rearranged(function, name, arguments, given)


_NAMES.update(
    {"in_an_older_order": in_an_older_order, "write_out": write_out, "write_over": write_over}
)
