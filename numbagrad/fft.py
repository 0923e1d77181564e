"""``torch.fft``: Fourier transforms under torch's names; the operators: ``ops/spectra/fourier.py``.

``norm`` says what is divided: "backward" (the default) the inverse transform by the number of
elements, "forward" the other one, "ortho" both by its root. Transforms keep the precision of their
input; integers become floats first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .executor.memory.arrays import constant as _constant
from .half_precision import converted as _converted
from .ops.arguments.check import check_namespace as _check_namespace
from .ops.arguments.kinds import Real as _Real
from .ops.arguments.requirements import leaf as _leaf
from .ops.arguments.requirements import numpy_dtype as _numpy_dtype
from .ops.arguments.shared_parameters import TENSOR_OPTIONS as _TENSOR_OPTIONS
from .ops.arguments.shared_parameters import shares as _shares
from .ops.spectra.fourier import positions as _positions
from .ops.spectra.fourier import require_real as _require_real
from .ops.spectra.fourier import sizes_and_dims as _sizes_and_dims
from .ops.spectra.fourier import to_complex as _to_complex
from .ops.spectra.fourier import to_half as _to_half
from .ops.spectra.fourier import to_real as _to_real
from .tensor import Tensor

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2",
    "ifftn", "ifftshift", "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2",
    "rfftfreq", "rfftn",
]  # fmt: skip

_KINDS = {
    "fft": (True, "whole", "The transform"),
    "ifft": (False, "whole", "The inverse transform"),
    "rfft": (True, "half", "The transform of real numbers, to the middle of the last dimension,"),
    "ihfft": (False, "half", "The inverse of ``hfft``, of real numbers,"),
    "irfft": (False, "real", "The inverse of ``rfft``, to real numbers,"),
    "hfft": (True, "real", "The transform to real numbers, given up to the middle of the last "
                           "dimension,"),
}  # fmt: skip


def _run(name: str, kind: str, input: Tensor, s: Any, dim: Any, norm: str | None) -> Tensor:
    forward, what, _ = _KINDS[kind]
    sizes, dims = _sizes_and_dims(input, s, dim)
    if what == "whole":
        return _to_complex(input, sizes, dims, norm, forward)
    if what == "half":
        return _to_half(name, input, sizes, dims, norm, forward)
    given = s if s is None or isinstance(s, int) else list(s)[-1] if len(s) else None
    if dims and (given is None or given == -1):
        sizes[-1] = 2 * (input._array.shape[dims[-1]] - 1)
    return _to_real(name, input, sizes, dims, norm, forward)


def _named(function: Callable[..., Tensor], name: str, text: str) -> Callable[..., Tensor]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


def _of_one(kind: str) -> Callable[..., Tensor]:
    def function(
        input: Tensor,
        n: int | None = None,
        dim: int = -1,
        norm: str | None = None,
    ) -> Tensor:
        if _KINDS[kind][1] == "half":
            _require_real(kind, input)
        if n is not None and n < 1:  # for several dimensions a size of -1 stands for their own
            raise RuntimeError(f"Invalid number of data points ({n}) specified")
        return _run(kind, kind, input, n, (dim,), norm)

    return _named(
        function,
        kind,
        f"""{_KINDS[kind][2]} along one dimension, of the first ``n`` elements or with zeros.

        Raises:
            RuntimeError: for an ``n`` or a ``norm`` that there is not, and dtypes that do not fit.
        """,
    )


def _of_several(kind: str, suffix: str, default: Any) -> Callable[..., Tensor]:
    name = kind + suffix

    def function(
        input: Tensor,
        s: Sequence[int] | None = None,
        dim: Any = default,
        norm: str | None = None,
    ) -> Tensor:
        if kind == "rfft":  # before the dimensions are looked at, under torch's name
            _require_real("rfftn", input)
        return _run(name, kind, input, s, dim, norm)

    which = "the last two dimensions" if default else "several dimensions, all by default"
    return _named(
        function,
        name,
        f"""{_KINDS[kind][2]} along {which}, each cut or padded to its size in ``s``.

        Raises:
            RuntimeError: for sizes or a ``norm`` that there are not, and dtypes that do not fit.
        """,
    )


fft, ifft, rfft, irfft, hfft, ihfft = (
    _of_one(kind) for kind in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
)
fft2, ifft2, rfft2, irfft2, hfft2, ihfft2 = (
    _of_several(kind, "2", (-2, -1)) for kind in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
)
fftn, ifftn, rfftn, irfftn, hfftn, ihfftn = (
    _of_several(kind, "n", None) for kind in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
)


def _check_count(name: str, n: int) -> None:
    if n < 0:
        raise RuntimeError(f"{name}(): argument 'n' must not be negative, but got {n}")


@_shares(_TENSOR_OPTIONS)
def fftfreq(n: int, d: _Real = 1.0, *, dtype: Any, where: Any, requires_grad: bool) -> Tensor:
    """The frequencies of the elements of ``fft`` of n samples at distances ``d``."""
    _check_count("fftfreq", n)
    kind = _numpy_dtype("fftfreq", dtype)
    numbers = np.concatenate([np.arange((n + 1) // 2), np.arange(-(n // 2), 0)])
    numbers = numbers * (1.0 / (n * d) if n else 0.0)
    return _leaf(_constant(_converted(numbers, kind)), requires_grad, where)


@_shares(_TENSOR_OPTIONS)
def rfftfreq(n: int, d: _Real = 1.0, *, dtype: Any, where: Any, requires_grad: bool) -> Tensor:
    """The frequencies of the elements of ``rfft`` of n samples at distances ``d``."""
    _check_count("rfftfreq", n)
    kind = _numpy_dtype("rfftfreq", dtype)
    numbers = np.arange(n // 2 + 1) / (n * d)
    return _leaf(_constant(_converted(numbers, kind)), requires_grad, where)


def _rolled(input: Tensor, dim: Any, sign: int) -> Tensor:
    rank = input._array.ndim
    dims = _positions(input, [dim] if isinstance(dim, int) else range(rank) if dim is None else dim)
    sizes = [input._array.shape[d] for d in dims]
    if not sizes:
        raise RuntimeError("`shifts` required: fftshift() of a tensor without dimensions")
    return input.roll([n // 2 if sign > 0 else -(n // 2) for n in sizes], list(dims))


def fftshift(input: Tensor, dim: Any = None) -> Tensor:
    """The elements in the order of their frequencies, zero in the middle."""
    return _rolled(input, dim, 1)


def ifftshift(input: Tensor, dim: Any = None) -> Tensor:
    """The inverse of ``fftshift``."""
    return _rolled(input, dim, -1)


_check_namespace(globals(), __package__)
