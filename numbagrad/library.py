"""``torch.library``: operators that users name and put together from functions of Python.

``custom_op`` and ``Library`` keep, for an operator ``space::name``, a function for each kind of
device, and a gradient; a call goes through ``autograd.Function``. The operators are also found as
``torch.ops.space.name``. What torch's compiler asks of operators besides (shapes of results) is
kept, and not needed here: programs are recorded from calls.
"""

from __future__ import annotations

import contextlib
import inspect
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from .absent import lacking
from .autocast_state import state as autocast_state
from .autograd import Function
from .autograd.grad_mode import is_grad_enabled, no_grad
from .structure import flatten
from .tensor import Tensor

_lacked, __getattr__, __dir__ = lacking(
    __name__,
    "numbagrad.kernel and autograd.Function make operators of functions of Python",
    """fallthrough_kernel get_ctx get_kernel infer_schema opaque_object register_autocast
    register_torch_dispatch wrap_triton""",
)

__all__ = ["CustomOpDef", "Library", "custom_op", "define", "impl", "register_autograd",
           "register_fake", "register_kernel", "register_vmap", "triton_op"]  # fmt: skip

#: By ``space::name``.
_operators: dict[str, CustomOpDef] = {}
#: Functions of operators that are not yet defined, by the operator's name.
_early: dict[str, list[tuple[Any, Callable[..., Any]]]] = {}
#: Keys of functions for a kind of devices. Those of autocast, where it is on, and of autograd are
#: called first, and recorded.
_OF_DEVICES = (
    "CPU", "CUDA", "Autograd", "AutogradCPU", "AutogradCUDA",
    "AutocastCPU", "AutocastCUDA", "AutocastXPU",
)  # fmt: skip
#: Kinds of functions of an operator that stand for all devices.
_ALL_DEVICES = ("default", "CompositeExplicitAutograd", "CompositeImplicitAutograd")


class _BelowAutograd(threading.local):
    """How many blocks this thread is in that call operators without their Autograd functions."""

    depth = 0


below_autograd = _BelowAutograd()


class CustomOpDef:
    """An operator; call it as the function that it was made of.

    Attributes:
        name: ``space::name``.
    """

    def __init__(self, name: str) -> None:
        space, _, own = name.partition("::")
        if not (space and own):
            raise ValueError(f"the name of an operator is 'space::name', but got {name!r}")
        self.name = name
        self._kernels: dict[str, Callable[..., Any]] = {}
        self._fake: Callable[..., Any] | None = None
        self._gradient: tuple[Callable[..., Any], Callable[..., Any] | None] | None = None
        self.__name__ = own

    def __repr__(self) -> str:
        return f"<CustomOpDef({self.name})>"

    @property
    def default(self) -> CustomOpDef:
        """The operator: it has no other overload."""
        return self

    @property
    def _opoverload(self) -> CustomOpDef:
        return self

    def register_kernel(
        self, device_types: str | Sequence[str] | None, func: Callable[..., Any] | None = None, /
    ) -> Callable[..., Any]:
        """Have ``func`` compute for devices of some types, or (None) of all; or a decorator."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            types = [device_types] if isinstance(device_types, str) else device_types
            for each in types or ["default"]:
                self._kernels[each] = function
            return function

        return register if func is None else register(func)

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Keep what says the shapes of results."""
        self._fake = fn
        return fn

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """Set the gradient.

        Args:
            backward: ``backward(ctx, *grads)``, a gradient or None for each input.
            setup_context: ``setup_context(ctx, inputs, output)``, which saves what that reads; it
                is called by keywords, with ``keyword_only_inputs`` if the operator has such.
        """
        self._gradient = backward, setup_context

    def register_vmap(self, func: Callable[..., Any] | None = None, /) -> Any:
        """Keep a rule for ``vmap``, which needs none: it runs sample by sample."""
        return (lambda function: function) if func is None else func

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        kernel, is_differentiated = self._kernel_for(arguments, keywords)
        if is_differentiated:
            return kernel(*arguments, **keywords)  # whose own operations are differentiated
        given = inspect.signature(kernel).bind(*arguments, **keywords)
        given.apply_defaults()
        inputs, only = given.args, given.kwargs
        if not (is_grad_enabled() and _any_requires_grad(inputs)):
            with no_grad():
                return kernel(*inputs, **only)
        return _recorded(self, kernel, only).apply(*inputs)

    def _kernel_for(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, bool]:
        """The function for the device of the first tensor, and whether its operations have nodes.

        Those of a function above autograd have, and of one for autocast; they call the operator
        again below.
        """
        tensors = [x for x in flatten((arguments, keywords))[0] if isinstance(x, Tensor)]
        kind = tensors[0].device.type if tensors else "cpu"
        above = () if below_autograd.depth else (f"Autograd{kind.upper()}", "Autograd")
        if kind in autocast_state.settings.enabled:
            above = (f"Autocast{kind.upper()}", *above)
        for key in (*above, kind, kind.upper(), *_ALL_DEVICES):
            if key in self._kernels:
                return self._kernels[key], key in (*above, "CompositeImplicitAutograd")
        raise NotImplementedError(
            f"{self.name}: there is no function for tensors on {kind!r}; add one with "
            f"torch.library.register_kernel({self.name!r}, {kind!r})"
        )


def _any_requires_grad(inputs: Iterable[Any]) -> bool:
    return any(isinstance(x, Tensor) and x.requires_grad for x in flatten(tuple(inputs))[0])


def _recorded(
    operator: CustomOpDef, kernel: Callable[..., Any], only: dict[str, Any]
) -> type[Function]:
    """The Function of one call, whose keywords are ``only``."""

    def forward(*inputs: Any) -> Any:
        return kernel(*inputs, **only)

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        if operator._gradient is not None and operator._gradient[1] is not None:
            named = {"keyword_only_inputs": only} if only else {}
            operator._gradient[1](ctx=ctx, inputs=inputs, output=output, **named)

    def backward(ctx: Any, *grads: Any) -> Any:
        if operator._gradient is None:
            raise RuntimeError(
                f"Trying to backward through {operator.name} but no autograd formula was "
                "registered. Please use register_autograd to add one."
            )
        return operator._gradient[0](ctx, *grads)

    parts = {"forward": forward, "setup_context": setup_context, "backward": backward}
    name = operator.name.replace("::", "_")
    return type(name, (Function,), {key: staticmethod(part) for key, part in parts.items()})


def _operator(op: Any) -> CustomOpDef:
    """The operator of a name, or what is one."""
    if isinstance(op, CustomOpDef):
        return op
    found = _operators.get(str(op).removesuffix(".default"))
    if found is None:
        raise RuntimeError(
            f"torch.library: there is no operator {op!r}; torch.library.custom_op makes one, and "
            "operators of torch itself cannot be changed"
        )
    return found


def operators_of(space: str) -> dict[str, CustomOpDef]:
    """The operators ``space::name`` by name."""
    begin = f"{space}::"
    return {
        name.removeprefix(begin): op for name, op in _operators.items() if name.startswith(begin)
    }


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """Make an operator of a function; or a decorator that does.

    Args:
        name: ``space::name``; an operator of that name is replaced.
        fn: computes, on Tensors; nothing in it is recorded.
        mutates_args: the arguments that it writes to, which Tensors note by themselves.
        device_types: where it computes; everywhere by default.
        schema: kept out: arguments are those of ``fn``.
        tags: kept out.

    Returns:
        CustomOpDef: the operator.
    """

    def make(function: Callable[..., Any]) -> CustomOpDef:
        made = CustomOpDef(name)
        made.register_kernel(device_types, function)
        made.__doc__ = function.__doc__
        _operators[name] = made
        return made

    return make if fn is None else make(fn)


def triton_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    schema: str | None = None,
) -> Any:
    """``custom_op``: torch's compiler looks into functions that launch Triton's kernels.

    There are no kernels of Triton here; on the CPU such operators have functions of Python.
    """
    return custom_op(name, fn, mutates_args=mutates_args, schema=schema)


def define(qualname: str, schema: str, *, lib: Any = None, tags: Any = None) -> None:
    """Name an operator, whose functions ``impl`` adds, or added."""
    _operators[qualname] = made = CustomOpDef(qualname)
    for types, function in _early.pop(qualname, ()):
        made.register_kernel(types, function)


def impl(qualname: str, types: str | Sequence[str], func: Any = None, *, lib: Any = None) -> Any:
    """Have ``func`` compute an operator for devices of some types; or a decorator.

    The operator may be defined later, but for those of torch.
    """
    if qualname in _operators or qualname.startswith(("aten::", "prim::", "prims::")):
        return _operator(qualname).register_kernel(types, func)

    def keep(function: Callable[..., Any]) -> Callable[..., Any]:
        _early.setdefault(qualname, []).append((types, function))
        return function

    return keep if func is None else keep(func)


def register_kernel(op: Any, device_types: Any, func: Any = None, /, *, lib: Any = None) -> Any:
    """``CustomOpDef.register_kernel`` of an operator or its name."""
    return _operator(op).register_kernel(device_types, func)


def register_fake(
    op: Any, func: Any = None, /, *, lib: Any = None, _stacklevel: int = 1, allow_override: Any = 0
) -> Any:
    """``CustomOpDef.register_fake`` of an operator or its name.

    Of an operator that is not there, as one in C++, nothing asks for shapes: the function is left.
    """
    known = isinstance(op, CustomOpDef) or op in _operators
    keep: Callable[..., Any] = _operator(op).register_fake if known else lambda function: function
    return keep if func is None else keep(func)


impl_abstract = register_fake


def register_autograd(
    op: Any, backward: Callable[..., Any], /, *, setup_context: Any = None, lib: Any = None
) -> None:
    """``CustomOpDef.register_autograd`` of an operator or its name."""
    _operator(op).register_autograd(backward, setup_context=setup_context)


def register_vmap(op: Any, func: Any = None, /, *, lib: Any = None) -> Any:
    """``CustomOpDef.register_vmap`` of an operator or its name."""
    return _operator(op).register_vmap(func)


class Library:
    """Operators of a space of names.

    Args:
        ns: the space.
        kind: ``"DEF"``, ``"FRAGMENT"`` or ``"IMPL"``.
        dispatch_key: the key of ``impl`` if that has none.
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("DEF", "FRAGMENT", "IMPL"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in ("aten", "prim", "prims"):
            raise NotImplementedError(
                f"torch.library.Library: operators of {ns!r} are those of numbagrad and cannot be "
                "changed; make an operator of your own with torch.library.custom_op"
            )
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._defined: list[str] = []

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Name an operator, as in ``"name(Tensor x) -> Tensor"``."""
        name = schema.partition("(")[0].strip()
        define(f"{self.ns}::{name}", schema)
        self._defined.append(f"{self.ns}::{name}")
        return name

    def impl(
        self,
        op_name: Any,
        fn: Callable[..., Any],
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = False,
    ) -> None:
        """Have ``fn`` compute an operator.

        Raises:
            NotImplementedError: for a key that stands neither for a kind of device nor for all.
        """
        operator = op_name if isinstance(op_name, CustomOpDef) else f"{self.ns}::{op_name}"
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        if key == "Meta":
            _operator(operator).register_fake(fn)
        elif key in _ALL_DEVICES or key in _OF_DEVICES:
            _operator(operator).register_kernel(key, fn)
        else:
            raise NotImplementedError(
                f"torch.library.Library.impl: there is no dispatcher with a key {key!r}; keys are "
                f"{', '.join(_OF_DEVICES)}, Meta, CompositeExplicitAutograd and "
                "CompositeImplicitAutograd, and gradients are set by "
                "torch.library.register_autograd"
            )

    def _destroy(self) -> None:
        """Forget the operators that were defined."""
        for name in self._defined:
            _operators.pop(name, None)


@contextlib.contextmanager
def _scoped_library(*arguments: Any, **keywords: Any) -> Iterator[Library]:
    """A library whose operators are forgotten at the end of the block."""
    library = Library(*arguments, **keywords)
    try:
        yield library
    finally:
        library._destroy()
