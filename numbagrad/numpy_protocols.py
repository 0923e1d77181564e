"""NumPy's functions of tensors: what ``numpy.exp(tensor)``, ``numpy.sum(tensor)`` and their kin do.

NumPy calls ``Tensor.__array_ufunc__`` and ``Tensor.__array_function__`` with the function that was
called. As with torch's tensors, a function reads tensors as arrays (``Tensor.__array__``), where it
can. Where it cannot, since a gradient is required, a transformation is under way, or the memory is
not NumPy's, the function of this library that computes the same is called, which is recorded
(``numpy_twins.py``). Reductions, which NumPy would hand to the method of their name with arguments
that only arrays take, are those of tensors always.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from . import Tensor, as_tensor
from .autograd.grad_mode import state as grad_mode
from .dtype import from_numpy
from .numpy_twins import (
    FUNCTIONS,
    NOT_DIFFERENTIABLE,
    REDUCTIONS,
    UFUNC_METHODS,
    named_twin,
)
from .ops.methods.registry import method

__all__: list[str] = []

#: Placeholders of functions of NumPy for arguments that were not given.
_NO_VALUE: Any = getattr(np, "_NoValue", None)

#: Python's operators of what NumPy calls when an array or a NumPy number stands first.
_REFLECTED: dict[np.ufunc, str] = {
    np.add: "__radd__", np.subtract: "__rsub__", np.multiply: "__rmul__",
    np.true_divide: "__rtruediv__", np.floor_divide: "__rfloordiv__", np.remainder: "__rmod__",
    np.power: "__rpow__", np.matmul: "__rmatmul__", np.bitwise_and: "__rand__",
    np.bitwise_or: "__ror__", np.bitwise_xor: "__rxor__", np.left_shift: "__rlshift__",
    np.right_shift: "__rrshift__", np.equal: "__eq__", np.not_equal: "__ne__",
    np.less: "__gt__", np.greater: "__lt__", np.less_equal: "__ge__", np.greater_equal: "__le__",
}  # fmt: skip


def _is_read(tensor: Tensor) -> bool:
    """Whether NumPy can read a tensor as an array."""
    array = tensor._array
    if array.__class__ is not np.ndarray or array.dtype.kind == "V":  # bfloat16
        return False
    return not (grad_mode.enabled and tensor.requires_grad)


def _tensors(values: Iterable[Any]) -> Iterator[Tensor]:
    """The tensors among arguments, those in lists and tuples included."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


def _replaced(value: Any, change: Callable[[Tensor], Any]) -> Any:
    """An argument with other values for the tensors in it."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, (list, tuple)) and any(True for _ in _tensors(value)):
        return type(value)([_replaced(x, change) for x in value])
    return value


# --- functions ------------------------------------------------------------------------------------


@method("__array_function__")
def _array_function(
    self: Tensor, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The result of one of NumPy's functions, of which an argument is a tensor."""
    reduction = REDUCTIONS.get(function)
    if reduction is not None and args and isinstance(args[0], Tensor):
        return reduction(*args, **kwargs)
    if not all([_is_read(x) for x in _tensors((*args, *kwargs.values()))]):
        twin = FUNCTIONS.get(function)
        if twin is not None:
            return _of_tensors(function, twin, args, kwargs)
        if function in NOT_DIFFERENTIABLE:
            args = _replaced(args, Tensor.detach)
            kwargs = {name: _replaced(x, Tensor.detach) for name, x in kwargs.items()}
    return function._implementation(*args, **kwargs)


def _of_tensors(
    function: Any, twin: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The result of ``twin``; raises for arguments that it has no counterpart for."""
    parameters = inspect.signature(twin)
    given = {
        name: value
        for name, value in kwargs.items()
        if name in parameters.parameters or (value is not None and value is not _NO_VALUE)
    }
    try:
        bound = parameters.bind(*args, **given)
    except TypeError as error:
        raise TypeError(
            f"numpy.{function.__name__} of a tensor that NumPy cannot read, as one that requires "
            f"grad: {error}; call it with tensor.detach().numpy(), or write it as a function of "
            "torch"
        ) from None
    return twin(*bound.args, **bound.kwargs)


# --- universal functions --------------------------------------------------------------------------


@method("__array_ufunc__")
def _array_ufunc(self: Tensor, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """The result of one of NumPy's universal functions, of which an argument is a tensor.

    ``method`` is ``__call__``, or ``reduce``, ``accumulate``, ``outer`` and their like.
    """
    if any([_decides(x) for x in inputs]):
        return NotImplemented
    if method == "__call__" and not kwargs and len(inputs) == 2:
        first, second = inputs
        name = _REFLECTED.get(ufunc)
        if name and isinstance(first, (np.ndarray, np.generic)) and isinstance(second, Tensor):
            made = getattr(second, name)(first)
            if made is not NotImplemented:
                return made
    if not all([_is_read(x) for x in _tensors(inputs)]):
        found = _twin_of(ufunc, method)
        options = {name: x for name, x in kwargs.items() if x is not None and x is not _NO_VALUE}
        if found is not None and not (method == "__call__" and options):
            operands = inputs if method in ("reduce", "accumulate") else _promoted(ufunc, inputs)
            return _of_tensors(ufunc, found, tuple(operands), options)
    return _read(ufunc, method, inputs, kwargs)


def _decides(value: Any) -> bool:
    """Whether a class that is neither NumPy's nor a tensor says what NumPy does with it."""
    if isinstance(value, (Tensor, np.ndarray)):
        return isinstance(value, np.ndarray) and (
            type(value).__array_ufunc__ is not np.ndarray.__array_ufunc__
        )
    own = getattr(type(value), "__array_ufunc__", None)
    return own is not None and not isinstance(value, (np.generic, bool, int, float, complex))


def _twin_of(ufunc: Any, method: str) -> Callable[..., Any] | None:
    twin = named_twin(ufunc)
    if method == "__call__" or twin is None:
        return twin
    if method == "outer":
        return lambda a, b: twin(a.reshape(a.shape + (1,) * b.ndim), b)
    return UFUNC_METHODS.get((ufunc, method))


def _promoted(ufunc: Any, operands: Iterable[Any]) -> list[Tensor]:
    """Operands as tensors of the dtypes that NumPy computes in, as without a gradient."""
    made = [x if isinstance(x, Tensor) else as_tensor(np.array(x)) for x in operands]
    if any([x.dtype.numpy.kind == "V" for x in made]):  # bfloat16 is promoted as among tensors
        return made
    kinds = [
        type(x) if type(x) in (int, float, complex) else t.dtype.numpy
        for x, t in zip(operands, made, strict=True)
    ]
    try:
        found = ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout))
    except TypeError:  # it has no loop for them, and its twin says so
        return made
    return [x.to(from_numpy(kind)) for x, kind in zip(made, found, strict=False)]


def _read(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The function of the arrays that tensors are; what is new is a tensor again."""
    if any(True for _ in _tensors(kwargs.values())):
        raise TypeError(
            f"numpy.{ufunc.__name__}: out and where must be arrays of NumPy, not tensors; give "
            "tensor.numpy()"
        )
    arrays = [x.__array__() if isinstance(x, Tensor) else x for x in inputs]
    made = getattr(ufunc, method)(*arrays, **kwargs)
    if method == "outer":  # which NumPy leaves an array, as torch's tensors do
        return made
    first = next(_tensors(inputs))
    outs = kwargs.get("out") or ()

    def wrapped(position: int, value: Any) -> Any:
        if value is None or any([value is x for x in outs]):
            return value
        array = np.asarray(value)
        return first.__array_wrap__(array, (ufunc, inputs, position), array.ndim == 0)

    if isinstance(made, tuple):
        return tuple([wrapped(position, value) for position, value in enumerate(made)])
    return wrapped(0, made)
