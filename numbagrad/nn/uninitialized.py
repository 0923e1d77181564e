"""Parameters and buffers without a shape, which follows from the first input of their module.

Imported when somebody asks for one of these names: their classes have a ``__torch_function__``, so
that from then on operators ask the classes of their arguments. ``nn/lazy.py`` has the modules.
"""

from __future__ import annotations

from typing import Any

from ..backend import backend_for, home_of
from ..dtype import get_default_dtype
from ..executor.memory.arrays import new_array
from ..overrides import default_torch_function
from ..tensor import Tensor, leaf_of_class, new_tensor
from .parameter import Buffer, Parameter

__all__ = [
    "UninitializedBuffer", "UninitializedParameter", "UninitializedTensorMixin", "is_lazy",
]  # fmt: skip


class UninitializedTensorMixin:
    """Base of parameters and buffers whose shape is known at the first call of their module."""

    __slots__ = ()
    cls_to_become: type[Tensor]

    #: Names of the methods of Tensor that they have: those of conversions.
    _allowed = frozenset(
        "copy_ is_complex is_floating_point half float double char short int long cuda cpu to "
        "bfloat16 get_device size type".split()
    )

    def materialize(self: Any, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become an ordinary parameter or buffer of this shape, with any values.

        It stays on its device, and has its dtype, unless others are given.
        """
        kind = self._array.dtype if dtype is None else dtype.numpy
        where = home_of(self._array) if device is None else backend_for(device)
        self.data = new_tensor(new_array(tuple(shape), kind, where))
        self.__class__ = self.cls_to_become

    @property
    def shape(self) -> Any:
        """Raises: there is none yet."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually "
            "happens in `load_state_dict` when trying to load an uninitialized parameter into an "
            "initialized one. Call `forward` to initialize the parameters before accessing their "
            "attributes."
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            made = type(self)(self._requires_grad)
            made._array = new_array((0,), self._array.dtype, home_of(self._array))
            memo[id(self)] = made
        return memo[id(self)]

    def __reduce_ex__(self: Any, protocol: Any) -> tuple[Any, ...]:
        return type(self), (self._requires_grad,)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", "") in cls._allowed or type(func).__name__ == "method-wrapper":
            return default_torch_function(cls, func, types, args, kwargs)  # type: ignore[arg-type]
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {func}. This error happens when you "
            "are using a `LazyModule` or explicitly manipulating "
            f"`torch.nn.parameter.{cls.__name__}` objects. When using LazyModules Call `forward` "
            "with a dummy batch to initialize the parameters before calling torch functions"
        )


def is_lazy(param: Any) -> bool:
    """Whether this is a parameter or buffer that has no shape yet."""
    return isinstance(param, UninitializedTensorMixin)


def _empty(dtype: Any, device: Any) -> Tensor:
    return new_tensor(new_array((0,), (dtype or get_default_dtype()).numpy, backend_for(device)))


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[misc]
    """A parameter whose shape follows from the first input of its module."""

    cls_to_become = Parameter
    __hash__ = Tensor.__hash__

    def __new__(
        cls, requires_grad: bool = True, device: Any = None, dtype: Any = None
    ) -> UninitializedParameter:
        return leaf_of_class(cls, _empty(dtype, device), requires_grad)


class UninitializedBuffer(UninitializedTensorMixin, Buffer):  # type: ignore[misc]
    """A buffer whose shape follows from the first input of its module."""

    cls_to_become = Buffer
    __hash__ = Tensor.__hash__

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Any = None,
        dtype: Any = None,
        persistent: bool = True,
    ) -> UninitializedBuffer:
        made = leaf_of_class(cls, _empty(dtype, device), requires_grad)
        made.persistent = persistent
        return made
