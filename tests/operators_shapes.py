"""Entries of views, rearrangements and joins."""

from __future__ import annotations

import numpy as np
from operator_rows import (
    ENTRIES,
    method,
    normal,
    on_list,
    row,
    same_function,
)

for _name, _call, _reference in [
    ("reshape", same_function("reshape", (4, 6)), lambda x: x.reshape(4, 6)),
    ("reshape", same_function("reshape", (-1, 2)), lambda x: x.reshape(-1, 2)),
    ("flatten", same_function("flatten"), np.ravel),
    ("flatten", same_function("flatten", 1), lambda x: x.reshape(2, 12)),
    ("ravel", same_function("ravel"), np.ravel),
    ("unflatten", same_function("unflatten", 2, (2, -1)), lambda x: x.reshape(2, 3, 2, 2)),
    ("transpose", same_function("transpose", 0, 2), lambda x: x.swapaxes(0, 2)),
    ("swapaxes", same_function("swapaxes", 0, 1), lambda x: x.swapaxes(0, 1)),
    ("swapdims", same_function("swapdims", 0, 1), lambda x: x.swapaxes(0, 1)),
    ("permute", same_function("permute", (2, 0, 1)), lambda x: x.transpose(2, 0, 1)),
    ("movedim", same_function("movedim", 0, 2), lambda x: np.moveaxis(x, 0, 2)),
    ("moveaxis", same_function("moveaxis", (0, 1), (2, 0)),
     lambda x: np.moveaxis(x, (0, 1), (2, 0))),
    ("adjoint", same_function("adjoint"), lambda x: x.swapaxes(-1, -2)),
    ("unsqueeze", same_function("unsqueeze", 1), lambda x: x[:, None]),
    ("unsqueeze", same_function("unsqueeze", -1), lambda x: x[..., None]),
    ("narrow", same_function("narrow", 1, 1, 2), lambda x: x[:, 1:3]),
    ("select", same_function("select", 1, -1), lambda x: x[:, -1]),
    ("diagonal", same_function("diagonal", 1, 0, 2), lambda x: np.diagonal(x, 1, 0, 2)),
    ("broadcast_to", same_function("broadcast_to", (2, 2, 3, 4)),
     lambda x: np.broadcast_to(x, (2, 2, 3, 4))),
    ("as_strided", same_function("as_strided", (3, 2), (2, 1), 1),
     lambda x: np.lib.stride_tricks.as_strided(
         x.ravel()[1:], (3, 2), (2 * x.itemsize, x.itemsize))),
    ("unbind", same_function("unbind", 1), lambda x: tuple(np.moveaxis(x, 1, 0))),
    ("split", same_function("split", 2, 2), lambda x: tuple(np.split(x, 2, 2))),
    ("split", same_function("split", [1, 3], 2), lambda x: tuple(np.split(x, [1], 2))),
    ("split_with_sizes", same_function("split_with_sizes", [1, 3], 2),
     lambda x: tuple(np.split(x, [1], 2))),
    ("chunk", same_function("chunk", 2, 1), lambda x: tuple(np.split(x, [2], 1))),
    ("tensor_split", same_function("tensor_split", 3, 2),
     lambda x: tuple(np.array_split(x, 3, 2))),
    ("unsafe_split", same_function("unsafe_split", 2, 2), lambda x: tuple(np.split(x, 2, 2))),
    ("unsafe_split_with_sizes", same_function("unsafe_split_with_sizes", (1, 3), 2),
     lambda x: tuple(np.split(x, [1], 2))),
    ("unsafe_chunk", same_function("unsafe_chunk", 2, 1), lambda x: tuple(np.split(x, [2], 1))),
    ("hsplit", same_function("hsplit", 3), lambda x: tuple(np.hsplit(x, 3))),
    ("vsplit", same_function("vsplit", 2), lambda x: tuple(np.vsplit(x, 2))),
    ("dsplit", same_function("dsplit", 2), lambda x: tuple(np.dsplit(x, 2))),
    ("atleast_1d", same_function("atleast_1d"), np.atleast_1d),
    ("atleast_2d", same_function("atleast_2d"), np.atleast_2d),
    ("atleast_3d", same_function("atleast_3d"), np.atleast_3d),
    ("clone", same_function("clone"), np.copy),
    ("flip", same_function("flip", (0, 2)), lambda x: np.flip(x, (0, 2))),
    ("fliplr", same_function("fliplr"), np.fliplr),
    ("flipud", same_function("flipud"), np.flipud),
    ("roll", same_function("roll", 1), lambda x: np.roll(x, 1)),
    ("roll", same_function("roll", (1, -2), (0, 2)), lambda x: np.roll(x, (1, -2), (0, 2))),
    ("rot90", same_function("rot90", 1, (1, 2)), lambda x: np.rot90(x, 1, (1, 2))),
    ("tril", same_function("tril", 1), lambda x: np.tril(x, 1)),
    ("triu", same_function("triu", -1), lambda x: np.triu(x, -1)),
    ("diag_embed", same_function("diag_embed"), lambda x: x[..., None] * np.eye(4, dtype=x.dtype)),
    ("diagflat", same_function("diagflat"), np.diagflat),
    ("tile", same_function("tile", (2, 1)), lambda x: np.tile(x, (2, 1))),
    ("repeat_interleave", same_function("repeat_interleave", 2, dim=1),
     lambda x: np.repeat(x, 2, 1)),
    ("repeat_interleave", same_function("repeat_interleave", 2), lambda x: np.repeat(x, 2)),
    ("view", method("view", 6, 4), lambda x: x.reshape(6, 4)),
    ("expand", method("expand", 2, -1, -1, -1), lambda x: np.broadcast_to(x, (2, 2, 3, 4))),
    ("repeat", method("repeat", 2, 1, 2, 1), lambda x: np.tile(x, (2, 1, 2, 1))),
    ("unfold", method("unfold", 2, 2, 1),
     lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, 2)),
    ("contiguous", method("contiguous"), np.copy),
    ("sum_to_size", method("sum_to_size", 3, 1), lambda x: x.sum((0, 2)).reshape(3, 1)),
    ("mT", lambda t, x: x.mT, lambda x: x.swapaxes(-1, -2)),
]:  # fmt: skip
    _number = sum(entry.covers == (_name,) for entry in ENTRIES)
    _kind = "number" if _name in ("sum_to_size", "tile") else "any"
    row(_name, _call, normal(2, 3, 4), _reference, case=str(_number or ""), dtypes=_kind)

row("t", same_function("t"), normal(3, 4), np.transpose)
row("T", lambda t, x: x.T, normal(3, 4), np.transpose)
row("squeeze", same_function("squeeze"), normal(1, 3, 1), np.squeeze)
row("squeeze", same_function("squeeze", 0), normal(1, 3, 1), lambda x: x[0], case="one")
row("diag", same_function("diag", 1), normal(3), lambda x: np.diag(x, 1), case="make")
row("diag", same_function("diag", -1), normal(3, 3), lambda x: np.diag(x, -1), case="take")
row("view_as", method("view_as"), (normal(2, 6), normal(3, 4)), lambda x, y: x.reshape(3, 4))
row("reshape_as", method("reshape_as"), (normal(2, 6), normal(3, 4)), lambda x, y: x.reshape(3, 4))
row("expand_as", method("expand_as"), (normal(1, 4), normal(3, 4)),
    lambda x, y: np.broadcast_to(x, (3, 4)))  # fmt: skip
row("broadcast_tensors", same_function("broadcast_tensors"), (normal(3, 1), normal(4)),
    lambda x, y: tuple(np.broadcast_arrays(x, y)))  # fmt: skip
row("meshgrid", same_function("meshgrid", indexing="ij"), (normal(2), normal(3)),
    lambda x, y: tuple(np.meshgrid(x, y, indexing="ij")))  # fmt: skip
row("meshgrid", same_function("meshgrid", indexing="xy"), (normal(2), normal(3)),
    lambda x, y: tuple(np.meshgrid(x, y)), case="xy")  # fmt: skip

# Joining

for _name in ("cat", "concat", "concatenate"):
    row(_name, on_list(_name, 1), (normal(2, 3), normal(2, 1), normal(2, 2)),
        lambda *arrays: np.concatenate(arrays, 1))  # fmt: skip
row("stack", on_list("stack", -1), (normal(2, 3), normal(2, 3)), lambda a, b: np.stack((a, b), -1))
row("hstack", on_list("hstack"), (normal(2, 3), normal(2, 1)), lambda a, b: np.hstack((a, b)))
for _name in ("vstack", "row_stack"):
    row(_name, on_list(_name), (normal(2, 3), normal(3)), lambda a, b: np.vstack((a, b)))
row("dstack", on_list("dstack"), (normal(2, 3), normal(2, 3)), lambda a, b: np.dstack((a, b)))
row("column_stack", on_list("column_stack"), (normal(2, 3), normal(2)),
    lambda a, b: np.column_stack((a, b)))  # fmt: skip
row("block_diag", same_function("block_diag"), (normal(2, 3), normal(1, 2)),
    lambda a, b: np.pad(a, ((0, 1), (0, 2))) + np.pad(b, ((2, 0), (3, 0))))  # fmt: skip
