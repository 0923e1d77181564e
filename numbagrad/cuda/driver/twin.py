"""The stand-in for CuPy in the simulator: arrays of NumPy that refuse what CuPy's refuse.

CuPy's arrays answer NumPy's functions, but not all of them, and mix with no ndarrays. Forwards that
run here therefore ask for nothing else; that CuPy computes the same is left to a GPU.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

#: Functions of NumPy that CuPy answers, as far as forwards call them, by module.
FUNCTIONS = {
    "numpy": frozenset(
        """all allclose any append argmax argmin argsort argwhere around array_equal atleast_1d
        bincount broadcast_arrays broadcast_to clip compress concatenate copyto count_nonzero
        cross cumprod cumsum diag diagonal diff digitize dot einsum empty_like expand_dims
        fill_diagonal flatnonzero flip full_like imag inner interp isclose isin lexsort max
        mean median min moveaxis nan_to_num nanmax nanmean nanmedian nanmin nansum
        nonzero ones_like outer pad partition percentile prod put_along_axis quantile ravel real
        repeat reshape result_type roll rollaxis rot90 searchsorted shape size sort squeeze stack
        std sum swapaxes take take_along_axis tensordot tile trace transpose tril triu unique
        vander var vstack where zeros_like hstack copy astype matmul sort_complex""".split()
    ),
    "numpy.linalg": frozenset(
        """cholesky det eig eigh eigvalsh inv lstsq matrix_power norm pinv qr slogdet solve
        svd""".split()
    ),
    "numpy.fft": frozenset(
        """fft fft2 fftfreq fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2
        irfftn rfft rfft2 rfftfreq rfftn""".split()
    ),
}

#: Methods and attributes that CuPy's arrays have.
_METHODS = frozenset(
    """T all any argmax argmin argsort astype choose clip compress conj conjugate copy cumprod
    cumsum diagonal dot dtype fill flags flatten imag item itemsize max mean min nbytes ndim nonzero
    partition prod ptp put ravel real repeat reshape round searchsorted shape size sort squeeze std
    strides sum swapaxes take tolist trace transpose var view""".split()
)


class TwinArray(NDArrayOperatorsMixin):
    """An ndarray that is read by functions of its library alone."""

    __slots__ = ("hidden",)
    __array_priority__ = 100

    def __init__(self, hidden: Any):
        if hidden.dtype.kind not in "?biufc":
            raise TypeError(f"Unsupported type {hidden.dtype}")
        object.__setattr__(self, "hidden", hidden)

    def __array__(self, *arguments: Any, **options: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        module = function.__module__
        if function.__name__ not in FUNCTIONS.get(module, ()):
            raise TypeError(f"CuPy has no {module}.{function.__name__}")
        return _shown(function(*_hidden(arguments), **_hidden(options)))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__":
            raise TypeError(f"CuPy has no {ufunc.__name__}.{method}")
        with np.errstate(all="ignore"):  # CuPy warns of no number
            return _shown(getattr(ufunc, method)(*_hidden(inputs), **_hidden(options)))

    def __getattr__(self, name: str) -> Any:
        if name not in _METHODS:
            raise AttributeError(f"arrays of CuPy have no {name!r}")
        found = getattr(self.hidden, name)
        if not callable(found):
            return _shown(found)
        return lambda *given, **options: _shown(found(*_hidden(given), **_hidden(options)))

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.hidden, name, _hidden(value))

    def __getitem__(self, key: Any) -> Any:
        return _shown(self.hidden[_hidden(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self.hidden[_hidden(key)] = _hidden(value)

    def __len__(self) -> int:
        return len(self.hidden)

    def __bool__(self) -> bool:
        return bool(self.hidden)

    def __int__(self) -> int:
        return int(self.hidden)

    def __float__(self) -> float:
        return float(self.hidden)

    def __index__(self) -> int:
        index: int = self.hidden.__index__()
        return index


def _hidden(value: Any) -> Any:
    """Arguments as NumPy gets them.

    Raises:
        TypeError: for an ndarray among them, with CuPy's text.
    """
    if isinstance(value, TwinArray):
        return value.hidden
    if isinstance(value, np.ndarray):
        raise TypeError(f"Unsupported type {np.ndarray}")
    if isinstance(value, tuple | list):
        return type(value)([_hidden(x) for x in value])
    if isinstance(value, dict):
        return {name: _hidden(x) for name, x in value.items()}
    return value


def _shown(value: Any) -> Any:
    """Results as CuPy has them: arrays without dimensions for numbers."""
    if isinstance(value, np.ndarray):
        return TwinArray(value)
    if isinstance(value, np.generic):
        return TwinArray(np.asarray(value))
    if isinstance(value, tuple) and value and isinstance(value[0], np.ndarray | np.generic):
        return tuple([_shown(x) for x in value])
    return value


#: Functions of SciPy that CuPy has, as far as forwards call them, by module.
_OF_SCIPY = {
    "special": frozenset("gammainc gammaincc zeta".split()),
    "linalg": frozenset(("lu_factor",)),
}


def of_scipy(module: str, name: str) -> Any:
    """A function of ``scipy.<module>`` in the place of CuPy's.

    Raises:
        NotImplementedError: without SciPy; the host's own function runs then.
    """
    assert name in _OF_SCIPY[module]
    try:
        function = getattr(importlib.import_module(f"scipy.{module}"), name)
    except ImportError as missing:
        raise NotImplementedError("SciPy, which stands for CuPy's, is not installed") from missing
    return lambda *arrays, **options: _shown(function(*_hidden(arrays), **options))
