"""A backend whose entries are operations, planned as on the CPU: it only has to ``run`` them.

``cuda/backend.py`` derives from it. A subclass gives memory (``allocate``, ``from_host``,
``to_host``), its class of arrays (``backend/strided_array.py``), and ``run(operation)``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import half_precision as half
from ..backend import foreign
from ..backend.interface import Backend
from ..dtype import computed_as, from_numpy, name_of
from ..formula import Formula, symbol
from .families.complex_parts import from_parts, parts_of_array
from .families.conversion import program as conversion
from .plan import result_forms
from .plan.dtypes import code_of
from .plan.forms import Form, contiguous, dense_of, with_sizes
from .plan.operations import Pointwise, Product, Reduce, Rowwise
from .plan.spaces import around
from .plan.views import view_of

Array = Any
Shape = tuple[int, ...]

_READS, _WRITES = "kernels.indexing.reads", "kernels.indexing.writes"


@functools.cache
def _negated() -> Formula:
    return Formula(("x",), [-symbol("x")])


@functools.cache
def _added() -> Formula:
    return Formula(("x", "y"), [symbol("x") + symbol("y")])


class PlannedBackend(Backend):
    """The families of kernels, and what else follows from running operations.

    Attributes:
        multiplied: the dtypes of which there are products.
    """

    multiplied: Sequence[str] = ("float32", "float64")

    # --- memory ---

    def new(self, form: Form, like: Array) -> Array:
        """A new array of a form on the device of another one."""
        return self.allocate(*form)

    def view(self, array: Array, shape: Shape, strides: Shape, offset: int) -> Array:
        """See :class:`Backend`."""
        return array.view_of(shape, strides, offset)

    def address(self, array: Array) -> int:
        """See :class:`Backend`."""
        return int(array.address)

    def fill(self, array: Array, number: Any) -> None:
        """See :class:`Backend`."""
        if array.dtype.kind == "c":
            number = complex(number)
            self.fill(array.real, number.real)
            self.fill(array.imag, number.imag)
        elif array.size:
            element = half.readable(half.converted(np.array(number), array.dtype)).item()
            self.run(Pointwise.fill(view_of(array), element))

    def copy(self, target: Array, source: Array) -> None:
        """See :class:`Backend`."""
        if not target.size:
            return
        kinds = target.dtype.kind, source.dtype.kind
        if kinds == ("c", "c"):
            source = self.apart(source, target)
            self.copy(target.real, source.real)
            self.copy(target.imag, source.imag)
        elif kinds[0] == "c":
            self.copy(target.real, source)
            self.fill(target.imag, 0)
        elif kinds[1] == "c":
            self.copy(target, source.real)
        elif target.dtype != source.dtype:
            self.pointwise(conversion(), (source,), target)
        else:
            self.run(Pointwise.copy(view_of(self.apart(source, target)), view_of(target)))

    def copied_to(self, form: Form, array: Array) -> Array:
        """A new array of a form with the elements of another one."""
        made = self.new(form, array)
        self.copy(made, array)
        return made

    def copied(self, array: Array, order: str = "C") -> Array:
        """A new array of the same elements on the same device, in C order or in theirs."""
        if order == "C":
            return self.copied_to(contiguous(array.shape, array.dtype), array)
        return self.copied_to(dense_of(array), array)

    def in_order(self, array: Array) -> Array:
        """The array, or a copy of it in C order."""
        return array if array.flags.c_contiguous else self.copied(array)

    def converted(self, array: Array, dtype: np.dtype[Any]) -> Array:
        """A new array of the same elements in another dtype, in C order."""
        return self.copied_to(contiguous(array.shape, dtype), array)

    def apart(self, operand: Array, output: Array) -> Array:
        """An operand, copied if it lies in the memory of the output otherwise than that does."""
        if operand.block is not output.block:
            return operand
        same = ("address", "shape", "strides", "dtype")
        if all([getattr(operand, name) == getattr(output, name) for name in same]):
            return operand
        return self.copied(operand)

    # --- families of kernels ---

    def pointwise(self, program: Any, operands: tuple[Any, ...], into: Array | None) -> Any:
        """See :class:`Backend`."""
        program.prepare()
        compute, forms = result_forms.pointwise(program, operands, into)
        like: Any = next(x for x in (*operands, into) if isinstance(x, self.array_class))
        outputs = tuple([self.new(x, like) for x in forms]) if into is None else (into,)
        _, numbers = program.rules.signature(operands, outputs[0])
        called = program.name, program.formula
        narrow = program.rules.rounded([code_of(x, len(forms[0].shape)) for x in operands])
        given: list[Any] = []
        for operand in operands:
            if foreign(operand) is not None:
                if narrow is not None and operand.dtype != narrow.numpy:
                    operand = self.converted(operand, narrow.numpy)
                operand = operand if into is None else self.apart(operand, into)
            given.append(operand)
        if outputs[0].size:
            signature = compute, numbers
            self.run(Pointwise.of_call(view_of, called, given, outputs, signature, eager=True))
        if into is not None:
            return None
        return outputs[0] if len(outputs) == 1 else outputs

    def reduce(
        self,
        program: Any,
        array: Array,
        mask: int,
        keepdim: bool,
        shift: Array | None = None,
        parameters: Any = None,
    ) -> Any:
        """See :class:`Backend`."""
        mask = int(mask) & ((1 << array.ndim) - 1)
        forms = result_forms.reduction(program, array, mask, bool(keepdim))
        outputs = [self.new(form, array) for form in forms]
        shift = None if shift is None else self.in_order(shift)
        arguments = array, mask, keepdim, shift, parameters
        self.run(Reduce.of_call(view_of, program, arguments, outputs))
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def rowwise(self, program: Any, dim: int, *arrays: Array) -> Any:
        """See :class:`Backend`."""
        arrays = tuple([self.in_order(x) for x in arrays])
        forms = result_forms.rowwise(program, arrays[0])
        outputs = [self.new(form, arrays[0]) for form in forms]
        if arrays[0].size:
            self.run(Rowwise.of_call(view_of, program, dim, arrays, outputs))
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def matmul(self, a: Array, b: Array) -> Array:
        """See :class:`Backend`."""
        if a.dtype == b.dtype and a.dtype.kind == "c":
            return self._product_of_complex(a, b)
        if a.dtype != b.dtype or from_numpy(a.dtype).name not in self.multiplied:
            self.refuse(f"matmul of {from_numpy(a.dtype).name}")
        form = result_forms.product(a, b)
        a, b = [self._stack(x, form.shape[:-2]) for x in (a, b)]
        made = self.new(result_forms.product(a, b), a)
        self.run(Product.of_call(view_of, a, b, made))
        return made.reshape(form.shape)

    def _product_of_complex(self, a: Array, b: Array) -> Array:
        """The product of complex matrices, from the four products of their parts."""
        a_re, a_im, b_re, b_im = [self.copied(x) for x in (a.real, a.imag, b.real, b.imag)]
        minus = self.new(contiguous(a_im.shape, a_im.dtype), a)
        self._run_formula(("neg", _negated()), (a_im,), minus)
        real = self._sum_of_products((a_re, b_re), (minus, b_im))
        imaginary = self._sum_of_products((a_re, b_im), (a_im, b_re))
        made = self.new(contiguous(real.shape, a.dtype), a)
        self.copy(made.real, real)
        self.copy(made.imag, imaginary)
        return made

    def _sum_of_products(self, first: tuple[Array, Array], second: tuple[Array, Array]) -> Array:
        made, more = self.matmul(*first), self.matmul(*second)
        self._run_formula(("add", _added()), (made, more), made)
        return made

    def _run_formula(
        self, called: tuple[str, Formula], arrays: tuple[Array, ...], made: Array
    ) -> None:
        """Write a formula of arrays of one dtype."""
        signature = computed_as(from_numpy(made.dtype)), (None,) * len(arrays)
        self.run(Pointwise.of_call(view_of, called, arrays, (made,), signature))

    def _stack(self, array: Array, batch: Shape) -> Array:
        """An array with one dimension of samples, those of ``batch``."""
        expanded = view_of(array).expanded((*batch, *array.shape[-2:]))
        whole = array.view_of(expanded.shape, expanded.strides)
        return whole.reshape((math.prod(batch), *array.shape[-2:]))

    # --- elements by index, by the definitions of ``executor/families/indexing.py`` ---

    def gather(self, array: Array, dim: int, index: Array) -> Array:
        """See :class:`Backend`."""
        if array.dtype.kind == "c":
            shape, strides = (*index.shape, 2), (*index.strides, 0)
            repeated = index.view_of(shape, strides)
            return from_parts(self.gather(parts_of_array(array), dim, repeated))
        if not array.ndim:
            return self.gather(array.reshape(1), dim, index.reshape(1)).reshape(index.shape)
        key: list[Any] = [slice(size) for size in index.shape]
        key[dim] = slice(None)
        made = self.new(contiguous(index.shape, array.dtype), array)
        source = self.in_order(array[tuple(key)])
        outer, count, inner = around(index.shape, dim)
        launch_args = made, source, self.in_order(index), source.shape[dim], count, inner
        self.kernel(_READS, f"gather_{array.itemsize}", outer * count, launch_args)
        return made

    def index_select(self, array: Array, dim: int, index: Array) -> Array:
        """See :class:`Backend`."""
        if not array.ndim:
            array = array.reshape(1)
        if array.dtype.kind == "c":
            return from_parts(self.index_select(parts_of_array(array), dim, index))
        outer, size, inner = around(array.shape, dim)
        shape = with_sizes(array.shape, dim, index.size)
        made = self.new(contiguous(shape, array.dtype), array)
        launch_args = made, self.in_order(array), self.in_order(index), size, index.size, inner
        self.kernel(_READS, f"index_select_{array.itemsize}", outer * index.size, launch_args)
        return made

    def scatter_add(self, output: Array, dim: int, index: Array, source: Array) -> None:
        """See :class:`Backend`; in the order of the indices, so that bits do not change."""
        if not output.ndim:
            output, index, source = [x.reshape(1) for x in (output, index, source)]
        key = [slice(size) for size in index.shape]
        part = output[tuple([slice(None) if d == dim else x for d, x in enumerate(key)])]
        self._add("scatter", part, dim, index, source[tuple(key)], index.shape[dim])

    def index_add(self, output: Array, dim: int, index: Array, source: Array) -> None:
        """See :class:`Backend`; in the order of the indices."""
        self._add("scatter_rows", output, dim, index, source, index.size)

    def _add(
        self, name: str, output: Array, dim: int, index: Array, source: Array, count: int
    ) -> None:
        ordered = self.in_order(output)
        outer, size, inner = around(ordered.shape, dim)
        name = f"{name}_sum_{name_of(output.dtype)}"
        launch_args = ordered, self.in_order(source), self.in_order(index), size, count, inner, 1
        self.kernel(_WRITES, name, outer * inner, launch_args)
        if ordered is not output:
            self.copy(output, ordered)
