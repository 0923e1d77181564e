"""``torch.utils._python_dispatch``: modes that see the operators of a thread, below autograd.

A mode is an interceptor (``dispatch/interception.py``) that is told torch's operators and arguments
(``ops/aten_calls.py``), forward and backward. Views, writes in place and the making of tensors come
past it: they compute nothing. Without an open mode nothing is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..absent import lacking
from ..autograd import tensor_interface
from ..autograd.grad_mode import no_grad
from ..dispatch import interception
from ..dispatch.interception import Compute, Interceptor
from ..ops import aten_calls
from ..ops.aten import OpOverload, pending
from ..tensor import Tensor, new_tensor
from ..type_names import type_name

_absent, __getattr__, __dir__ = lacking(
    __name__,
    "subclasses of Tensor are asked by __torch_function__, modes by TorchDispatchMode",
    "return_and_correct_aliasing transform_subclass",
)

__all__ = ["BaseTorchDispatchMode", "TorchDispatchMode", "is_traceable_wrapper_subclass"]


class _Opaque:
    """An operator of a user's, as modes see it."""

    namespace = "numbagrad"

    def __init__(self, function: Any) -> None:
        self.function = function
        self.overloadpacket = self._overloadpacket = self
        self.__name__ = getattr(function, "__name__", type(function).__name__)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return pending.call(self, arguments, keywords, self.function)

    def __repr__(self) -> str:
        return f"{self.namespace}.{self.__name__}"


class TorchDispatchMode(Interceptor):
    """A context whose ``__torch_dispatch__`` is called in the place of every operator.

    ``__torch_dispatch__(func, types, args, kwargs)`` gets an ``OpOverload`` such as
    ``aten.mm.default`` and returns what the operator is to return; ``func(*args, **kwargs)``
    computes it. The mode is off meanwhile, modes that were entered before it are asked by that
    call. What runs inside is not recorded: autograd is above. Compiled functions run uncompiled in
    a mode, layers that torch's dispatcher knows as one operator are one, others are taken apart.

    Only one thread at a time has modes open; others wait.

    Raises:
        RuntimeError: on entering one while a function is being compiled.
        TypeError: from an operator, if ``__torch_dispatch__`` returns NotImplemented.
    """

    sees_all = True

    def __init__(self, _dispatch_key: Any = None) -> None:
        super().__init__()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """The result of an operator; to be defined by subclasses."""
        raise NotImplementedError

    @classmethod
    def push(cls, *arguments: Any, **keywords: Any) -> TorchDispatchMode:
        """A new mode, to be entered with ``with``."""
        return cls(*arguments, **keywords)

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Whether the mode is a part of a compiler: never."""
        return False

    def __enter__(self) -> Any:
        self.__dict__.setdefault("_opened", [])  # a subclass need not call __init__
        return super().__enter__()

    def step(
        self, operator: Any, arguments: tuple[Any, ...], compute: Compute, shown: Any = None
    ) -> Compute:
        """Ask ``__torch_dispatch__``; operators of this package by torch's names."""
        outside = interception.opened_before(self)
        outcome = _Outcome(compute, shown)
        return lambda: outcome.arrays_of(self._asked(operator, arguments, outcome, outside))

    def _asked(
        self, operator: Any, arguments: tuple[Any, ...], outcome: _Outcome, outside: list[Any]
    ) -> Any:
        """The result of ``__torch_dispatch__``, with the modes ``outside`` alone."""
        call = _call_of(operator, arguments)
        outcome.form = call.results
        overload = call.overload
        if not isinstance(overload, OpOverload):
            overload = _Opaque(overload)
        with (
            interception.only(outside),
            no_grad(),
            pending.of(overload, call.arguments, outcome.results),
        ):
            result = self.__torch_dispatch__(overload, (), call.arguments, call.keywords)
        if result is NotImplemented:
            raise TypeError(
                f"Multiple dispatch failed for '{overload}'; all __torch_dispatch__ handlers "
                f"returned NotImplemented:\n\n  - mode object {self}"
            )
        return result

    def finished(self, operator: Any, arguments: tuple[Any, ...], results: tuple[Any, ...]) -> None:
        """Tensors with a history are none of a mode's business."""


BaseTorchDispatchMode = TorchDispatchMode
tensor_interface.register(aten_calls=aten_calls)


def _call_of(operator: Any, arguments: tuple[Any, ...]) -> aten_calls.AtenCall:
    """The call of torch's operator, which is known already for gradients."""
    if isinstance(operator, aten_calls.AtenCall):
        return operator
    with interception.suspended(), no_grad():
        return aten_calls.call_of(operator, arguments)


class _Outcome:
    """The results of an operator: arrays for its caller, Tensors for a mode.

    Args:
        compute: makes the arrays, or Tensors, as the caller of the operator wants them.
        shown: picks the results among these, if there is more; None for all.

    Attributes:
        form: makes views of the results in the form that torch's operator has; None for the same.
    """

    form: Callable[[Any], Any] | None = None

    def __init__(self, compute: Compute, shown: Any) -> None:
        self._compute = compute
        self._shown = shown
        self._made: tuple[Any] | None = None
        self._tensors: Any = None

    def results(self) -> Any:
        """The Tensors that the operator returns; computed at the first call."""
        made = self._compute()
        self._made = (made,)
        for view in (self._shown, self.form):
            made = made if view is None else view(made)
        self._tensors = _nested(_tensor, made)
        return self._tensors

    def arrays_of(self, result: Any) -> Any:
        """The arrays for the caller of the operator, for the ``result`` of a mode."""
        if self._made is not None and _same(result, self._tensors):
            return self._made[0]
        if self._shown is None and self.form is None and self._made is None:
            return _nested(_array, result)
        if self._made is None:
            self.results()
        _copy(result, self._tensors)
        assert self._made is not None
        return self._made[0]


def _nested(function: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return tuple([_nested(function, x) for x in value])
    return function(value)


def _tensor(value: Any) -> Any:
    return value if value is None or isinstance(value, Tensor) else new_tensor(value)


def _array(value: Any) -> Any:
    if not isinstance(value, Tensor):
        raise TypeError(f"__torch_dispatch__ returned {type_name(value)} for a Tensor")
    return value._array


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, (tuple, list)) and isinstance(other, tuple):
        return len(one) == len(other) and all(
            [_same(x, y) for x, y in zip(one, other, strict=True)]
        )
    return one is other


def _copy(source: Any, target: Any) -> None:
    """Write the Tensors of a mode into those that the operator made."""
    if isinstance(target, tuple):
        for one, other in zip(source, target, strict=True):
            _copy(one, other)
    elif target is not None and source is not target:
        if _array(source).shape != target._array.shape:
            raise RuntimeError(
                f"__torch_dispatch__ returned a Tensor of shape {list(source.shape)}, expected "
                f"{list(target.shape)}"
            )
        with no_grad():
            target.copy_(source)


def _get_current_dispatch_mode() -> TorchDispatchMode | None:
    """The mode of this thread that was entered last, or None."""
    found = interception.innermost()
    return found if isinstance(found, TorchDispatchMode) else None


class _disable_current_modes:
    """A context without the modes of this thread."""

    def __enter__(self) -> list[Any]:
        self._context = interception.only([])
        modes = [_get_current_dispatch_mode()]
        self._context.__enter__()
        return [mode for mode in modes if mode is not None]

    def __exit__(self, *exception: Any) -> None:
        self._context.__exit__(None, None, None)


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Whether a tensor holds others that the compiler may look into: never."""
    return False
