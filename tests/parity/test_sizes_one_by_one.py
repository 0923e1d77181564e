"""Ints one by one or in a tuple: functions and methods take what those of torch take.

Every public function and method that both libraries have is called with a tensor and with ints in
several arrangements. Where torch has a result, this library has one of the same shape; where torch
refuses the arrangement, this library does. ``test_wrong_inputs.py`` compares classes of errors.
"""

from __future__ import annotations

import math
import warnings

import pytest
import torch
from absent_walk import is_absent

import numbagrad
from numbagrad.ops.methods import on_demand

LIBRARIES = (torch, numbagrad)

SHAPES = ((2, 3), (1, 3, 1), (6,))

ARRANGEMENTS = (
    (), (0,), (1,), (-1,), (6,), (1, 0), (0, 1), (0, 2), (3, 2), (2, 3), (6, 1), (2, 2, 3),
    (1, 0, 2), (0, 1, 2), (1, 1, 0), ((),), ((0,),), ((6,),), ((1, 0),), ([1, 0],), ((2, 3),),
    ((1, 0, 2),), (0, (1,)), ((1,), 0), ([0], [1]),
)  # fmt: skip

#: Settings of the process, and what needs more than a tensor and ints.
NOT_CALLED = frozenset(
    """
    autocast_decrement_nesting autocast_increment_nesting compile get_rng_state load manual_seed
    profile save seed set_default_device set_default_dtype set_num_interop_threads set_num_threads
    set_printoptions set_rng_state set_warn_always use_deterministic_algorithms share_memory_
    lobpcg backward set_default_tensor_type
    """.split()
)

#: Single functions in which torch's answer is an accident, or depends on where memory came from.
ACCIDENTS = {
    # Orders of 2017, (alpha, other): torch takes numbers for the other operand.
    **dict.fromkeys("add add_ sub sub_ subtract subtract_ rsub".split(), "one operand too many"),
    "sym_sum": "it is for the sizes of traced programs, in a list",
    "resize": "of 2017, whose sizes it does not take in a tuple, as resize_ does",
    "sparse_coo_tensor": "indices may be floats",
    "to_sparse_csr": "of three dimensions, batches of matrices, which numbagrad does not have",
    "sparse_csr_tensor": "rows may begin at floats, and lie in a tensor beside columns in a list",
    "module_load": "it copies a number, which no state has",
    "is_vulkan_available": "it takes arguments, and looks at none",
    "diff": "of order 0, it does not look at the dimension",
    **dict.fromkeys(("resize_", "resize_as_"), "memory of NumPy is not resized"),
}


def position(library, path):
    """What lies at a path of a library."""
    for name in filter(None, path.split(".")):
        library = getattr(library, name)
    return library


def names(path):
    """The functions of both libraries at a path."""
    on_demand.load_all()
    both = sorted(set(dir(position(torch, path))) & set(dir(position(numbagrad, path))))
    found = []
    for name in both:
        value = getattr(position(torch, path), name)
        if name.startswith("_") or name in NOT_CALLED or name in ACCIDENTS:
            continue
        if is_absent(getattr(position(numbagrad, path), name)):  # says so when it is called
            continue
        if callable(value) and not isinstance(value, type):
            found.append(name)
    return found


def described(value):
    """The shapes of a result; of what is no tensor nothing but that it is there."""
    if hasattr(value, "shape"):
        return tuple(value.shape)
    if isinstance(value, (tuple, list)):
        return [described(x) for x in value]
    return None


def outcome(function, tensor, arrangement):
    """The shapes of the result, or that there is an error."""
    try:
        return described(function(tensor, *arrangement))
    except Exception:
        return "an error"


@pytest.mark.parametrize("path", ["", "Tensor", "linalg", "fft", "special"])
def test_arrangements_of_ints_are_those_of_torch(path):
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names(path):
            expected_of, function = (getattr(position(x, path), name) for x in LIBRARIES)
            for shape in SHAPES:
                for arrangement in ARRANGEMENTS:
                    values = torch.arange(float(math.prod(shape))).reshape(shape).clone()
                    expected = outcome(expected_of, values.clone(), arrangement)
                    ours = outcome(function, numbagrad.tensor(values.tolist()), arrangement)
                    if ours != expected:
                        found.append((name, shape, arrangement, expected, ours))
    assert not found


def test_a_method_takes_ints_by_name_as_well():
    x = numbagrad.arange(6.0).reshape(1, 6, 1)
    assert x.squeeze(dim=0).shape == (6, 1)
    assert x.squeeze(dim=(0, 2)).shape == (6,)
    assert x.broadcast_to(size=(2, 6, 1)).shape == (2, 6, 1)
    assert x.count_nonzero(dim=(0, 2)).tolist() == [0, 1, 1, 1, 1, 1]
    assert numbagrad.reshape(x, shape=[2, 3]).shape == (2, 3)
    assert numbagrad.permute(x, dims=(1, 0, 2)).shape == (6, 1, 1)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: numbagrad.reshape(x, 6), r"reshape\(\): argument 'shape' \(position 2\)"),
        (lambda x: numbagrad.reshape(x, 3, 2), r"reshape\(\) takes 2 positional arguments"),
        (lambda x: numbagrad.permute(x, 1, 0), r"permute\(\) takes 2 positional arguments"),
        (lambda x: numbagrad.squeeze(x, 1, 0), r"squeeze\(\) takes from 1 to 2 positional"),
        (lambda x: x.resize_(), r"resize_\(\) missing 1 required positional argument"),
        (lambda x: x.float(1), r"float\(\) takes 1 positional argument"),
    ],
)
def test_the_error_names_the_function(call, text):
    with pytest.raises(TypeError, match=text):
        call(numbagrad.ones(2, 3))


def test_copy_takes_a_number():
    assert numbagrad.ones(2).copy_(2.5).tolist() == [2.5, 2.5]
    assert numbagrad.ones(2, dtype=numbagrad.int32).copy_(2.5).tolist() == [2, 2]
