"""Collation: one batch of tensors from a list of samples, whatever containers samples are made of.

``loader.py`` uses ``default_collate`` for batches and ``default_convert`` for single samples.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from ..dtype import float64
from ..ops.creation.from_data import as_tensor, tensor
from ..ops.views.join import stack
from ..tensor import Tensor

__all__ = ["collate", "default_collate", "default_collate_fn_map", "default_convert"]

#: By class, or by several of them, a function of a batch.
CollateMap = dict[Any, Callable[..., Any]]

_WRONG_CONTENT = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def _mapped_mapping(container: Mapping[Any, Any], entries: Any) -> Any:
    try:
        if not isinstance(container, MutableMapping):
            return type(container)(entries)  # type: ignore[call-arg]
        fresh = copy.copy(container)
        fresh.update(entries)
        return fresh
    except TypeError:
        return entries


def _mapped(container: Any, entries: Any) -> Any:
    """A container like the given one, with other entries; a plain one where it cannot be made."""
    if isinstance(container, Mapping):
        return _mapped_mapping(container, entries)
    if hasattr(container, "_fields"):
        return type(container)(*entries)
    if isinstance(container, tuple):
        return entries
    try:
        if not isinstance(container, MutableSequence):
            return type(container)(entries)
        fresh: Any = copy.copy(container)
        for position, entry in enumerate(entries):
            fresh[position] = entry
        return fresh
    except TypeError:
        return entries


def _holds_text_or_objects(kind: np.dtype[Any]) -> bool:
    return kind.kind in "SUaO"


def default_convert(data: Any) -> Any:
    """NumPy arrays and numbers as tensors, in whatever containers they are; the rest as it is."""
    if isinstance(data, Tensor):
        return data
    if isinstance(data, (np.ndarray, np.generic)):
        return data if _holds_text_or_objects(data.dtype) else as_tensor(data)
    if isinstance(data, Mapping):
        return _mapped(data, {key: default_convert(value) for key, value in data.items()})
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _mapped(data, [default_convert(value) for value in data])
    return data


def default_collate(batch: Sequence[Any]) -> Any:
    """A list of samples as one batch, with a new first dimension.

    Tensors are stacked; arrays and numbers become tensors (Python floats of float64); text stays a
    list; mappings, sequences and named tuples are collated entry by entry.

    Raises:
        TypeError: for samples of any other kind.
        RuntimeError: for sequences of unequal length.
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None) -> Any:
    """``default_collate`` by functions of the caller's for samples of some classes.

    Args:
        batch: the samples.
        collate_fn_map: by class, or by several of them, the function for samples that are of the
            class itself, or else of one that derives from it. It is called with the batch and, by
            name, this dictionary.
    """
    sample, known = batch[0], collate_fn_map or {}
    function = known.get(type(sample))
    if function is None:
        function = next((known[kinds] for kinds in known if isinstance(sample, kinds)), None)
    if function is not None:
        return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(sample, Mapping):
        entries = {
            key: collate([each[key] for each in batch], collate_fn_map=collate_fn_map)
            for key in sample
        }
        return _mapped(sample, entries)
    if isinstance(sample, Sequence):
        if not hasattr(sample, "_fields") and len({len(each) for each in batch}) > 1:
            raise RuntimeError("each element in list of batch should be of equal size")
        parts = zip(*batch, strict=False)
        return _mapped(sample, [collate(x, collate_fn_map=collate_fn_map) for x in parts])
    raise TypeError(_WRONG_CONTENT.format(type(sample)))


def _collate_tensors(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Tensor:
    if isinstance(batch, Tensor):
        raise TypeError(
            "stack(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor"
        )
    return stack(list(batch))


def _collate_arrays(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
    if _holds_text_or_objects(batch[0].dtype):
        raise TypeError(_WRONG_CONTENT.format(batch[0].dtype))
    return stack([as_tensor(array) for array in batch])


def _collate_numpy_numbers(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Tensor:
    return as_tensor(np.asarray(batch))


def _collate_floats(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Tensor:
    return tensor(batch, dtype=float64)


def _collate_ints(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Tensor:
    return tensor(batch)


def _collate_text(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
    return batch


#: Batches of samples that are no containers, by the class of the first one; libraries add their
#: own. NumPy's float64 is a float too, so NumPy's numbers come first.
default_collate_fn_map: CollateMap = {
    Tensor: _collate_tensors,
    np.ndarray: _collate_arrays,
    (np.bool_, np.number, np.object_): _collate_numpy_numbers,
    float: _collate_floats,
    int: _collate_ints,
    str: _collate_text,
    bytes: _collate_text,
}
