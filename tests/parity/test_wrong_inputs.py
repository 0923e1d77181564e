"""Wrong arguments of every public function and method raise what torch raises, by class.

``wrong_inputs.py`` makes the calls. There is no result where torch has an error, and shapes and
dtypes agree where both have a result. What deviates is listed in ``wrong_inputs_known.txt``, each
with its call: a deviation that is new, and one that is there no more, fail.
"""

from __future__ import annotations

import functools
import pathlib
import re
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
    (name, f"{place}: {what}")
    for name in ("lu_unpack",)
    for place in (0, 1)
    for what in ("no elements", "nothing at all")
}

#: Errors of torch's own Python code that speak of its inside: ours may be of another class.
UNINTENDED = (ArithmeticError, AssertionError, AttributeError, LookupError, NameError)

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


#: Texts of Python's own statements, and of NumPy, inside of torch's Python code: of an index, of an
#: assignment to several names, of an ``if`` that got a tensor where a number belongs, of arithmetic
#: of an array and a tensor. They name no function and no argument, and their class follows from how
#: that code is written: ours may be another one.
OF_PYTHON = re.compile(
    r"^(tuple|list) index out of range$|values to unpack \(expected|"
    r"^Boolean value of Tensor with more than one value is ambiguous$|"
    r"^operands could not be broadcast together with shapes"
)


def same_class(ours: Exception, expected: Exception) -> bool:
    """Whether an error is of torch's class, or torch's is none that was meant for users."""
    if isinstance(expected, UNINTENDED) and not isinstance(expected, IndexError):
        return True
    if isinstance(ours, type(expected)) or isinstance(expected, type(ours)):
        return True
    return OF_PYTHON.search(str(expected)) is not None


def deviation(call: Call) -> str:
    """How a call differs from torch's; nothing if it does not."""
    _, expected = attempt(torch, call, theirs)
    _, error = attempt(numbagrad, call, copied)
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
                if (name, wrong.what) not in TORCH_CRASHES and (said := deviation(wrong.call)):
                    found.setdefault(f"{wrong.what} | {said}", right.path)
    return found


@pytest.mark.parametrize("name", GROUPS)
def test_errors_are_of_the_classes_of_torch(name):
    found = deviations(name)
    expected = known().get(name, set())
    assert not {what: path for what, path in found.items() if what not in expected}
    assert not expected - found.keys()


def test_nothing_is_known_of_functions_that_do_not_exist():
    assert known().keys() <= GROUPS.keys()
