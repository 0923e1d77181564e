"""The text of random tensors against the installed torch's, character for character."""

import random
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from numbagrad import printing
from numbagrad.dtype import DTYPES, float32, set_default_dtype
from numbagrad.half_precision import converted

SPECIAL = [0.0, -0.0, np.nan, np.inf, -np.inf, 1e-5, 1e8, 1.5e8, 999.99995, 1e-45, -1.0, 65504.0]


@pytest.fixture(autouse=True)
def _default_settings() -> Iterator[None]:
    yield
    printing.set_printoptions(profile="default")
    torch.set_printoptions(profile="default")
    set_default_dtype(float32)
    torch.set_default_dtype(torch.float32)


def random_shape(source: random.Random) -> tuple[int, ...]:
    rank = source.randint(0, 5)
    longest = {0: 1, 1: 1200, 2: 40, 3: 12, 4: 8, 5: 5}[rank]
    shortest = 0 if source.random() < 0.1 else 1
    if source.random() < 0.5:
        longest = min(longest, 8)
    return tuple(source.randint(shortest, longest) for _ in range(rank))


def random_floats(source: random.Random, shape: tuple[int, ...]) -> np.ndarray:
    generator = np.random.default_rng(source.randrange(2**32))
    magnitude = 10.0 ** source.uniform(-8, 10)
    style = source.choice(["normal", "whole", "wide", "special", "rounded", "zero", "equal"])
    values = generator.standard_normal(shape)
    if style == "whole":
        return np.round(values * min(magnitude, 1e6))
    if style == "wide":
        return values * 10.0 ** generator.uniform(-6, 6, shape)
    if style == "special":
        chosen = generator.choice(SPECIAL, size=shape)
        return np.where(generator.random(shape) < source.random(), chosen, values)
    if style == "rounded":
        return np.round(values, source.randint(0, 5))
    if style == "zero":
        return np.where(generator.random(shape) < 0.5, 0.0, -0.0)
    if style == "equal":
        return np.full(shape, magnitude)
    return values * magnitude


def random_array(source: random.Random, dtype: np.dtype) -> np.ndarray:
    shape = random_shape(source)
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            array = np.asarray(random_floats(source, shape)).astype(dtype)
    elif dtype.kind == "V":
        with np.errstate(over="ignore"):
            array = converted(np.asarray(random_floats(source, shape)).astype(np.float32), dtype)
    elif dtype.kind == "c":
        parts = dtype.type(0).real.dtype
        array = np.empty(shape, dtype)
        with np.errstate(over="ignore"):
            array.real = np.asarray(random_floats(source, shape)).astype(parts)
            array.imag = np.asarray(random_floats(source, shape)).astype(parts)
    elif dtype.kind == "b":
        array = np.asarray(np.random.default_rng(source.randrange(2**32)).random(shape) < 0.5)
    else:
        limits = np.iinfo(dtype)
        reach = 10 ** source.randint(0, 20)
        low, high = max(limits.min, -reach), min(limits.max, reach)
        flat = [source.randint(low, high) for _ in range(int(np.prod(shape)))]
        array = np.array(flat, dtype=dtype).reshape(shape)
    return array.T if source.random() < 0.3 else array


def random_options(source: random.Random) -> dict:
    choices = {
        "precision": [0, 1, 2, 6, 10],
        "threshold": [0, 5, 20, 100, float("inf")],
        "edgeitems": [0, 1, 2, 5],
        "linewidth": [10, 40, 79, 120, 200],
        "profile": ["default", "short", "full"],
        "sci_mode": [True, False],
    }
    return {name: source.choice(of) for name, of in choices.items() if source.random() < 0.4}


def torch_tensor(array: np.ndarray) -> torch.Tensor:
    """The array as torch's tensor, also of bfloat16, which NumPy has not."""
    if array.dtype.kind != "V":
        return torch.from_numpy(array)
    return torch.from_numpy(array.view(np.uint16)).view(torch.bfloat16)


def assert_same_text(array: np.ndarray, dtype, **autograd_state) -> None:
    tensor = torch_tensor(array)
    if autograd_state.get("requires_grad"):
        tensor.requires_grad_()
    if autograd_state.get("grad_fn_name"):
        tensor = tensor * 1
        array = tensor.detach().numpy() if array.dtype.kind != "V" else array
    assert printing.tensor_text(array, dtype, **autograd_state) == repr(tensor)


def random_autograd_state(source: random.Random, dtype) -> dict:
    if not dtype.is_floating_point or source.random() < 0.5:
        return {}
    if source.random() < 0.5:
        return {"requires_grad": True}
    return {"requires_grad": True, "grad_fn_name": "MulBackward0"}


@pytest.mark.parametrize("dtype", DTYPES, ids=repr)
def test_default_options(dtype):
    source = random.Random(dtype.name)
    for _ in range(300):
        array = random_array(source, dtype.numpy)
        assert_same_text(array, dtype, **random_autograd_state(source, dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=repr)
def test_random_options(dtype):
    source = random.Random(dtype.name + " options")
    for _ in range(200):
        options = random_options(source)
        printing.set_printoptions(**options)
        torch.set_printoptions(**options)
        assert printing.get_printoptions() == torch._tensor_str.get_printoptions()
        array = random_array(source, dtype.numpy)
        assert_same_text(array, dtype, **random_autograd_state(source, dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=repr)
@pytest.mark.parametrize("default", ["float16", "float64"])
def test_default_dtype(dtype, default):
    from numbagrad.dtype import dtype_from_name

    set_default_dtype(dtype_from_name(default))
    torch.set_default_dtype(getattr(torch, default))
    source = random.Random(dtype.name + default)
    for _ in range(50):
        assert_same_text(random_array(source, dtype.numpy), dtype)


@pytest.mark.parametrize("length", range(1, 40))
def test_suffix_moves_to_a_new_line_where_torch_moves_it(length):
    assert_same_text(np.arange(length, dtype=np.float32), float32, requires_grad=True)
    assert_same_text(
        np.full(length, 0.5, np.float32), float32, requires_grad=True, grad_fn_name="MulBackward0"
    )


def test_parameters_and_subclasses():
    class Weight(torch.nn.Parameter):
        pass

    array = np.ones((2, 3), np.float32)
    ours = {"requires_grad": True, "is_parameter": True}
    plain, special = torch.nn.Parameter(torch.ones(2, 3)), Weight(torch.ones(2, 3))
    assert printing.tensor_text(array, float32, **ours) == repr(plain)
    assert printing.tensor_text(array, float32, tensor_name="Weight", **ours) == repr(special)


@pytest.mark.parametrize("format_spec", ["", ".3f", "10.2e", "g", ">12"])
@pytest.mark.parametrize("value", [1.23456, -0.0, float("nan"), 3e10])
def test_format(value, format_spec):
    tensor = torch.tensor(value)
    assert printing.format_scalar(tensor.numpy(), format_spec) == format(tensor, format_spec)
