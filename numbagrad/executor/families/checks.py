"""Whether the values of an array are ones that an operator takes; what raises if they are not.

Called by the losses and by what reads or writes at indices. In a program such a check is a launch
(``kernels/losses/checks.py``) before all that writes; the Python function is called only to raise
its error. An array that stands for a Tensor under a transformation has no values here: what is
computed with it checks again, or shows the error in its result.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...backend import foreign
from ...dtype import name_of
from .. import capture
from ..word_kernel import WordKernel

Array = np.ndarray[Any, Any]

_GRAIN = 32768  # elements that are worth a thread of their own


@functools.cache
def _kernel(name: str) -> WordKernel:
    return WordKernel("kernels.losses.checks", name)


def check(name: str, words: tuple[Any, ...], explain: Callable[..., None], *arguments: Any) -> None:
    """``explain(*arguments)``, which raises or does nothing, if a kernel finds that it raises.

    Args:
        name: of a kernel in ``kernels/losses/checks.py``, over the elements of the first of the
        words. words: its words behind the first two: an array, and ints.
    """
    if not words[0].flags.c_contiguous:
        capture.check(explain, *arguments)
        return
    kernel, total, failed = _kernel(name), words[0].size, np.zeros(1, np.int64)
    if capture.computes():
        kernel.launch(total, _GRAIN, failed, 1, *words)
    if failed[0]:
        _explain(explain, arguments)
    capture.note_check(kernel, (total, _GRAIN, words), explain, arguments)


def _explain(explain: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    with capture.noting_exceptions():
        explain(*arguments)


def _check_on_host(array: Any, explain: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    """The check of an array of another backend; of samples, which are looked at later, none."""
    if foreign(array) is not None:
        capture.check(explain, *arguments)


def check_classes(target: Array, classes: int, ignored: int) -> None:
    """Raise torch's error if an int64 target is neither one of the classes nor the ignored one."""
    if target.__class__ is not np.ndarray:
        _check_on_host(target, _explain_classes, (target, classes, ignored))
        return
    words = target, ignored, classes
    check("classes", words, _explain_classes, target, classes, ignored)


def _explain_classes(target: Array, classes: int, ignored: int) -> None:
    wrong = np.flatnonzero((target != ignored) & ((target < 0) | (target >= classes)))
    if wrong.size:
        raise IndexError(f"Target {target.flat[wrong[0]]} is out of bounds.")


def check_inside(index: Array, size: int, explain: Callable[..., None], *arguments: Any) -> None:
    """``explain(*arguments)``, which raises unless all indices of int64 are in [0, size)."""
    if index.__class__ is not np.ndarray:
        _check_on_host(index, explain, arguments)
        return
    if capture.active is None or size < 1:
        capture.check(explain, *arguments)
    else:
        check("classes", (index, 0, size), explain, *arguments)  # to ignore 0 changes nothing


def check_probabilities(array: Array, argument: str = "input") -> None:
    """Raise torch's error if an element of an argument is not in [0, 1]."""
    _check_elements("probabilities", array, _EXPLAIN_PROBABILITIES[argument])


def check_not_negative(array: Array) -> None:
    """Raise torch's error for a variance of which an element is below zero."""
    _check_elements("no_negatives", array, _explain_negatives)


def _check_elements(name: str, array: Array, explain: Callable[[Array], None]) -> None:
    if array.__class__ is not np.ndarray:
        _check_on_host(array, explain, (array,))
        return
    if array.dtype.kind in "fV":
        check(f"{name}_{name_of(array.dtype)}", (array,), explain, array)
    else:
        capture.check(explain, array)


def _explain_negatives(array: Array) -> None:
    if (array < 0).any():
        raise ValueError("var has negative entry/entries")


def _explain_probabilities(argument: str, array: Array) -> None:
    if array.size and not ((array >= 0) & (array <= 1)).all():
        raise RuntimeError(f"all elements of {argument} should be between 0 and 1")


_EXPLAIN_PROBABILITIES = {
    name: functools.partial(_explain_probabilities, name) for name in ("input", "target")
}


__all__ = [
    "check", "check_classes", "check_inside", "check_not_negative", "check_probabilities",
]  # fmt: skip
