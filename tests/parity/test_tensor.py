"""Conversion and description of tensors against torch."""

import copy
import itertools

import numpy as np
import pytest
import torch

import numbagrad

DTYPES = ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool"]
#: Within what every dtype can hold after conversion to an integer, where C defines the result.
VALUES = [0.0, 1.0, -1.0, 0.3, -0.7, 2.5, 100.4, 127.0, 1e-8]


@pytest.mark.parametrize("target", DTYPES)
@pytest.mark.parametrize("source", DTYPES)
def test_conversion(source, target):
    original = torch.tensor(VALUES, dtype=torch.float64).to(getattr(torch, source))
    mine = numbagrad.from_numpy(original.numpy().copy())
    converted = mine.to(getattr(numbagrad, target))
    expected = original.to(getattr(torch, target))
    assert str(converted.dtype) == str(expected.dtype)
    np.testing.assert_array_equal(converted.numpy(), expected.numpy())


@pytest.mark.parametrize("target", ["float16", "float32", "bool"])
def test_what_does_not_fit_in_a_float(target):
    values = [np.nan, np.inf, -np.inf, 1e300, -1e300, 65504.0, 65520.0, 1e-320]
    made = numbagrad.tensor(values, dtype=numbagrad.float64).to(getattr(numbagrad, target))
    expected = torch.tensor(values, dtype=torch.float64).to(getattr(torch, target))
    np.testing.assert_array_equal(made.numpy(), expected.numpy())


def test_strides_of_conversions():
    for order in itertools.permutations(range(3)):
        mine = numbagrad.zeros(2, 3, 4).permute(*order).double()
        theirs = torch.zeros(2, 3, 4).permute(*order).double()
        assert mine.stride() == theirs.stride()


@pytest.mark.parametrize(
    "expression",
    [
        "x.shape", "x.size(1)", "x.stride()", "x.numel()", "x.dim()", "x.element_size()",
        "x.nbytes", "x.is_contiguous()", "x.t().is_contiguous()", "x.t().stride()", "x.dtype",
        "x.layout", "x.device", "x.type()", "x.double().type()", "x.int().type()",
        "x.bool().type()", "x.half().type()", "x.is_leaf", "x.requires_grad", "x.grad",
        "x.grad_fn", "x.tolist()",
        "(x + 1).grad_fn.name()", "x.double().grad_fn.name()", "x.detach().requires_grad",
        "x.data.requires_grad", "x.output_nr", "x._version", "x.is_signed()", "x.long()",
        "x.to(torch.int8)", "repr(x)", "str(x * 2)", "x.new_zeros(2)", "x.new_full((1,), 2)",
        "copy.copy(x)", "copy.deepcopy(x)", "x.storage_offset()", "x.untyped_storage().nbytes()",
        "x.get_device()", "len(x)", "x.numpy(force=True)", "x.detach().numpy()", "bool(x[0, 0])",
        "x.itemsize", "x.names if hasattr(x, 'names') else None", "x.retains_grad",
    ],
)  # fmt: skip
def test_description(expression):
    texts = [
        repr(
            eval(
                expression,
                {"torch": module, "copy": copy, "x": module.ones(2, 3, requires_grad=True)},
            )
        )
        for module in (numbagrad, torch)
    ]
    assert texts[0] == texts[1]


@pytest.mark.parametrize("pair", list(itertools.product(DTYPES, DTYPES)))
def test_result_type(pair):
    def answers(module):
        first, second = (module.ones(1, dtype=getattr(module, name)) for name in pair)
        scalar = module.ones((), dtype=getattr(module, pair[1]))
        return [
            str(module.result_type(first, second)),
            str(module.result_type(first, scalar)),
            str(module.result_type(scalar, first)),
            str(module.result_type(first, 2)),
            str(module.result_type(2.5, first)),
        ]

    assert answers(numbagrad) == answers(torch)
