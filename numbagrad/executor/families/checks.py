"""Whether the values of an array are ones that an operator takes; what raises if they are not.

Called by the losses and by what reads or writes at indices. In a program such a check is a launch
(``kernels/losses/checks.py``) before all that writes; the Python function is called only to raise
its error. A backend may run the kernel and tell of a failure later, where values are read
(``Backend.check``). An array that stands for a Tensor under a transformation has no values here:
what is computed with it checks again, or shows the error in its result.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...backend import foreign
from ...dtype import name_of
from .. import capture
from ..hand_written import HandWrittenKernel
from ..memory.arrays import copied

Array = np.ndarray[Any, Any]

_GRAIN = 32768  # elements that are worth a thread of their own


@functools.cache
def _kernel(name: str) -> HandWrittenKernel:
    return HandWrittenKernel("kernels.losses.checks", name)


def check(
    name: str, launch_args: tuple[Any, ...], explain: Callable[..., None], *arguments: Any
) -> None:
    """``explain(*arguments)``, which raises or does nothing, if a kernel finds that it raises.

    Args:
        name: of a kernel in ``kernels/losses/checks.py``, over the elements of the first array.
        launch_args: its arguments behind the first two: an array, and ints.
    """
    if not launch_args[0].flags.c_contiguous:
        capture.check(explain, *arguments)
        return
    kernel, total, failed = _kernel(name), launch_args[0].size, np.zeros(1, np.int64)
    if capture.computes():
        kernel.launch(total, _GRAIN, failed, 1, *launch_args)
    if failed[0]:
        _explain(explain, arguments)
    capture.note_check(kernel, (total, _GRAIN, launch_args), explain, arguments)


def _explain(explain: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    with capture.noting_exceptions():
        explain(*arguments)


def _check_elsewhere(
    name: str, subject: str, launch_args: tuple[Any, ...], explain: Callable[..., None],
    arguments: tuple[Any, ...],
) -> None:  # fmt: skip
    """The check of an array of another backend; of samples, which are looked at later, none."""
    where = foreign(launch_args[0])
    if where is None:
        return
    kernel = _kernel(name)
    if not launch_args[0].flags.c_contiguous:
        launch_args = (copied(launch_args[0]), *launch_args[1:])
    total = launch_args[0].size
    if not capture.computes() or where.check(kernel, total, launch_args, subject):
        launch = total, _GRAIN, launch_args
        capture.note_check(kernel, launch, _explained_elsewhere, (subject, launch_args[0]))
    else:
        capture.check(explain, *arguments)


def _explained_elsewhere(subject: str, array: Any) -> None:
    """Stands for the explanation of a check whose backend explains it."""


def subject_of(operation: Any) -> str:
    """The subject of the error of a check in a program of another backend."""
    return str(operation.arguments[0])


def check_classes(target: Array, classes: int, ignored: int) -> None:
    """Raise torch's error if an int64 target is neither one of the classes nor the ignored one."""
    if target.__class__ is not np.ndarray:
        launch_args = target, ignored, classes
        arguments = target, classes, ignored
        subject = "nll_loss(): a target"
        _check_elsewhere("classes", subject, launch_args, _explain_classes, arguments)
        return
    launch_args = target, ignored, classes
    check("classes", launch_args, _explain_classes, target, classes, ignored)


def _explain_classes(target: Array, classes: int, ignored: int) -> None:
    wrong = np.flatnonzero((target != ignored) & ((target < 0) | (target >= classes)))
    if wrong.size:
        raise IndexError(f"Target {target.flat[wrong[0]]} is out of bounds.")


def check_inside(
    subject: str, index: Array, size: int, explain: Callable[..., None], *arguments: Any
) -> None:
    """``explain(*arguments)``, which raises unless all indices of int64 are in [0, size).

    ``subject`` is what an error that comes later is about, as "gather(): an index".
    """
    if index.__class__ is not np.ndarray:
        if size < 1:  # and whatever the values are, there are none or they are wrong
            _check_at_once(index, explain, arguments)
        else:
            _check_elsewhere("classes", subject, (index, 0, size), explain, arguments)
        return
    if capture.active is None or size < 1:
        capture.check(explain, *arguments)
    else:
        check("classes", (index, 0, size), explain, *arguments)  # to ignore 0 changes nothing


def _check_at_once(array: Any, explain: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    """The check of an array of another backend on the host; of samples none."""
    if foreign(array) is not None:
        capture.check(explain, *arguments)


def check_offsets(
    starts: Array, count: int, ends: bool, explain: Callable[[Array, int, bool], None]
) -> None:
    """``explain(starts, count, ends)``, which raises unless bags of ``count`` indices start there.

    They lie behind each other; with ``ends`` the last of ``starts`` is the end of the last bag.
    """
    arguments = starts, count, ends
    launch_args = starts, starts.size, count, int(ends)
    if starts.__class__ is not np.ndarray:
        if starts.size:
            subject = "embedding_bag(): an offset"
            _check_elsewhere("offsets", subject, launch_args, explain, arguments)
        else:
            _check_at_once(starts, explain, arguments)
    elif not starts.size:
        capture.check(explain, *arguments)
    else:
        check("offsets", launch_args, explain, *arguments)


def check_probabilities(array: Array, argument: str = "input") -> None:
    """Raise torch's error if an element of an argument is not in [0, 1]."""
    subject = f"binary_cross_entropy(): an element of {argument}"
    _check_elements("probabilities", subject, array, _EXPLAIN_PROBABILITIES[argument])


def check_not_negative(array: Array) -> None:
    """Raise torch's error for a variance of which an element is below zero."""
    subject = "gaussian_nll_loss(): an element of var"
    _check_elements("no_negatives", subject, array, _explain_negatives)


def check_fractions(subject: str, array: Array, explain: Callable[[Array], None]) -> None:
    """``explain(array)``, which raises unless all of a few elements are in [0, 1]."""
    array = _all_samples(array)
    if array.__class__ is np.ndarray:
        capture.check(explain, array)
    else:
        _check_elements("probabilities", subject, array, explain)


def check_signs(subject: str, array: Array, explain: Callable[[Array], None]) -> None:
    """``explain(array)``, which raises if one of a few elements is below zero."""
    array = _all_samples(array)
    if array.__class__ is np.ndarray:
        capture.check(explain, array)
    else:
        _check_elements("no_negatives", subject, array, explain)


def _all_samples(array: Any) -> Any:
    """The elements that an array under a transformation stands for, of which each is checked."""
    return getattr(array, "of_all_samples", array)


def _check_elements(
    name: str, subject: str, array: Array, explain: Callable[[Array], None]
) -> None:
    array = _all_samples(array)
    if array.__class__ is not np.ndarray:
        if array.dtype.kind in "fV":
            name = f"{name}_{name_of(array.dtype)}"
            _check_elsewhere(name, subject, (array,), explain, (array,))
        else:
            _check_at_once(array, explain, (array,))
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
    "check", "check_classes", "check_fractions", "check_inside", "check_not_negative",
    "check_probabilities", "check_signs", "subject_of",
]  # fmt: skip
