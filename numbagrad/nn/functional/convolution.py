"""Convolutions and transposed convolutions of one to three dimensions.

Called by users and by the layers of ``nn/convolution.py``. Convolution, its gradient of the input
and its gradient of the weight are three operators, and the gradients of each are the other two. The
executor has kernels for them (``executor/families/convolution.py``). Windows of one element are
matrix products as they are; what has no kernel is a matrix product with a copy of the windows.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...backend import foreign
from ...dispatch import interception
from ...dispatch.policies import autocasts
from ...dtype import scalar_type_name
from ...executor import capture
from ...executor.families import convolution as executor
from ...executor.families.matmul import matmul as product
from ...executor.plan.windows import Form
from ...ops.arguments.kinds import Sizes
from ...ops.complex.lazy_conj import conjugate
from ...ops.operators.pointwise_operator import pointwise
from ...ops.operators.tensor_operator import TensorOperator
from ...tensor import Tensor, new_tensor
from ...transforms.batching import with_samples
from ...transforms.levels import is_transformed
from ...transforms.tangents import multilinear
from .padding import pad
from .windows import (
    IMAGES,
    LINES,
    VOLUMES,
    Windows,
    named,
    per_dimension,
    plain_option,
)

__all__ = [
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
]  # fmt: skip

Array = np.ndarray[Any, Any]


class Geometry(NamedTuple):
    """The options of a convolution."""

    windows: Windows
    groups: int
    #: Sizes of the spatial dimensions of the side with the windows.
    sizes: tuple[int, ...]
    #: How many numbers are added to channels.
    biases: int = 0
    transposed: bool = False
    output_padding: tuple[int, ...] = ()

    def counts(self) -> tuple[int, ...]:
        """Sizes of the other side; what pads an output may have room for further windows."""
        if self.output_padding:
            sizes = [n - more for n, more in zip(self.sizes, self.output_padding, strict=True)]
            return self.windows.counts(sizes)
        return self.windows.counts(self.sizes)

    def shown(self) -> dict[str, Any]:
        """How nodes show it: under torch's names."""
        _, stride, padding, dilation = self.windows
        return {
            "stride": stride, "padding": padding, "dilation": dilation, "groups": self.groups,
            "transposed": self.transposed,
            "output_padding": self.output_padding or (0,) * len(stride),
            "bias_sym_sizes_opt": (self.biases,),
        }  # fmt: skip


class Blocks(Geometry):
    """The options of ``unfold`` and ``fold``."""

    __slots__ = ()

    def shown(self) -> dict[str, Any]:
        """How nodes show it: under the names of the arguments of ``unfold``."""
        kernel, stride, padding, dilation = self.windows
        return {
            "kernel_size": kernel, "stride": stride, "padding": padding, "dilation": dilation,
            "self_sym_argsize_minus_2": self.sizes[0], "self_sym_argsize_minus_1": self.sizes[1],
        }  # fmt: skip


def _columns(input: Array, geometry: Geometry, order: tuple[int, ...]) -> Array:
    """Windows of (N, C, ...), axes (N, groups, channels * kernel, windows) in another order."""
    windows, groups = geometry.windows, geometry.groups
    counts = geometry.counts()
    batch, channels = input.shape[:2]
    view = windows.view(windows.padded(input, counts), counts)
    view = view.reshape(batch, groups, channels // groups, *view.shape[2:])
    rank = len(counts)
    axes = ((0,), (1,), tuple(range(2, 3 + rank)), tuple(range(3 + rank, 3 + 2 * rank)))
    sizes = (batch, groups, channels // groups * math.prod(windows.kernel), math.prod(counts))
    view = view.transpose([axis for position in order for axis in axes[position]])
    return view.reshape([sizes[position] for position in order])


def _grouped(weight: Array, groups: int) -> Array:
    """(out, in / groups, *kernel) as matrices (groups, out / groups, in / groups * kernel)."""
    return weight.reshape(groups, weight.shape[0] // groups, math.prod(weight.shape[1:]))


def _stack(matrices: Array, batch: int) -> Array:
    """Matrices of the groups for every sample: (N * groups, ...) without copies of one group."""
    if len(matrices) == 1:
        return matrices
    repeated = np.broadcast_to(matrices, (batch, *matrices.shape))
    return repeated.reshape(batch * len(matrices), *matrices.shape[1:])


def _form(batch: int, weight: tuple[int, ...], geometry: Geometry, transposed: bool) -> Form:
    """A convolution with a weight of this shape, or its transpose, as kernels see it."""
    windows, groups = geometry.windows, geometry.groups
    outputs, inputs = weight[0] // groups, weight[1]
    sides = geometry.sizes, geometry.counts()
    if transposed:
        outputs, inputs, sides = inputs, outputs, sides[::-1]
    return Form(batch, groups, inputs, outputs, *sides, *windows, transposed)


def _is_product(geometry: Geometry) -> bool:
    """Whether windows are elements: a convolution is a product of its operands as they are."""
    kernel, stride, padding, _ = geometry.windows
    return math.prod(kernel) == 1 and math.prod(stride) == 1 and not any(padding)


def _convolve(input: Array, weight: Array, geometry: Geometry, bias: Array | None = None) -> Array:
    if foreign(input) is not None or not _is_product(geometry) or geometry.groups > 1:
        form = _form(len(input), weight.shape, geometry, transposed=False)
        made = executor.convolve(form, input, weight, bias)
        if made is not None:
            return made
    columns = _columns(input, geometry, (0, 1, 2, 3))
    columns = columns.reshape(columns.shape[0] * columns.shape[1], *columns.shape[2:])
    made = product(_stack(_grouped(weight, geometry.groups), len(input)), columns)
    made = made.reshape(len(input), weight.shape[0], *geometry.counts())
    return made if bias is None else _with_bias(made, bias)


def _input_gradient(
    grad: Array, weight: Array, geometry: Geometry, bias: Array | None = None
) -> Array:
    windows, groups, sizes = geometry.windows, geometry.groups, geometry.sizes
    if foreign(grad) is not None or not _is_product(geometry) or groups > 1:
        form = _form(len(grad), weight.shape, geometry, transposed=True)
        made = executor.convolve(form, grad, weight, bias)
        if made is not None:
            return made
    batch = len(grad)
    matrices = _grouped(weight, groups).transpose(0, 2, 1)
    rows = grad.reshape(batch * groups, weight.shape[0] // groups, math.prod(geometry.counts()))
    columns = product(_stack(matrices, batch), rows)
    channels = weight.shape[1] * groups
    shape = (batch, channels, *windows.kernel, *geometry.counts())
    if _is_product(geometry):
        made = columns.reshape(batch, channels, *sizes)
    else:
        made = windows.scatter(columns.reshape(shape), sizes)
    return made if bias is None else _with_bias(made, bias)


def _weight_gradient(input: Array, grad: Array, geometry: Geometry) -> Array:
    windows, groups = geometry.windows, geometry.groups
    outputs = grad.shape[1]
    weight = (outputs, input.shape[1] // groups, *windows.kernel)
    form = _form(len(input), weight, geometry, transposed=False)
    made = executor.correlate(form, input, grad, weight)
    if made is not None:
        return made
    columns = _columns(input, geometry, (1, 2, 0, 3))
    positions = columns.shape[2] * columns.shape[3]
    columns = columns.reshape(groups, columns.shape[1], positions)
    rows = grad.reshape(len(grad), groups, outputs // groups, math.prod(geometry.counts()))
    rows = rows.transpose(1, 2, 0, 3).reshape(groups, outputs // groups, positions)
    return product(rows, columns.transpose(0, 2, 1)).reshape(weight)


def _in_channels(value: Tensor) -> Tensor:
    """Samples (B, N, C, ...) as groups of channels (N, B * C, ...)."""
    return value.transpose(0, 1).flatten(1, 2)


def _convolve_samples(operator: Any, size: int, arguments: Any, mapped: Any) -> Tensor:
    """More of the batch where the weight is shared, else more groups."""
    input, weight, geometry = arguments
    if not mapped[1]:
        made: Tensor = operator(input.flatten(0, 1), weight, geometry)
        return made.unflatten(0, (size, -1))
    groups = geometry._replace(groups=geometry.groups * size)
    made = operator(
        _in_channels(with_samples(size, input, mapped[0])), weight.flatten(0, 1), groups
    )
    return made.unflatten(1, (size, -1)).transpose(0, 1)


def _correlate_samples(operator: Any, size: int, arguments: Any, mapped: Any) -> Tensor:
    input, output, geometry = arguments
    groups = geometry._replace(groups=geometry.groups * size)
    made: Tensor = operator(
        *[_in_channels(with_samples(size, x, m))
          for x, m in zip((input, output), mapped[:2], strict=True)],
        groups,
    )  # fmt: skip
    return made.unflatten(0, (size, -1))


_convolution: TensorOperator
_transposed: TensorOperator
_correlation: TensorOperator

_convolution = TensorOperator(
    "convolution",
    lambda input, weight, geometry: _convolve(input, weight, geometry),
    {
        "input": lambda grad, weight, geometry: _transposed(grad, conjugate(weight), geometry),
        "weight": lambda grad, input, geometry: _correlation(conjugate(input), grad, geometry),
    },
    batch=_convolve_samples,
    tangent=multilinear,
    portable=True,
)
_transposed = TensorOperator(
    "transposed_convolution",
    lambda input, weight, geometry: _input_gradient(input, weight, geometry),
    {
        "input": lambda grad, weight, geometry: _convolution(grad, conjugate(weight), geometry),
        "weight": lambda grad, input, geometry: _correlation(grad, conjugate(input), geometry),
    },
    grad_fn="ConvolutionBackward0",
    batch=_convolve_samples,
    tangent=multilinear,
    portable=True,
)


def _with_bias(array: Array, bias: Array) -> Array:
    """An array that nobody else has seen, with a number added to each channel."""
    made = new_tensor(array)
    pointwise("add").into(made, (made, new_tensor(bias.reshape(-1, *[1] * (array.ndim - 2)))))
    return array


def _bias_gradient(grad: Tensor) -> Tensor:
    made: Tensor = grad.sum((0, *range(2, grad._array.ndim)))
    return made


def _tangent_with_bias(operator: Any, primals: Any, tangents: Any, results: Any) -> Any:
    """The tangent without a bias, which has one of its own."""
    input, weight, _, geometry = primals
    *along, of_bias, _ = tangents
    plain = _convolution if operator is _convolution_and_bias else _transposed
    (made,) = multilinear(plain, (input, weight, geometry), (*along, None), results)
    if of_bias is None:
        return (made,)
    term = of_bias.reshape(-1, *[1] * (results[0]._array.ndim - 2))
    return (term.expand(results[0]._array.shape).clone() if made is None else made + term,)


#: The same with a bias, for calls that nothing looks into: programs add it where they can do so
#: in passing.
_convolution_and_bias = TensorOperator(
    "convolution",
    lambda input, weight, bias, geometry: _convolve(input, weight, geometry, bias),
    {
        "input": lambda grad, weight, geometry: _transposed(grad, conjugate(weight), geometry),
        "weight": lambda grad, input, geometry: _correlation(conjugate(input), grad, geometry),
        "bias": lambda grad, geometry: _bias_gradient(grad),
    },
    tangent=_tangent_with_bias,
    portable=True,
)
_transposed_and_bias = TensorOperator(
    "transposed_convolution",
    lambda input, weight, bias, geometry: _input_gradient(input, weight, geometry, bias),
    {
        "input": lambda grad, weight, geometry: _convolution(grad, conjugate(weight), geometry),
        "weight": lambda grad, input, geometry: _correlation(grad, conjugate(input), geometry),
        "bias": lambda grad, geometry: _bias_gradient(grad),
    },
    grad_fn="ConvolutionBackward0",
    tangent=_tangent_with_bias,
    portable=True,
)
_correlation = TensorOperator(
    "convolution_backward",
    lambda input, output, geometry: _weight_gradient(input, output, geometry),
    {
        "input": lambda grad, output, geometry: _transposed(conjugate(output), grad, geometry),
        "output": lambda grad, input, geometry: _convolution(conjugate(input), grad, geometry),
    },
    batch=_correlate_samples,
    tangent=multilinear,
    portable=True,
)

# --- checks ---------------------------------------------------------------------------------------


def _check(
    name: str, rank: int, input: Tensor, weight: Tensor, bias: Tensor | None, groups: int,
    transposed: bool,
) -> None:  # fmt: skip
    shape, kernel = list(input.shape), list(weight.shape)
    if len(kernel) != rank + 2 and len(shape) in (rank + 1, rank + 2):
        batched = shape if len(shape) == rank + 2 else [1, *shape]
        raise RuntimeError(
            f"Expected {len(kernel)}-dimensional input for {len(kernel)}-dimensional weight "
            f"{kernel}, but got {len(batched)}-dimensional input of size {batched} instead"
        )
    if len(shape) not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"Expected {rank + 1}D (unbatched) or {rank + 2}D (batched) input to {name}, but got "
            f"input of size: {shape}"
        )
    batched = shape if len(shape) == rank + 2 else [1, *shape]
    if not kernel[0] or (transposed and not kernel[1]):
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, and "
            f"to have channels, but got weight of size {kernel} instead"
        )
    if groups > 1 and kernel[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size [{kernel}] instead"
        )
    channels = kernel[0] if transposed else kernel[1] * groups
    outputs = kernel[1] * groups if transposed else kernel[0]
    if batched[1] != channels:
        kind = "transposed=1" if transposed else f"groups={groups}"
        raise RuntimeError(
            f"Given {kind}, weight of size {kernel}, expected input{batched} to have {channels} "
            f"channels, but got {batched[1]} channels instead"
        )
    if bias is not None and bias._array.shape != (outputs,):
        kind = "transposed=1, weight" if transposed else "weight"
        raise RuntimeError(
            f"Given {kind} of size {kernel}, expected bias to be 1-dimensional with {outputs} "
            f"elements, but got bias of size {list(bias.shape)} instead"
        )
    for other in (weight, bias):
        if other is not None and other._array.dtype != input._array.dtype:
            raise RuntimeError(
                f"expected scalar type {scalar_type_name(input.dtype).capitalize()} but found "
                f"{scalar_type_name(other.dtype).capitalize()}"
            )


def _windows(rank: int, weight: Tensor, stride: Any, padding: Any, dilation: Any) -> Windows:
    """The windows of a weight, checked once for every choice of options."""
    options = [x if x.__class__ is int else plain_option(x) for x in (stride, padding, dilation)]
    return _windows_of(rank, tuple(weight._array.shape), *options)


@functools.lru_cache(maxsize=256)
def _windows_of(
    rank: int, weight: tuple[int, ...], stride: Any, padding: Any, dilation: Any
) -> Windows:
    if 0 in weight[2:]:
        raise RuntimeError(
            f"kernel size should be greater than zero, but got a weight of size {list(weight)}"
        )
    made = Windows(
        weight[2:],
        per_dimension(stride, rank, "stride"),
        per_dimension(padding, rank, "padding"),
        per_dimension(dilation, rank, "dilation"),
    )
    if min(made.stride) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if min(made.padding) < 0:
        raise RuntimeError("negative padding is not supported")
    if min(made.dilation) <= 0:
        raise RuntimeError("dilation should be greater than zero")
    return made


def _same_padding(input: Tensor, weight: Tensor, stride: Any, dilation: Any, rank: int) -> Tensor:
    """``input`` padded so that the output has its size; what is odd goes to the end."""
    if any(s != 1 for s in per_dimension(stride, rank, "stride")):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    widths: list[int] = []
    gaps = per_dimension(dilation, rank, "dilation")
    for size, gap in zip(reversed(weight.shape[2:]), reversed(gaps), strict=True):
        total = gap * (size - 1)
        widths += [total // 2, total - total // 2]
    return pad(input, widths)


def _call(
    operators: tuple[TensorOperator, TensorOperator], input: Tensor, weight: Tensor,
    bias: Tensor | None, geometry: Geometry,
) -> Tensor:  # fmt: skip
    """The first operator, or the second, which has a bias."""
    plain, and_bias = operators
    if bias is None:
        return plain(input, weight, geometry)
    apart = capture.active is not None and not interception.sees_all()
    if apart or is_transformed((input, weight, bias)):
        made: Tensor = plain(input, weight, geometry)
        return made + bias.reshape(-1, *[1] * (made.ndim - 2))
    return and_bias(input, weight, bias, geometry._replace(biases=bias._array.size))


def _refuse_no_elements(input: Tensor) -> None:
    """Raise if a batch of images has images, with channels, that have no elements."""
    shape = input._array.shape
    if 0 in shape[2:] and 0 not in shape[:2]:
        raise RuntimeError(
            "Only zero batch or zero channel inputs are supported, but got input shape: "
            f"{list(shape)}"
        )


# --- convolutions ---------------------------------------------------------------------------------


def _convolution_of(rank: int, shapes: str) -> Callable[..., Tensor]:
    """``conv1d`` and its kin."""

    def function(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Sizes = 1,
        padding: Sizes | str = 0,
        dilation: Sizes = 1,
        groups: int = 1,
    ) -> Tensor:
        _check(f"conv{rank}d", rank, input, weight, bias, groups, transposed=False)
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise RuntimeError(f"Invalid padding string: '{padding}'")
            if padding == "same":
                input = _same_padding(input, weight, stride, dilation, rank)
            padding = 0
        windows = _windows(rank, weight, stride, padding, dilation)
        batched = input.ndim == rank + 2
        if not batched:
            input = input.unsqueeze(0)
        sizes = tuple(input._array.shape[2:])
        if min(windows.counts(sizes)) <= 0:
            padded = " x ".join(str(n + 2 * p) for n, p in zip(sizes, windows.padding, strict=True))
            kernel = " x ".join(map(str, windows.reach))
            raise RuntimeError(
                f"Calculated padded input size per channel: ({padded}). Kernel size: ({kernel}). "
                "Kernel size can't be greater than actual input size"
            )
        _refuse_no_elements(input)
        geometry = Geometry(windows, groups, sizes)
        made = _call((_convolution, _convolution_and_bias), input, weight, bias, geometry)
        return made if batched else made.squeeze(0)

    return named(
        function,
        f"conv{rank}d",
        f"""Cross-correlation of {shapes} with a weight (out, C / groups, *kernel).

        Options are numbers, or have an entry for each spatial dimension; ``padding`` may be "same"
        or "valid". The output is (N, out, ...).

        Raises:
            RuntimeError: for shapes, dtypes or options that do not fit.
        """,
    )


def _transposed_convolution_of(rank: int, shapes: str) -> Callable[..., Tensor]:
    """``conv_transpose1d`` and its kin."""

    def function(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        dilation: Sizes = 1,
    ) -> Tensor:
        _check(f"conv_transpose{rank}d", rank, input, weight, bias, groups, transposed=True)
        windows = _windows(rank, weight, stride, padding, dilation)
        extra = per_dimension(output_padding, rank, "output_padding")
        limits = [max(pair) for pair in zip(windows.stride, windows.dilation, strict=True)]
        if any(more >= limit for more, limit in zip(extra, limits, strict=True)):
            raise RuntimeError(
                "output padding must be smaller than either stride or dilation, but got output "
                f"padding {extra}, stride {windows.stride} and dilation {windows.dilation}"
            )
        batched = input.ndim == rank + 2
        if not batched:
            input = input.unsqueeze(0)
        sizes = tuple([
            (n - 1) * s - 2 * p + r + more
            for n, s, p, r, more in zip(
                input.shape[2:], windows.stride, windows.padding, windows.reach, extra, strict=True
            )
        ])  # fmt: skip
        if min(sizes) < 0:
            raise RuntimeError(
                f"Given input size per channel: {list(input.shape[2:])}. Calculated output size "
                f"per channel: {list(sizes)}. Output size is too small"
            )
        _refuse_no_elements(input)
        geometry = Geometry(windows, groups, sizes, transposed=True, output_padding=extra)
        made = _call((_transposed, _transposed_and_bias), input, weight, bias, geometry)
        return made if batched else made.squeeze(0)

    return named(
        function,
        f"conv_transpose{rank}d",
        f"""The gradient of a convolution's input, as an operator on {shapes}.

        The weight is (C, out / groups, *kernel). ``output_padding`` chooses between the sizes that
        a strided convolution maps to one.

        Raises:
            RuntimeError: for shapes, dtypes or options that do not fit.
        """,
    )


conv1d = autocasts("lower")(_convolution_of(1, LINES))
conv2d = autocasts("lower")(_convolution_of(2, IMAGES))
conv3d = autocasts("lower")(_convolution_of(3, VOLUMES))
conv_transpose1d = autocasts("lower")(_transposed_convolution_of(1, LINES))
conv_transpose2d = autocasts("lower")(_transposed_convolution_of(2, IMAGES))
conv_transpose3d = autocasts("lower")(_transposed_convolution_of(3, VOLUMES))
