"""Launches of convolutions, their gradients and poolings: the entry ``window`` of the seam."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dtype import name_of
from ..executor.families.reduction import Reduction, ReductionProgram
from ..executor.plan.forms import contiguous
from ..executor.plan.operations import Pointwise
from ..executor.plan.views import view_of
from ..formula import Formula, trace
from . import launches
from .array import CudaArray
from .driver import driver
from .driver.source import Source
from .kernels import convolution, pooling
from .launches import LaunchArgs, blocks_for
from .pointwise import SMALL

if TYPE_CHECKING:
    from .backend import CudaBackend

Sizes = tuple[int, ...]

_convolution = functools.lru_cache(maxsize=512)(convolution.source)
_pooling = functools.lru_cache(maxsize=512)(pooling.source)
_sum = ReductionProgram(Reduction("sum", "add"))


def window(
    where: CudaBackend, name: str, arrays: Sequence[Any], options: Mapping[str, Any]
) -> CudaArray:
    """A convolution or a pooling, by the names of the functions of the executor."""
    made: CudaArray = _TABLE[name](where, *arrays, **options)
    return made


def _run(source: Source, launch_args: LaunchArgs, blocks: int, device: int) -> None:
    made = launch_args.launch(source, blocks)
    launches.run([made], lambda memory: memory.address, (), device)


def _of_three(sizes: Sequence[int], one: int = 1) -> Sizes:
    return (*[one] * (3 - len(sizes)), *sizes)


# --- convolutions ---------------------------------------------------------------------------------


def _signature(what: str, form: Any, dtype: str, result: str, shape: Any, **more: Any) -> Any:
    largest = max(
        form.batch * form.groups * math.prod(form.source) * form.channels,
        form.batch * form.groups * math.prod(form.result) * form.rows,
        form.groups * form.rows * form.channels * math.prod(form.kernel),
    )
    return convolution.Signature(
        what, dtype, result, form.kernel, form.stride, form.padding, form.dilation, shape,
        largest < SMALL, **more,
    )  # fmt: skip


def _words_of(
    form: Any, addresses: Sequence[int], shape: Any, columns: int, parts: int, length: int
) -> tuple[LaunchArgs, int]:
    """The arguments of a convolution, and how many squares there are."""
    across = -(-columns // shape.square)
    of_group = across * -(-form.rows // shape.square)
    tiles = of_group * form.groups * parts
    launch_args = LaunchArgs()
    launch_args.add(*addresses, form.batch, form.groups, form.channels, form.rows)
    launch_args.add(*form.source, *form.result, tiles, across, of_group, length)
    return launch_args, tiles


def _of_complex(
    where: CudaBackend, a: CudaArray, b: CudaArray, function: Callable[..., CudaArray], bias: Any
) -> CudaArray:
    """A function of two arrays that is linear in each, by its four values for real parts.

    A bias is added part by part.
    """
    real, imaginary = (None, None) if bias is None else (bias.real, bias.imag)
    first, second = function(a.real, b.real, real), function(a.imag, b.imag, None)
    made = where.new(contiguous(first.shape, a.dtype), a)
    _write(where, "sub", (first, second), made.real)
    first, second = function(a.real, b.imag, imaginary), function(a.imag, b.real, None)
    _write(where, "add", (first, second), made.imag)
    return made


@functools.cache
def _formula(name: str) -> Formula:
    return trace((lambda x, y: x + y) if name == "add" else (lambda x, y: x - y))


def _write(where: CudaBackend, name: str, arrays: Sequence[Any], made: Any) -> None:
    """Write the sum or the difference of two real arrays."""
    views = tuple([view_of(x) for x in arrays])
    kind, outputs = name_of(made.dtype), (view_of(made),)
    where.run(Pointwise(name, _formula(name), views, outputs, kind, (None, None)))


def _convolve(
    where: CudaBackend, source: CudaArray, weights: CudaArray, bias: Any, form: Any
) -> CudaArray:
    """The result of a form, of float32, float64 or half precision summed in float32."""
    if source.dtype.kind == "c":
        of_parts = functools.partial(_convolve, where, form=form)
        return _of_complex(where, source, weights, of_parts, bias)
    dtype = name_of(source.dtype)
    shape_of_result = (form.batch, form.groups * form.rows, *form.result)
    form = form.of_volumes()
    made = where.new(contiguous(shape_of_result, source.dtype), source)
    if not made.size:
        return made
    source, weights = where.in_order(source), where.in_order(weights)
    columns = form.batch * math.prod(form.result)
    shape = driver().product_shape(dtype, form.rows, columns, form.groups)
    what = convolution.TRANSPOSED if form.transposed else convolution.CONVOLVE
    kept = None if bias is None else where.in_order(bias)
    addresses = made.address, source.address, weights.address, 0 if kept is None else kept.address
    depth = form.channels * math.prod(form.kernel)
    launch_args, tiles = _words_of(form, addresses, shape, columns, 1, depth)
    signature = _signature(what, form, dtype, dtype, shape, bias=bias is not None)
    _run(_convolution(signature), launch_args, blocks_for(tiles, 1), source.block.device)
    return made


def _correlate(
    where: CudaBackend, source: CudaArray, grad: CudaArray, form: Any, shape: Sizes
) -> CudaArray:
    """The gradient of the weights; of many positions sums in parts, which are then joined."""
    if source.dtype.kind == "c":

        def of_parts(x: CudaArray, y: CudaArray, bias: None) -> CudaArray:
            return _correlate(where, x, y, form, shape)

        return _of_complex(where, source, grad, of_parts, None)
    dtype = name_of(source.dtype)
    form = form.of_volumes()
    if not math.prod(shape):
        return where.new(contiguous(shape, source.dtype), source)
    source, grad = where.in_order(source), where.in_order(grad)
    columns = form.channels * math.prod(form.kernel)
    depth = form.batch * math.prod(form.result)
    square = driver().product_shape(dtype, form.rows, columns, form.groups)
    units = form.groups * -(-columns // square.square) * -(-form.rows // square.square)
    wanted = max(min(driver().blocks // max(units, 1), depth // (16 * square.step)), 1)
    length = max(-(-depth // wanted), 1)
    parts = max(-(-depth // length), 1)
    kind = source.dtype if parts == 1 or source.dtype.itemsize > 2 else np.dtype(np.float32)
    made = where.new(contiguous((parts, *shape), kind), source)
    addresses = made.address, source.address, grad.address, 0
    launch_args, tiles = _words_of(form, addresses, square, columns, parts, length)
    signature = _signature(convolution.WEIGHTS, form, dtype, name_of(kind), square)
    _run(_convolution(signature), launch_args, blocks_for(tiles, 1), source.block.device)
    if parts == 1:
        return made.reshape(shape)
    joined: CudaArray = where.reduce(_sum, made, 1, False)
    return joined if kind == source.dtype else where.converted(joined, source.dtype)


# --- poolings -------------------------------------------------------------------------------------


def _pool(
    where: CudaBackend, what: str, array: CudaArray, shape: Sizes, kind: np.dtype[Any],
    sizes: Sizes, counts: Sizes, options: Any,
) -> CudaArray:  # fmt: skip
    made = where.new(contiguous((*array.shape[:2], *shape), kind), array)
    if made.size:
        array = where.in_order(array)
        kernel, stride, padding, dilation = options
        threads = driver().threads
        signature = pooling.Signature(
            what, name_of(array.dtype), _of_three(kernel), _of_three(stride),
            _of_three(padding, 0), _of_three(dilation), threads,
        )  # fmt: skip
        launch_args = LaunchArgs()
        launch_args.add(made.address, array.address, math.prod(array.shape[:2]))
        launch_args.add(*_of_three(sizes), *_of_three(counts))
        _run(_pooling(signature), launch_args, blocks_for(made.size, threads), array.block.device)
    return made


def _largest(where: CudaBackend, array: CudaArray, counts: Sizes, options: Any) -> CudaArray:
    kind = np.dtype(np.int64)
    return _pool(where, pooling.LARGEST, array, counts, kind, array.shape[2:], counts, options)


def _window_sums(where: CudaBackend, array: CudaArray, counts: Sizes, options: Any) -> CudaArray:
    return _pool(where, pooling.SUMS, array, counts, array.dtype, array.shape[2:], counts, options)


def _spread_sums(where: CudaBackend, sums: CudaArray, sizes: Sizes, options: Any) -> CudaArray:
    return _pool(where, pooling.SPREAD, sums, sizes, sums.dtype, sizes, sums.shape[2:], options)


_TABLE: dict[str, Callable[..., CudaArray]] = {
    "convolve": _convolve,
    "correlate": _correlate,
    "largest": _largest,
    "window_sums": _window_sums,
    "spread_sums": _spread_sums,
}
