"""Calls of operators as torch's dispatcher makes them: ``aten.convolution(input, weight, ...)``.

Modes (``utils/_python_dispatch.py``) are told of operators by torch's names and arguments. The
operators of this package often take others: a mask of dimensions, a geometry of windows, stacks of
matrices that torch folds into one. ``call_of`` translates; ``is_one`` says whether torch has an
operator that computes all of it, or composes it from several.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..tensor import Tensor, new_tensor
from .aten import OpOverload, name_of, overload_of
from .aten_names import overloads

__all__ = ["AtenCall", "call_of", "gradients_of", "is_one"]

Arguments = tuple[Any, ...]


class AtenCall(NamedTuple):
    """A call of an operator of torch's.

    ``results`` makes, of the arrays that the operator of this package computes, views that are
    those of torch's operator; None where they are the same.
    """

    overload: Any
    arguments: Arguments
    keywords: dict[str, Any]
    results: Callable[[Any], Any] | None = None


def _dimensions(mask: int, rank: int) -> list[int]:
    """The dimensions whose bits are set; all of them for -1."""
    return [d for d in range(rank) if mask >> d & 1]


def _reduction(overload: OpOverload, arguments: Arguments) -> AtenCall:
    """Reductions take a mask of dimensions; torch's a list, and ``keepdim``."""
    input, mask, keepdim, *more = arguments
    if mask == -1:
        return AtenCall(overload, (input,), {})
    taken: Arguments = (input, _dimensions(mask, input.ndim))
    keywords = {}
    if overload._overloadname == "correction":
        keywords["correction"] = more[0]
    if keepdim:
        keywords["keepdim"] = True
    return AtenCall(overload, taken, keywords)


def _vector_norm(overload: OpOverload, arguments: Arguments) -> AtenCall:
    input, mask, keepdim, order = arguments
    return AtenCall(overload, (input, order, _dimensions(mask, input.ndim), keepdim), {})


def _softmax(overload: OpOverload, arguments: Arguments) -> AtenCall:
    return AtenCall(overload, (*arguments, False), {})


def _weighted(matrices: int) -> Callable[[OpOverload, Arguments], AtenCall]:
    """``addmm`` and its kin: ``beta`` and ``alpha`` are keywords, where they are not 1."""

    def call(overload: OpOverload, arguments: Arguments) -> AtenCall:
        factors = dict(zip(("beta", "alpha"), arguments[1 + matrices :], strict=False))
        keywords = {name: value for name, value in factors.items() if value != 1}
        return AtenCall(overload, arguments[: 1 + matrices], keywords)

    return call


def _addmm(overload: OpOverload, arguments: Arguments) -> AtenCall:
    """The linear layer has three arguments, and transposes the weight itself."""
    if len(arguments) > 3:
        return _weighted(2)(overload, arguments)
    bias, input, weight = arguments
    return AtenCall(overload, (bias, input, weight.t()), {})


def _reshaped(array: Any, *shape: int) -> Any:
    return array.reshape(shape)


def _matmul(overload: OpOverload, arguments: Arguments) -> AtenCall:
    """A product of stacks, as one of matrices where torch folds them, else of one stack."""
    a, b = arguments
    if a.ndim == 1:  # (..., n, m) by a vector from the left
        return _folded(b.transpose(-1, -2), a)
    if b.ndim == 1:
        return _folded(a, b)
    if b.ndim == 2:
        return _folded(a, b)
    if a.ndim == 2 and (b.requires_grad or b.transpose(-1, -2).is_contiguous()):
        call = _folded(b.transpose(-1, -2), a.t())
        rows, columns = a.shape[0], b.shape[-1]
        return call._replace(
            results=lambda made: _reshaped(made.swapaxes(-1, -2), -1, rows) if columns else made
        )
    stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    count = math.prod(stack)
    a = a.expand(*stack, *a.shape[-2:]).reshape(count, *a.shape[-2:])
    b = b.expand(*stack, *b.shape[-2:]).reshape(count, *b.shape[-2:])
    shape = (count, a.shape[1], b.shape[2])
    return AtenCall(overload_of("bmm"), (a, b), {}, lambda made: _reshaped(made, *shape))


def _folded(stack: Tensor, other: Tensor) -> AtenCall:
    rows = stack.reshape(-1, stack.shape[-1])
    name = "mv" if other.ndim == 1 else "mm"
    shape = (len(rows), *other.shape[1:])
    return AtenCall(overload_of(name), (rows, other), {}, lambda made: _reshaped(made, *shape))


# --- convolutions ---------------------------------------------------------------------------------


def _options(geometry: Any) -> Arguments:
    """Stride, padding, dilation, whether it is transposed, output padding, groups."""
    windows = geometry.windows
    widths = geometry.output_padding or (0,) * len(windows.kernel)
    return (
        list(windows.stride), list(windows.padding), list(windows.dilation), geometry.transposed,
        list(widths), geometry.groups,
    )  # fmt: skip


def _unread(like: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A Tensor in the place of an argument that a gradient does not read: zeros, in no memory."""
    return new_tensor(np.broadcast_to(np.zeros((), like._array.dtype), shape))


def _gradient(
    grad: Tensor, input: Tensor, weight: Tensor, geometry: Any, position: int
) -> AtenCall:
    """``convolution_backward`` for the input (0) or the weight (1) alone."""
    mask = [position == 0, position == 1, False]
    arguments = (grad, input, weight, None, *_options(geometry), mask)
    overload = overload_of("convolution_backward")
    return AtenCall(
        overload, arguments, {},
        lambda made: tuple([made if k == position else None for k in range(3)]),
    )  # fmt: skip


def _convolved(transposed: bool) -> Callable[[OpOverload, Arguments], AtenCall]:
    """A convolution, or the gradient of the input of one that is the other way round."""

    def call(overload: OpOverload, arguments: Arguments) -> AtenCall:
        input, weight, geometry = arguments[0], arguments[1], arguments[-1]
        bias = arguments[2] if len(arguments) == 4 else None
        if geometry.transposed == transposed:
            return AtenCall(overload, (input, weight, bias, *_options(geometry)), {})
        channels = weight.shape[0 if geometry.transposed else 1]
        sizes = geometry.counts() if geometry.transposed else geometry.sizes
        images = (len(input), channels * (1 if geometry.transposed else geometry.groups), *sizes)
        return _gradient(input, _unread(input, images), weight, geometry, 0)

    return call


def _correlated(overload: OpOverload, arguments: Arguments) -> AtenCall:
    """The gradient of a weight: of images and what they became, either of which is the input."""
    images, output, geometry = arguments
    inputs = images.shape[1] // geometry.groups
    weight = _unread(images, (output.shape[1], inputs, *geometry.windows.kernel))
    grad, input = (images, output) if geometry.transposed else (output, images)
    return _gradient(grad, input, weight, geometry, 1)


def _attention(overload: OpOverload, arguments: Arguments) -> AtenCall:
    query, key, value, mask, is_causal, scale = arguments[:6]
    keywords = {} if mask is None else {"attn_mask": mask}
    return AtenCall(
        overload, (query, key, value, 0.0, is_causal), {**keywords, "scale": scale},
    )  # fmt: skip


_CALLS: dict[str, Callable[[OpOverload, Arguments], AtenCall]] = {
    "matmul": _matmul,
    "addmm": _addmm,
    "baddbmm": _weighted(2),
    "addbmm": _weighted(2),
    "addmv": _weighted(2),
    "addr": _weighted(2),
    "convolution": _convolved(False),
    "transposed_convolution": _convolved(True),
    "convolution_backward": _correlated,
    "softmax": _softmax,
    "log_softmax": _softmax,
    "linalg_vector_norm": _vector_norm,
    "_attention": _attention,
    "scaled_dot_product_attention": _attention,
    **dict.fromkeys(
        """sum mean nansum amax amin prod any all var std var_mean std_mean logsumexp
        count_nonzero""".split(),
        _reduction,
    ),
}  # fmt: skip


def call_of(operator: Any, arguments: Arguments) -> AtenCall:
    """The call of torch's operator for one of an operator of this package.

    Arguments that are not known here are passed on as they are.
    """
    overload = name_of(operator, arguments)
    translate = _CALLS.get(operator) if isinstance(operator, str) else None
    return (
        AtenCall(overload, arguments, {}) if translate is None else translate(overload, arguments)
    )


def gradients_of(operator: str, arguments: Arguments, grads: Arguments) -> AtenCall:
    """The call that computes all gradients of such a call: ``native_layer_norm_backward``."""
    name = name_of(operator, arguments).overloadpacket.__name__
    return AtenCall(overload_of(f"{name}_backward"), (*grads, *arguments), {})


#: Names of functions that torch's dispatcher never sees: they are composed of others.
_COMPOSED = frozenset(("cross_entropy_loss",))


def is_one(operator: Any, arguments: Arguments) -> bool:
    """Whether torch has one operator for what a composite or a kernel of this package computes."""
    if not isinstance(operator, str):
        return True
    if operator == "_attention" and arguments[0].ndim != 4:
        return False
    name = name_of(operator, arguments).overloadpacket.__name__
    return name not in _COMPOSED and bool(overloads(name))
