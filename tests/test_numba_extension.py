"""Tensors as arguments of functions compiled by Numba: typed, unwrapped, returned, refused."""

from __future__ import annotations

import gc
import math
import os
import pathlib
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from numba import guvectorize, njit, prange, typeof, types, vectorize

import numbagrad as torch
from numbagrad import numba_extension
from numbagrad.numba_extension import TensorType

ROOT = pathlib.Path(__file__).parent.parent

# Numba does this by itself where the package is installed, which a source tree is not.
numba_extension.register()


@njit
def total(x):
    result = 0.0
    for value in x.flat:
        result += value
    return result


@njit
def double_in_place(x):
    for index in np.ndindex(x.shape):
        x[index] *= 2


@njit
def same(x):
    return x


@njit
def shape_and_strides(x):
    return x.shape, x.strides


def in_fresh_process(code: str, folder: pathlib.Path, *path: pathlib.Path) -> str:
    """What a program prints; its compiled functions and kernels are cached in ``folder``."""
    script = folder / "program.py"
    script.write_text(textwrap.dedent(code))
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(str(entry) for entry in (*path, ROOT)),
        "NUMBA_CACHE_DIR": str(folder / "functions"),
        "NUMBAGRAD_CACHE_DIR": str(folder / "kernels"),
    }
    done = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# --- what arrives in the function -----------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype",
    [
        torch.float32,
        torch.float64,
        torch.int8,
        torch.int16,
        torch.int32,
        torch.int64,
        torch.uint8,
        torch.bool,
    ],
)
def test_every_dtype_arrives_as_it_is(dtype):
    x = torch.tensor([[0, 1, 1], [1, 0, 1]]).to(dtype)
    assert total(x) == 4
    assert typeof(x.numpy()).dtype == total.signatures[-1][0].dtype


def test_a_pending_conjugate_or_negative_is_refused():
    x = torch.ones(3)
    for given in (torch._neg_view(x), torch.ones(3, dtype=torch.complex64).conj()):
        with pytest.raises(RuntimeError, match=r"Pass resolve_conj\(\) or resolve_neg\(\) of it"):
            total(given)
    assert total(torch._neg_view(x).resolve_neg()) == -3


def test_float16_is_refused_with_advice():
    with pytest.raises(TypeError, match=r"float16.*tensor\.float\(\)"):
        total(torch.ones(3, dtype=torch.float16))


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x,
        lambda x: x.t(),
        lambda x: x[::2, 1:],
        lambda x: x[1, 2],
        lambda x: x[:0],
        lambda x: x[1].expand(3, 4),
        lambda x: x.permute(1, 0).unsqueeze(1),
    ],
    ids=["contiguous", "transposed", "strided", "0-dim", "empty", "expanded", "permuted"],
)
def test_every_layout_arrives_as_it_is(view):
    x = view(torch.arange(24.0).view(6, 4))
    assert total(x) == x.sum().item()
    assert shape_and_strides(x) == (x.numpy().shape, x.numpy().strides)


def test_writes_go_to_the_memory_of_the_tensor():
    x = torch.arange(6.0).view(2, 3)
    double_in_place(x[:, 1:])
    assert x.tolist() == [[0, 2, 4], [3, 8, 10]]


def test_read_only_memory_is_not_written():
    values = np.ones(3)
    values.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable"):
        x = torch.from_numpy(values)
    assert total(x) == 3
    with pytest.raises(Exception, match="Cannot modify readonly"):
        double_in_place(x)


def test_a_parameter_arrives_as_a_tensor_does():
    parameter = torch.nn.Parameter(torch.ones(3))
    with torch.no_grad():
        assert total(parameter) == 3
        assert same(parameter) is parameter


def test_tuples_and_lists_of_tensors():
    @njit
    def sums(many):
        result = []
        for x in many:
            result.append(x.sum())
        return result

    x = torch.arange(4.0)
    assert sums((x, x + 1)) == [6, 10]


def test_in_a_parallel_function():
    @njit(parallel=True)
    def squares(x, out):
        for i in prange(len(x)):
            out[i] = x[i] * x[i]

    x, out = torch.arange(1000.0), torch.empty(1000)
    squares(x, out)
    assert torch.equal(out, x * x)


def test_functions_that_call_functions():
    @njit(types.float64(types.float64[:]))
    def typed(x):
        return x[0]

    @njit
    def outer(x):
        return total(x) + total(x[1:]) + typed(x)

    assert outer(torch.tensor([1.0, 2.0], dtype=torch.double)) == 3 + 2 + 1


def test_a_signature_may_name_the_type():
    @njit(types.float64(TensorType(types.float64, 1, "A")))
    def typed(x):
        return x[0]

    assert typed(torch.tensor([1.0, 2.0, 3.0], dtype=torch.double)[::2]) == 1
    with pytest.raises(TypeError):
        typed(torch.ones(3))


def test_one_compilation_for_all_sizes_and_another_for_arrays():
    @njit
    def first(x):
        return x[0]

    first(torch.ones(3))
    first(torch.ones(5))
    assert len(first.signatures) == 1
    first(np.ones(3, np.float32))
    assert len(first.signatures) == 2
    assert repr(first.signatures[0][0]) == (
        "TensorType(float32, 1, 'C', readonly=False, aligned=True)"
    )


# --- what comes back ------------------------------------------------------------------------------


def test_a_tensor_comes_back_as_itself_and_everything_else_as_arrays():
    @njit
    def several(x):
        return x, x[1:], x + 1, (x, 2)

    x = torch.arange(3.0)
    whole, part, sum_, (again, _) = several(x)
    assert whole is x and again is x
    assert type(part) is np.ndarray and type(sum_) is np.ndarray
    part[0] = 7
    assert x.tolist() == [0, 7, 2]


def test_a_tensor_or_an_array_is_an_array():
    @njit
    def either(first, x, y):
        if first:
            return x
        return y

    x = torch.arange(3.0)
    assert type(either(True, x, np.ones(3, np.float32))) is np.ndarray
    assert either(True, x, torch.ones(3)) is x


def test_results_keep_the_memory_alive():
    @njit
    def tail(x):
        return x[1:]

    x = torch.arange(3.0)
    result = tail(x)
    x.data = torch.zeros(3)
    del x
    gc.collect()
    assert result.tolist() == [1, 2]


def test_calls_leave_no_references():
    x = torch.ones(3)
    same(x), total(x)
    before = sys.getrefcount(x), sys.getrefcount(x._array)
    for _ in range(100):
        same(x), total(x)
    assert (sys.getrefcount(x), sys.getrefcount(x._array)) == before


# --- autograd -------------------------------------------------------------------------------------


def test_a_tensor_that_requires_grad_raises_while_recording():
    x = torch.ones(3, requires_grad=True)
    assert total(x.detach()) == 3
    for refused in (x, x * 2, (x,), x[1:]):
        with pytest.raises(RuntimeError, match=r"requires grad.*detach\(\).*autograd\.Function"):
            same(refused)
    with torch.no_grad():
        assert total(x) == 3


class Double(torch.autograd.Function):
    """Twice its argument, by a kernel in forward and in backward."""

    @staticmethod
    def forward(ctx, x):
        result = x.clone()
        double_in_place(result)
        return result

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        double_in_place(grad)
        return grad


def test_kernels_in_a_function():
    x = torch.arange(3.0, requires_grad=True)
    Double.apply(x).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]
    assert torch.autograd.gradcheck(Double.apply, (x.detach().double().requires_grad_(),))


def test_a_backward_that_would_have_to_be_recorded_raises():
    x = torch.arange(3.0, requires_grad=True)
    loss = (Double.apply(x) ** 2).sum()
    with pytest.raises(RuntimeError, match="requires grad"):
        torch.autograd.grad(loss, x, create_graph=True)


def test_a_tensor_is_no_constant():
    x = torch.ones(3)

    @njit
    def read_global():
        return x[0]

    with pytest.raises(Exception, match="a Tensor is no constant of a compiled function"):
        read_global()


# --- versions -------------------------------------------------------------------------------------


@njit
def set_first(x):
    x[0] = 1


@njit
def get_first(x):
    return x[0]


def writes_through_a_view(x):
    tail = x[1:].reshape(-1)
    tail[0] = 3


def writes_elements_of_an_iterator(x):
    for row in x.reshape(2, 2):
        row[0] = 9


def writes_on_a_condition(x):
    if x[0] > 100:
        x[0] = 1


def writes_one_of_two(x):
    y = np.zeros(4, np.float32)
    for _ in range(3):
        x, y = y, x
    x[0] = 1


def writes_in_a_closure(x):
    def write(i):
        x[i] = 2

    write(0)


def writes_in_place(x):
    x += 1


def writes_an_output(x):
    np.exp(x, x)


def writes_by_a_method(x):
    x.sort()


def writes_by_a_function(x):
    np.fill_diagonal(x.reshape(2, 2), 1.0)


def writes_in_another_function(x):
    set_first(x)


def writes_a_view_in_another_function(x):
    set_first(x[1:])


def writes_flat(x):
    x.flat[0] = 3


def gives_its_address_away(x):
    return x.ctypes.data


@njit(nogil=True)
def writes_without_the_gil(x):
    x[0] = 1


@njit(parallel=True)
def writes_by_threads(x):
    for i in prange(len(x)):
        x[i] = i


@njit(parallel=True)
def threads_call_what_writes(x):
    for _ in prange(len(x)):
        set_first(x)


@pytest.mark.parametrize(
    "function",
    [
        set_first,
        writes_through_a_view,
        writes_elements_of_an_iterator,
        writes_on_a_condition,
        writes_one_of_two,
        writes_in_a_closure,
        writes_in_place,
        writes_an_output,
        writes_by_a_method,
        writes_by_a_function,
        writes_in_another_function,
        writes_a_view_in_another_function,
        writes_flat,
        gives_its_address_away,
        writes_without_the_gil,
        writes_by_threads,
        threads_call_what_writes,
    ],
)
def test_what_may_write_a_tensor_counts_a_write(function):
    compiled = function if hasattr(function, "py_func") else njit(function)
    x = torch.arange(4.0)
    compiled(x)
    assert x._version == 1
    compiled(x)
    assert x._version == 2


def reads_by_functions(x):
    return np.exp(x).sum() + x.sum() + np.dot(x, x) + x.max() + len(x) + math.floor(x[0])


def writes_copies(x):
    copy, zeros, product, filled = x.copy(), np.zeros_like(x), x * 2, np.empty(x.shape)
    zeros[:] = x
    copy[0] = product[0] = filled[0] = x[0]
    return copy, zeros, product, filled


def reads_in_another_function(x):
    return get_first(x)


def returns_views(x):
    return x.T, x[1:], x.reshape(2, 2), x


@njit(parallel=True)
def reads_by_threads(x):
    result = 0.0
    for i in prange(len(x)):
        result += x[i]
    return result


@pytest.mark.parametrize(
    "function",
    [
        get_first,
        total,
        reads_by_functions,
        writes_copies,
        reads_in_another_function,
        returns_views,
        reads_by_threads,
    ],
)
def test_what_only_reads_a_tensor_counts_nothing(function):
    compiled = function if hasattr(function, "py_func") else njit(function)
    x = torch.arange(4.0)
    compiled(x)
    assert x._version == 0


def test_only_the_argument_that_is_written_counts():
    @njit
    def add(x, out):
        np.add(x, 1, out)

    x, out = torch.zeros(3), torch.zeros(3)
    add(x, out)
    assert (x._version, out._version) == (0, 1)


def test_a_tuple_of_tensors_counts_each():
    @njit
    def set_second(tensors, number):
        tensors[1][0] = number

    @njit
    def set_all(tensors):
        for x in tensors:
            x[0] = 1

    x, y = torch.zeros(3), torch.zeros(3, dtype=torch.double)
    set_second((x, y), 2)
    assert (x._version, y._version) == (1, 1)
    set_all((x, torch.zeros(3)))
    assert x._version == 2


def test_backward_notices_what_a_function_wrote():
    weight = torch.ones(4, requires_grad=True)
    data = torch.arange(4.0)
    loss = (weight * data).sum()
    get_first(data)
    loss.backward(retain_graph=True)
    set_first(data[1:])
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


# --- ufuncs made by Numba -------------------------------------------------------------------------


@vectorize(["float32(float32, float32)"])
def add(x, y):
    return x + y


@vectorize
def add_lazily(x, y):
    return x + y


@guvectorize(["float32[:], float32[:]"], "(n)->(n)")
def running_sum(x, out):
    out[0] = x[0]
    for i in range(1, len(x)):
        out[i] = out[i - 1] + x[i]


@pytest.mark.parametrize("ufunc", [np.add, add, add_lazily], ids=["numpy", "vectorize", "lazy"])
def test_ufuncs_take_tensors_and_give_tensors(ufunc):
    x = torch.arange(3, dtype=torch.float32)
    for result in (ufunc(x, x), ufunc(x, x.numpy()), ufunc(x.numpy(), x)):
        assert isinstance(result, torch.Tensor)
        assert result.dtype == torch.float32
        assert result.tolist() == [0, 2, 4]
    x.requires_grad_()
    if ufunc is np.add:  # the function of the library that it is can be recorded
        (of_x,) = torch.autograd.grad(ufunc(x, x).sum(), x)
        assert of_x.tolist() == [2, 2, 2]
        return
    with pytest.raises(RuntimeError, match=r"Use tensor.detach\(\).numpy\(\) instead"):
        ufunc(x, x)


def test_generalised_ufuncs_take_tensors():
    x = torch.arange(6, dtype=torch.float32).view(2, 3)
    assert running_sum(x).tolist() == [[0, 1, 3], [3, 7, 12]]
    assert running_sum(x.t()).tolist() == [[0, 3], [1, 5], [2, 7]]


# --- how Numba finds it ---------------------------------------------------------------------------


def entry_points() -> str:
    """What an installed package tells Numba, from ``pyproject.toml``."""
    project = (ROOT / "pyproject.toml").read_text()
    found = re.search(r'\[project\.entry-points\.(numba_extensions)\]\n(init) = "(.*)"', project)
    assert found is not None
    return "[{}]\n{} = {}\n".format(*found.groups())


@pytest.fixture
def site(tmp_path) -> pathlib.Path:
    """A folder that tells Numba what an installed package does."""
    information = tmp_path / "site" / "numbagrad-0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: numbagrad\nVersion: 0\n")
    (information / "entry_points.txt").write_text(entry_points())
    return information.parent


def test_numba_finds_it_by_its_entry_point(tmp_path, site):
    code = """
        import sys
        import numbagrad
        x = (numbagrad.arange(3.0) * 2).relu()
        print("numbagrad.numba_extension" in sys.modules)
        import numba

        @numba.njit
        def double(x):
            x *= 2
            return x.sum()

        print(double(numbagrad.nn.Parameter(x, requires_grad=False)), double(x), x._version)
    """
    # Kernels of the package itself are compiled without it: only a user's function loads it.
    assert in_fresh_process(code, tmp_path, site).split() == ["False", "12.0", "24.0", "2"]


def test_numba_alone_does_not_load_the_package(tmp_path, site):
    code = """
        import sys
        import numba
        import numpy
        print(numba.njit(lambda x: x.sum())(numpy.ones(3)))
        print("numbagrad" in sys.modules, "numbagrad_numba" in sys.modules)
    """
    assert in_fresh_process(code, tmp_path, site).split() == ["3.0", "False", "True"]


def test_compiled_functions_are_cached_on_disk(tmp_path):
    code = """
        import numba
        import numbagrad, numbagrad.numba_extension

        @numba.njit(cache=True)
        def double(x):
            x *= 2
            return x

        x = numbagrad.arange(3.0)
        print(double(x) is x, x.tolist()[2], x._version, sum(double.stats.cache_hits.values()))
    """
    assert in_fresh_process(code, tmp_path).split() == ["True", "4.0", "1", "0"]
    assert in_fresh_process(code, tmp_path).split() == ["True", "4.0", "1", "1"]
