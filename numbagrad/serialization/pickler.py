"""The pickler of ``save``: tensors as calls of torch's functions, memory as storages outside of it.

What this package has in the place of a class or a function of torch is written under torch's name
(``torch_names.py``), so that torch reads it. Python's own pickler in C writes names that can be
imported only, hence the one in Python.
"""

from __future__ import annotations

import functools
import io
import pickle
from collections import OrderedDict
from typing import Any

import numpy as np

from ..backend import backend_of, is_array
from ..dtype import dtype as DType
from ..dtype import from_numpy
from ..layout import layout, memory_format
from ..nn.parameter import Buffer, Parameter
from ..optim.parameter_group import ParameterGroup
from ..size import Size
from ..tensor import Tensor
from ..tensor.sparse_array import SparseArray
from ..tensor.state import strides_of_nothing
from ..untyped_storage import UntypedStorage
from . import rebuilding
from .blocks import Block, Blocks
from .storages import StorageType, storage_type_of
from .torch_names import name_of

#: Types that need no second look, as pickle writes them by itself.
_PLAIN = frozenset((int, float, str, bool, type(None), tuple, list, dict, OrderedDict, bytes))


class _Writing:
    """How one object is written: what stands for tensors, names and storages."""

    def __init__(self, saved: Any) -> None:
        self.blocks = Blocks(saved)

    def persistent_id(self, value: Any) -> Any:
        """The stand-in for a block, and for a storage that is saved itself."""
        if type(value) is Block:
            return self._identity(value, storage_type_of(value.dtype))
        if isinstance(value, UntypedStorage):
            return self._identity(self.blocks.storage(value), storage_type_of(None))
        return None

    def _identity(self, block: Block, kind: StorageType) -> tuple[Any, ...]:
        key, size = str(self.blocks.number(block)), block.nbytes()
        return "storage", kind, key, block.location, size // kind.itemsize

    def reduced(self, value: Any) -> Any:
        """The stand-in for an object, or NotImplemented if pickle knows that itself."""
        kind = type(value)
        if kind in _PLAIN:
            return NotImplemented
        if isinstance(value, Tensor):
            here = _is_reduced_here(kind) or value._array.__class__ is SparseArray
            return self._tensor(value) if here else NotImplemented
        if kind is DType or kind is memory_format:
            return repr(value).removeprefix("torch.")
        if kind is StorageType:
            return value.name
        if kind is np.ndarray:
            # As its bytes: Python's pickler cannot write two buffers without elements.
            return value.__reduce__()
        if kind is layout:
            return rebuilding.layout_of_name, (repr(value),)
        return NotImplemented

    def _tensor(self, tensor: Any) -> Any:
        if tensor._array.__class__ is SparseArray:
            return rebuilding.rebuild_sparse_tensor, (tensor.layout, _parts_of(tensor))
        function, arguments = self._elements(tensor)
        state = _attributes_of(tensor)
        kind = type(tensor)
        if kind is Parameter:
            given: tuple[Any, ...] = (
                _Call(function, arguments),
                tensor._requires_grad,
                OrderedDict(),
            )
            if state:
                return rebuilding.rebuild_parameter_with_state, (*given, state)
            return rebuilding.rebuild_parameter, given
        if kind is Tensor and not state:
            return function, arguments
        if kind is Buffer:  # whose class is Tensor in torch, with this mark
            kind = Tensor
            state["_is_buffer"] = True
        return rebuilding.rebuild_from_type_v2, (function, kind, arguments, state)

    def _elements(self, tensor: Tensor) -> tuple[Any, tuple[Any, ...]]:
        """The function and the arguments that rebuild the values of a tensor."""
        array: Any = tensor._array
        if array.__class__ is not np.ndarray:
            if not is_array(array) or isinstance(array, np.ndarray):
                # As others see it that stands under a transformation, or is still to be conjugated.
                array = tensor.__reduce_ex__(pickle.HIGHEST_PROTOCOL)[1][1]
        if array.__class__ is not np.ndarray and not backend_of(array).has_elements:
            form = from_numpy(array.dtype), tuple(array.shape), _strides(array, tensor)
            return rebuilding.rebuild_meta_tensor, (*form, tensor._requires_grad)
        block, written, offset = self.blocks.position(array)
        dtype = from_numpy(array.dtype)
        size = dtype.itemsize
        requires_grad = tensor._requires_grad and type(tensor) is not Parameter
        arguments: tuple[Any, ...] = (
            block, offset // size, tuple(written.shape), _strides(written, tensor),
            requires_grad, OrderedDict(),
        )  # fmt: skip
        if block.dtype is dtype:
            return rebuilding.rebuild_tensor_v2, arguments
        return rebuilding.rebuild_tensor_v3, (*arguments, dtype)


class _Call:
    """An object that is written as the result of a call."""

    __slots__ = ("function", "arguments")

    def __init__(self, function: Any, arguments: tuple[Any, ...]) -> None:
        self.function, self.arguments = function, arguments

    def __reduce__(self) -> Any:
        return self.function, self.arguments


def _parts_of(tensor: Any) -> tuple[Any, ...]:
    """The parts of a sparse tensor as torch writes them: places, values, size, if sorted."""
    size = Size(tensor.shape)
    if tensor.is_sparse:
        return tensor._indices(), tensor._values(), size, tensor.is_coalesced()
    return tensor.crow_indices(), tensor.col_indices(), tensor._values(), size


def _strides(written: Any, tensor: Tensor) -> tuple[int, ...]:
    """Strides in elements; none is negative."""
    if not written.size:
        strides: tuple[int, ...] = tuple(tensor.stride())
        return strides_of_nothing(written.shape) if min(strides, default=0) < 0 else strides
    return tuple([step // written.itemsize for step in written.strides])


def _is_reduced_here(kind: type[Tensor]) -> bool:
    """Whether a class of tensors leaves it to this package how it is pickled.

    Asked anew each time: while a class overrides functions, methods of Tensor are other objects.
    """
    ours = (Tensor.__reduce_ex__, Parameter.__reduce_ex__)
    return kind.__reduce_ex__ in ours and kind.__reduce__ is Tensor.__reduce__


def _attributes_of(tensor: Tensor) -> dict[str, Any]:
    """Attributes that users set on a tensor.

    Raises:
        pickle.PicklingError: for an attribute that a tensor of another process could not have.
    """
    if not vars(tensor):
        return {}
    attributes: dict[str, Any] = tensor.__reduce_ex__(pickle.HIGHEST_PROTOCOL)[1][-1]
    kept = {}
    for name, value in attributes.items():
        if not hasattr(Tensor, name) and not name.startswith("__"):
            kept[name] = value
        elif not name.startswith("_"):
            raise pickle.PicklingError(
                f"save: a tensor has an attribute {name!r}, which hides Tensor.{name}; delete it, "
                "or give it another name"
            )
    return kept


#: The name of the pickler in Python in Python's library.
_PurePickler: Any = pickle._Pickler
#: Classes whose objects are written without a look at whether they stand for something else.
_WRITTEN_AT_ONCE = _PLAIN - {OrderedDict}


def _text(text: str) -> bytes:
    """A text, as every protocol that has lengths writes it."""
    encoded = text.encode()
    return pickle.BINUNICODE + len(encoded).to_bytes(4, "little") + encoded


def _integer(number: int) -> bytes:
    """An integer that is not negative, as protocol 2 writes it."""
    if number < 1 << 8:
        return pickle.BININT1 + number.to_bytes(1, "little")
    if number < 1 << 16:
        return pickle.BININT2 + number.to_bytes(2, "little")
    if number < 1 << 31:
        return pickle.BININT + number.to_bytes(4, "little")
    encoded = pickle.encode_long(number)
    return pickle.LONG1 + len(encoded).to_bytes(1, "little") + encoded


@functools.lru_cache(maxsize=4096)
def _integers(numbers: tuple[int, ...]) -> bytes:
    """A tuple of integers, as protocol 2 writes it."""
    if not numbers:
        return pickle.EMPTY_TUPLE
    return pickle.MARK + b"".join(map(_integer, numbers)) + pickle.TUPLE


class _Pickler(_PurePickler):
    """Writes names of torch, and persistent ids in every protocol."""

    def __init__(self, file: Any, protocol: int, writing: _Writing) -> None:
        super().__init__(file, protocol)
        self._protocol = protocol
        self._writing = writing

    def persistent_id(self, value: Any) -> Any:
        return self._writing.persistent_id(value)

    def reducer_override(self, value: Any) -> Any:
        return self._writing.reduced(value)

    def save(self, obj: Any, save_persistent_id: bool = True) -> None:
        """Write an object; what pickle knows by itself is asked no questions."""
        kind = type(obj)
        if kind in _WRITTEN_AT_ONCE:
            self.framer.commit_frame()
            known = self.memo.get(id(obj))
            if known is None:
                self.dispatch[kind](self, obj)
            else:
                self.write(self.get(known[0]))
        elif kind is Tensor and self._protocol >= 2 and id(obj) not in self.memo:
            function, arguments = self._writing.reduced(obj)
            if function is rebuilding.rebuild_tensor_v2:
                self._save_elements(arguments)
                self.memoize(obj)
            else:
                self.save_reduce(function, arguments, obj=obj)
        else:
            super().save(obj, save_persistent_id)

    def _save_elements(self, arguments: tuple[Any, ...]) -> None:
        """A call of ``rebuild_tensor_v2``, with no hooks at its end, as most of a checkpoint is.

        What occurs once, as sizes and keys, is written without a place in pickle's memory.
        """
        block, offset, shape, strides, requires_grad, _ = arguments
        word, kind, key, location, count = self._writing.persistent_id(block)
        self._save_again(rebuilding.rebuild_tensor_v2)
        self.write(pickle.MARK + pickle.MARK)
        self._save_again(word)
        self._save_again(kind)
        self.write(_text(key))
        self._save_again(location)
        self.write(_integer(count) + pickle.TUPLE + pickle.BINPERSID + _integer(offset))
        self.write(_integers(shape) + _integers(strides))
        self.write(pickle.NEWTRUE if requires_grad else pickle.NEWFALSE)
        self._save_again(OrderedDict)
        self.write(pickle.EMPTY_TUPLE + pickle.REDUCE + pickle.TUPLE + pickle.REDUCE)

    def _save_again(self, obj: Any) -> None:
        """Write what most likely has been written before."""
        known = self.memo.get(id(obj))
        if known is None:
            self.save(obj)
        else:
            self.write(self.get(known[0]))

    def save_pers(self, pid: Any) -> None:
        self.save(pid, save_persistent_id=False)
        self.write(pickle.BINPERSID)

    def save_group(self, group: Any) -> None:
        """The options of an optimizer as the dictionary that they are."""
        self.save_dict(dict(group))

    def save_global(self, obj: Any, name: str | None = None) -> None:
        found = name_of(obj)
        if found is None:
            super().save_global(obj, name)
            return
        if self._protocol >= 4:
            self.save(found[0])
            self.save(found[1])
            self.write(pickle.STACK_GLOBAL)
        else:
            self.write(pickle.GLOBAL + "{}\n{}\n".format(*found).encode())
        self.memoize(obj)

    def save_type(self, obj: Any) -> None:
        if obj in (type(None), type(NotImplemented), type(...)):
            super().save_type(obj)
        else:
            self.save_global(obj)

    dispatch = dict(_PurePickler.dispatch)
    dispatch[type] = save_type
    dispatch[type(name_of)] = save_global
    dispatch[ParameterGroup] = save_group


def pickled(saved: Any, pickle_module: Any, protocol: int) -> tuple[bytes, Blocks]:
    """An object as pickle's bytes, and the blocks of memory that lie outside of these.

    Args:
        saved: the object.
        pickle_module: ``pickle``, or a module with such a ``Pickler``, which writes the names of
            this package as they are.
        protocol: the version of pickle's format.
    """
    writing = _Writing(saved)
    buffer = io.BytesIO()
    if pickle_module is pickle:
        _Pickler(buffer, protocol, writing).dump(saved)
        return buffer.getvalue(), writing.blocks

    class Pickler(pickle_module.Pickler):
        def persistent_id(self, value: Any) -> Any:
            return writing.persistent_id(value)

        def reducer_override(self, value: Any) -> Any:
            found = NotImplemented if type(value) is StorageType else writing.reduced(value)
            if found is NotImplemented or isinstance(found, str):
                if hasattr(pickle_module.Pickler, "reducer_override"):
                    return super().reducer_override(value)
                return NotImplemented
            return found

    Pickler(buffer, protocol=protocol).dump(saved)
    return buffer.getvalue(), writing.blocks


__all__ = ["pickled"]
