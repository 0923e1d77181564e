"""Public functions with checks of their arguments: of kinds before a call, of all else after it.

What the annotations of a function say of its arguments is checked here, so that no function has to.
For most functions that happens before a call, once for each combination of types. Functions of
which programs make many small calls ask only when they have failed, which costs right calls
nothing. Errors that no code here has written are put into words by ``errors.py``. What
the rooms import from one another are the functions themselves, which pay nothing.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, TypeVar

from ...autocast_state import state as autocast
from ...dispatch import layers, sparse
from ...dispatch.asking import asking, asking_member, asks
from ...dispatch.layers import descend
from ...dispatch.policies import taken_over
from ...tensor.sparse_array import SparseRead
from ...torch_homes import module_here
from . import errors as argument_errors
from .dtype_rules import rule_of
from .errors import Kinds, Right, check_tensors, element_types
from .older_orders import in_older_order
from .out_argument import OUT, Rule, call_into

__all__ = [
    "as_method", "check_constructor", "check_namespace", "check_tensors", "checked",
    "public_function",
]  # fmt: skip

Function = TypeVar("Function", bound=Callable[..., Any])

#: Errors that calls may end in; what is no error of the arguments passes.
_FAILURES = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError,
             StopIteration, SystemError, TypeError, ValueError)  # fmt: skip

#: Functions that ask when they have failed: a look at the types of their arguments would be felt.
_HOT = frozenset(
    """
    sum mean max min amax amin argmax argmin var std prod cumsum softmax log_softmax logsumexp
    cat stack concat gather scatter scatter_add index_select take_along_dim
    masked_fill outer dot bmm addmm baddbmm
    reshape view transpose permute unsqueeze squeeze expand flatten unflatten unbind split chunk
    narrow select movedim t swapaxes zeros ones empty full zeros_like ones_like empty_like
    full_like rand randn arange tensor as_tensor from_numpy
    linear layer_norm mse_loss l1_loss scaled_dot_product_attention tril triu
    add_ sub_ mul_ div_ addcmul_ addcdiv_ lerp_ clamp_ sqrt_
    norm einsum nll_loss
    """.split()
)


def _missing_out(function: Callable[..., Any], name: str) -> Rule | None:
    """How ``out`` is written for a function that does not do so itself, or nothing."""
    return None if "out" in inspect.signature(function).parameters else OUT.get(name)


class _Combinations:
    """Combinations of types of arguments that a function was called with.

    Attributes:
        known: those that were found right, with the types of elements if these count.
    """

    def __init__(self, kinds: Kinds) -> None:
        self._kinds = kinds
        self.known: set[Any] = set()

    def look(self, arguments: tuple[Any, ...], keywords: dict[str, Any], types: Any) -> None:
        """Check arguments whose ``types`` are not known; raises what is wrong with them."""
        elements = (types, *element_types(arguments))
        if keywords:
            elements += (*element_types(keywords.values()),)
        if elements not in self.known:
            right = self._kinds.check(arguments, keywords)
            if right is not Right.BY_VALUES:
                self.known.add(types if right is Right.BY_TYPES else elements)

    def look_at_keywords(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """``look`` for a call with keywords, unless their types are known."""
        types = (*map(type, arguments), *keywords, *map(type, keywords.values()))
        if types not in self.known:
            self.look(arguments, keywords, types)


def _explained(
    kinds: Kinds, arguments: tuple[Any, ...], keywords: dict[str, Any], error: Exception
) -> tuple[Sequence[Any], dict[str, Any], Callable[..., Any] | None] | None:
    """The arguments as the function takes them, if keywords had NumPy's names, or the order of all
    was an older one; else what is wrong is raised, or None says that ``error`` tells it.

    The last result is another function for these arguments: where some are sparse Tensors.
    """
    if error.__class__ is SparseRead:
        instead = sparse.FUNCTIONS.get(kinds.name)
        return None if instead is None else (arguments, keywords, instead)
    renamed = kinds.in_torchs_names(keywords) if keywords else None
    if renamed is not None:
        return arguments, renamed, None
    if isinstance(error, TypeError):
        older = in_older_order(kinds.name, arguments, keywords, of_tensor=kinds.first == 0)
        if older is not None:
            return *older, None
    argument_errors.explain(kinds, arguments, keywords, error)
    return None


def checked(
    function: Function,
    name: str = "",
    *,
    ahead: bool = False,
    out: Rule | None = None,
    is_method: bool = False,
) -> Function:
    """The function with checks: of kinds ``ahead`` of a call, and of all where a call has failed.

    Args:
        function: what computes.
        name: how errors name it, if not by its own name.
        ahead: whether types are checked before a call, once for every combination.
        out: how results are written into an ``out`` if the function leaves that to its wrapper.
        is_method: whether errors count arguments without the first one.
    """
    kinds, looks, how = Kinds(function, name, is_method=is_method), ahead, out
    compute: Callable[..., Any] = function
    interest = layers.PUBLIC
    combinations = _Combinations(kinds)
    known, look = combinations.known, combinations.look
    rule = rule_of(kinds.name) if ahead else None

    def asks() -> bool:
        return bool(layers.active & interest) and layers.asks(public)

    # This is short, since every call between a program and an operator is felt.
    def public(*arguments: Any, **keywords: Any) -> Any:
        if layers.active and asks():
            return descend(public, arguments, keywords)
        if keywords:
            if how is not None and (target := keywords.pop("out", None)) is not None:
                return call_into(kinds.name, how, public, arguments, keywords, target)
            if looks:
                combinations.look_at_keywords(arguments, keywords)
        elif looks:
            types = (*map(type, arguments),)
            if types not in known:
                look(arguments, keywords, types)
        if rule is not None and not autocast.settings.enabled:  # which makes dtypes agree
            rule(kinds.name, arguments)
        try:
            return compute(*arguments, **keywords)
        except _FAILURES as error:
            again = _explained(kinds, arguments, keywords, error)
            if again is None:
                raise
        return (again[2] or public)(*again[0], **again[1])

    functools.update_wrapper(public, function)
    public.__name__ = name or function.__name__
    compute = taken_over(function, public)
    if compute is not function:
        interest = layers.ALL
    if how is not None:
        public.__signature__ = _signature_with_out(function)  # type: ignore[attr-defined]
    return public  # type: ignore[return-value]


def _signature_with_out(function: Callable[..., Any]) -> inspect.Signature:
    signature = inspect.signature(function)
    parameter = inspect.Parameter(
        "out", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="Tensor | None"
    )
    before = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    behind = [p for p in signature.parameters.values() if p.kind is p.VAR_KEYWORD]
    return signature.replace(parameters=[*before, parameter, *behind])


#: Functions that stay what they are, with an eye to their own arguments: they are so short that a
#: call around them would be felt.
_RAW = frozenset(
    """
    add sub mul div pow where clamp masked_fill mm matmul linear relu gelu silu sigmoid tanh
    leaky_relu elu softplus square
    """.split()
)
#: Methods that programs call so often that they stay what they are.
_RAW_METHODS = frozenset(
    """
    sum mean reshape view transpose permute unsqueeze squeeze expand flatten t contiguous detach
    item size dim numel to float double long int bool half requires_grad_ backward clone tolist
    numpy zero_ fill_ copy_ add_ sub_ mul_ div_ addcmul_ addcdiv_ lerp_ cpu is_floating_point
    is_complex data_ptr stride element_size retain_grad register_hook
    """.split()
)


#: Rooms whose functions are no operators: what they take is a matter of their own.
_SETTINGS = (
    "numbagrad.switches", "numbagrad.amp", "numbagrad.autocast_state", "numbagrad.running",
)  # fmt: skip


def _is_raw(function: Callable[..., Any]) -> bool:
    return function.__name__.lstrip("_") in _RAW


def as_method(function: Any, name: str) -> Any:
    """The function or property as a member of Tensor: it asks the layers, and is checked."""
    raw = name in _RAW_METHODS or name.startswith("__")
    if type(function) is not FunctionType or raw or _is_raw(function):
        return asking_member(function, name)
    return checked(function, name, ahead=function.__name__ not in _HOT, is_method=True)


def _into(function: Callable[..., Any], rule: Rule) -> Callable[..., Any]:
    def into(arguments: tuple[Any, ...], keywords: dict[str, Any], out: Any) -> Any:
        return call_into(function.__name__, rule, function, arguments, keywords, out)

    return into


def check_constructor(kind: type[Any], package: str) -> None:
    """Let the constructor of a class say which of its arguments is of another kind.

    Constructors that another class of ``package`` calls leave that to it.
    """
    initialise: Any = getattr(kind.__init__, "__wrapped__", kind.__init__)
    if type(initialise) is not FunctionType:
        return
    kinds = Kinds(initialise, kind.__name__, is_method=True)

    @functools.wraps(initialise)
    def __init__(self: Any, *arguments: Any, **keywords: Any) -> None:
        try:
            initialise(self, *arguments, **keywords)
        except _FAILURES as error:
            outermost = [c for c in type(self).__mro__ if module_here(c).startswith(package)][0]
            if outermost is kind:
                if not isinstance(error, ValueError):  # which speaks of values already
                    argument_errors.explain(kinds, (self, *arguments), keywords, error)
            raise

    kind.__init__ = __init__


def check_namespace(names: dict[str, Any], package: str) -> None:
    """Put ``checked`` functions in the place of those of ``package`` in a public namespace.

    Their ``__module__`` becomes the namespace, which is where pickle looks for them.
    """
    for name, function in list(names.items()):
        if not name.startswith("_"):
            names[name] = public_function(function, names["__name__"], package, name)


def public_function(value: Any, namespace: str, package: str, name: str = "") -> Any:
    """The value, or as a ``checked`` function if it is one of ``package``: what users see.

    The function has the name ``name``, as one may have several, but errors call it as defined.
    """
    if type(value) is not FunctionType or not value.__module__.startswith(package):
        return value
    if value.__module__.startswith(_SETTINGS):
        return value
    space = namespace.partition(".")[2]
    out = _missing_out(value, f"{space}.{value.__name__}" if space else value.__name__)
    if _is_raw(value) or not value.__annotations__:
        own = value.__name__ == (name or value.__name__) and f"{value.__module__}.".startswith(
            f"{namespace}."
        )
        if out is None and own and asks(value):
            return value
        around: Any = asking(value, name or value.__name__, _into(value, out) if out else None)
        if out:
            around.__signature__ = _signature_with_out(value)
    else:
        around = checked(value, ahead=value.__name__ not in _HOT, out=out)
    if around is not value:
        around.__module__ = namespace
        around.__name__ = around.__qualname__ = name or value.__name__
    return around
