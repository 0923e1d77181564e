"""Dtypes, promotion, limits, sizes and devices against the installed torch."""

import itertools

import numpy as np
import pytest
import torch

from numbagrad.device import device
from numbagrad.dtype import (
    DTYPES,
    can_cast,
    dtype,
    dtype_from_name,
    finfo,
    float32,
    from_type_string,
    iinfo,
    promote_types,
    result_type_of,
    scalar_dtype,
    set_default_dtype,
    type_string,
)
from numbagrad.size import Size

PAIRS = list(itertools.product(DTYPES, DTYPES))


@pytest.fixture(params=["float32", "float64", "float16"])
def default(request):
    set_default_dtype(dtype_from_name(request.param))
    torch.set_default_dtype(getattr(torch, request.param))
    yield
    set_default_dtype(float32)
    torch.set_default_dtype(torch.float32)


def theirs(of: dtype) -> torch.dtype:
    return getattr(torch, of.name)


@pytest.mark.parametrize("each", DTYPES, ids=repr)
def test_attributes(each):
    other = theirs(each)
    for name in ("itemsize", "is_floating_point", "is_complex", "is_signed", "abbr"):
        assert getattr(each, name) == getattr(other, name)
    assert repr(each) == repr(other)
    assert type_string(each) == torch.empty(0, dtype=other).type()
    assert from_type_string(torch.empty(0, dtype=other).type()) == (each, "cpu")


@pytest.mark.parametrize("each", DTYPES, ids=repr)
def test_limits(each):
    if each.name == "bool":
        ours, others, names = None, None, ()
    elif each.is_floating_point or each.is_complex:
        ours, others = finfo(each), torch.finfo(theirs(each))
        names = ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny")
    else:
        ours, others = iinfo(each), torch.iinfo(theirs(each))
        names = ("bits", "dtype", "max", "min")
    assert repr(ours) == repr(others)
    assert all(getattr(ours, name) == getattr(others, name) for name in names)


@pytest.mark.parametrize("first, second", PAIRS)
def test_two_dtypes(first, second):
    promoted = torch.promote_types(theirs(first), theirs(second))
    assert repr(promote_types(first, second)) == repr(promoted)
    assert can_cast(first, second) == torch.can_cast(theirs(first), theirs(second))


@pytest.mark.usefixtures("default")
@pytest.mark.parametrize("first, second", PAIRS)
def test_categories(first, second):
    dimensioned = torch.ones(1, dtype=theirs(first))
    zero_dim = torch.ones((), dtype=theirs(second))
    mixed = result_type_of(first, second)
    expected = repr(torch.result_type(dimensioned, zero_dim))
    assert repr(mixed) == expected.replace("complex32", "complex64")  # see ``plan/dtypes.py``
    for scalar in (True, 1, 1.0):
        kind = scalar_dtype(scalar)
        with_dimensioned = result_type_of(dimensioned=first, scalar=kind)
        assert repr(with_dimensioned) == repr(torch.result_type(dimensioned, scalar))
        with_zero_dim = result_type_of(zero_dim=second, scalar=kind)
        assert repr(with_zero_dim) == repr(torch.result_type(zero_dim, scalar))


SIZE_CASES = [
    "Size([2, 3])", "Size()", "Size([2, 3]) + (4,)", "(4,) + Size([2, 3])", "Size([2, 3]) * 2",
    "2 * Size([2, 3])", "Size([2, 3])[0]", "Size([2, 3])[:1]", "Size([2, 3])[::-1]",
    "Size([2, 3]).numel()", "Size([]).numel()", "Size([2.5])", "Size(['a'])", "Size(5)",
    "Size([True])", "Size([2, 3]) + [1]", "Size([None])", "f'{Size([1])}'", "Size(range(3))",
    "Size(np.array([1, 2]))", "Size([2, 3]) == (2, 3)", "hash(Size([2, 3])) == hash((2, 3))",
]  # fmt: skip

DEVICE_CASES = [
    "device('cpu')", "device('cuda')", "device('cuda:1')", "device('cuda', 2)", "device('cpu:0')",
    "str(device('cuda', 2))", "device('cuda:x')", "device('cuda:01')", "device('')",
    "device('cpu:')", "device('cuda0')", "device('cuda:0', 1)", "device('cpu', -1)",
    "device('cpu', 'x')", "device('cuda', None)", "device(device('cpu'))", "device(' cpu')",
    "device(type='cuda', index=1)", "device('cpu') == device('cpu', 0)", "device('cpu') == 'cpu'",
    "device('cpu').index", "setattr(device('cpu'), 'type', 'cuda')", "device(device('cpu'), 1)",
]  # fmt: skip


def outcome(expression: str, names: dict) -> tuple[str, str]:
    try:
        result = eval(expression, {"np": np, **names})
    except (TypeError, RuntimeError, AttributeError) as error:
        return type(error).__name__, str(error)
    return type(result).__name__, repr(result)


@pytest.mark.parametrize("expression", SIZE_CASES + DEVICE_CASES)
def test_sizes_and_devices(expression):
    ours = outcome(expression, {"Size": Size, "device": device})
    assert ours == outcome(expression, {"Size": torch.Size, "device": torch.device})
