"""Recording without computing: operations of arrays that have a form and no meaningful elements.

``ops/composite_pair.py`` runs definitions under a ``Tracer``: what the executor would compute is
written down as by the ``Recorder``, but nothing is compiled and nothing runs. So a definition must
not look at elements, and whatever would run in Python ends the trace with ``CannotTrace``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ...dtype import dtype_from_name, from_numpy
from .graph import Array, Pointwise, Product, Reduce, Rowwise
from .recorder import Recorder


class CannotTrace(Exception):  # noqa: N818 - a signal to the caller
    """Raised for what depends on elements, or runs in Python; the text says what."""


class Tracer(Recorder):
    """A recorder that makes arrays of the right form in the place of computing them."""

    traces = True

    def fail(self, what: str) -> NoReturn:
        """Stop at once: there is no result to go on with."""
        raise CannotTrace(what)

    def pointwise(self, program: Any, operands: tuple[Any, ...], into: bool) -> Any:
        """See :class:`Recorder`."""
        inputs = operands[:-1] if into else operands
        formula = program.formula
        if into:
            outputs: tuple[Array, ...] = (operands[-1],)
        else:
            dtype = program.result_dtype(inputs).numpy
            outputs = tuple([_like(inputs, dtype) for _ in formula.outputs])
        compute, numbers = program.signature_of(inputs, outputs[0])
        passed = tuple([self.view(x) if isinstance(x, np.ndarray) else x for x in inputs])
        views = tuple([self.view(x, made=not into) for x in outputs])
        self.operations.append(
            Pointwise(program.name, formula, passed, views, compute.name, numbers)
        )
        if into:
            return None
        return outputs if len(outputs) > 1 else outputs[0]

    def reduce(self, program: Any, arguments: tuple[Any, ...]) -> Any:
        """See :class:`Recorder`."""
        array, mask, keepdim, *rest = arguments
        shift = rest[0] if rest else None
        if program.outputs > 1 or (len(rest) > 1 and rest[1] is not None):
            self.fail(f"{program.definition.name}, which no loop can do")
        *_, result = program.definition.dtypes_of(from_numpy(array.dtype), program.requested)
        kept = [(size, (mask >> d) & 1) for d, size in enumerate(array.shape)]
        shape = [1 if gone else size for size, gone in kept if keepdim or not gone]
        made = np.empty(shape, dtype_from_name(result).numpy)
        views = self.view(array), None if shift is None else self.view(shift)
        self.operations.append(
            Reduce(
                program, views[0], int(mask), bool(keepdim), views[1], self.view(made, made=True)
            )
        )
        return made

    def rowwise(self, program: Any, dim: int, arrays: tuple[Array, ...]) -> Any:
        """See :class:`Recorder`."""
        if program.outputs > 1 or not all([x.flags.c_contiguous for x in arrays]):
            self.fail(f"{program.name} of arrays that are not contiguous")
        (result,) = program.results(from_numpy(arrays[0].dtype))
        made = np.empty(arrays[0].shape, result.numpy)
        inputs = tuple([self.view(x) for x in arrays])
        self.operations.append(Rowwise(program, dim, inputs, (self.view(made, made=True),)))
        return made

    def product(self, function: Callable[..., Array], a: Array, b: Array) -> Array:
        """See :class:`Recorder`."""
        if a.dtype != b.dtype or a.dtype.kind != "f" or a.itemsize < 4:
            self.fail(f"a product of {a.dtype} and {b.dtype}")
        if a.ndim != b.ndim or not 2 <= a.ndim <= 4 or a.shape[-1] != b.shape[-2]:
            self.fail(f"a product of shapes {a.shape} and {b.shape}")
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        made = np.empty((*batch, a.shape[-2], b.shape[-1]), a.dtype)
        self.operations.append(Product(self.view(a), self.view(b), self.view(made, made=True)))
        return made

    def call(self, function: Callable[..., Any], *arguments: Any, effect: bool = False) -> Any:
        """See :class:`Recorder`."""
        self.fail(f"{getattr(function, '__name__', function)}, which runs in Python")

    def check(self, function: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        """See :class:`Recorder`."""
        self.fail(f"{getattr(function, '__name__', function)}, which looks at elements")

    def opaque(self, name: str, *arguments: Any) -> None:
        """See :class:`Recorder`."""
        self.fail(f"the function {name} of a user")

    def write(
        self, function: Callable[..., Any], *arguments: Any, effect: bool = False
    ) -> None:
        """See :class:`Recorder`."""
        self.fail(f"{getattr(function, '__name__', function)}, which writes in Python")

    def _note(self, operation: Any, arguments: tuple[Any, ...], made: Any) -> Any:
        self.fail(f"{operation.name}, which runs in Python")


def _like(operands: tuple[Any, ...], dtype: np.dtype[Any]) -> Array:
    """An array for the result of a pointwise operation: in the order of the operands, as torch."""
    arrays = [x for x in operands if isinstance(x, np.ndarray)]
    shape = np.broadcast_shapes(*[x.shape for x in arrays])
    full = [x for x in arrays if x.shape == shape and all(x.strides)]
    if not full or any([x.flags.c_contiguous for x in full]):
        return np.empty(shape, dtype)
    return np.empty_like(full[0], dtype, order="K")


__all__ = ["CannotTrace", "Tracer"]
