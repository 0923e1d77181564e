"""``@kernel``: what the decorator declares, and hand-written kernels as functions of Python."""

import importlib
import inspect
import os
import pathlib
import pkgutil
import re
import subprocess
import sys

import numpy as np
import pytest

import numbagrad
from numbagrad import kernels
from numbagrad.codegen.kernel import UNIFORM, Kernel, KernelFamily, kernel, kernels_of, variable
from numbagrad.executor.cache import library

MODULES = [
    importlib.import_module(module.name)
    for module in pkgutil.walk_packages(kernels.__path__, f"{kernels.__name__}.")
]
KERNELS = [each for module in MODULES for each in kernels_of(module.__name__).values()]

#: Kernels of each module, so that none is lost.
COUNTS = {
    "attention.blocks": 4, "convolution.product": 4, "convolution.weights": 4,
    "distances.pairs": 4,
    "generated.activation": 3, "generated.arithmetic": 4, "generated.bounds": 2,
    "generated.exponential": 1, "generated.reduction": 1, "indexing.bags": 4,
    "indexing.planes": 20, "indexing.reads": 8, "indexing.writes": 80,
    "interpolation.nearest": 8, "interpolation.sampling": 6, "interpolation.weighted": 2,
    "launches.bundle": 2, "launches.unit_vectors": 1,
    "linear_algebra.decomposition": 8, "linear_algebra.elimination": 8,
    "losses.checks": 10, "losses.ctc_loss": 8,
    "losses.nll_loss": 16, "matmul.division": 1, "matmul.pairs": 3, "matmul.product": 6,
    "order.rows": 46, "pointwise.rows": 2, "pooling.windows": 20, "random.mt19937": 17,
    "recurrent.steps": 8, "reduction.shared_sum": 2, "special.gamma": 4, "special.polynomials": 2,
    "sparse.product": 8, "spectra.lines": 6,
}  # fmt: skip


def test_every_kernel_is_declared_by_the_decorator():
    found = {
        module.__name__.removeprefix("numbagrad.kernels."): len(kernels_of(module.__name__))
        for module in MODULES
    }
    assert {name: count for name, count in found.items() if count} == COUNTS
    for path in pathlib.Path(kernels.__path__[0]).rglob("*.py"):
        assert "globals()[" not in path.read_text(), path


@pytest.mark.parametrize("each", KERNELS, ids=lambda each: each.__name__)
def test_what_a_kernel_has(each):
    assert each.__doc__ and each.py_func.__doc__ == each.__doc__
    assert each.py_func.__code__ is each.__wrapped__.__code__
    parameters = list(inspect.signature(each).parameters)
    assert parameters == list(inspect.signature(each.py_func).parameters)
    returned, *kinds = re.findall(r"\w+", each.signature)
    assert len(kinds) == len(parameters)
    assert each.signature != UNIFORM or parameters == ["args", "lo", "hi"]
    assert each.__name__ in repr(each)
    # No variable is left without a value.
    names = each.py_func.__globals__
    for name in each.py_func.__code__.co_names:
        assert type(names.get(name)).__name__ != "Variable", name


def test_the_executor_asks_for_kernels_as_they_are_declared():
    with pytest.raises(RuntimeError, match="is declared with"):
        library._declared(
            "numbagrad.kernels.launches.bundle", "run_group", (UNIFORM, ("contract",), "rows")
        )


def test_importing_the_package_imports_no_kernel():
    code = "import sys, numbagrad; print([m for m in sys.modules if m == 'numba' or 'kernel' in m])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "'numba'" not in found.stdout and "numbagrad.codegen.kernel" not in found.stdout
    assert "packing" not in found.stdout


# --- calls ----------------------------------------------------------------------------------------


def both_ways(each, arguments, units):
    """Copies of the arguments after a run of the machine code, and of the Python function."""
    ran = []
    for as_python in (False, True):
        given = [x.copy() if isinstance(x, np.ndarray) else x for x in arguments]
        if as_python:
            each.py_func(each.pack(*given), 0, units)
        else:
            each(*given, units=units)
        ran.append(given)
    return ran


def test_a_kernel_of_words_takes_arrays_and_ints():
    from numbagrad.kernels.indexing.reads import gather
    from numbagrad.kernels.indexing.writes import scatter_rows

    source = np.arange(12, dtype=np.int32).reshape(3, 4)
    index = np.array([[0, 3], [1, 1], [2, 0]])
    out = np.zeros((3, 2), np.int32)
    for output, *_ in both_ways(gather["4"], (out, source, index, 4, 2, 1), units=6):
        assert np.array_equal(output, np.take_along_axis(source, index, 1))

    total, rows = np.ones((3, 2), np.float32), np.arange(8, dtype=np.float32).reshape(4, 2)
    positions = np.array([0, 2, 2, 0])
    expected = total.copy()
    np.add.at(expected, positions, rows)
    words = (total, rows, positions, 3, 4, 2, 1)
    for output, *_ in both_ways(scatter_rows["sum_float32"], words, units=2):
        assert np.array_equal(output, expected)


def test_an_array_that_may_be_missing():
    from numbagrad.kernels.losses.nll_loss import factors

    target = np.array([1, 0, 2])
    weights = np.array([0.5, 2, 4], np.float32)
    for given, expected in ((weights, [2, 0.5, 4]), (0, [1, 1, 1])):
        words = np.zeros(3, np.float32), target, 3, -100, 0, given
        for output, *_ in both_ways(factors["float32"], words, units=1):
            assert output.tolist() == expected


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("out", "source", "index", 4, 2, 1), {}, "gather_4 has to be told units="),
        (("out", "source", "index", 4, 2), {"units": 1}, "gather_4 takes output, source, index"),
        (("out", "source", "index", 4, 2, 1.5), {"units": 1}, "inner is an int, not float"),
        (("out", "source", "source", 4, 2, 1), {"units": 1}, "index is an array of int64"),
        (("out", "strided", "index", 4, 2, 1), {"units": 1}, "source is contiguous"),
        ((0, 0, 0), {"units": 1}, "takes units= behind arrays only"),
    ],
)
def test_what_a_kernel_of_words_refuses(arguments, options, message):
    from numbagrad.kernels.indexing.reads import gather

    arrays = {
        "out": np.zeros((3, 2), np.int32),
        "source": np.zeros((3, 4), np.int32),
        "strided": np.zeros((4, 3), np.int32).T,
        "index": np.zeros((3, 2), np.int64),
    }
    with pytest.raises(TypeError, match=re.escape(message)):
        gather["4"](*[arrays.get(x, x) for x in arguments], **options)


def test_kernels_with_parameters_of_their_own_take_arrays_for_addresses():
    from numbagrad.kernels.random.mt19937 import fill_from_32

    uniform = fill_from_32["uniform_float32"]
    generator = numbagrad.Generator().manual_seed(3)
    expected = numbagrad.rand(700, generator=generator).numpy()
    state = numbagrad.Generator().manual_seed(3)._words
    out = np.zeros(700, np.float32)
    uniform(state.copy(), out, out.size, 0.0, 1.0)
    assert np.array_equal(out, expected)
    own = state.copy()
    uniform.py_func(own.ctypes.data, out.ctypes.data, 30, np.float64(0), np.float64(1))
    assert np.array_equal(out[:30], expected[:30])
    with pytest.raises(TypeError, match="uniform_float32: out is an array of float32"):
        uniform(state, np.zeros(3), 3, 0.0, 1.0)
    with pytest.raises(TypeError, match="uniform_float32: first is float64, not str"):
        uniform(state, out, 3, "0", 1.0)


def test_several_kernels_of_one_text():
    from numbagrad.kernels.losses.checks import probabilities

    assert isinstance(probabilities, KernelFamily) and len(probabilities) == 4
    assert probabilities["float32"].__name__ == "probabilities_float32"
    assert probabilities["float32"].__doc__ == probabilities.__doc__
    with pytest.raises(TypeError, match=r"several kernels: probabilities\['float16'\]"):
        probabilities(1, 0, 1)
    with pytest.raises(TypeError, match="means something in the variants"):
        variable("element")(1)


def test_scratch_memory_of_a_function_stays_while_it_runs():
    from numbagrad.codegen import addresses
    from numbagrad.codegen.intrinsics import address_of_stack, int64, load, store

    def inner(value):
        position = address_of_stack(4)
        store(position, 0, value, int64)
        return position

    def outer():
        positions = []
        for value in range(3):
            positions.append(address_of_stack(4))
            store(positions[-1], 0, value, int64)
        inner(7)
        return [int(load(position, 0, int64)) for position in positions], len(
            addresses._running.owned
        )

    values, owned = outer()
    assert values == [0, 1, 2] and owned >= 3
    inner(1)
    assert len(addresses._running.owned) == 1


def test_the_decorator_bare_and_with_options():
    @kernel
    def bare(args, lo, hi):
        """Nothing."""

    @kernel("void(int64)", fastmath=(), code="calls")
    def other(args):
        """Nothing."""

    assert isinstance(bare, Kernel) and bare.signature == UNIFORM and bare.code == "loops"
    assert other.fastmath == () and other.code == "calls"
    with pytest.raises(TypeError, match="takes addresses alone"):
        bare.pack(1)
    with pytest.raises(RuntimeError, match="bare has no machine code"):
        bare(0, 0, 0)


# --- the matrix product ---------------------------------------------------------------------------

SHAPES = [(1, 1, 1), (5, 7, 3), (13, 20, 17), (1, 9, 8)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("method", ["tiles", "dots", "row"])
@pytest.mark.parametrize("rows, depth, columns", SHAPES)
def test_matmul_both_ways(method, dtype, rows, depth, columns):
    from numbagrad.kernels.matmul.product import matmul

    rows = 1 if method == "row" else rows
    random = np.random.default_rng(0)
    a = random.standard_normal((rows, depth)).astype(dtype)
    b = random.standard_normal((depth, columns)).astype(dtype)
    if method == "dots":
        b = b.T.copy().T
    product = matmul[f"{method}_{dtype}"]
    for as_python in (False, True):
        c = np.full((rows, columns), np.nan, dtype)
        if as_python:
            args = product.pack(a, b, c)
            product.py_func(args, 0, args.units)
        else:
            product(a, b, c)
        np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-5)


def test_matmul_takes_stacks_and_any_strides():
    from numbagrad.kernels.matmul.product import matmul

    random = np.random.default_rng(0)
    a = random.standard_normal((2, 6, 5)).swapaxes(1, 2)[::-1]
    b = random.standard_normal((6, 8))[:, ::2]
    c = np.zeros((2, 5, 4))
    matmul["tiles_float64"](a, b, c)
    np.testing.assert_allclose(c, a @ b)


def ones(*shape, dtype=np.float32):
    return np.ones(shape, dtype)


@pytest.mark.parametrize(
    ("variant", "arguments", "error", "message"),
    [
        ("tiles_float32", (ones(2, 3), ones(3, 4)), TypeError, "takes a, b, c"),
        ("tiles_float32", (ones(2, 3), ones(4, 4), ones(2, 4)), ValueError, "does not make"),
        ("tiles_float32", (ones(2, 0), ones(0, 4), ones(2, 4)), ValueError, "takes matrices"),
        ("tiles_float64", (ones(2, 3), ones(3, 4), ones(2, 4)), TypeError, "array of float64"),
        ("dots_float32", (ones(2, 3), ones(3, 4), ones(2, 4)), TypeError, "these strides"),
        ("row_float32", (ones(2, 3), ones(3, 4), ones(2, 4)), TypeError, "these strides"),
        ("tiles_float32", (ones(2, 3), ones(3, 4), ones(4, 2).T), TypeError, "these strides"),
    ],
)
def test_what_matmul_refuses(variant, arguments, error, message):
    from numbagrad.kernels.matmul.product import matmul

    with pytest.raises(error, match=message):
        matmul[variant](*arguments)


def test_calls_without_machine_code():
    code = (
        "import numpy as np, numbagrad\n"
        "from numbagrad.kernels.generated.activation import relu\n"
        "from numbagrad.kernels.matmul.product import matmul\n"
        "x, out = np.array([-1, 2], 'f4'), np.empty(2, 'f4')\n"
        "relu(x, out)\n"
        "c = np.empty((2, 2))\n"
        "matmul['tiles_float64'](np.eye(2), 3 * np.eye(2), c)\n"
        "shown = str(numbagrad.executor.explain(numbagrad.ones(2).relu))\n"
        "w = numbagrad.ones(1, 1, 2, requires_grad=True)\n"
        "y = numbagrad.nn.functional.conv1d(numbagrad.ones(1, 1, 3), w)\n"
        "y.sum().backward()\n"
        "print(out.tolist(), c.tolist(), relu.address < 0, 'run as Python; source:' in shown)\n"
        "print(y.tolist(), w.grad.tolist())\n"
    )
    environment = {**os.environ, "NUMBAGRAD_DISABLE_JIT": "1"}
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert found.stdout.splitlines() == [
        "[0.0, 2.0] [[3.0, 0.0], [0.0, 3.0]] True True",
        "[[[2.0, 2.0]]] [[[2.0, 2.0]]]",
    ]
