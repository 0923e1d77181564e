"""Indexing: ``x[...]`` and ``x[...] = v``, and ``index_put``, which assignment is made of.

``subscript.py`` takes keys apart; the loops are those of ``executor/families/indexing.py``.
Reading by a basic key gives a view, everything else copies. Elements that an index names more than
once add up in gradients, in the order of the indices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import half_precision as half
from ...autograd.grad_mode import state as grad_mode
from ...autograd.tensor_interface import bump_version
from ...autograd.writes.inplace import before_write, compute_then_write, recording, write_inplace
from ...dispatch import layers
from ...executor.families import indexing as executor
from ...executor.memory.arrays import copied, filled_like, may_use_elements, scalar
from ...executor.plan.forms import broadcast
from ...executor.plan.sharing import check_written_once, refuse_overlap
from ...number_range import checked_number, wrapped_number
from ...tensor import Tensor, new_tensor
from ...tensor.export import number_of
from ...transforms.levels import Transformed, is_transformed
from ...transforms.tangents import additive, multilinear
from ...type_names import type_name
from ..arguments.shapes import common_shape
from ..methods.registry import method
from ..operators.array_function import array_function
from ..operators.pointwise_operator import pointwise
from ..operators.tensor_operator import IndexNode, TensorOperator
from ..pointwise.selection import refuse_imaginary_part
from ..views.expand import expand
from ..views.parts import alias_view, select_view, slice_view, unsqueeze_view
from ..views.view import reshape
from ..writing.inplace import copy_
from .index_arrays import Array, Key, beside, put_values, spread_over, taken, write_values
from .index_tensors import (
    add_samples,
    index_of,
    indexing_operators,
    put_samples,
    read_samples,
    result_shape,
)
from .subscript import (
    ALL,
    Subscript,
    basic_error,
    dimension_of,
    is_basic,
    out_of_bounds,
    with_one_ellipsis,
    wrap_indices,
)

__all__ = ["index_put", "index_put_"]


# --- reading by subscript -------------------------------------------------------------------------


@method("__getitem__")
def getitem(self: Tensor, key: Any) -> Tensor:
    """``self[key]``: a view for ints, slices, None and Ellipsis, else a copy."""
    if layers.everywhere and layers.asks(getitem):
        return layers.ask(getitem, [self, key])
    kind = key.__class__
    if kind is int:
        key = (key, ...)
        operator = select_view
    elif kind is slice and (key.step is None or (key.step.__class__ is int and key.step > 0)):
        key = (key, ...)
        operator = slice_view
    else:
        return _get_other(self, key)
    try:
        array = self._array[key]
    except (IndexError, TypeError):
        return _get_again(self, key, operator)
    return operator.launch(array, self, (key,))


def _get_again(self: Tensor, key: Any, operator: Any) -> Any:
    """``self[key]`` for a key that NumPy does not take."""
    if self._is_data and operator is select_view and key[0] == 0:
        return number_of(self)  # loss.data[0], as in 2017
    raise basic_error(self._array.shape, key)


def _get_other(self: Tensor, key: Any) -> Tensor:
    """``self[key]`` for keys that are neither an int nor a slice."""
    if key is None:
        key = (None, ...)
        operator = unsqueeze_view
    elif key.__class__ is tuple and is_basic(key):
        operator = _view_of(key)
        key = with_one_ellipsis(key, self._array.ndim)
    elif (
        isinstance(key, Tensor)
        and key._array.dtype == np.int64
        and key._array.ndim
        and key._array.__class__ is not Transformed
    ):
        return _get_rows(self, key._array)
    else:
        return _get_advanced(self, key)
    array = _part(self._array, key)
    if None in key:
        array = _with_strides(array, self._array, key)
    return operator.launch(array, self, (key,))


def _part(array: Array, key: Any) -> Array:
    """``array[key]``.

    Functions with an exception handler are short: where there is no memory for the number of an
    instruction beyond 256, CPython (3.11 and later) tries for ever to enter the handler.
    """
    try:
        return array[key]
    except (IndexError, TypeError):
        raise basic_error(array.shape, key) from None


def _with_strides(view: Array, array: Array, key: Key) -> Array:
    """The view with torch's strides for new dimensions, where NumPy has 0.

    torch puts a dimension in before it indexes the one that follows, so that it steps over all of
    that.
    """
    strides = list(view.strides)
    left_out = array.ndim - sum([entry is not None and entry is not Ellipsis for entry in key])
    source = position = 0
    for entry in key:
        if entry is None:
            strides[position] = view.itemsize
            if source < array.ndim:
                strides[position] = array.shape[source] * array.strides[source]
            position += 1
        elif entry is Ellipsis:
            source += left_out
            position += left_out
            left_out = 0
        else:
            source += 1
            position += entry.__class__ is slice
    return executor.strided_view(view, view.shape, tuple(strides))


def _view_of(key: Key) -> Any:
    """The operator named as the last of those that torch would apply one after another."""
    for entry in reversed(key):
        if entry is None:
            return unsqueeze_view
        if entry.__class__ is int:
            return select_view
        if entry.__class__ is slice and entry != ALL:
            return slice_view
    return alias_view


def _get_advanced(self: Tensor, key: Any) -> Tensor:
    if is_transformed(key) and isinstance(key, (Tensor, tuple, list)):
        self, key = _select_by_tensors(self, key)
    subscript = Subscript(self._array.shape, key)
    if any([entry is not ALL for entry in subscript.basic[:-1]]) or not subscript.arrays:
        view = _view_of(subscript.basic[:-1]).launch(
            self._array[subscript.basic], self, (subscript.basic,)
        )
    else:
        view = self
    if not subscript.arrays:
        return view
    if Transformed in [array.__class__ for array in subscript.arrays]:
        made: Tensor = read_at(view, *index_of(subscript.arrays, view._array.shape))
        return made
    return read_by_arrays(view, _kept(view, subscript.arrays))


def _select_by_tensors(tensor: Tensor, key: Any) -> tuple[Tensor, Any]:
    """The key that remains after the single numbers that stand for one in each sample."""
    entries = list(key) if isinstance(key, (tuple, list)) else [key]
    position = 0
    for number, entry in reversed(list(enumerate(entries))):
        single = is_transformed(entry) and entry._array.ndim == 0
        if not single or entry._array.dtype.kind == "b":
            continue
        dim = dimension_of(tensor._array.ndim, entries, number)
        chosen = entry.long()
        size = tensor._array.shape[dim]
        chosen = pointwise("where")(chosen < 0, chosen + size, chosen)
        tensor = tensor.index_select(dim, chosen.reshape(1)).squeeze(dim)
        del entries[number]
        position += 1
    if not position:
        return tensor, key
    return tensor, tuple(entries)


def _get_rows(self: Tensor, index: Array) -> Tensor:
    """``self[index]`` for one array of int64, the most frequent of advanced keys."""
    if self._array.ndim == 0:
        raise IndexError("too many indices for tensor of dimension 0")
    size, *rest = self._array.shape
    index = wrap_indices(
        index, size, lambda bad: out_of_bounds(bad, 0, size), lambda size: size > 0 and 0 in rest
    )
    return read_by_arrays(self, _kept(self, (index,)))


def _kept(tensor: Tensor, arrays: Key) -> Key:
    """Index arrays that a node may keep: copies, if there will be a node; on the device."""
    arrays = beside(tensor._array, arrays)
    if not (tensor._requires_grad and grad_mode.enabled):
        return arrays
    return tuple([x if x is ALL else copied(x) for x in arrays])


read_by_arrays = TensorOperator(
    "index",
    lambda input, arrays: taken(input, arrays),
    {"input": lambda grad, input_shape, arrays: index_backward(grad, input_shape, arrays)},
    batch=lambda operator, size, arguments, mapped: _read_samples(size, *arguments),
    tangent=multilinear,
    node=IndexNode,
    takes_half=True,
    portable=True,
)
index_backward = TensorOperator(
    "index_backward",
    lambda input, shape, arrays: spread_over(input, shape, arrays),
    {"input": lambda grad, arrays: read_by_arrays(grad, arrays)},
    batch=lambda operator, size, arguments, mapped: _spread_samples(size, *arguments),
    node=IndexNode,
    portable=True,
)


def _read_samples(size: int, input: Tensor, arrays: Key) -> Tensor:
    index, dims = index_of(arrays, ())
    return read_samples(read_at, size, (input, index, dims), (True, False))


def _spread_samples(size: int, input: Tensor, shape: tuple[int, ...], arrays: Key) -> Tensor:
    index, dims = index_of(arrays, ())
    return add_samples(add_at, size, (input, index, shape, dims), (True, False))


# --- assignment by subscript ----------------------------------------------------------------------


_index_put = TensorOperator(
    "index_put",
    lambda input, values, arrays, accumulate: put_values(input, arrays, values, accumulate),
    {
        "input": lambda grad, arrays, accumulate: grad if accumulate else _cleared(grad, arrays),
        "values": lambda grad, values_shape, arrays: _sum_to(
            read_by_arrays(grad, arrays), values_shape
        ),
    },
    batch=lambda operator, size, arguments, mapped: put_samples(
        put_at,
        size,
        (*arguments[:2], *index_of(arguments[2], ()), arguments[3]),
        (*mapped[:2], False),
    ),
    tangent=additive,
    node=IndexNode,
    portable=True,
)

read_at, add_at, put_at = indexing_operators(taken, spread_over, put_values)


def _cleared(grad: Tensor, arrays: Key) -> Tensor:
    """``grad`` with zeros at the indices."""
    return _index_put(
        grad, new_tensor(filled_like(grad._array, (), grad._array.dtype, 0)), arrays, False
    )


def _sum_to(grad: Tensor, shape: tuple[int, ...]) -> Tensor:
    return grad if grad._array.shape == shape else grad.sum_to_size(shape)


@method("__delitem__")
def _delitem(self: Tensor, key: Any) -> None:
    """Elements are not deleted.

    Raises:
        TypeError: always.
    """
    raise TypeError("Tensor does not support deleting items")


@method("__setitem__")
def _setitem(self: Tensor, key: Any, value: Any) -> None:
    """``self[key] = value``: the value is broadcast and cast to the dtype of this tensor."""
    kind = key.__class__
    if kind is Tensor and _fill_where(self, key, value):
        return
    if key is False:
        return  # nothing is written, and nothing recorded
    if key is True:
        key, kind = None, None.__class__
    if is_transformed((self, key, value)):
        _set_transformed(self, key, value)
        return
    basic = key if kind is tuple else (key,)
    if not (kind is int or kind is slice or kind is tuple) or not is_basic(basic):
        subscript = Subscript(self._array.shape, key)
        basic, arrays = subscript.basic, subscript.arrays
    else:
        arrays = ()
        basic = with_one_ellipsis(basic, self._array.ndim)
    if not isinstance(value, Tensor):
        value = _number_for(self, value)
    elif (
        value._array.size == 1
        and kind is Tensor
        and key._array.dtype.kind == "b"
        and key._array.ndim
    ):
        value = reshape(value, ())  # a mask is filled with a single element, whatever its dtype
        refuse_imaginary_part(value, self)
        same = value._array.dtype == self._array.dtype
        value = value.clone() if same else value.to(self.dtype)  # read before it may be written
    plain = (
        not arrays
        and may_use_elements(self._array)
        and value._array.__class__ is np.ndarray
        and not recording(self, value)
    )
    if plain and _write_plain(self, basic, value):
        return
    target = getitem(self, basic) if any([x is not ALL for x in basic[:-1]]) else self
    if arrays:
        _assign(target, arrays, value)
    else:
        copy_(target, _without_leading_ones(value, target._array.shape))


_masked_fill = pointwise("masked_fill")


def _fill_where(tensor: Tensor, mask: Tensor, value: Any) -> bool:
    """``tensor[mask] = number`` without recording, as one pass; False for any other assignment."""
    if (
        mask._array.dtype.kind != "b"
        or mask._array.shape != tensor._array.shape
        or isinstance(value, Tensor)
        or recording(tensor)
        or is_transformed((tensor, mask))
    ):
        return False
    _masked_fill.into(tensor, (tensor, mask, _number_for(tensor, value)))
    return True


def _set_transformed(tensor: Tensor, key: Any, value: Any) -> None:
    """The same where the tensor, the key or the value stands for samples or has a tangent."""
    if isinstance(key, Tensor) and key._array.dtype.kind == "b" and key._array.ndim:
        if not isinstance(value, Tensor) or value._array.size == 1:
            value = reshape(value, ()) if isinstance(value, Tensor) else value
            mask = reshape(key, (*key._array.shape, *(1,) * (tensor.ndim - key.ndim)))
            tensor.masked_fill_(mask, value)
            return
    if not isinstance(value, Tensor):
        value = _number_for(tensor, value)
    for number, entry in enumerate(entries := list(key) if isinstance(key, tuple) else [key]):
        if is_transformed(entry) and entry._array.ndim == 0:
            entries[number] = reshape(entry, 1)  # a dimension of size 1, which the value lacks
            position = dimension_of(tensor._array.ndim, entries, number)
            if value._array.ndim > position - _left_out(entries[:number]):
                value = value.unsqueeze(position - _left_out(entries[:number]))
    subscript = Subscript(tensor._array.shape, tuple(entries))
    target = tensor
    if any([x is not ALL for x in subscript.basic[:-1]]):
        target = getitem(tensor, subscript.basic)
    if subscript.arrays:
        _assign(target, subscript.arrays, value)
    else:
        copy_(target, _without_leading_ones(value, target._array.shape))


def _left_out(entries: Sequence[Any]) -> int:
    """How many dimensions of a key's result less than of the tensor there are so far."""
    return sum([isinstance(x, int) for x in entries]) - sum([x is None for x in entries])


def _write_plain(tensor: Tensor, key: Key, value: Tensor) -> bool:
    """Write without recording; False where the value does not fit, for the error to be made."""
    before_write(tensor)
    try:
        _write_region(tensor._array, key, value._array)
    except IndexError:
        raise basic_error(tensor._array.shape, key) from None
    except ValueError:
        return False
    bump_version(tensor)
    return True


def _write_region(array: Any, key: Key, value: Any) -> None:
    """Write a value into the part of an array that a key names, if it may be written."""
    if 0 in array.strides:
        check_written_once(array[key])
    if value.base is not None:
        target = array[key]
        # What is repeated is no overlap to torch, and what does not fit is another error.
        if [n for n in target.shape if n != 1] == [n for n in value.shape if n != 1]:
            refuse_overlap(target, (value,))
    half.assign(array, key, value)


def _number_for(tensor: Tensor, value: Any) -> Tensor:
    """A Python number as a tensor of the dtype it will be written to."""
    if isinstance(value, np.generic):
        value = value.item()
    kind = tensor._array.dtype
    if not isinstance(value, (bool, int, float, complex)):
        raise TypeError(f"can't assign a {type(value).__name__} to a torch.{_type_name(tensor)}")
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        raise ValueError("Overflow when unpacking long long")
    # Halves become infinite: the number is a double before it is converted.
    halves = kind.kind == "V" or kind.num == 23
    number = wrapped_number(value, kind) if halves else checked_number(value, kind)
    return new_tensor(scalar(number, kind))


def _type_name(tensor: Tensor) -> str:
    return tensor.type().removeprefix("torch.")


def _without_leading_ones(value: Tensor, shape: tuple[int, ...]) -> Tensor:
    """``value`` without leading dimensions of size 1 beyond the rank of ``shape``, expanded."""
    own = value._array.shape
    extra = 0
    while len(own) - extra > len(shape) and own[extra] == 1:
        extra += 1
    if extra:
        value = reshape(value, own[extra:])
    return value if value._array.shape == shape else expand(value, shape)


def _assign(target: Tensor, arrays: Key, value: Tensor) -> None:
    if value._array.dtype != target._array.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{scalar_name(target)} for the destination and {scalar_name(value)} for the source."
        )
    _index_put_in_place(target, arrays, value, False)


def scalar_name(tensor: Tensor) -> str:
    """The dtype as torch's errors about indices name it: ``Float``, ``Long``, ..."""
    return _type_name(tensor).removesuffix("Tensor")


def _fitting(target: Tensor, arrays: Key, value: Tensor) -> Tensor:
    """``value`` without leading dimensions of size 1 beyond those of what it is written to."""
    result_shape = _result_shape(target._array.shape, arrays)
    own = value._array.shape
    while len(own) > len(result_shape) and own[0] == 1:
        own = own[1:]
    if own != result_shape:
        _check_values(value._array.shape, own, result_shape)
    return value if own == value._array.shape else reshape(value, own)


_write_values = array_function("write")(write_values)


def _index_put_in_place(target: Tensor, arrays: Key, value: Tensor, accumulate: bool) -> Tensor:
    refuse_overlap(target._array, (value._array, *arrays), whole=True)
    value, arrays = _fitting(target, arrays, value), beside(target._array, arrays)
    if Transformed in [x.__class__ for x in arrays]:
        index, dims = index_of(arrays, target._array.shape)
        return compute_then_write(
            target, lambda before: put_at(before, value, index, dims, accumulate), value, index
        )
    if recording(target, value):
        arrays = tuple([x if x is ALL else copied(x) for x in arrays])
    written = value._array
    return write_inplace(
        target,
        _index_put,
        lambda array: _write_values(array, arrays, written, accumulate),
        value,
        arrays,
        accumulate,
    )


def _check_values(given: tuple[int, ...], own: tuple[int, ...], result: tuple[int, ...]) -> None:
    fits = len(own) <= len(result) and all(
        [size in (1, wanted) for size, wanted in zip(own[::-1], result[::-1], strict=False)]
    )
    if not fits:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(given)} cannot be broadcast to indexing "
            f"result of shape {list(result)}"
        )


def _result_shape(shape: tuple[int, ...], arrays: Key) -> tuple[int, ...]:
    """The shape of what index arrays take from a tensor of this shape."""
    positions = [k for k, x in enumerate(arrays) if x is not ALL]
    index_shape = broadcast([arrays[position].shape for position in positions])
    return result_shape(shape, positions, index_shape)


@method("index_put_")
def index_put_(
    input: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False
) -> Tensor:
    """Write ``values`` at ``indices``, of the first dimensions, or add them there."""
    return _index_put_in_place(input, _checked_key(input, indices, values), values, accumulate)


def _checked_key(input: Tensor, indices: Sequence[Tensor], values: Tensor) -> Key:
    """The index arrays for the dimensions of ``input``; raises torch's error for other dtypes."""
    if not isinstance(indices, (tuple, list)):
        raise TypeError(
            f"index_put_(): argument 'indices' must be tuple of Tensors, not {type_name(indices)}"
        )
    if not indices:
        raise RuntimeError("index_put_(): needs at least one tensor of indices")
    key = tuple([ALL if index is None else _as_vector(index) for index in indices])
    _check_rank_of_values(input, key, values)
    subscript = Subscript(input._array.shape, key)
    if values._array.dtype != input._array.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{scalar_name(input)} for the destination and {scalar_name(values)} for the source."
        )
    return subscript.arrays


def _check_rank_of_values(input: Tensor, key: tuple[Any, ...], values: Tensor) -> None:
    """Raise torch's error for values that do not broadcast to what the indices select."""
    own, given = input._array.shape, values._array.shape
    if (
        any([x is ALL for x in key])
        or len(key) > len(own)
        or any([x._array.dtype.kind in "bu" for x in key])
    ):
        return  # sizes that depend on values, or errors of the key itself
    selected = (*common_shape([x._array.shape for x in key]), *own[len(key) :])
    fits = len(given) <= len(selected) and all(
        [a in (1, b) for a, b in zip(given[::-1], selected[::-1], strict=False)]
    )
    if not fits:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(given)} cannot be broadcast to indexing "
            f"result of shape {list(selected)}"
        )


def _as_vector(index: Tensor) -> Tensor:
    """An index with at least one dimension, so that it does not count as an int.

    It stays a Tensor: arrays in a key are constants of the program that is being recorded.
    """
    return reshape(index, 1) if index._array.ndim == 0 else index


@method()
def index_put(
    input: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False
) -> Tensor:
    """A copy with ``values`` at ``indices``."""
    if is_transformed((input, list(indices), values)):
        arrays = _checked_key(input, indices, values)
        key = index_of(arrays, input._array.shape)
        made: Tensor = put_at(input, _fitting(input, arrays, values), *key, accumulate)
        return made
    return index_put_(input.clone(), indices, values, accumulate)
