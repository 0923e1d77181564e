"""Every public call in other dtypes than float32, against what the call itself says elsewhere.

Half precision against float32, for the right calls that ``right_calls.py`` lists; methods in place
against the same methods with a new result, for every dtype. No oracle but this library is needed.
"""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest
import right_calls

import numbagrad as torch


def flat(value):
    """The tensors of a result."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [x for each in value for x in flat(each)]
    return []


def array_of(tensor):
    """Its elements, those of half precision as float32."""
    tensor = tensor.detach()
    if tensor.layout is not torch.strided:
        tensor = tensor.to_dense()
    return (tensor.float() if tensor.is_floating_point() else tensor.resolve_conj()).numpy()


# --- half precision -------------------------------------------------------------------------------


def words(call):
    """The text of a call, as a name for it."""
    text = inspect.getsource(call).strip().rstrip(",")
    return " ".join(text.split())[:90]


def outcome(call, monkeypatch, dtype, wide):
    """The tensors that a call returns for numbers of a dtype, perhaps in float32; None: refused."""

    def floats(*shape):
        values = (np.arange(int(np.prod(shape))) % 7 + 1) * 0.1234
        made = torch.from_numpy(np.asarray(values.reshape(shape), np.float32)).to(dtype)
        return made.float() if wide else made

    monkeypatch.setattr(right_calls, "floats", floats)
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return flat(call(torch))
        except (RuntimeError, TypeError, NotImplementedError, ValueError, IndexError):
            if wide:
                raise
            return None


#: Calls that draw random numbers, or whose results say of memory where it lies.
DRAWN = (
    "rand", "normal_(", "normal(", "randn", "bernoulli", "multinomial", "dropout", "empty",
    "rrelu", "gumbel", "poisson", "binomial", "lowrank", "init.", "fractional",
)  # fmt: skip
#: Calls of which a rounding of an input or of a value in between decides.
OF_ROUNDINGS = (
    "nextafter",
    "frexp",
    "finfo",
    "eps",
    "view(",
    "isclose",
    "allclose",
    "ulp",
    "fake_quantize",
)


def in_half_precision():
    """The calls that read ``floats`` and are no matter of chance."""
    calls = [x for x in right_calls.RIGHT_CALLS if "floats" in x.__code__.co_names]
    named = [(words(call), call) for call in calls]
    left_out = (*DRAWN, *OF_ROUNDINGS)
    return [
        pytest.param(call, id=name) for name, call in named if not any(x in name for x in left_out)
    ]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("call", in_half_precision())
def test_half_precision_follows_float32(call, dtype, monkeypatch):
    """Or is refused: values are those of float32 but for a few roundings."""
    found = outcome(call, monkeypatch, dtype, wide=False)
    if found is None:
        return
    wanted = outcome(call, monkeypatch, dtype, wide=True)
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert a.shape == b.shape
        x, y = array_of(a), array_of(b)
        if x.dtype.kind not in "fc":
            continue  # places of equal numbers, comparisons of rounded ones
        large = max(1.0, float(np.abs(y[np.isfinite(y)]).max(initial=0)))
        np.testing.assert_allclose(x, y, atol=24 * torch.finfo(dtype).eps * large)


class WithDtype:
    """A namespace whose functions are given a dtype where a call names none."""

    def __init__(self, space, dtype, taken):
        self.space, self.dtype, self.taken = space, dtype, taken

    def __getattr__(self, name):
        found = getattr(self.space, name)
        if inspect.ismodule(found):
            return WithDtype(found, self.dtype, self.taken)
        if not inspect.isfunction(found) or "dtype" not in inspect.signature(found).parameters:
            return found

        def call(*arguments, **options):
            self.taken.add(name)
            return found(*arguments, **{"dtype": self.dtype, **options})

        return call


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_a_dtype_that_is_asked_for(dtype):
    """What a function makes in half precision is what it makes in float32, rounded."""
    taken = set()
    for call in right_calls.RIGHT_CALLS:
        if any(word in words(call) for word in DRAWN):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = flat(call(WithDtype(torch, dtype, taken)))
            except (RuntimeError, TypeError, NotImplementedError, ValueError):
                continue
            wanted = flat(call(WithDtype(torch, torch.float32, set())))
        for a, b in zip(found, wanted, strict=True):
            x, y = array_of(a), array_of(b)
            if x.dtype.kind in "fc":
                atol = 24 * torch.finfo(dtype).eps * max(1.0, float(np.abs(y).max(initial=0)))
                np.testing.assert_allclose(x, y, atol=atol, err_msg=words(call))
    assert len(taken) > 20, sorted(taken)


# --- in place -------------------------------------------------------------------------------------

DTYPES = (torch.bool, torch.uint8, torch.int64, torch.bfloat16, torch.float32, torch.complex64)

#: What is written in place is no function of the same name with a new result, or is random.
UNLIKE = {
    "requires_grad", "retain_grad", "share_memory", "rename", "resize", "resize_as", "set", "apply",
    "map", "map2", "detach", "zero", "fill", "copy", "swap", "addbmm",
    "bernoulli", "cauchy", "exponential", "geometric", "log_normal", "normal", "random", "uniform",
}  # fmt: skip


def operands(dtype):
    """A tensor of the dtype, and another of its shape, with equal and with other elements."""
    first = [[1, 2, 0], [3, 0, 1], [2, 2, 5]]
    second = [[1, 3, 0], [2, 1, 1], [2, 3, 4]]
    made = [torch.tensor(x).to(dtype) for x in (first, second)]
    if dtype.is_complex:
        ones = torch.tensor([[1j, 0, -1j], [0, 0, 1j], [2j, 0, 0]]).to(dtype)
        made = [made[0] + ones, made[1] + ones]
    return made


def in_place_methods():
    """Names of methods that have a twin in place."""
    names = [x[:-1] for x in dir(torch.Tensor) if x.endswith("_") and not x.startswith("_")]
    return sorted(x for x in names if x not in UNLIKE and hasattr(torch.Tensor, x))


def arguments_of(dtype):
    """What is tried after ``self``."""
    other = operands(dtype)[1]
    yield ()
    yield (other,)
    yield (2,)
    yield (0.6,)
    yield (1,)
    yield (other, other)
    yield (other, 0.5)
    yield (0, 2)
    yield (0, 1)
    yield (-1, torch.tensor([0, 2]), 1)
    yield (other.bool(), 1)


def called(function, *arguments):
    """The tensor that comes back, or None if the call is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = function(*arguments)
        except (RuntimeError, TypeError, NotImplementedError, ValueError, IndexError):
            return None
    return found if isinstance(found, torch.Tensor) else None


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", in_place_methods())
def test_a_method_in_place_writes_what_the_method_returns(name, dtype):
    """In the dtype of the tensor; whatever lies beside its elements is not written."""
    for arguments in arguments_of(dtype):
        wanted = called(getattr(torch.Tensor, name), operands(dtype)[0], *arguments)
        for strided in (False, True):
            around = torch.full((3, 6), 7, dtype=dtype)
            x = around[:, ::2] if strided else around[:, :3].clone()
            x.copy_(operands(dtype)[0])
            found = called(getattr(torch.Tensor, name + "_"), x, *arguments)
            if found is None:
                continue
            assert wanted is not None, arguments
            assert found is x and x.dtype is dtype
            expected = array_of(wanted.to(dtype))
            np.testing.assert_array_equal(array_of(x), expected, err_msg=str(arguments))
            if strided:
                assert (around[:, 1::2] == torch.tensor(7).to(dtype)).all(), arguments
