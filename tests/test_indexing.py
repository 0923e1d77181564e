"""Indexing: what a key means, gather and scatter, selection; gradients of every order, errors."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.autograd import gradcheck, gradgradcheck
from numbagrad.kernels.indexing import reads

Build = Callable[[Any], Any]

SHAPE = (3, 4, 5)
ALL = slice(None)
MASK = np.random.default_rng(1).random((3, 4)) > 0.5


def array() -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).standard_normal(SHAPE)


def as_tensors(key: Any) -> Any:
    if isinstance(key, tuple):
        return tuple([as_tensors(entry) for entry in key])
    return torch.from_numpy(key) if isinstance(key, np.ndarray) else key


BASIC: list[Any] = [
    0, -1, slice(1, None), slice(None, None, 2), slice(7, 9), None, ..., (0, 1), (..., -1),
    (None, 1, ..., None), (0, 1, 2), (ALL, slice(0, 3, 2), 1),
]  # fmt: skip
ADVANCED: list[Any] = [
    np.array([0, 2, 0]), np.array([[0, -1], [1, 1]]), (np.array([0, 1]), np.array([1, 3])),
    (ALL, np.array([3, 3])), (..., np.array([0, -1])), MASK, (MASK, np.array([2])), MASK[:, 0],
    (np.array([0, 1]), ALL, np.array([2, 2])), (np.array([[0], [1]]), np.array([0, 1, 2])),
    [0, 2], True, np.zeros((3, 4, 5), dtype=bool),
]  # fmt: skip


@pytest.mark.parametrize("key", BASIC, ids=repr)
def test_basic_keys_give_views(key: Any) -> None:
    x = torch.from_numpy(array())
    made = x[key]
    assert np.array_equal(made.numpy(), array()[key])
    assert made._base is x
    if made.numel():
        made.fill_(7)
        assert x._version == 1 and (x.numpy()[key] == 7).all()


@pytest.mark.parametrize("key", ADVANCED, ids=repr)
def test_other_keys_copy(key: Any) -> None:
    x = torch.from_numpy(array())
    made = x[as_tensors(key)]
    assert np.array_equal(made.numpy(), array()[key])
    assert made.is_contiguous() and not np.shares_memory(made.numpy(), x.numpy())


@pytest.mark.parametrize("key", [k for k in [*BASIC, *ADVANCED] if array()[k].size], ids=repr)
def test_gradients_of_reading_and_assignment(key: Any) -> None:
    x = torch.from_numpy(array()).requires_grad_()
    values = torch.from_numpy(np.random.default_rng(2).standard_normal(array()[key].shape))

    def read(x: Any) -> Any:
        return x[as_tensors(key)] ** 2

    def write(x: Any, v: Any) -> Any:
        y = x * x
        y[as_tensors(key)] = v * v
        return y * y

    assert gradcheck(read, (x,)) and gradgradcheck(read, (x,))
    if not repeats(key):
        inputs = (x, values.requires_grad_())
        assert gradcheck(write, inputs) and gradgradcheck(write, inputs)


def repeats(key: Any) -> bool:
    """Whether a key names an element twice; then which value is written is open."""
    positions = np.arange(60).reshape(SHAPE)[key]
    return len(np.unique(positions)) < positions.size


def test_ints_beside_index_arrays_are_applied_first() -> None:
    x = torch.arange(24).reshape(2, 3, 4)
    assert x[0, :, torch.tensor([0, 1])].shape == (3, 2)  # NumPy gives (2, 3)


def test_tensors_without_dimensions_count_as_ints() -> None:
    x = torch.zeros(2, 3).copy_(torch.arange(6).reshape(2, 3))
    assert x[torch.tensor(1)]._base is x and x[torch.tensor(-1), np.int64(2)].item() == 5


def test_assignment_broadcasts_and_casts() -> None:
    x = torch.zeros(2, 3)
    x[0] = 1
    x[:, 1] = torch.tensor([2, 3])
    x[1, [0, 2]] = 4.5
    x[x == 0] = torch.tensor(9.0)
    x[1:] = torch.ones(1, 1, 3) * x[1]
    assert x.tolist() == [[1, 2, 1], [4.5, 3, 4.5]]
    assert x._version == 5


def test_assignment_of_a_tensor_to_itself_shifted() -> None:
    x = torch.arange(10).view(5, 2)
    x[1:, :1] = x[:-1, :1]
    assert x[:, 0].tolist() == [0, 0, 2, 4, 6]
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        x[1:] = x[:-1]


def test_repeated_indices_add_up_in_gradients() -> None:
    x = torch.arange(3.0, requires_grad=True)
    (x[[0, 0, 2, 0]] * torch.tensor([1.0, 10.0, 100.0, 1000.0])).sum().backward()
    assert x.grad.tolist() == [1011, 0, 100]


def test_an_index_that_is_changed_later_does_not_change_the_gradient() -> None:
    x = torch.arange(3.0, requires_grad=True)
    index = torch.tensor([0, 1])
    y = x[index]
    index.fill_(2)
    y.sum().backward()
    assert x.grad.tolist() == [1, 1, 0]


I3 = np.array([2, 0, 2])
POSITIONS = np.random.default_rng(3).integers(0, 4, (2, 3, 5))


def put_along(a: Any, index: Any, values: Any, dim: int) -> Any:
    a = a.copy()
    np.put_along_axis(a, index, values, dim)
    return a


def added_at(a: Any, key: Any, values: Any) -> Any:
    a = a.copy()
    np.add.at(a, key, values)
    return a


#: name: (on a tensor, on an ndarray)
OPERATORS: dict[str, tuple[Build, Build]] = {
    "gather": (lambda x: x.gather(1, torch.from_numpy(POSITIONS)),
               lambda a: np.take_along_axis(a[:2], POSITIONS, 1)),
    "take_along_dim": (lambda x: torch.take_along_dim(x, torch.tensor([[[1], [3]]]), 1),
                       lambda a: a[:, [1, 3]][:, :, [0, 1, 2, 3, 4]]),
    "scatter": (lambda x: x.scatter(0, torch.tensor([[[1, 0]]]), x[2:, :1, :2] * 2),
                lambda a: put_along(a[:, :1, :2], np.array([[[1, 0]]]), a[2:, :1, :2] * 2, 0)),
    "scatter a number": (lambda x: x.scatter(2, torch.tensor([[[1, 3]]]), 1.5),
                         lambda a: put_along(a[:1, :1], np.array([[[1, 3]]]), 1.5, 2)),
    "scatter_add": (lambda x: x.scatter_add(1, torch.from_numpy(POSITIONS), x[:2, :3] * 2),
                    lambda a: added_at(a, (np.arange(2)[:, None, None], POSITIONS, np.arange(5)),
                                       a[:2, :3] * 2)),
    "index_select": (lambda x: x.index_select(0, torch.from_numpy(I3)), lambda a: a[I3]),
    "index_add": (lambda x: x.index_add(2, torch.from_numpy(I3), x[..., :3], alpha=2),
                  lambda a: added_at(a, (ALL, ALL, I3), a[..., :3] * 2)),
    "index_put add": (lambda x: x.index_put((torch.from_numpy(I3), torch.tensor(1)), x[0, :3] * 2,
                                            accumulate=True),
                      lambda a: added_at(a, (I3, np.array([1, 1, 1])), a[0, :3] * 2)),
    "take": (lambda x: x.take(torch.tensor([[0, 7], [-1, 7]])),
             lambda a: a.reshape(-1)[[[0, 7], [-1, 7]]]),
    "masked_select": (lambda x: x.masked_select(torch.from_numpy(MASK)[..., None]),
                      lambda a: a[MASK].reshape(-1)),
    "masked_scatter": (lambda x: x.masked_scatter(torch.from_numpy(MASK)[..., None], x * 2)[MASK],
                       lambda a: a.reshape(-1)[: 5 * MASK.sum()].reshape(-1, 5) * 2),
    "sort": (lambda x: x.sort(1)[0], lambda a: np.sort(a, 1)),
    "topk": (lambda x: x.topk(2)[0], lambda a: np.sort(a)[..., :-3:-1]),
    "kthvalue": (lambda x: x.kthvalue(2, 1)[0], lambda a: np.sort(a, 1)[:, 1]),
    "embedding": (lambda x: torch.embedding(x[0], torch.tensor([[0, 3], [3, 3]])),
                  lambda a: a[0][[[0, 3], [3, 3]]]),
    "scatter_reduce": (lambda x: x.scatter_reduce(0, torch.tensor([[[1], [1]]]), x[:1, :2, :1],
                                                  "prod")[1, :2, 0],
                       lambda a: a[1, :2, 0] * a[0, :2, 0]),
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name: str) -> None:
    build, reference = OPERATORS[name]
    x = torch.from_numpy(array()).requires_grad_()
    made, expected = build(x).detach().numpy(), reference(array())
    same = tuple([slice(size) for size in expected.shape])
    np.testing.assert_allclose(made[same], expected, rtol=1e-14)

    def squared(x: Any) -> Any:
        made = build(x)
        return made * made

    assert gradcheck(squared, (x,))
    assert gradgradcheck(squared, (x,))


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8", "int32", "int64", "uint8", "bool"])
def test_every_dtype(dtype: str) -> None:
    values = (array() * 3).astype(dtype)
    x = torch.from_numpy(values)
    index = torch.from_numpy(I3)
    assert np.array_equal(x.index_select(1, index).numpy(), values[:, I3])
    assert np.array_equal(x.gather(1, torch.from_numpy(POSITIONS)).numpy(),
                          np.take_along_axis(values[:2], POSITIONS, 1))  # fmt: skip
    twice = x.index_add(0, torch.tensor([0, 0]), x[1:]).numpy()
    # Half precision is added in float32 and rounded once.
    exact = values.astype(np.float32) if dtype == "float16" else values
    expected = values[0] | values[1] | values[2] if dtype == "bool" else exact.sum(0)
    np.testing.assert_allclose(twice[0].astype(float), expected.astype(dtype).astype(float), 1e-2)


def test_order_of_nan_and_of_equal_values() -> None:
    x = torch.tensor([2.0, float("nan"), 1.0, 2.0])
    assert x.sort()[1].tolist() == [2, 0, 3, 1]
    assert x.sort(descending=True)[1].tolist() == [1, 0, 3, 2]
    assert x.topk(2)[1].tolist() == [1, 0]


def test_named_results() -> None:
    values, indices = found = torch.tensor([1, 3, 2]).sort()
    assert found.values is values and found.indices is indices
    assert repr(found) == (
        "torch.return_types.sort(\nvalues=tensor([1, 2, 3]),\nindices=tensor([0, 2, 1]))"
    )


def test_unique() -> None:
    x = torch.tensor([[3, 1], [1, 3]])
    values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True)
    assert values.tolist() == [1, 3] and counts.tolist() == [2, 2]
    assert inverse.tolist() == [[1, 0], [0, 1]]
    assert torch.unique_consecutive(torch.tensor([1, 1, 3, 1])).tolist() == [1, 3, 1]


def test_positions_in_sorted_sequences() -> None:
    edges = torch.tensor([1.0, 2.0, 3.0])
    assert torch.bucketize(torch.tensor([0.0, 2.0, 9.0]), edges).tolist() == [0, 1, 3]
    assert torch.searchsorted(edges, torch.tensor([2.0]), right=True).tolist() == [2]
    rows = torch.tensor([[1, 2], [5, 6]])
    assert torch.searchsorted(rows, torch.tensor([[2], [6]])).tolist() == [[1], [1]]


def test_where_the_elements_are_not_zero() -> None:
    x = torch.tensor([[0, 2], [3, 0]])
    assert x.nonzero().tolist() == torch.argwhere(x).tolist() == [[0, 1], [1, 0]]
    assert [part.tolist() for part in x.nonzero(as_tuple=True)] == [[0, 1], [1, 0]]
    assert [part.tolist() for part in torch.where(x > 2)] == [[1], [0]]


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    generator = np.random.default_rng(0)
    index = torch.from_numpy(generator.integers(0, 50, 4000))
    source = torch.from_numpy(generator.standard_normal((4000, 64)).astype(np.float32))
    threads = torch.get_num_threads()
    results = []
    try:
        for count in (1, 2):
            torch.set_num_threads(count)
            rows = torch.zeros(50, 64).index_add(0, index, source)
            spread = index[:, None].expand(4000, 64)
            cells = torch.zeros(50, 64).scatter_add(0, spread, source)
            results.append((rows.numpy().tobytes(), cells.numpy().tobytes()))
    finally:
        torch.set_num_threads(threads)
    assert results[0] == results[1]


@pytest.mark.parametrize(
    ("use", "kind", "text"),
    [
        (lambda x: x[3], IndexError, "index 3 is out of bounds for dimension 0 with size 3"),
        (lambda x: x[0, -5], IndexError, "index -5 is out of bounds for dimension 1 with size 4"),
        (lambda x: x[0, 0, 0, 0], IndexError, "too many indices for tensor of dimension 3"),
        (lambda x: x[::-1], ValueError, "step must be greater than zero"),
        (
            lambda x: x[0, 0, 0][0],
            IndexError,
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
            "`tensor.item<T>()` in C++ to convert a 0-dim tensor to a number",
        ),
        (
            lambda x: x[torch.tensor([3])],
            IndexError,
            "index 3 is out of bounds for dimension 0 with size 3",
        ),
        (
            lambda x: x[torch.tensor([True])],
            IndexError,
            "The shape of the mask [1] at index 0 does not match the shape of the indexed tensor "
            "[3, 4, 5] at index 0",
        ),
        (
            lambda x: x[torch.tensor([0.5])],
            IndexError,
            "tensors used as indices must be long, int, byte or bool tensors",
        ),
        (
            lambda x: x[[0, 1], [0, 1, 2]],
            IndexError,
            "shape mismatch: indexing tensors could not be broadcast together with shapes [2], [3]",
        ),
        (
            lambda x: x.__setitem__(0, torch.zeros(7)),
            RuntimeError,
            "The expanded size of the tensor (5) must match the existing size (7) at non-singleton "
            "dimension 1.  Target sizes: [4, 5].  Tensor sizes: [7]",
        ),
        (
            lambda x: x.__setitem__([0, 1], torch.zeros(7)),
            RuntimeError,
            "shape mismatch: value tensor of shape [7] cannot be broadcast to indexing result of "
            "shape [2, 4, 5]",
        ),
        (
            lambda x: x.gather(0, torch.tensor([[[3]]])),
            RuntimeError,
            "index 3 is out of bounds for dimension 0 with size 3",
        ),
        (
            lambda x: x.index_select(0, torch.tensor([-1])),
            IndexError,
            "index out of range in self",
        ),
        (lambda x: x.topk(6), RuntimeError, "selected index k out of range"),
    ],
)
def test_errors(use: Build, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as raised:
        use(torch.zeros(SHAPE))
    assert str(raised.value) == text


def test_a_mask_takes_one_element_of_any_dtype():
    x = torch.zeros(3)
    x[torch.tensor([True, False, True])] = torch.tensor([7])
    assert x.tolist() == [7, 0, 7]
    with pytest.raises(RuntimeError, match="dtypes match"):
        x[torch.tensor([True, False, True])] = torch.tensor([7, 8])


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("first", [0.0, 2.0])
@pytest.mark.parametrize("factors", [[0.0, 0.0], [0.0, 2.0], [3.0, 2.0]])
def test_the_gradient_of_a_product_with_zeros(factors, first, include_self):
    x = torch.tensor([first, 1.0], dtype=torch.float64, requires_grad=True)
    y = torch.tensor(factors, dtype=torch.float64, requires_grad=True)
    positions = torch.tensor([0, 0])
    for reduce in (torch.scatter_reduce, torch.index_reduce):
        arguments = (x, 0, positions, y, "prod")

        def product(*arguments, reduce=reduce):
            return reduce(*arguments, include_self=include_self)

        assert torch.autograd.gradcheck(product, arguments)
        if factors.count(0.0) > 1:
            with pytest.raises(RuntimeError, match="Double backward is unsupported for s"):
                torch.autograd.gradgradcheck(product, arguments)
        else:
            assert torch.autograd.gradgradcheck(product, arguments)


def test_index_reduce_names_what_it_cannot_do():
    with pytest.raises(RuntimeError, match="Expected reduce to be one of prod, mean, amax or amin"):
        torch.ones(2).index_reduce(0, torch.tensor([0]), torch.ones(1), "sum")


@pytest.mark.parametrize("function", [torch.unique, torch.unique_consecutive])
def test_different_elements_have_no_gradient(function):
    values, counts = function(torch.ones(3, requires_grad=True), return_counts=True)
    assert (values.requires_grad, counts.requires_grad) == (True, False)
    with pytest.raises(NotImplementedError, match="the derivative for 'unique' is not implemented"):
        values.sum().backward()


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x[torch.tensor([0, 1])],
        lambda x: x[[0, 1], [1, 1]],
        lambda x: x[x > 0],
        lambda x: x.index_put((torch.tensor([0]),), x[0]),
    ],
)
def test_indices_are_freed_like_saved_tensors(read: Build) -> None:
    x = torch.from_numpy(array()).requires_grad_()
    y = read(x).sum()
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match="Specify retain_graph=True"):
        y.backward()
    z = x[1:].sum()
    for _ in range(2):  # a view saves nothing
        z.backward()


# --- indices that are written before a backward ---------------------------------------------------

SAVES_INDEX = {
    "index_add": lambda x, y, i: x.index_add(0, i, y),
    "index_copy": lambda x, y, i: x.index_copy(0, i, y),
    "index_fill": lambda x, y, i: x.index_fill(0, i, 0.0),
    "index_reduce": lambda x, y, i: x.index_reduce(0, i, y, "prod"),
    "index_select": lambda x, y, i: x.index_select(0, i),
    "index_add_": lambda x, y, i: x.clone().index_add_(0, i, y),
    "gather": lambda x, y, i: x.gather(0, i.unsqueeze(1)),
    "scatter": lambda x, y, i: x.scatter(0, i.unsqueeze(1), y),
    "embedding": lambda x, y, i: torch.embedding(x, i),
}


@pytest.mark.parametrize("name", SAVES_INDEX)
def test_an_index_that_was_written_is_noticed(name):
    x, y = (torch.ones(2, 2, requires_grad=True) for _ in range(2))
    for _ in range(3):
        index = torch.tensor([0, 1])
        made = SAVES_INDEX[name](x, y, index)
        index.zero_()
        with pytest.raises(RuntimeError, match=r"torch.LongTensor.* is at version 1; expected"):
            made.sum().backward()


KEEPS_COPY = {
    "getitem": lambda x, y, i: x[i],
    "getitem, mask": lambda x, y, i: x[i == 1],
    "index_put": lambda x, y, i: x.index_put((i,), y),
    "single index": lambda x, y, i: x.index_select(0, i[1].clone()),
}


@pytest.mark.parametrize("name", KEEPS_COPY)
def test_an_index_that_was_copied_may_be_written(name):
    gradients = []
    for write in (False, True):
        x, y = (torch.ones(2, 2, requires_grad=True) for _ in range(2))
        index = torch.tensor([0, 1])
        made = KEEPS_COPY[name](x, y, index)
        if write:
            index.zero_()
        (made * torch.arange(made.numel()).view(made.shape)).sum().backward()
        gradients.append([None if t.grad is None else t.grad.tolist() for t in (x, y)])
    assert gradients[0] == gradients[1]


@pytest.mark.parametrize("shape, inner", [((4, 7), 1), ((4, 7), 3), ((5, 1), 1), ((1, 9), 1)])
def test_rows_are_read_in_any_cut(shape, inner):
    """The kernels as text: threads begin and end anywhere in an outer row."""
    outer, count = shape
    draw = np.random.default_rng(0)
    source = draw.integers(0, 1 << 30, (outer, 11, inner)).astype(np.int32)
    index = draw.integers(0, 11, (outer, count, inner))
    cases = (
        (reads.gather, index, np.take_along_axis(source, index, 1)),
        (reads.index_select, index[0, :, 0].copy(), source[:, index[0, :, 0]]),
    )
    for kernel, given, expected in cases:
        made = np.zeros(expected.shape, np.int32)
        words = kernel["4"].pack(made, source, given, 11, count, inner)
        cuts = sorted({0, 2, outer * count // 2, outer * count})
        for lo, hi in itertools.pairwise(cuts):
            kernel["4"].py_func(words, lo, hi)
        np.testing.assert_array_equal(made, expected)


def test_indices_of_a_pickled_array_are_indices():
    """Its dtype is equal to NumPy's own and another object, as of what a worker process sends."""
    sent = torch.from_numpy(pickle.loads(pickle.dumps(np.array([2, 0]))))
    weight = torch.arange(6.0).view(3, 2)
    assert sent._array.dtype is not torch.arange(2)._array.dtype
    for found in (torch.nn.functional.embedding(sent, weight), weight.index_select(0, sent)):
        assert found.tolist() == [[4, 5], [0, 1]]


def test_no_imaginary_part_is_dropped_where_a_mask_is_filled():
    x = torch.ones(3, dtype=torch.float64)
    with pytest.raises(RuntimeError, match="without overflow"):
        x[x > 0] = torch.tensor(1 + 2j)
    assert x.tolist() == [1, 1, 1]
    x[x > 0] = torch.tensor(2 + 0j)
    assert x.tolist() == [2, 2, 2]


@pytest.mark.parametrize("dtype", ["bool", "float32", "float16", "uint8", "complex64"])
@pytest.mark.parametrize("shape", [(5000,), (60, 70), (3, 50, 20), (3000, 1)])
def test_nonzero_of_many_elements(shape, dtype):
    array = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
    if dtype in ("float32", "float16", "complex64"):
        array.flat[:2] = -0.0, np.nan
    for given in (array, array.T, array[..., ::-1][..., ::-1]):
        x = torch.from_numpy(np.require(given, requirements="A"))
        np.testing.assert_array_equal(x.nonzero().numpy(), np.argwhere(given))
        for found, expected in zip(x.nonzero(as_tuple=True), given.nonzero(), strict=True):
            np.testing.assert_array_equal(found.numpy(), expected)
        np.testing.assert_array_equal(x[x != 0].numpy(), given[given != 0])
    rows = torch.zeros(2, 4000, dtype=torch.bfloat16)
    rows[1, 3999] = 1
    assert rows.neg().nonzero().tolist() == [[1, 3999]]
