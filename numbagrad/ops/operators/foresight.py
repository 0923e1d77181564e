"""Kernels of a backward, compiled by another process while the forward goes on.

Operators ask here when they have made a node in Python. If kernels were compiled meanwhile, those
of the node's backward are most likely missing as well: the backward is traced for a gradient that
lies as the result does (``program/abstract_trace.py``), and what it would launch is looked up. That
takes milliseconds and computes nothing. The missing kernels are requested (``library.py``), and a
wrong guess costs time of a core that had nothing to do.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...autograd.grad_mode import state as grad_mode
from ...autograd.hooks import creation_hooks
from ...autograd.hooks.saved_hooks import HookedTensor
from ...dispatch import layers
from ...executor import capture
from ...executor.builtin import compiles_ahead
from ...executor.cache import library
from ...executor.plan.forms import Form
from ...executor.plan.operations import Operation, Pointwise
from ...interrupts import uninterrupted
from ...tensor import Tensor, new_tensor

__all__ = ["compiles_more", "foresee"]

#: A program that has compiled so many kernels will compile more; one with fewer may be done before
#: another process has started.
_MANY = 3


def foresee(node: Any, results: Sequence[Tensor | None]) -> None:
    """Request the kernels of a new node's backward, for gradients of the forms of its results.

    Called where ``library.compiled_more``. ``results`` has None where no gradient arrives.
    """
    library.compiled_more = False
    if compiles_more() and _is_ordinary(node, results):
        with uninterrupted():
            library.request_missing(_lookups(node, results))


def compiles_more() -> bool:
    """Whether this program is likely to lack kernels that other processes can compile."""
    return library.compiled() >= _MANY and library.listener is None and compiles_ahead()


def _is_ordinary(node: Any, results: Sequence[Tensor | None]) -> bool:
    """Whether nobody but the executor would learn of a trace of the backward."""
    return (
        capture.active is None
        and not layers.active
        and not any([type(x) is HookedTensor for x in node.saved or ()])
        and all([x is None or type(x._array) is np.ndarray for x in results])
    )


def _lookups(node: Any, results: Sequence[Tensor | None]) -> Iterator[Any]:
    """Functions that look up the kernels of the backward: the trace itself, and its launches."""
    operations: list[Operation] = []
    yield functools.partial(_trace, node, results, operations)
    from ...executor.plan.lowering import lower

    # The first launches are needed first, and processes begin with the request that came last.
    for operation in reversed(operations):
        if isinstance(operation, Pointwise):
            operation = dataclasses.replace(operation, eager=True)
        yield functools.partial(lower, operation)


def _trace(node: Any, results: Sequence[Tensor | None], operations: list[Operation]) -> None:
    """Add the operations of the backward, as far as it can be traced."""
    from ...program.abstract_trace import AbstractTrace, CannotTrace  # needed where kernels miss

    grads = [None if x is None else new_tensor(Form.of(x._array).with_gaps()) for x in results]
    tracer = AbstractTrace()
    tracer.operations = operations
    before = grad_mode.enabled
    try:
        grad_mode.enabled = False
        with tracer.capturing():
            creation_hooks.quietly(node.backward, *grads)
    except (CannotTrace, RuntimeError, TypeError, ValueError, NotImplementedError):
        pass  # the backward says what is wrong, if something is, when it is run
    finally:
        grad_mode.enabled = before
