"""The names under which nodes show what they saved: ``grad_fn._saved_self`` and the like.

``pointwise_operator.py`` and ``tensor_operator.py`` ask here. Most names are those of the
parameters; the tables below have torch's where it calls the same thing otherwise, and say how a
value is shown that is kept in another form.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .gradient_rule import PointwiseNode
    from .tensor_operator import OperatorNode

__all__ = ["NOT_SAVED", "dims_of_mask", "of_call", "of_operator", "of_pointwise", "possible"]

Fields = dict[str, tuple[str, Any]]

#: Stands for a tensor that a node does not save.
NOT_SAVED: Any = object()
#: torch's numbers of the reductions of losses.
_REDUCTIONS: dict[Any, int] = {"none": 0, "mean": 1, "sum": 2}


def of_pointwise(node: PointwiseNode) -> Fields:
    """The fields of the node of a pointwise operator: tensors, numbers and the result."""
    rule = node.rule
    names = rule.operator.formula.inputs
    rename = _renaming(type(node).__name__, names)
    fields: Fields = {}
    position = 0
    for index, used in enumerate(rule.uses):
        number = None if node.numbers is None else node.numbers[index]
        if number is None:
            fields[rename(names[used])] = ("tensor", position)
            position += 1
        else:
            fields[rename(names[used])] = _value(number)
    if rule.uses_result:
        fields[rename("result")] = ("tensor", position)
    for name, value in _CHOICES.get(rule.operator.name, {}).items():
        fields[name] = _value(value)
    return fields


def of_operator(node: OperatorNode) -> Fields:
    """The fields of the node of a ``TensorOperator``: tensors, shapes and other arguments."""
    plan, names = node.plan, node.operator.parameters
    rename = _renaming(type(node).__name__, names)
    fields: Fields = {}
    for position, index in enumerate(plan.saves):
        fields[rename(names[index])] = ("tensor", position)
    for position, number in enumerate(plan.results, len(plan.saves)):
        name = "result" if node._output_count == 1 else f"result{number}"
        fields[rename(name)] = ("tensor", position)
    for value, (index, shape) in zip(node.values, plan.keeps, strict=True):
        name = rename(names[index])
        if shape:
            fields.update(_sizes(type(node).__name__, name, value))
        elif name in _SHOWN and not isinstance(value, np.ndarray):
            shown = _SHOWN[name](value)
            fields.update({part: _value(one) for part, one in shown.items()})
        else:
            fields[name] = _value(value)
    return fields


def of_call(
    node: Any, names: Sequence[str], arguments: Sequence[Any], saved: Mapping[int, int]
) -> Fields:
    """The fields of a node that keeps the arguments of its call.

    ``saved`` has the places of tensors among them, by the place of the argument; the other tensors
    are no fields, and stand for nothing in ``arguments``.
    """
    rename = _renaming(type(node).__name__, tuple(names))
    fields: Fields = {}
    for index, (name, value) in enumerate(zip(names, arguments, strict=True)):
        if index in saved:
            fields[rename(name)] = ("tensor", saved[index])
        elif value is not NOT_SAVED and rename(name) != "option":  # no option at all
            shown = _REDUCTIONS.get(value, value) if name == "reduction" else value
            fields[rename(name)] = _value(shown)
    return fields


def _sizes(node: str, name: str, shape: Any) -> Fields:
    """The shape of an input, or the single sizes that torch's node keeps of it."""
    single = _SINGLE_SIZES.get((node, name))
    if single is None:
        return {f"{name}_sym_sizes": _value(shape)}
    return {f"{name}_sym_argsize_{dim}": _value(shape[dim]) for dim in single}


def possible(node_class: type, names: tuple[str, ...]) -> list[str]:
    """All names of fields that nodes of a class may have, given those of the parameters."""
    rename = _renaming(node_class.__name__, names)
    found = [name for choice in _CHOICES.values() for name in choice]
    found += [
        f"{name}_sym_argsize_{dim}"
        for (node, name), single in _SINGLE_SIZES.items() if node == node_class.__name__
        for dim in single
    ]  # fmt: skip
    for name in (*names, "result", "result0", "result1", "result2"):
        shown = rename(name)
        found += [shown, f"{shown}_sym_sizes", *_PARTS.get(shown, ())]
    return list(dict.fromkeys(found))


def _value(value: Any) -> tuple[str, Any]:
    return "value", functools.partial(_same, value)


def _same(value: Any) -> Any:
    return value


def _renaming(node: str, names: tuple[str, ...]) -> Callable[[str], str]:
    """How a node of this name calls what its operator calls by ``names``."""
    known = _NAMES.get(re.sub(r"Backward\d*$", "", node), {})

    def rename(name: str) -> str:
        if name in known:
            return known[name]
        if name == names[0]:
            return "dim" if name == "dim" else known.get("", "self")
        return _EVERYWHERE.get(name, name)

    return rename


#: Parameters of many operators.
_EVERYWHERE = {"y": "other", "low": "min", "high": "max"}

_MATRICES = {"a": "mat1", "b": "mat2"}
#: Node without "Backward0": names of its parameters in torch; "" stands for the first one, which
#: is "self" elsewhere.
_NAMES: dict[str, dict[str, str]] = {
    "Addcmul": {"a": "tensor1", "b": "tensor2"},
    "Addcdiv": {"a": "tensor1", "b": "tensor2"},
    "Pow": {"y": "exponent", "base": "self", "exponent": "exponent"},
    "Atan2": {"y": "self", "x": "other"},
    "Where": {"condition": "condition"},
    "Mm": {"b": "mat2"}, "Bmm": {"b": "mat2"}, "Mv": {"b": "vec"}, "Dot": {"b": "tensor"},
    "Vdot": {"b": "other"}, "LinalgCross": {"b": "other"},
    "Addmm": _MATRICES, "Addmv": {"a": "mat", "b": "vec"}, "Addr": {"a": "vec1", "b": "vec2"},
    "Baddbmm": {"a": "batch1", "b": "batch2"}, "Addbmm": {"a": "batch1", "b": "batch2"},
    "SplitWithSizes": {"sizes": "split_sizes"}, "Unfold": {"dim": "dimension"},
    "LinalgInvEx": {"result": "inverse"}, "LinalgCholeskyEx": {"result": "L"},
    "LinalgDet": {"": "A"}, "LinalgSlogdet": {"": "A", "result0": "sign"},
    "LinalgSolveEx": {"": "A"}, "LinalgLstsq": {"B": "b"},
    "LinalgEig": {"result0": "eigenvalues", "result1": "eigenvectors"},
    "LinalgLuFactorEx": {"result0": "LU", "result1": "pivots"},
    "HuberLoss": {"option": "delta"}, "SmoothL1Loss": {"option": "beta"},
    **dict.fromkeys(("NativeBatchNorm", "NativeGroupNorm", "NativeLayerNorm"), {"": "input"}),
    **dict.fromkeys(
        ("GridSampler2D", "GridSampler3D"),
        {"": "input", "mode": "interpolation_mode", "padding": "padding_mode"},
    ),
    "ScaledDotProductFlashAttentionForCpu": {"": "query", "mask": "attn_mask", "result": "output"},
    "LinalgEigh": {"result0": "eigenvalues", "result1": "eigenvectors"},
    "LinalgVectorNorm": {"p": "ord"}, "Cdist": {"": "x1"},
    "Sort": {"index": "indices"}, "Topk": {"index": "indices"},
    "Aminmax": {"result0": "min", "result1": "max"},
    **dict.fromkeys(
        ("Max", "Min", "Median", "Nanmedian", "Kthvalue", "Mode", "Cummax", "Cummin"),
        {"result1": "indices"},
    ),
    "LinalgQr": {"result0": "Q", "result1": "R"},
    "LinalgSvd": {"result0": "U", "result1": "S", "result2": "Vh"},
    **dict.fromkeys(("NllLoss", "NllLoss2D"), {"ignored": "ignore_index"}),
    "Embedding": {"padding": "padding_idx"}, "Convolution": {"input": "input"},
}  # fmt: skip


#: Options that were chosen by calling one operator and not another: field and value.
_CHOICES: dict[str, dict[str, Any]] = {
    "logit": {"eps": None},
    "div": {"rounding_mode": None},
    "div_trunc": {"rounding_mode": "trunc"},
    "div_floor": {"rounding_mode": "floor"},
    "add": {"alpha": 1},
    "sub": {"alpha": 1},
    "gelu": {"approximate": "none"},
    "gelu_tanh": {"approximate": "tanh"},
    "pow_2": {"exponent": 2},
    "pow_3": {"exponent": 3},
    "pow_half": {"exponent": 0.5},
    "pow_minus_half": {"exponent": -0.5},
    "pow_minus_1": {"exponent": -1},
    "pow_minus_2": {"exponent": -2},
    "polygamma_1": {"n": 1},
    "polygamma_2": {"n": 2},
}
#: Dimensions of an input whose sizes a node keeps one by one.
_SINGLE_SIZES = {
    ("AddbmmBackward0", "batch1"): (0, 1),
    ("AddbmmBackward0", "batch2"): (2,),
}


def dims_of_mask(mask: int) -> dict[str, Any]:
    """``dim`` of a reduction over the dimensions whose bits are set; None if over all."""
    if mask == -1:
        return {"dim": None}
    return {"dim": tuple([d for d in range(mask.bit_length()) if mask >> d & 1])}


def _position_of_key(key: Any) -> dict[str, Any]:
    """``dim`` and the further arguments of a select or a slice, which is kept as a key."""
    parts = [(d, k) for d, k in enumerate(key) if k is not Ellipsis and k != slice(None)]
    if Ellipsis in key[:-1] or None in key or len(parts) != 1:
        return {"key": key}
    dim, part = parts[0]
    if isinstance(part, slice):
        end = 2**63 - 1 if part.stop is None else part.stop
        return {"dim": dim, "start": part.start or 0, "end": end, "step": part.step or 1}
    return {"dim": dim, "index": part}


def _indices(arrays: Any) -> dict[str, Any]:
    """``indices`` as tensors, None for dimensions without."""
    from ...tensor import new_tensor

    return {
        "indices": tuple(
            [new_tensor(array) if isinstance(array, np.ndarray) else None for array in arrays]
        )
    }


#: How parameters are shown that are kept in a form of this library.
_SHOWN: dict[str, Callable[[Any], dict[str, Any]]] = {
    "mask": dims_of_mask,
    "key": _position_of_key,
    "arrays": _indices,
    "how": lambda how: {"reduce": how[0], "include_self": how[1]},
    "geometry": lambda geometry: geometry.shown(),
}  # fmt: skip

#: The value that ``_SHOWN`` makes of a parameter.
_PARTS = {
    "mask": ("dim",),
    "key": ("dim", "start", "end", "step", "index"),
    "arrays": ("indices",),
    "how": ("reduce", "include_self"),
    "geometry": (
        "size",
        "stride",
        "storage_offset",
        "kernel_size",
        "padding",
        "dilation",
        "groups",
        "transposed",
        "output_padding",
        "bias_sym_sizes_opt",
        "output_size",
        "align_corners",
        "scales",
        "scales_d",
        "scales_h",
        "scales_w",
        "self_sym_argsize_minus_2",
        "self_sym_argsize_minus_1",
    ),
}
