"""Copies of objects, indices without elements and warnings that PyTorch's own tests ask for."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
import warnings

import pytest
import torch

import numbagrad

LIBRARIES = (numbagrad, torch)


def outcome(function, library):
    """What a function of a library returns, or the class of its error; and its warnings."""
    before = library.is_warn_always_enabled()
    library.set_warn_always(True)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result = function(library)
            except Exception as error:
                result = type(error).__name__
    finally:
        library.set_warn_always(before)
    texts = {str(warning.message).split(" (Triggered internally")[0] for warning in caught}
    return repr(result), texts


def same(function):
    ours, theirs = (outcome(function, library) for library in LIBRARIES)
    assert ours == theirs


# --- copies ---------------------------------------------------------------------------------------

VIEWS = {
    "itself": lambda x: x,
    "a part": lambda x: x[1:3],
    "detached": lambda x: x.detach()[1:],
    "data": lambda x: x.data,
    "transposed": lambda x: x.t(),
    "reshaped": lambda x: x.view(-1),
    "column": lambda x: x[:, 1],
    "empty": lambda x: x[:0],
    "another dtype": lambda x: x.view(
        (numbagrad if isinstance(x, numbagrad.Tensor) else torch).int32
    ),
}


@pytest.mark.parametrize("second", VIEWS)
@pytest.mark.parametrize("first", VIEWS)
def test_copies_of_views_share_memory_as_the_views_do(first, second):
    def function(t):
        whole = t.arange(20.0)[3:15].view(4, 3)
        pair = copy.deepcopy([VIEWS[first](whole), VIEWS[second](whole)])
        pair[0].fill_(7)
        assert whole.max() < 15
        return [(x.tolist(), x.storage_offset(), x.stride()) for x in pair]

    same(function)


@pytest.mark.parametrize("dtype", ["bfloat16", "complex64", "int8", "bool"])
def test_copies_of_tensors_of_a_module_share_memory(dtype):
    def function(t):
        module = t.nn.Module()
        module.register_buffer("whole", t.zeros(4, dtype=getattr(t, dtype)))
        module.register_buffer("part", module.whole[1:])
        made = copy.deepcopy(module)
        made.whole.fill_(1)
        return made.part.tolist(), module.part.tolist()

    same(function)


def test_copies_of_sparse_tensors_have_their_gradient():
    def function(t):
        x = t.eye(3).to_sparse().requires_grad_()
        x.grad = t.eye(3).to_sparse()
        made = copy.deepcopy(x)
        return made.grad.to_dense().tolist(), made.grad is x.grad

    same(function)


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, copy.copy, lambda g: pickle.loads(pickle.dumps(g))]
)
def test_copies_of_generators_go_on_with_the_same_numbers(copied):
    def function(t):
        generator = t.Generator().manual_seed(5)
        t.rand(3, generator=generator)
        made = copied(generator)
        first = t.rand(5, generator=made).tolist()
        return first == t.rand(5, generator=generator).tolist(), made.initial_seed()

    same(function)


# --- indices --------------------------------------------------------------------------------------

SHAPES = [(), (0,), (1,), (3,), (0, 3), (3, 0), (3, 4)]


@pytest.mark.parametrize("inplace", ["", "_"])
@pytest.mark.parametrize("name", ["scatter", "scatter_add", "scatter_reduce", "gather"])
def test_ranks_of_indices(name, inplace):
    if name == "gather" and inplace:
        return
    differences = []
    for own, index, source in itertools.product(SHAPES, SHAPES, SHAPES):

        def function(t, own=own, index=index, source=source):
            given = [0, t.zeros(index, dtype=t.int64)]
            if name != "gather":
                given.append(t.ones(source))
            if name == "scatter_reduce":
                given.append("sum")
            return getattr(t.zeros(own), name + inplace)(*given).tolist()

        ours, theirs = (outcome(function, library) for library in LIBRARIES)
        if "IndexError" in theirs[0]:  # of a dimension that torch did not look at before
            theirs = "'RuntimeError'", theirs[1]
        if ours != theirs:
            differences.append((own, index, source, ours, theirs))
    assert not differences


@pytest.mark.parametrize("name", ["scatter", "scatter_add", "scatter_reduce"])
def test_gradients_of_indices_without_elements(name):
    def function(t):
        x = t.ones(3, 4, requires_grad=True)
        rest = ("sum",) if name == "scatter_reduce" else ()
        made = getattr(x, name)(0, t.zeros(0, dtype=t.int64), t.ones(2), *rest)
        made.sum().backward()
        return x.grad.tolist()

    same(function)


# --- warnings and refusals ------------------------------------------------------------------------

MOMENTS = ("var", "std", "var_mean", "std_mean")


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2,), (0, 3), (3, 0), (3, 1)])
@pytest.mark.parametrize("name", MOMENTS)
def test_moments_of_too_few_elements_warn(name, shape):
    for dim in (None, *range(len(shape))):
        for correction in (0, 1, 2):

            def function(t, dim=dim, correction=correction):
                made = getattr(t, name)(t.ones(shape), dim, correction=correction)
                return [x.tolist() for x in made] if isinstance(made, tuple) else made.tolist()

            same(function)


@pytest.mark.parametrize("shape", [(1,), (2,), (3, 1), (3, 2)])
def test_covariances_of_too_few_observations_warn(shape):
    for correction in (0, 1, 2):
        same(lambda t, n=correction: t.cov(t.ones(shape), correction=n).tolist())
    same(lambda t: t.corrcoef(t.ones(shape)).tolist())


NUMBERS = {
    "float": float,
    "int": int,
    "complex": complex,
    "bool": bool,
    "item": lambda x: x.item(),
    "math": lambda x: math.pow(x, 3),
    "text": lambda x: f"{x:.1f}",
    "float of a result": lambda x: float(x * 2),
    "float of a detached one": lambda x: float(x.detach()),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_tensors_that_require_grad_warn(name):
    for recorded in (True, False):

        def function(t, recorded=recorded):
            x = t.tensor(2.0, requires_grad=True)
            with t.set_grad_enabled(recorded):
                return NUMBERS[name](x)

        same(function)


DTYPES = ["float16", "bfloat16", "float32", "complex64", "int64", "int8", "uint8", "bool"]
NEW = {
    "empty": lambda t, d: t.empty(3, dtype=d),
    "empty_like": lambda t, d: t.empty_like(t.ones(3, dtype=d)),
    "new_empty": lambda t, d: t.ones(1, dtype=d).new_empty(3),
    "empty_strided": lambda t, d: t.empty_strided((2, 2), (1, 2), dtype=d),
    "new_empty_strided": lambda t, d: t.ones(1, dtype=d).new_empty_strided((2, 2), (1, 2)),
    "empty_permuted": lambda t, d: t.empty_permuted((2, 2), (1, 0), dtype=d),
    "resize_": lambda t, d: t.ones(1, dtype=d).resize_(3),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NEW)
def test_new_memory_is_filled_for_deterministic_algorithms(name, dtype):
    def function(t):
        t.use_deterministic_algorithms(True)
        try:
            return NEW[name](t, getattr(t, dtype)).tolist()
        finally:
            t.use_deterministic_algorithms(False)

    same(function)


def test_memory_is_left_alone_where_that_is_asked_for(monkeypatch):
    filled = []
    monkeypatch.setattr(numbagrad.utils.deterministic, "fill_uninitialized_memory", False)
    monkeypatch.setattr(
        numbagrad.switches.arrays, "set_all", lambda array, value: filled.append(value)
    )
    numbagrad.use_deterministic_algorithms(True)
    try:
        numbagrad.empty(3)
    finally:
        numbagrad.use_deterministic_algorithms(False)
    assert not filled


FORMATS = {
    "False": lambda t: False,
    "True": lambda t: True,
    "both": lambda t: [t.contiguous_format, t.channels_last],
    "one": lambda t: [t.channels_last],
    "none": lambda t: [],
    "text": lambda t: "ILLEGAL",
    "texts": lambda t: ["ILLEGAL"],
    "number": lambda t: 1,
}


@pytest.mark.parametrize("check", FORMATS)
def test_orders_of_dimensions(check):
    makes = [
        lambda t: t.ones(2, 3, 4, 5), lambda t: t.ones(1, 1, 2), lambda t: t.ones(2, 3, 1, 2),
        lambda t: t.ones(2, 3, 4, 5).to(memory_format=t.channels_last), lambda t: t.ones(()),
        lambda t: t.ones(2, 3).expand(4, 2, 3), lambda t: t.ones(2, 3, 4).permute(2, 0, 1),
        lambda t: t.ones(3).expand(2, 3), lambda t: t.ones(0, 2),
        lambda t: t.ones(2, 1).expand(2, 3),
    ]  # fmt: skip
    for make in makes:
        same(lambda t, make=make: make(t).dim_order(ambiguity_check=FORMATS[check](t)))


def test_tensors_on_the_same_memory():
    def function(t):
        x = t.ones(3, 4)
        others = [
            x, x.detach(), x.view(3, 4), x[:], x.t(), x[1:], x.clone(), t.empty(0).set_(x),
            x.view(12), x[:0],
        ]  # fmt: skip
        found = [x.is_set_to(y) for y in others]
        return found, t.empty(0).is_set_to(t.empty(0)), x[:0].is_set_to(x[:0])

    same(function)


@pytest.mark.parametrize("number", [-1, 0, 2**65, 2**31])
def test_numbers_of_threads_that_no_process_has(number):
    with pytest.raises((RuntimeError, ValueError)):
        numbagrad.set_num_threads(number)


CALLS_OF_TO = {
    "device, bool": lambda t: ("cpu", True),
    "None, bool": lambda t: (None, True),
    "dtype, bool": lambda t: (t.float32, True),
    "dtype, device": lambda t: (t.float32, t.device("cpu")),
    "device, dtype": lambda t: ("cpu", t.float64),
    "device, None, bool": lambda t: ("cpu", None, True),
    "device, dtype, bool": lambda t: (t.device("cpu"), t.float64, True),
    "tensor, bool": lambda t: (t.ones(1, dtype=t.float64), True),
    "tensor, device": lambda t: (t.ones(1), "cpu"),
    "bool": lambda t: (True,),
    "None, dtype": lambda t: (None, t.float64),
}


@pytest.mark.parametrize("name", CALLS_OF_TO)
def test_arguments_of_to_of_modules(name):
    def function(t):
        return str(t.nn.Linear(2, 2).to(*CALLS_OF_TO[name](t)).weight.dtype)

    same(function)


STATES = [(3, 20), (1, 20), (3, 1), (20,), (1, 3, 20), (2, 20)]


@pytest.mark.parametrize("second", STATES)
@pytest.mark.parametrize("first", STATES)
def test_states_of_cells_are_not_broadcast(first, second):
    def function(t):
        made = t.nn.LSTMCell(10, 20)(t.ones(3, 10), (t.zeros(first), t.zeros(second)))
        return [each.shape for each in made]

    same(function)


@pytest.mark.parametrize("size", [3, 40])
def test_means_of_complex_normal_numbers(size):
    parts = []
    for t in LIBRARIES:
        t.manual_seed(0)
        made = t.empty(size, dtype=t.complex128).normal_(1, 2)
        parts.append([*made.real.tolist(), *made.imag.tolist()])
    assert parts[0] == pytest.approx(parts[1], rel=1e-6)


@pytest.mark.parametrize("dtype", [*DTYPES, "float64", "complex128"])
def test_dtypes_of_lists_of_tensors(dtype):
    def function(t):
        one = t.tensor(1, dtype=getattr(t, dtype))
        lists = [[one], [[one], [one]], [one, t.tensor(1.5)], [one, 2.5], [2, one], [one.view(1)]]
        return [str(t.tensor(each).dtype) for each in lists], str(t.as_tensor([one]).dtype)

    same(function)
