"""The decorator of hand-written kernels: a Python function, compiled when it is first needed.

``@kernel`` is to kernels what ``numba.njit`` is to functions over arrays::

    @kernel
    def classes(args, lo, hi): ...

    @kernel("void(int64, int64, int64, float64, float64)", fastmath=())
    def log_normal(state, out, count, mean, std): ...

    @kernel(variants=dtypes("float32 float64"))
    def total(args, lo, hi): ...  # uses ``element``; ``total["float32"]`` is a kernel

Decorating compiles nothing. The executor names kernels by module and name, so that a process that
finds them on disk imports none; on a miss it has the function compiled. A kernel that Python calls
is the same machine code, which the executor is asked for. Imports neither Numba nor LLVM.
"""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType
from typing import Any, Protocol

import numpy as np

from . import addresses

#: Signature of a kernel that takes the address of packed arguments, and a range of work.
UNIFORM = "void(int64, int64, int64)"

#: As the compiler has it.
FASTMATH = ("contract",)

Values = Mapping[str, Any]

#: The kernels of each module, by name.
_kernels: dict[str, dict[str, Kernel]] = {}

_C_TYPES = {"void": None, "int64": ctypes.c_int64, "float64": ctypes.c_double}


class Packing(Protocol):
    """How a kernel has its arguments packed (``kernels/packing.py``)."""

    def pack(self, kernel: Kernel, *values: Any) -> addresses.Address:
        """The packed arguments for arrays and numbers; TypeError for what it cannot read."""


class Variable:
    """A global name in the text of a kernel that means something else in each of its variants."""

    def __init__(self, name: str):
        self._name = name

    def __repr__(self) -> str:
        return self._name

    def __call__(self, *arguments: Any) -> Any:
        raise TypeError(f"{self._name} means something in the variants of a kernel only")


def variable(name: str) -> Any:
    """A ``Variable``; variants give its value under ``name``."""
    return Variable(name)


#: The dtype of elements in memory, and the one that they are computed in.
element, real = variable("element"), variable("real")


def specialised(function: FunctionType, values: Values, name: str | None = None) -> FunctionType:
    """A function of the same text in which variables have these values."""
    names = {**function.__globals__, **values}
    name = name or function.__name__
    made = FunctionType(function.__code__, names, name, function.__defaults__, function.__closure__)
    made.__doc__, made.__module__ = function.__doc__, function.__module__
    return made


class Kernel:
    """A kernel: its Python function, and the machine code of that.

    Attributes:
        py_func: the Python function, which computes on the same memory and can be stepped through.
        signature: the types that it is compiled for, as Numba's text.
        fastmath: the flags of its arithmetic.
        code: the passes it is worth (``compiler.py``).
        values: what stands for the variables of its text; empty for most.
        takes: how arrays become its packed arguments, or None.
        arrays: the dtypes of contiguous arrays that may stand for their addresses, by parameter.
    """

    def __init__(
        self,
        function: FunctionType,
        signature: str,
        fastmath: tuple[str, ...],
        code: str,
        takes: Packing | None = None,
        arrays: Mapping[str, Any] | None = None,
        name: str | None = None,
        values: Values | Callable[[], Values] = {},  # noqa: B006 - only read
    ):
        functools.update_wrapper(self, function)
        self.__name__ = self.__qualname__ = name or function.__name__
        self.signature = signature
        self.fastmath = fastmath
        self.code = code
        self.takes = takes
        self.arrays = {"args": "int64"} if arrays is None else arrays
        self._values = values
        _kernels.setdefault(function.__module__, {})[self.__name__] = self

    def __repr__(self) -> str:
        return f"<kernel {self.__module__}.{self.__name__}: {self.signature}>"

    @functools.cached_property
    def values(self) -> Values:
        """The values of the variables of the text in this kernel."""
        return self._values() if callable(self._values) else self._values

    @functools.cached_property
    def py_func(self) -> FunctionType:
        """The function as plain Python, over addresses: the very text that is compiled."""
        function = self.__wrapped__
        return specialised(function, self.values, self.__name__) if self.values else function

    @functools.cached_property
    def subroutine(self) -> Any:
        """The function as one that other kernels call."""
        from .compiler import subroutine

        return subroutine(self.py_func, fastmath=self.fastmath)

    @property
    def address(self) -> int:
        """Address of the machine code, compiled if need be; below 0 where kernels run as Python."""
        find = addresses.find_kernel
        package, _, room = self.__module__.partition(".")
        if find is None or package != "numbagrad":
            raise RuntimeError(
                f"{self.__name__} has no machine code, which numbagrad.executor has made for "
                "numbagrad's own kernels alone; call py_func, or use numbagrad.kernel() instead"
            )
        return find(room, self.__name__, self.signature, self.fastmath, self.code)

    def pack(self, *values: Any) -> addresses.Address:
        """The address of the packed arguments for arrays and numbers, to be passed as ``args``.

        It keeps what it points to, and is an int: machine code and ``py_func`` take it.

        Raises:
            TypeError: if an array has another dtype or layout than the kernel reads.
            ValueError: if arrays do not fit one another.
        """
        if self.takes is None:
            raise TypeError(f"{self.__name__} takes addresses alone; its docstring says of what")
        return self.takes.pack(self, *values)

    def check_dtype(self, name: str, dtype: Any, value: Any) -> None:
        """Raise TypeError unless a value is an array of a dtype of kernels, or of a variable."""
        dtype = str(self.values[repr(dtype)] if isinstance(dtype, Variable) else dtype)
        wanted = np.dtype({"bfloat16": "V2"}.get(dtype, dtype.removesuffix("ean")))
        if not isinstance(value, np.ndarray) or value.dtype != wanted:
            given = value.dtype if isinstance(value, np.ndarray) else type(value).__name__
            raise TypeError(f"{self.__name__}: {name} is an array of {dtype}, not {given}")

    def address_of(self, name: str, dtype: Any, value: Any) -> int:
        """Address of the elements of a contiguous array of a dtype; TypeError for anything else."""
        self.check_dtype(name, dtype, value)
        if not value.flags.c_contiguous:
            raise TypeError(f"{self.__name__}: {name} is contiguous, which its strides are not")
        return value.ctypes.data

    def __call__(self, *arguments: Any, units: int | None = None) -> Any:
        """Run the machine code.

        Takes what ``py_func`` takes: addresses and numbers. A contiguous array may stand for its
        address. Arrays and numbers that :meth:`pack` takes may stand for the packed arguments, with
        all units of work, or the first ``units``.

        Raises:
            TypeError: for arguments that have no meaning to the kernel.
        """
        if self.takes is not None and arguments and isinstance(arguments[0], np.ndarray):
            packed = self.pack(*arguments)
            total = packed.units if units is None else units
            if total is None:
                raise TypeError(f"{self.__name__} has to be told units=, how many units of work")
            arguments = packed, 0, total
        elif units is not None:
            raise TypeError(f"{self.__name__} takes units= behind arrays only")
        return _call(self, arguments)


def _call(kernel: Kernel, arguments: tuple[Any, ...]) -> Any:
    """Run a kernel on addresses, numbers and contiguous arrays."""
    returned, *kinds = re.findall(r"\w+", kernel.signature)
    if len(arguments) != len(kinds):
        raise TypeError(f"{kernel.__name__} takes {len(kinds)} arguments, not {len(arguments)}")
    names = kernel.py_func.__code__.co_varnames
    given = [_argument(kernel, *each) for each in zip(kinds, names, arguments, strict=False)]
    address = kernel.address
    if address < 0:
        return addresses.run_kernel(address, *given)
    prototype = ctypes.CFUNCTYPE(_C_TYPES[returned], *[_C_TYPES[kind] for kind in kinds])
    return prototype(address)(*given)


def _argument(kernel: Kernel, kind: str, name: str, value: Any) -> Any:
    """One argument as C takes it."""
    if kind == "float64" and isinstance(value, float | int | np.floating | np.integer):
        return float(value)
    if kind == "int64" and isinstance(value, int | np.integer):
        return int(value)
    if kind == "int64" and name in kernel.arrays:
        return kernel.address_of(name, kernel.arrays[name], value)
    raise TypeError(f"{kernel.__name__}: {name} is {kind}, not {type(value).__name__}")


class KernelFamily(Mapping[str, Kernel]):
    """Kernels of one text: ``family["float32"]`` is a kernel, and so for every variant.

    Attributes:
        py_func: the text as a function, whose variables have no value yet.
    """

    def __init__(self, function: FunctionType, made: dict[str, Kernel]):
        functools.update_wrapper(self, function)
        self.py_func = function
        self._made = made

    def __repr__(self) -> str:
        return f"<kernels {self.__module__}.{self.__name__}[{', '.join(self)}]>"

    def __getitem__(self, variant: str) -> Kernel:
        return self._made[variant]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)

    def __call__(self, *arguments: Any) -> Any:
        """TypeError: one of the kernels has to be chosen."""
        name = self.__name__
        raise TypeError(f"{name} is several kernels: {', '.join([f'{name}[{k!r}]' for k in self])}")


def kernel(
    signature: Any = UNIFORM,
    *,
    fastmath: tuple[str, ...] = FASTMATH,
    code: str = "loops",
    takes: Packing | None = None,
    arrays: Mapping[str, Any] | None = None,
    variants: Mapping[str, Values | Callable[[], Values]] | None = None,
    named: str = "{function}_{variant}",
) -> Any:
    """Decorator of kernels; bare, or with the signature and options.

    Args:
        signature: the types of the arguments as Numba's text; those of the uniform entry if bare.
        fastmath: LLVM's flags; "contract" lets a multiply and an add become one operation.
        code: the passes that the kernel is worth: "calls" where no loop of it matters.
        takes: how arrays become its packed arguments.
        arrays: the dtypes of arrays that may stand for their addresses, by parameter; those of the
            words at ``args`` if not given.
        variants: the values of the variables of the text, in each of several kernels; a function
            that returns them is called when the kernel is first needed.
        named: the name of a variant, by which the executor knows it.

    Returns:
        A ``Kernel``, or with variants a ``KernelFamily``.
    """
    if isinstance(signature, FunctionType):
        return Kernel(signature, UNIFORM, fastmath, code)

    def decorate(function: FunctionType) -> Any:
        if variants is None:
            return Kernel(function, signature, fastmath, code, takes, arrays)
        made = {}
        for variant, values in variants.items():
            name = named.format(function=function.__name__, variant=variant)
            made[variant] = Kernel(function, signature, fastmath, code, takes, arrays, name, values)
        return KernelFamily(function, made)

    return decorate


def kernels_of(module: str) -> Mapping[str, Kernel]:
    """The kernels of an imported module, by name."""
    return _kernels.get(module, {})
