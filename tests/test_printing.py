"""Printing: texts that torch 2.13 gave, written out, and the options that change them."""

import numpy as np
import pytest

from numbagrad import printing
from numbagrad.dtype import (
    bool_,
    float16,
    float32,
    float64,
    from_numpy,
    int32,
    int64,
    set_default_dtype,
    uint8,
)

nan, inf = float("nan"), float("inf")


@pytest.fixture(autouse=True)
def _default_settings():
    yield
    printing.set_printoptions(profile="default")
    set_default_dtype(float32)


def text(values, dtype=float32, **autograd_state):
    return printing.tensor_text(np.array(values, dtype.numpy), dtype, **autograd_state)


@pytest.mark.parametrize(
    "values, dtype, expected",
    [
        (1.0, float32, "tensor(1.)"),
        (3, int64, "tensor(3)"),
        (True, bool_, "tensor(True)"),
        ([1, 2, 3], float32, "tensor([1., 2., 3.])"),
        ([1, -2.5, nan, inf], float32, "tensor([ 1.0000, -2.5000,     nan,     inf])"),
        ([0.0, -0.0, nan], float32, "tensor([0., -0., nan])"),
        ([1e-5, 1], float32, "tensor([1.0000e-05, 1.0000e+00])"),
        ([1e9, 1], float32, "tensor([1.0000e+09, 1.0000e+00])"),
        ([1, 1000], float32, "tensor([   1., 1000.])"),
        ([1, 1001], float32, "tensor([1.0000e+00, 1.0010e+03])"),
        ([[True], [False]], bool_, "tensor([[ True],\n        [False]])"),
        ([[1, -20], [300, 4]], int64, "tensor([[  1, -20],\n        [300,   4]])"),
        ([1.5], float64, "tensor([1.5000], dtype=torch.float64)"),
        ([1.5], float16, "tensor([1.5000], dtype=torch.float16)"),
        ([1, 2], int32, "tensor([1, 2], dtype=torch.int32)"),
        ([1, 255], uint8, "tensor([  1, 255], dtype=torch.uint8)"),
    ],
)
def test_elements(values, dtype, expected):
    assert text(values, dtype) == expected


def test_outer_dimensions_are_set_apart_by_empty_lines():
    assert text(np.arange(8).reshape(2, 2, 2)) == (
        "tensor([[[0., 1.],\n         [2., 3.]],\n\n        [[4., 5.],\n         [6., 7.]]])"
    )


@pytest.mark.parametrize(
    "shape, dtype, expected",
    [
        ((0,), float32, "tensor([])"),
        ((2, 0), float32, "tensor([], size=(2, 0))"),
        ((0,), int64, "tensor([], dtype=torch.int64)"),
        ((0, 3), bool_, "tensor([], size=(0, 3), dtype=torch.bool)"),
    ],
)
def test_empty(shape, dtype, expected):
    assert printing.tensor_text(np.empty(shape, dtype.numpy), dtype) == expected


def test_dtype_is_shown_unless_it_is_the_default():
    set_default_dtype(float64)
    assert text([1.5], float64) == "tensor([1.5000])"
    assert text([1.5], float32) == "tensor([1.5000], dtype=torch.float32)"


def test_autograd_state():
    assert text([1, 2], requires_grad=True) == "tensor([1., 2.], requires_grad=True)"
    assert (
        text([2, 4], requires_grad=True, grad_fn_name="MulBackward0")
        == "tensor([2., 4.], grad_fn=<MulBackward0>)"
    )


def test_suffix_that_does_not_fit_gets_a_line():
    printing.set_printoptions(linewidth=20)
    assert text([1, 2], requires_grad=True) == "tensor([1., 2.],\n       requires_grad=True)"


def test_rows_are_wrapped():
    assert text(np.arange(13) / 8) == (
        "tensor([0.0000, 0.1250, 0.2500, 0.3750, 0.5000, 0.6250, 0.7500, 0.8750, 1.0000,\n"
        "        1.1250, 1.2500, 1.3750, 1.5000])"
    )


def test_summary_of_a_vector():
    expected = "tensor([   0,    1,    2,  ...,  998,  999, 1000])"
    assert text(np.arange(1001), int64) == expected
    assert "..." not in text(np.arange(1000), int64)


def test_summary_of_a_matrix_cuts_each_long_dimension():
    printing.set_printoptions(threshold=5, edgeitems=1)
    assert text(np.arange(9).reshape(3, 3)) == (
        "tensor([[0.,  ..., 2.],\n        ...,\n        [6.,  ..., 8.]])"
    )


def test_summary_width_comes_from_the_elements_shown():
    values = np.zeros(2000)
    values[1000] = 123456
    assert text(values) == "tensor([0., 0., 0.,  ..., 0., 0., 0.])"


def test_no_edge_items():
    printing.set_printoptions(threshold=5, edgeitems=0)
    assert text(np.arange(9).reshape(3, 3)) == "tensor([...], size=(3, 3))"
    assert text(1) == "tensor(1., size=())"


@pytest.mark.parametrize(
    "options, values, expected",
    [
        ({"sci_mode": True}, [1, 20], "tensor([1.0000e+00, 2.0000e+01])"),
        ({"sci_mode": False}, [1, 2e9], "tensor([         1., 2000000000.])"),
        ({"precision": 2}, [1.555, 2], "tensor([1.55, 2.00])"),
        ({"profile": "short"}, np.ones(1001), "tensor([1., 1.,  ..., 1., 1.])"),
    ],
)
def test_options(options, values, expected):
    printing.set_printoptions(**options)
    assert text(values) == expected


def test_options_last_until_the_block_ends():
    before = printing.get_printoptions()
    with printing.printoptions(precision=1, sci_mode=True):
        assert text([1.25]) == "tensor([1.2e+00])"
    assert printing.get_printoptions() == before


def test_scientific_mode_is_chosen_anew_when_left_out():
    printing.set_printoptions(sci_mode=True)
    printing.set_printoptions(precision=3)
    assert printing.get_printoptions()["sci_mode"] is None


def test_profile_does_not_keep_later_changes():
    printing.set_printoptions(profile="short", precision=7)
    printing.set_printoptions(profile="short")
    assert printing.get_printoptions()["precision"] == 2


def test_unknown_profile():
    with pytest.raises(ValueError, match="default, short, full"):
        printing.set_printoptions(profile="long")


def test_parameter():
    plain = text([1], requires_grad=True, is_parameter=True)
    assert plain == "Parameter containing:\ntensor([1.], requires_grad=True)"
    subclass = text([1], requires_grad=True, is_parameter=True, tensor_name="Weight")
    assert subclass == "Parameter containing:\nParameter(Weight([1.], requires_grad=True))"


def test_subclass_name_indents_the_rows():
    assert text([[1], [2]], tensor_name="Points") == "Points([[1.],\n        [2.]])"


def test_device_comes_first():
    expected = "tensor([1], device='cuda:0', dtype=torch.int32)"
    assert text([1], int32, device_text="cuda:0") == expected


def test_strides_do_not_matter():
    array = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    for view in (array.T, array[:, ::2], np.broadcast_to(array, (2, 2, 3))):
        dtype = from_numpy(view.dtype)
        assert printing.tensor_text(view, dtype) == printing.tensor_text(view.copy(), dtype)


def test_format_scalar():
    loss = np.array(1.23456, np.float32)
    assert printing.format_scalar(loss, ".3f") == "1.235"
    assert printing.format_scalar(np.array(7), "04d") == "0007"
    with pytest.raises(ValueError):
        printing.format_scalar(loss, "d")
