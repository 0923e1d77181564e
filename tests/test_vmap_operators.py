"""Every operator of the table under ``vmap``, and under ``vmap`` of its gradient: as in a loop.

Each operand is mapped alone, and all together; the samples lie along the first dimension and along
the last. What cannot be computed for a batch is listed with the error that says so.
"""

import numpy as np
import pytest
from operator_entry import as_tuple
from operator_table import ENTRIES, POINTWISE_ENTRIES
from test_vmap_nn import choices, gradients_of

import numbagrad as torch
from numbagrad import vmap

SAMPLES = 2

#: Entries whose result has a size that depends on the values of a mapped operand: which operand,
#: and what the error says.
DYNAMIC = {
    "nonzero": (0, "output dynamic shape"),
    "argwhere": (0, "output dynamic shape"),
    "masked_select": (1, "differently shaped"),
    "getitem-mask": (1, "boolean mask"),
}

#: Entries that are only defined for samples that lie one behind the other.
BY_MEMORY = dict.fromkeys(
    ("as_strided", "as_strided_scatter"),
    "strides are those in memory, and the samples of the last dimension do not lie as a tensor of "
    "their own does",
)

#: What stands for all pointwise operators, whose rule is one for all.
TYPICAL = {"add", "mul", "exp", "where", "clamp_tensor", "lt", "pow", "masked_fill", "lerp"}

DRIVEN = ENTRIES + [entry for entry in POINTWISE_ENTRIES if entry.name in TYPICAL]


def by_name(entry):
    return entry.name


def dtype_of(entry):
    return next(x for x in ("float64", "int64", "bool") if entry.admits(x))


def dims_of(entry):
    return (0,) if entry.name in BY_MEMORY else (0, -1)


def is_dynamic(entry, mapped):
    return entry.name in DYNAMIC and mapped[DYNAMIC[entry.name][0]]


def operands(entry, mapped, dim, dtype=None):
    """The operands of an entry, those mapped with the samples along ``dim``; and the dims."""
    draws = [entry.draw(dtype or dtype_of(entry), seed) for seed in range(SAMPLES)]
    tensors = [
        torch.from_numpy(np.ascontiguousarray(np.stack([draw[position] for draw in draws], dim)))
        if is_mapped
        else torch.from_numpy(draws[0][position])
        for position, is_mapped in enumerate(mapped)
    ]
    return tensors, tuple(dim if is_mapped else None for is_mapped in mapped)


def assert_like_a_loop(function, tensors, dims):
    made = vmap(function, in_dims=dims)(*tensors)
    wanted = [
        function(
            *[
                x if dim is None else x.select(dim, n).clone()
                for x, dim in zip(tensors, dims, strict=True)
            ]
        )
        for n in range(SAMPLES)
    ]
    for position, result in enumerate(made):
        expected = np.stack([each[position].detach().numpy() for each in wanted])
        assert result.detach().numpy().dtype == expected.dtype
        np.testing.assert_allclose(result.detach().numpy(), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("entry", DRIVEN, ids=by_name)
def test_samples_are_computed_as_one_by_one(entry):
    for mapped in choices(len(entry.inputs)):
        for dim in dims_of(entry):
            tensors, dims = operands(entry, mapped, dim)
            call = lambda *xs: tuple(as_tuple(entry.call(torch, *xs)))  # noqa: E731
            if is_dynamic(entry, mapped):
                with pytest.raises(RuntimeError, match=DYNAMIC[entry.name][1]):
                    vmap(call, in_dims=dims)(*tensors)
            else:
                assert_like_a_loop(call, tensors, dims)


WHOLE = [x for x in ENTRIES + POINTWISE_ENTRIES if x.admits("int64")]


@pytest.mark.parametrize("entry", WHOLE, ids=by_name)
def test_samples_of_integers_are_computed_as_one_by_one(entry):
    for mapped in choices(len(entry.inputs)):
        if not is_dynamic(entry, mapped):
            tensors, dims = operands(entry, mapped, 0, "int64")
            assert_like_a_loop(lambda *xs: tuple(as_tuple(entry.call(torch, *xs))), tensors, dims)


def test_a_zero_in_the_divisor_of_one_sample_raises():
    dividend, divisor = torch.arange(4).reshape(2, 2), torch.tensor([[1, 2], [0, 3]])
    for divide in (torch.floor_divide, torch.remainder, torch.fmod):
        for dims in ((0, 0), (None, 0), (0, None)):
            with pytest.raises(RuntimeError, match="ZeroDivisionError"):
                vmap(divide, in_dims=dims)(dividend, divisor)


DIFFERENTIABLE = [x for x in DRIVEN if x.differentiable and x.admits("float64")]


@pytest.mark.parametrize("entry", DIFFERENTIABLE, ids=by_name)
def test_gradients_of_samples_are_those_of_a_loop(entry):
    for mapped in choices(len(entry.inputs)):
        if is_dynamic(entry, mapped):
            continue
        tensors, dims = operands(entry, mapped, 0)
        floating = [position for position, x in enumerate(tensors) if x.is_floating_point()]
        gradients = gradients_of(lambda *xs: as_tuple(entry.call(torch, *xs)), floating)
        assert_like_a_loop(gradients, tensors, dims)


@pytest.mark.parametrize("entry", DIFFERENTIABLE, ids=by_name)
def test_gradients_of_a_batch_are_those_of_its_samples(entry):
    """The history of what ``vmap`` computed leads back to the batch."""
    mapped = (True,) * len(entry.inputs)
    if is_dynamic(entry, mapped):
        return
    tensors, dims = operands(entry, mapped, 0)
    floating = [position for position, x in enumerate(tensors) if x.is_floating_point()]
    call = lambda *xs: tuple(as_tuple(entry.call(torch, *xs)))  # noqa: E731

    def gradients(function):
        leaves = [x.clone().requires_grad_(k in floating) for k, x in enumerate(tensors)]
        total = 0
        for x in function(*leaves):
            if x.requires_grad:
                weights = torch.arange(1.0, x.numel() + 1, dtype=x.dtype).reshape(x.shape)
                total = total + (x * weights).sum()
        chosen = [leaves[k] for k in floating]
        return torch.autograd.grad(total, chosen, allow_unused=True, materialize_grads=True)

    def loop(*xs):
        rows = [call(*[x[n].clone() for x in xs]) for n in range(SAMPLES)]
        return [torch.stack(column) for column in zip(*rows, strict=True)]

    for made, wanted in zip(gradients(vmap(call, in_dims=dims)), gradients(loop), strict=True):
        np.testing.assert_allclose(made.numpy(), wanted.numpy(), rtol=1e-9, atol=1e-9)


def test_samples_that_are_not_contiguous_have_no_memory_to_scatter_into():
    x, y = torch.arange(12.0).reshape(2, 3, 2), torch.tensor([20.0, 30.0])
    scatter = lambda x: x.as_strided_scatter(y, (2,), (2,), 1)  # noqa: E731
    with pytest.raises(RuntimeError, match="only if it is contiguous; call contiguous"):
        vmap(scatter, in_dims=-1)(x)
    made = vmap(lambda x: scatter(x.contiguous()), in_dims=-1)(x)
    assert made.tolist() == [scatter(x[..., n].contiguous()).tolist() for n in range(2)]
    rows = vmap(lambda x: x[1:].as_strided_scatter(y, (2,), (1,), 2))(x)
    assert rows.tolist() == [x[n].clone()[1:].as_strided_scatter(y, (2,), (1,), 2).tolist()
                             for n in range(2)]  # fmt: skip
    with pytest.raises(RuntimeError, match="none may be negative"):
        vmap(lambda x: x[1:].as_strided_scatter(y, (2,), (1,), 1))(x)


def test_segments_may_not_differ_between_samples():
    lengths = torch.tensor([[1, 5], [4, 2]])
    with pytest.raises(NotImplementedError, match="may not differ between the samples"):
        vmap(lambda n: torch.segment_reduce(torch.arange(6.0), "sum", lengths=n))(lengths)
