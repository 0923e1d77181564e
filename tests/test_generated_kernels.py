"""Kernels that are checked in are those that the library prints; kernels can be called from Python.

``tools/write_kernels.py`` writes ``numbagrad/kernels/generated``. Every kernel there is run both
ways, compiled and as Python, against NumPy.
"""

import ast
import importlib
import importlib.util
import inspect
import pathlib
import re

import numpy as np
import pytest

import numbagrad
from numbagrad.executor.mode import NATIVE

ROOT = pathlib.Path(numbagrad.__file__).parent

WRITER = ROOT.parent / "tools" / "write_kernels.py"
spec = importlib.util.spec_from_file_location("write_kernels", WRITER)
writer = importlib.util.module_from_spec(spec)
spec.loader.exec_module(writer)

SHOWN = [(file, shown) for file, kernels in writer.FILES.items() for shown in kernels]


def kernel_of(file, name):
    return getattr(importlib.import_module(f"numbagrad.kernels.generated.{file}"), name)


printed_by_launchers = pytest.mark.skipif(not NATIVE, reason="plans print for shapes of their own")


@printed_by_launchers
@pytest.mark.parametrize("file", writer.FILES)
def test_files_are_what_the_tool_writes(file):
    text = (writer.FOLDER / f"{file}.py").read_text()
    assert text == writer.written(file), f"run python {WRITER.relative_to(ROOT.parent)}"


@printed_by_launchers
@pytest.mark.parametrize(("file", "shown"), SHOWN, ids=[shown.name for _, shown in SHOWN])
def test_every_line_is_one_that_is_compiled(file, shown):
    """Independent of how the tool puts a file together: the lines behind the docstring."""
    printed = shown.source()
    source = inspect.getsource(kernel_of(file, shown.name).py_func)
    docstring = ast.parse(source).body[0].body[0]
    lines = source.splitlines()[docstring.end_lineno :]
    assert lines == printed.partition("def kernel(args, lo, hi):\n")[2].splitlines()
    imports = re.findall(r"^(?:from|import) .*$", printed, re.MULTILINE)
    assert set(imports) <= set((writer.FOLDER / f"{file}.py").read_text().splitlines())


def numbers(*shape):
    values = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    values.flat[:3] = np.nan, 0, -0.0
    return values


def positive(*shape):
    return np.abs(np.random.default_rng(1).standard_normal(shape)).astype(np.float32)


X, Y, G = numbers(3, 5), positive(3, 5), numbers(3, 5)[::-1].copy()
OUT = np.zeros((3, 5), np.float32)

#: File, kernel, its arguments, which of them it writes, and what NumPy makes of the others.
CALLS = [
    ("arithmetic", "add", (X, Y, OUT), [2], [X + Y]),
    ("arithmetic", "mul", (X, Y, OUT), [2], [X * Y]),
    ("arithmetic", "mul_backward", (G, X, Y, OUT, OUT), [3, 4], [G * Y, G * X]),
    ("arithmetic", "accumulate", (X, Y), [0], [X + Y]),
    ("activation", "relu", (X, OUT), [1], [np.where(X <= 0, 0, X)]),
    ("activation", "relu_backward", (G, X, OUT), [2], [np.where(X <= 0, 0, G)]),
    ("activation", "sigmoid_backward", (G, Y, OUT), [2], [G * (1 - Y) * Y]),
    ("bounds", "clamp", (X, -0.5, 0.5, OUT), [3], [np.clip(X, -0.5, 0.5)]),
    ("bounds", "clamp_backward", (G, X, -0.5, 0.5, OUT), [4], [np.where(abs(X) <= 0.5, G, 0)]),
    ("exponential", "exp", (X, OUT), [1], [np.exp(X)]),
    ("reduction", "sum_rows", (Y, np.zeros(3, np.float32)), [1], [Y.sum(1)]),
    ("reduction", "sum_rows", (Y, np.zeros((), np.float32)), [1], [Y.sum()]),
]


@pytest.mark.parametrize("as_python", [False, True], ids=["compiled", "python"])
@pytest.mark.parametrize(
    ("file", "name", "arguments", "written", "expected"), CALLS, ids=[call[1] for call in CALLS]
)
def test_every_kernel_computes_what_numpy_does(
    file, name, arguments, written, expected, as_python
):  # fmt: skip
    kernel = kernel_of(file, name)
    given = [x.copy() if isinstance(x, np.ndarray) else x for x in arguments]
    if as_python:
        args = kernel.pack(*given)
        with np.errstate(all="ignore"):
            kernel.py_func(args, 0, args.units)
    else:
        kernel(*given)
    for position, values in zip(written, expected, strict=True):
        np.testing.assert_allclose(given[position], values, rtol=1e-6)
    for position in set(range(len(given))) - set(written):
        np.testing.assert_array_equal(given[position], arguments[position])


def test_every_kernel_is_called():
    assert {(file, shown.name) for file, shown in SHOWN} == {call[:2] for call in CALLS}


def test_a_range_of_work_is_all_that_is_computed():
    relu = kernel_of("activation", "relu")
    out = np.full(8, 7, np.float32)
    relu(relu.pack(-np.ones(8, np.float32), out), 2, 5)
    assert out.tolist() == [7, 7, 0, 0, 0, 7, 7, 7]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((X, OUT.astype(np.float64)), TypeError, "relu: out is an array of float32, not float64"),
        ((X.T, OUT.T), TypeError, "relu: x is contiguous"),
        ((X, OUT[:2]), ValueError, "relu takes arrays of one shape"),
        ((X, X), ValueError, "relu writes to memory that it also reads"),
        ((X,), TypeError, "relu takes x, out"),
        ((X, 1.0), TypeError, "relu: out is an array of float32, not float"),
        ((1, 2), TypeError, "relu takes 3 arguments, not 2"),
        ((1, 2, 3.0), TypeError, "relu: hi is int64, not float"),
    ],
)
def test_what_a_kernel_cannot_read_is_refused(arguments, error, message):
    given = [x.copy(order="K") if x is OUT else x for x in arguments]
    with pytest.raises(error, match=re.escape(message)):
        kernel_of("activation", "relu")(*given)


def test_read_only_arrays_are_not_written():
    out = OUT.copy()
    out.flags.writeable = False
    with pytest.raises(TypeError, match="read-only"):
        kernel_of("activation", "relu")(X, out)


@pytest.mark.parametrize(
    "name", ["relu", "relu_backward", "clamp", "clamp_backward", "accumulate", "matmul", "kernel"]
)
def test_what_a_reader_looks_for_is_there_under_its_name(name):
    room = ROOT / ("codegen" if name == "kernel" else "kernels")
    found = [
        path for path in room.rglob("*.py") if f"\ndef {name}(" in path.read_text(encoding="utf8")
    ]
    assert len(found) == 1 + (name == "clamp")  # a formula of vector_math is called clamp as well
