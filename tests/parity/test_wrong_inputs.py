"""Wrong arguments of every public function and method raise what torch raises, by class.

``wrong_inputs.py`` makes the calls. There is no result where torch has an error, and shapes and
dtypes agree where both have a result. What deviates is listed in ``wrong_inputs_known.txt``, each
with its call: a deviation that is new, and one that is there no more, fail.
"""

from __future__ import annotations

import functools
import pathlib
import warnings

import numpy as np
import pytest
import torch
from wrong_inputs import Call, copied, resolve, right_calls_by_name, run, wrong_calls

import numbagrad

#: Where it is installed, torch's errors of einsum are of other classes.
torch.backends.opt_einsum.enabled = False

KNOWN = pathlib.Path(__file__).with_name("wrong_inputs_known.txt")

#: torch ends the process with these.
TORCH_CRASHES = {
    (name, f"{position}: {what}")
    for name in ("lu_unpack",)
    for position in (0, 1)
    for what in ("no elements", "nothing at all")
}

#: Functions that look at nothing: torch ends the process with most wrong inputs.
TORCH_LOOKS_AT_NOTHING = {"native_batch_norm", "native_group_norm"}

#: Errors of torch's own Python code that speak of its inside: ours may be of another class.
UNINTENDED = (ArithmeticError, AssertionError, AttributeError, LookupError, NameError)

#: Texts of torch's errors that are accidents: this library may have a result or another class.
UNINTENDED_TEXTS = (
    # Batches of zero: torch's build with another library for transforms takes them.
    "MKL FFT error",
    # LAPACK is called for right sides without columns; other drivers return nothing.
    "INTERNAL ASSERT FAILED",
    # A grid of all combinations, of which most are dropped, has more elements than an int counts.
    "numel: integer multiplication overflow",
)

#: Texts whose class is an accident: this library has an error of another class.
UNINTENDED_CLASSES = (
    # A failed check of its inside, where other functions raise an IndexError.
    "Could this error message be improved",
    # An index out of range: an IndexError along some dimensions, this one along others.
    "INDICES element is out of DATA bounds",
    # The same of a tensor without elements, which is looked at with other strides.
    "setStorage: sizes",
    # Python code of torch asks whether an argument is true, or converts it, and does not look.
    "Boolean value of Tensor with more than one value is ambiguous",
    "tuple index out of range",
    "list index out of range",
    "values to unpack (expected",
    # NumPy between an array and a tensor, inside of torch's Python code.
    "operands could not be broadcast together with shapes",
    "only one element tensors can be converted to Python scalars",
    "cannot convert float NaN to integer",
)

#: Single calls in which torch's class is an accident.
ODD = {
    # The letters of a text are counted as indices, of which there are too many.
    ("__getitem", "1: text"),
    ("__setitem", "1: text"),
    # The method asks whether there are sizes before the function looks at their type.
    ("unflatten", "2: None"),
}

#: A number is made into a tensor and taken for ``out``, of which the dtype is complained about.
NUMBERS_AS_OUT = frozenset(
    "add sub subtract mul multiply div divide true_divide floor_divide".split()
)

GROUPS = right_calls_by_name()


@functools.cache
def known() -> dict[str, set[str]]:
    """The deviations of the functions of one name: lines ``name | argument: what | deviation``."""
    found: dict[str, set[str]] = {}
    for line in KNOWN.read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, whats, deviation = line.split(" | ")
            found.setdefault(name, set()).update(
                f"{_}: {what} | {deviation}" if _ else f"{what} | {deviation}"
                for what in whats.split(", ")
            )
    return found


def theirs(x):
    """An argument as torch takes it."""
    if isinstance(x, numbagrad.Tensor):
        return torch.tensor(x.detach().numpy())
    if isinstance(x, numbagrad.dtype):
        return getattr(torch, str(x).removeprefix("torch."))
    if type(x) in (list, tuple):
        return type(x)([theirs(part) for part in x])
    return x


def attempt(library, call: Call, given):
    """The result or the error of a call."""
    try:
        return run(library, call, given), None
    except Exception as error:
        return None, error


def same_class(ours: Exception, expected: Exception) -> bool:
    """Whether an error is of torch's class, or torch's is none that was meant for users."""
    if any([text in str(expected) for text in UNINTENDED_CLASSES]):
        return True
    if isinstance(expected, UNINTENDED) and not isinstance(expected, IndexError):
        return True
    return isinstance(ours, type(expected)) or isinstance(expected, type(ours))


def deviation(call: Call) -> str:
    """How a call differs from torch's; nothing if it does not."""
    _, expected = attempt(torch, call, theirs)
    _, error = attempt(numbagrad, call, copied)
    if any([text in str(expected) for text in UNINTENDED_TEXTS]):
        return ""
    if expected is None or (error is not None and same_class(error, expected)):
        return ""  # what torch computes and this library refuses is no matter of wrong inputs
    return f"{type(expected).__name__}, here {type(error).__name__ if error else 'a result'}"


def deviations(name: str) -> dict[str, str]:
    """By argument and deviation the call that shows it, of all functions of a name."""
    found = {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for right in GROUPS[name]:
            if resolve(torch, right.path) is None or attempt(torch, right, theirs)[1] is not None:
                continue
            for wrong in wrong_calls(right):
                if (name, wrong.what) in TORCH_CRASHES | ODD:
                    continue
                if wrong.what == "out: a number" and name in NUMBERS_AS_OUT:
                    continue
                if said := deviation(wrong.call):
                    found.setdefault(f"{wrong.what} | {said}", right.path)
    return found


@pytest.mark.parametrize("name", [x for x in GROUPS if x not in TORCH_LOOKS_AT_NOTHING])
def test_errors_are_of_the_classes_of_torch(name):
    found = deviations(name)
    expected = known().get(name, set())
    assert not {what: path for what, path in found.items() if what not in expected}
    assert not expected - found.keys()


def test_nothing_is_known_of_functions_that_do_not_exist():
    assert known().keys() <= GROUPS.keys()
