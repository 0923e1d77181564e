"""What once went wrong, one statement a test.

Found by running random programs against torch and by calling operators from many threads; the
values are torch's.
"""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import numbagrad
import numbagrad as torch
from numbagrad import tensor

FIRST_CALLS = """
import threading
import numbagrad

def call():
    barrier.wait()
    x = numbagrad.ones(2, 3, requires_grad=True)
    y = (x * 2 + numbagrad.ones(3)).exp().softmax(0).sum()
    gradient, = numbagrad.autograd.grad(y, x, create_graph=True)
    (gradient * gradient).sum().backward()
    done.append(x.grad.tolist())

barrier, done = threading.Barrier(8), []
threads = [threading.Thread(target=call) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert len(done) == 8 and all(x == done[0] for x in done), done
"""


def test_eight_threads_may_call_an_operator_for_the_first_time_at_once(tmp_path):
    environment = {**os.environ, "NUMBAGRAD_CACHE_DIR": str(tmp_path)}
    made = subprocess.run(
        [sys.executable, "-c", FIRST_CALLS], env=environment, capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr


def test_a_table_of_kernels_grows_while_another_thread_launches():
    from numbagrad.executor.builtin import KernelTable, runtime

    table = KernelTable(1, 1)
    stop = threading.Event()
    sizes = []

    def watch():
        while not stop.is_set():
            mask = table.record.slots.mask
            sizes.append(int(mask))

    thread = threading.Thread(target=watch)
    thread.start()
    for key in range(500):
        table.insert(key, 1, 1, 1)
    stop.set()
    thread.join()
    assert sizes == sorted(sizes) and runtime() is runtime()


@pytest.mark.parametrize("method", ["transpose", "swapaxes"])
def test_the_gradient_of_a_transposed_scalar_has_no_dimensions(method):
    x = tensor(2.0, requires_grad=True)
    getattr(x, method)(0, -1).backward()
    assert x.grad.item() == 1.0


def test_a_scalar_can_be_flipped():
    assert tensor(2.0).flip(0).shape == ()


def test_sorting_a_scalar_gives_a_scalar():
    assert tensor(2.0).sort(0).values.shape == ()
    assert tensor(2.0).topk(1).values.shape == ()


@pytest.mark.parametrize("index", [0, [0]])
def test_a_scalar_is_gathered_in_the_shape_of_the_index(index):
    x = tensor(2.0, requires_grad=True)
    gathered = x.gather(0, tensor(index))
    gathered.sum().backward()
    assert gathered.shape == tensor(index).shape
    assert x.grad.item() == 1.0


def test_masked_fill_keeps_the_dtype_of_the_tensor():
    mask = tensor([True, False])
    assert tensor([1, 2]).masked_fill(mask, 0.5).tolist() == [0, 2]
    assert tensor([True, True]).masked_fill(mask, 0).tolist() == [False, True]
    assert tensor([1, 2]).masked_fill_(mask, tensor(2.5)).tolist() == [2, 2]


def test_the_gradient_of_a_value_that_fills_has_the_dtype_of_the_value():
    value = tensor(2.0, dtype=numbagrad.float64, requires_grad=True)
    x = numbagrad.zeros(3)
    x.fill_(value)
    x.sum().backward()
    assert value.grad.dtype is numbagrad.float64 and value.grad.item() == 3.0


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.fill_(300),
        lambda x: x.fill_(float("nan")),
        lambda x: x.masked_fill_(x > 0, 300),
        lambda x: x.__setitem__(0, 300),
        lambda x: x.__setitem__(slice(None), float("inf")),
    ],
)
def test_numbers_that_do_not_fit_are_not_written(write):
    x = tensor([1, 2], dtype=numbagrad.int8)
    with pytest.raises(RuntimeError, match="without overflow"):
        write(x)
    assert x.tolist() == [1, 2]


def test_powers_of_truth_values_are_integers():
    assert (tensor([True, False]) ** 2).tolist() == [1, 0]
    assert tensor([True, False]).square().dtype is numbagrad.int64


def test_copying_a_leaf_that_requires_grad_to_itself_raises():
    x = tensor([1.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        x.copy_(x)


@pytest.mark.parametrize("code", [">f8", "O", "u8", "M8[s]", "U1"])
def test_an_array_that_no_kernel_reads_is_refused(code):
    array = np.zeros(2).astype(code) if code != "M8[s]" else np.zeros(2, code)
    with pytest.raises(TypeError, match="must be Tensor, not numpy.ndarray"):
        numbagrad.add(tensor([1.0, 2.0]), array)
    if code in (">f8", "u8"):  # NumPy computes, and its result is one that kernels read
        assert (tensor([1.0, 2.0]) + array).dtype is numbagrad.float64
    else:
        with pytest.raises((TypeError, ValueError)):
            tensor([1.0, 2.0]) + array
    with pytest.raises((TypeError, ValueError)):
        tensor([1.0, 2.0]).__array_wrap__(array)


def test_writing_from_a_reversed_array_of_the_same_memory_reads_all_of_it_first():
    array = np.arange(4.0)
    x = numbagrad.from_numpy(array)
    x.mul_(0).add_(tensor([0.0, 1.0, 2.0, 3.0], dtype=numbagrad.float64))
    x += array[::-1]
    assert x.tolist() == [3.0, 3.0, 3.0, 3.0]


def test_a_tensor_without_elements_is_written_in_place():
    x = numbagrad.zeros(0, 3)
    assert x.add_(numbagrad.ones(3)).mul_(numbagrad.ones(1, 3)).shape == (0, 3)


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.add_(1),
        lambda x: x.copy_(numbagrad.ones(3, 3)),
        lambda x: x.__setitem__(0, 1.0),
        lambda x: x.__setitem__(slice(None), numbagrad.ones(3)),
    ],
)
def test_an_expanded_tensor_is_not_written(write):
    x = numbagrad.zeros(3, 1).expand(3, 3)
    with pytest.raises(RuntimeError, match="single memory location"):
        write(x)
    assert x.sum().item() == 0.0


def test_one_element_of_an_expanded_tensor_is_written():
    x = numbagrad.zeros(3, 1).expand(3, 3)
    x[0, 0] = 1.0
    assert x[0].tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "turned",
    [
        lambda x: x.flip(-1),
        lambda x: numbagrad.rot90(x, 4, (0, 1)),
        lambda x: numbagrad.rot90(x, 0, (0, 1)),
    ],
)
def test_what_is_turned_never_shares_memory_with_what_it_was_made_of(turned):
    x = numbagrad.ones(3, 1)
    turned(x).add_(5)
    assert x.tolist() == [[1.0], [1.0], [1.0]]


def test_writing_with_an_operator_without_a_gradient_severs_no_gradient_silently():
    x, y = tensor([7.0]), tensor([2.0], requires_grad=True)
    x.floor_divide_(y)
    with pytest.raises(NotImplementedError, match="floor_divide"):
        x.backward()


@pytest.mark.parametrize("choose", ["max", "min", "median", "nanmedian"])
def test_an_infinite_gradient_of_an_extremum_stays_at_the_extremum(choose):
    x = tensor([[1.0, 5.0], [3.0, 4.0]], requires_grad=True)
    (getattr(x, choose)() * numbagrad.inf).backward()
    assert sorted(x.grad.flatten().tolist()) == [0.0, 0.0, 0.0, numbagrad.inf]


# --- gradients that were wrong --------------------------------------------------------------------


@pytest.mark.parametrize("index", [[0, 1], [0, 0, 1], [4, 4, 4]])
@pytest.mark.parametrize("dim", [0, 1])
def test_a_value_is_filled_in_once_however_often_its_index_is_named(dim, index):
    x = torch.rand(5, 5, dtype=torch.float64)
    weight = torch.arange(25.0, dtype=torch.float64).view(5, 5)
    value = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    positions = torch.tensor(index)
    (gradient,) = torch.autograd.grad((x.index_fill(dim, positions, value) * weight).sum(), value)
    assert gradient == weight.index_select(dim, torch.tensor(sorted(set(index)))).sum()
    assert torch.autograd.gradcheck(lambda value: x.index_fill(dim, positions, value), value)
    written = x.clone().index_fill_(dim, positions, value)
    assert torch.autograd.grad((written * weight).sum(), value)[0] == gradient


@pytest.mark.parametrize("reduce", ["amax", "amin"])
def test_what_nothing_is_scattered_to_keeps_its_gradient(reduce):
    x = torch.tensor([1.5, -2.0, 3.0], dtype=torch.float64, requires_grad=True)
    source = torch.tensor([2.0, 0.5, -1.0], dtype=torch.float64, requires_grad=True)
    index = torch.tensor([0, 0, 2])

    def scattered(x, source):
        return x.scatter_reduce(0, index, source, reduce, include_self=False)

    def by_index(x, source):
        return x.index_reduce(0, index, source, reduce, include_self=False)

    for function in (scattered, by_index):
        assert torch.autograd.gradcheck(function, (x, source))
        (gradient,) = torch.autograd.grad(function(x, source).sum(), x)
        assert gradient.tolist() == [0.0, 1.0, 0.0]


def test_quantile_follows_its_fraction():
    x = torch.tensor([3.0, 1.0, 8.0, 4.0], dtype=torch.float64, requires_grad=True)
    q = torch.tensor([0.1, 0.4, 0.9], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(torch.quantile, (x, q))
    assert torch.autograd.gradcheck(lambda x, q: torch.quantile(x, q), (x, q[1].detach()))
    (gradient,) = torch.autograd.grad(torch.quantile(x, q).sum(), q)
    assert gradient.tolist() == pytest.approx([6.0, 3.0, 12.0])  # gaps times three


def test_a_class_that_is_listed_twice_counts_twice_in_its_margin_loss():
    scores = torch.tensor([0.1, 0.7, -0.3], dtype=torch.float64)
    loss = torch.nn.functional.multilabel_margin_loss
    once = loss(scores, torch.tensor([1, -1, 0]))
    twice = loss(scores, torch.tensor([1, 1, -1]))
    assert twice.item() == pytest.approx(2 * once.item())


# --- calls that were refused ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b"), [((5, 5, 0), (0, 5)), ((0, 5), (2, 3, 5, 0)), ((5, 0, 5), (5, 2)), ((2, 0), (0,))]
)
def test_products_without_depth_or_rows(a, b):
    x, y = torch.ones(a, requires_grad=True), torch.ones(b, requires_grad=True)
    made = x @ y
    assert made.shape == (np.ones(a) @ np.ones(b)).shape and not made.any()
    gradients = torch.autograd.grad(made.sum(), (x, y))
    assert [gradient.shape for gradient in gradients] == [a, b]


def test_flip_takes_its_dimensions_by_name():
    x = torch.arange(6).view(2, 3)
    for flipped in (torch.flip(x, dims=(0, 1)), torch.flip(x, [0, 1]), x.flip(dims=[0, 1])):
        assert flipped.tolist() == [[5, 4, 3], [2, 1, 0]]


def test_take_along_dim_counts_from_the_end():
    x = torch.arange(6.0, requires_grad=True)
    rows = x.view(2, 3)
    taken = rows.take_along_dim(torch.tensor([[-1, 0], [-3, 1]]), 1)
    assert taken.tolist() == [[2.0, 0.0], [3.0, 4.0]]
    assert torch.autograd.grad(taken.sum(), x)[0].tolist() == [1.0, 0.0, 1.0, 1.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("a", "b"), [((1, 3, 4), (3, 5, 2)), ((2, 3, 4), (3, 5, 1)), ((2, 1, 4), (3, 5, 1))]
)
def test_tensordot_sums_what_meets_a_size_of_one(a, b):
    x, y = torch.rand(a, dtype=torch.float64), torch.rand(b, dtype=torch.float64)
    sizes = [max(a[0], b[2]), max(a[1], b[0])]
    whole = torch.tensordot(
        x.expand(*sizes, 4), y.expand(sizes[1], 5, sizes[0]), dims=([0, 1], [2, 0])
    )
    assert torch.allclose(torch.tensordot(x, y, dims=([0, 1], [2, 0])), whole)
    with pytest.raises(RuntimeError, match="contracted dimensions need to match"):
        torch.tensordot(x, torch.ones(7, 5, 7), dims=([0, 1], [2, 0]))


def test_broadcast_shapes():
    assert torch.broadcast_shapes((2, 1), (3,), 1) == torch.Size([2, 3])
    assert torch.broadcast_shapes() == torch.Size([]) and torch.broadcast_shapes((0,), 1) == (0,)
    with pytest.raises(RuntimeError, match="length 3 at -1! Mismatching argument at index 1 had"):
        torch.broadcast_shapes((2,), (3,))
    with pytest.raises(ValueError, match="negative length"):
        torch.broadcast_shapes(-1, 2)


def test_differences_of_no_order_and_quantiles_of_a_number():
    x = torch.rand(3, 2)
    none = x.diff(0, prepend=torch.ones(3, 1))
    assert torch.equal(none, x) and none.data_ptr() != x.data_ptr()
    assert torch.quantile(torch.tensor(2.0), 0.5, dim=0, keepdim=True).shape == ()
