"""Values that operators refuse are refused at every run of a program, and in every sample.

Indices, counts, shifts and divisors of the operator table's rows are replaced by ones that are out
of range. What a call does then, an error or a result, must not depend on how it is run: compiled
(the bad values come to a program that was recorded with good ones), under vmap, or both.
"""

from __future__ import annotations

import numpy as np
import pytest
from operator_entry import Entry, as_tuple
from operator_table import ENTRIES, POINTWISE_ENTRIES
from test_compile_operators import Namespace, tensors_made

import numbagrad
from numbagrad import vmap

DIVISIONS = ("floor_divide", "remainder", "fmod", "div_floor", "div_trunc", "pow", "ldexp")
INT64 = np.iinfo(np.int64)
#: Their results have a size that depends on values, or they cannot be programs.
LEFT_OUT = ("bincount", "nonzero", "argwhere", "masked_select", "repeat_interleave", "getitem-mask",
            "segment_reduce")  # fmt: skip


def values_of(entry: Entry) -> list[list[np.ndarray]]:
    """The tensors that a row makes, and its inputs, with good values."""
    dtype = next(name for name in ("int64", "float32", "float64", "bool") if entry.admits(name))
    return [tensors_made(entry, dtype), entry.draw(dtype)]


def _takes_places(entry: Entry) -> bool:
    fixed = [x for x in entry.inputs if x.fixed == "int64"]
    return entry.name in DIVISIONS or bool(fixed or values_of(entry)[0])


ROWS = [
    x for x in POINTWISE_ENTRIES + ENTRIES
    if not x.name.startswith(LEFT_OUT) and _takes_places(x)
]  # fmt: skip


def spoiled(entry: Entry, good: list[list[np.ndarray]]):
    """Both lists with one bad value at a time, in one array."""
    for part, arrays in enumerate(good):
        for place, array in enumerate(arrays):
            places = part == 0 or entry.inputs[place].fixed
            for bad in (0, -1, 10**6, -(10**6), INT64.min, INT64.max):
                if array.dtype == np.int64 and array.size and (places or bad == 0):
                    changed = array.copy()
                    changed.flat[-1] = bad
                    lists = [list(good[0]), list(good[1])]
                    lists[part][place] = changed
                    yield f"array {place} of list {part}: {bad}", lists


def outcome(function, arrays):
    """The results, or None for an error."""
    made, inputs = [[numbagrad.from_numpy(x.copy()) for x in each] for each in arrays]
    try:
        return [x.numpy() for x in function(made, *inputs)]
    except (RuntimeError, IndexError, ValueError):
        return None


def check(found, expected, what: str) -> None:
    """Check that two outcomes are the same."""
    assert (found is None) == (expected is None), f"{what}: {found}, expected {expected}"
    for a, b in zip(found or (), expected or (), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype), what
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6, err_msg=what)


@pytest.mark.parametrize("entry", ROWS, ids=lambda entry: entry.name)
def test_bad_values(entry):
    call, is_pointwise = entry.call, entry.definition is not None

    def function(made, *inputs):
        answers = iter(made)
        namespace = Namespace(lambda data, **options: next(answers))
        return tuple(as_tuple(call(numbagrad if is_pointwise else namespace, *inputs)))

    def samples(made, *inputs):
        return vmap(function)(made, *inputs)

    good = values_of(entry)
    pairs = [[np.stack([x, x]) for x in each] for each in good]
    programs = [numbagrad.compile(function), numbagrad.compile(samples)]
    right = outcome(function, good)
    assert right is not None
    for program, arrays in zip(programs, (good, pairs), strict=True):
        for _ in range(4):
            outcome(program, arrays)
    for what, bad in spoiled(entry, good):
        expected = outcome(function, bad)
        check(outcome(programs[0], bad), expected, f"compiled, {what}")
        both = [[np.stack([x, y]) for x, y in zip(*each, strict=True)]
                for each in zip(good, bad, strict=True)]  # fmt: skip
        if expected is not None:
            expected = [np.stack(each) for each in zip(right, expected, strict=True)]
        check(outcome(samples, both), expected, f"samples, {what}")
        check(outcome(programs[1], both), expected, f"samples, compiled, {what}")
        check(outcome(programs[0], good), right, f"compiled, after {what}")


F = numbagrad.nn.functional

#: A call, arguments that it takes, and the same with one element that it refuses.
REFUSED_ELEMENTS = {
    "probability": (lambda x: F.binary_cross_entropy(x, x * 0), [0.5, 0.25], [0.5, 1.5]),
    "target": (lambda x: F.binary_cross_entropy(x * 0 + 0.5, x), [0.5, 0.25], [0.5, -0.5]),
    "variance": (lambda x: F.gaussian_nll_loss(x, x * 2, x), [0.5, 0.25], [0.5, -0.5]),
    "chance": (lambda x: numbagrad.bernoulli(x), [0.0, 1.0], [0.0, -1.0]),
    "chance in place": (lambda x: (x * 0).bernoulli_(x), [0.0, 1.0], [0.0, 1.5]),
    "deviation": (lambda x: numbagrad.normal(x * 0, x), [0.5, 0.25], [0.5, -0.5]),
    "rate": (lambda x: numbagrad.poisson(x), [0.5, 0.25], [0.5, -0.5]),
    "fraction": (lambda x: numbagrad.quantile(x, x, interpolation="higher"), [0.5, 1], [0.5, -0.1]),
    "fraction of numbers": (
        lambda x: numbagrad.nanquantile(x, x, interpolation="nearest"), [0.5, 1], [0.5, -0.1],
    ),
}  # fmt: skip
RUNS = {
    "compiled": numbagrad.compile,
    "vmap": lambda call: numbagrad.vmap(call, randomness="different"),
    "vmap twice": lambda call: numbagrad.vmap(numbagrad.vmap(call, 0, randomness="different"), 0,
                                              randomness="different"),
    "grad": lambda call: numbagrad.func.grad(lambda x: call(x).sum() + x.sum()),
    "tangents": lambda call: lambda x: numbagrad.func.jvp(call, (x,), (x,)),
    "vmap compiled": lambda call: numbagrad.compile(numbagrad.vmap(call, randomness="different")),
}  # fmt: skip


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("name", REFUSED_ELEMENTS)
def test_elements_are_refused_under_every_transformation(name, run):
    """As eagerly; a compiled function is called with good elements first."""
    call, good, bad = REFUSED_ELEMENTS[name]
    with pytest.raises((RuntimeError, ValueError)) as eager:
        call(numbagrad.tensor(bad))
    function = RUNS[run](call)
    shape = {"vmap": (2, 2), "vmap compiled": (2, 2), "vmap twice": (2, 1, 2)}.get(run, (2,))
    for _ in range(3):
        function(numbagrad.tensor(good).expand(shape))
    values = np.broadcast_to(np.array(good, np.float32), shape).copy()
    values[..., -1].flat[-1] = bad[-1]
    with pytest.raises(type(eager.value)):
        function(numbagrad.tensor(values))
