"""The interface of backends: a device type, a class of arrays, and functions on these arrays.

Arrays of a backend describe themselves as ndarrays do (``shape``, ``strides`` in bytes, a NumPy
``dtype``, ``ndim``, ``size``, ``itemsize``, ``nbytes``, ``flags.c_contiguous``, ``base``), make
views by ``[...]`` with slices and ints, ``reshape``, ``transpose``, ``swapaxes``, ``T`` and
``view()``, and copies of themselves by ``copy(order)``. Their elements are read and written by the
entries of their backend alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NoReturn

import numpy as np

Array = Any


class Backend:
    """Entries that raise NotImplementedError, with the name of the operator, until they are given.

    Attributes:
        device_type: what ``device(...)`` calls it.
        array_class: the class of its arrays; no ndarray, and no class of another backend.
        namespace: functions under NumPy's names, for forwards that are such calls; None without.
        forwards: by the name of an operator, what runs in the place of its forward.
        hosts: whether an operator whose forward knows ndarrays alone runs on copies on the host, by
            :meth:`call`, where :meth:`forward_of` has none for it; else it is refused by name.
        has_elements: False for a device whose arrays have a form alone, as ``meta``.
        passes: names of the passes that programs go through before they run here.
        generator_class: the class of its generators of random numbers; None if it has none.
    """

    device_type: str = ""
    array_class: type = object
    namespace: Any = None
    forwards: Mapping[str, Callable[..., Any]] = {}
    hosts = False
    has_elements = True
    passes: Sequence[str] = ()
    generator_class: type[Any] | None = None

    def refuse(self, operator: str) -> NoReturn:
        """Raise for what is not implemented here.

        Raises:
            NotImplementedError: names the operator and the device.
        """
        raise NotImplementedError(
            f"Could not run '{operator}' on the device '{self.device_type}': its backend does not "
            "implement it; move the tensors with .cpu() first"
        )

    def forward_of(self, operator: Any) -> Callable[..., Any] | None:
        """The forward of a ``TensorOperator`` on this backend; None for the operator's own."""
        return self.forwards.get(operator.name)

    # --- memory ---

    def index_of(self, array: Array) -> int | None:
        """The number of the device that holds an array; None where there is one only."""
        return None

    def on(self, index: int | None) -> Backend:
        """The backend of the device of this number: itself where there is one device."""
        return self

    def holds(self, array: Any) -> bool:
        """Whether an array is on the device that new arrays are made on."""
        return isinstance(array, self.array_class)

    def allocate(
        self, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype[Any]
    ) -> Array:
        """A new array whose elements are not set; strides in bytes, without gaps."""
        self.refuse("allocate")

    def from_host(self, array: np.ndarray[Any, Any]) -> Array:
        """A new array with the elements of an ndarray, in the order of its strides."""
        self.refuse("to")

    def to_host(self, array: Array) -> np.ndarray[Any, Any]:
        """A new ndarray with the elements of an array, in the order of its strides."""
        self.refuse("cpu")

    def from_host_later(self, array: np.ndarray[Any, Any]) -> Array:
        """``from_host`` that may return before pinned memory was read (``non_blocking=True``)."""
        return self.from_host(array)

    def to_host_later(self, array: Array) -> np.ndarray[Any, Any]:
        """``to_host`` that may return before the elements are there; synchronising waits."""
        return self.to_host(array)

    def view(
        self, array: Array, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
    ) -> Array:
        """A view of the memory around an array; strides and offset (from its start) in bytes."""
        self.refuse("as_strided")

    def address(self, array: Array) -> int:
        """A number for the first byte: views of one memory differ by their distance in bytes."""
        self.refuse("data_ptr")

    def fill(self, array: Array, number: Any) -> None:
        """Write a number to every element."""
        self.refuse("fill_")

    def copy(self, target: Array, source: Array) -> None:
        """Write the elements of one array, broadcast and converted, to another."""
        self.refuse("copy_")

    def run_function(self, name: str, function: Callable[..., Any], arrays: Sequence[Any]) -> Any:
        """A function of a user's ``kernel()`` on arrays (in C order) and numbers; None."""
        self.refuse(f"kernel {name}")

    def apart(self, operand: Array, output: Array) -> Array:
        """An operand, copied if it shares memory with an output and lies there otherwise."""
        self.refuse("a write to what is read")

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The results of a function of ndarrays on copies on the host, brought back here.

        For what has no kernels anywhere: it reads values, and so waits for what was launched.
        """
        return self._uploaded(function(*[self._downloaded(x) for x in arguments]))

    def _downloaded(self, value: Any) -> Any:
        if isinstance(value, self.array_class):
            return self.to_host(value)
        if value.__class__ is tuple or value.__class__ is list:
            return value.__class__([self._downloaded(x) for x in value])
        return value

    def _uploaded(self, made: Any) -> Any:
        if isinstance(made, np.ndarray):
            return self.constant(made)
        return tuple([self._uploaded(x) for x in made]) if made.__class__ is tuple else made

    def constant(self, array: np.ndarray[Any, Any]) -> Array:
        """``from_host`` of an ndarray that was just made: nobody need wait for the copy."""
        return self.from_host(array)

    def check(self, kernel: Any, total: int, launch_args: Sequence[Any], subject: str) -> bool:
        """Have a kernel of ``kernels/losses/checks.py`` look at elements, and wait for nothing.

        A failure raises an error about ``subject`` where values are read next. False is for a
        backend without such kernels, whose values are looked at on the host at once.

        Args:
            launch_args: those of the kernel behind the first two; the first is a contiguous array.
        """
        return False

    def run(self, operation: Any) -> None:
        """Run an operation (``executor/plan/operations.py``) on the memory of its views."""
        self.refuse(operation.name)

    def copied(self, array: Array, order: str = "C") -> Array:
        """A new array of the same elements, in C order or ("K") in theirs."""
        self.refuse("clone")

    def drawn(self, one: Callable[..., float], arrays: Sequence[Any], generator: Any) -> Any:
        """Numbers that a function of ``distributions/sampling.py`` draws for elements of arrays."""
        self.refuse(one.__name__.strip("_"))

    def walking_from(self, array: Any) -> AbstractContextManager[None]:
        """A block in which gradients of what an array was computed from are computed."""
        return nullcontext()

    def record_stream(self, array: Any, stream: Any) -> None:
        """Keep the memory of an array until the work of a stream is done that uses it."""
        self.refuse("record_stream")

    def together(self) -> AbstractContextManager[None]:
        """A block in which formulas may wait for others, to run together at its end."""
        return nullcontext()

    def synchronise(self) -> None:
        """Wait until all that was launched is done."""

    # --- families of kernels; ``program`` is the executor's and has ``name`` and formulas ---

    def pointwise(self, program: Any, operands: tuple[Any, ...], into: Array | None) -> Any:
        """A formula over arrays and numbers: a new array (or a tuple), or None if it is written.

        ``program`` is a ``PointwiseProgram``; ``into`` the array to write.
        """
        self.refuse(program.name)

    def reduce(
        self,
        program: Any,
        array: Array,
        mask: int,
        keepdim: bool,
        shift: Array | None = None,
        parameters: Any = None,
    ) -> Any:
        """Some dimensions (the bits of ``mask``) reduced, as a ``ReductionProgram`` says."""
        self.refuse(program.definition.name)

    def rowwise(self, program: Any, dim: int, *arrays: Array) -> Any:
        """A ``RowwiseProgram`` along a dimension: softmax and its like, and scans."""
        self.refuse(program.name)

    def matmul(self, a: Array, b: Array) -> Array:
        """``a @ b`` of stacks of matrices whose leading dimensions broadcast."""
        self.refuse("matmul")

    def kernel(self, module: str, name: str, total: int, launch_args: Sequence[Any]) -> None:
        """A hand-written kernel of ``numbagrad.<module>`` over [0, total): a ``HandWrittenKernel``.

        ``launch_args`` are contiguous arrays and ints; the first array is written.
        """
        self.refuse(name)

    def gather(self, array: Array, dim: int, index: Array) -> Array:
        """The element at each index along a dimension; all are in range."""
        self.refuse("gather")

    def index_select(self, array: Array, dim: int, index: Array) -> Array:
        """The entries of a dimension at the indices of a vector; all are in range."""
        self.refuse("index_select")

    def scatter_add(self, output: Array, dim: int, index: Array, source: Array) -> None:
        """Add elements at indices along a dimension, in their order."""
        self.refuse("scatter_add")

    def index_add(self, output: Array, dim: int, index: Array, source: Array) -> None:
        """Add the entries of a dimension to those at the indices of a vector, in their order."""
        self.refuse("index_add")

    def argsort(self, array: Array, dim: int, descending: bool) -> Array:
        """Indices that sort a dimension, equal elements in order; NaN counts as the greatest.

        An array without dimensions has the index 0.
        """
        self.refuse("sort")

    def index_copy(self, output: Array, dim: int, index: Array, source: Array) -> None:
        """Write the entries of a dimension to those at the indices of a vector; the last of equals.

        The default does so on the host.
        """
        host = self.to_host(output)
        key: Any = (*[slice(None)] * dim, self.to_host(index))
        host[key] = self.to_host(source)
        self.copy(output, self.from_host(host))

    def window(self, name: str, arrays: Sequence[Array], options: Mapping[str, Any]) -> Any:
        """A convolution or a pooling, as the function of the executor of that name defines it.

        Those are in ``executor/families/convolution.py`` and ``executor/families/pooling.py``;
        options by name.
        """
        self.refuse(name)

    def takes_attention(self, arrays: Sequence[Array]) -> bool:
        """Whether :meth:`attention` computes these; else it is composed of other entries.

        They are queries, keys and values of four dimensions, which fit, and perhaps a mask.
        """
        return False

    def attention(
        self, query: Array, key: Array, value: Array, mask: Array | None, causal: bool, scale: float
    ) -> tuple[Array, Array]:
        """``forward`` of ``executor/families/attention.py``."""
        self.refuse("scaled_dot_product_attention")

    def attention_backward(
        self, grad: Array, operands: Sequence[Any], made: Array, logarithms: Array
    ) -> tuple[Array, Array, Array]:
        """``backward`` of ``executor/families/attention.py``."""
        self.refuse("scaled_dot_product_attention")

    def takes_recurrent(self, arrays: Sequence[Array]) -> bool:
        """Whether :meth:`recurrent` computes a layer of these; else it goes step by step."""
        return False

    def recurrent(self, *given: Any) -> Any:
        """``forward`` of ``executor/families/recurrent.py``."""
        self.refuse("a recurrent layer")

    def recurrent_backward(self, *given: Any) -> Any:
        """``backward`` of ``executor/families/recurrent.py``."""
        self.refuse("a recurrent layer")

    def random(
        self, name: str, draw: Callable[..., None], array: Array, arguments: tuple[Any, ...]
    ) -> None:
        """``random_filling.<name>`` of an array; ``draw(ndarray, *arguments)`` fills an ndarray.

        The default takes the numbers of the CPU's stream, so that a seed means the same here.
        """
        drawn = np.empty(array.shape, array.dtype)
        draw(drawn, *[self._downloaded(x) for x in arguments])
        self.copy(array, self.from_host(drawn))

    # --- programs ---

    def prepare(self, operations: Sequence[Any]) -> Callable[[Mapping[Any, Any], Any], None]:
        """Operations of a program (``executor/plan/operations.py``), made ready to run often.

        Returns ``run(arrays, numbers)``: ``arrays`` gives for each block of memory an array, and
        the byte of the block at which that begins; ``numbers`` the values of each ``Number``.
        """
        self.refuse("a compiled program")
