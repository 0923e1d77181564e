"""The compiler of kernels: what it accepts, what it refuses, what the machine code is free of."""

import ctypes

import llvmlite.binding as llvm
import numpy as np
import pytest
from numba import njit
from numba.core.errors import NumbaError, TypingError

from numbagrad.codegen import compiler, loader
from numbagrad.codegen.compiler import assembly, compile_to_module, compile_to_object, subroutine
from numbagrad.codegen.intrinsics import external, float32, float64, int64, load, store, types
from numbagrad.kernels import layout
from numbagrad.kernels.pointwise.rows import describe_rows, find_rows

UNIFORM = "void(int64, int64, int64)"
CODES = ("loops", "formula", "calls")


def native(function, signature="int64(int64, int64)", **options):
    """The compiled function, callable with Python ints."""
    symbol = f"test_{function.__name__}_{options.get('code', '')}"
    address = loader.load(compile_to_object(function, signature, symbol, **options), symbol)
    words = signature.count("int64") - 1
    return ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * words)(address)


@subroutine
def halved(n):
    return n // 2


def collatz(n, limit):
    steps = 0
    while n > 1 and steps < limit:
        if n % 2 == 0:
            n = halved(n)
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@pytest.mark.parametrize("code", CODES)
def test_every_way_of_optimising_computes_the_same(code):
    compiled = native(collatz, code=code)
    for n in (1, 2, 7, 27, 97):
        assert compiled(n, 1000) == collatz(n, 1000)


def test_an_object_has_one_symbol_and_needs_none_of_numba_or_python():
    module = compile_to_module(collatz, "int64(int64, int64)", "only_this")
    defined = [f for f in module.functions if not f.is_declaration]
    assert [f.name for f in defined if f.linkage.name == "external"] == ["only_this"]
    assert not [f.name for f in module.functions if f.is_declaration and "llvm." not in f.name]


def test_one_name_may_mean_something_else_in_every_loop():
    def kernel(first, second):
        total = 0
        for i in range(first):
            t = i * 2
            total += t
        for i in range(second):
            t = i > 1
            if t:
                total += 100
        return total

    assert native(kernel)(4, 4) == kernel(4, 4)


LIMIT = 5


def test_a_global_constant_does_not_decide_the_type_of_a_variable():
    def kernel(n, big):
        bound = LIMIT
        if big > 0:
            bound = n * big
        return bound

    compiled = native(kernel)
    assert compiled(3, 0) == 5 and compiled(1 << 40, 4) == 1 << 42


def test_a_float32_that_would_become_a_float64_is_refused():
    def kernel(args, lo, hi):
        x = load(args, 0, float32)
        if lo > 0:
            x = load(args, 1, float64)
        store(args, 0, float32(x), float32)

    with pytest.raises(TypingError, match="holds a float32 here and a float64 elsewhere"):
        compile_to_module(kernel, UNIFORM)


def test_a_symbol_that_the_process_does_not_have_is_refused():
    missing = external("numbagrad_has_no_such_function", types.int64, types.int64)

    def kernel(first, second):
        return missing(first)

    with pytest.raises(RuntimeError, match="'kernel' needs the symbol"):
        compile_to_module(kernel, "int64(int64, int64)")


def test_what_cannot_be_typed_raises_instead_of_falling_back_to_python():
    def kernel(first, second):
        return {"first": first}[second]

    # Which of Numba's errors depends on whether the process has imported its typed dictionaries.
    with pytest.raises(NumbaError):
        compile_to_module(kernel, "int64(int64, int64)")


def axpy(args, lo, hi):
    x = load(args, 0, int64)
    y = load(args, 1, int64)
    for i in range(lo, hi):
        store(y, i, load(x, i, float32) * float32(3.0) + load(y, i, float32), float32)


def test_a_multiply_and_an_add_fuse_only_where_the_flags_say_so():
    assert "contract" in str(compile_to_module(axpy, UNIFORM))
    assert "contract" not in str(compile_to_module(axpy, UNIFORM, fastmath=()))


@pytest.mark.parametrize("code", ("loops", "formula"))
def test_loops_are_vectorised(code):
    assert " x float>" in str(compile_to_module(axpy, UNIFORM, code=code))
    assert assembly(axpy, UNIFORM, code=code)


def power(args, lo, hi):
    x = load(args, 0, int64)
    y = load(args, 1, int64)
    for i in range(lo, hi):
        value = load(x, i, float32)
        a = value
        a = a * value + float32(1.5)
        a = a * value + float32(2.5)
        a = a * value + float32(3.5)
        a = a * value + float32(4.5)
        a = a * value + float32(5.5)
        a = a * value + float32(6.5)
        a = a * value + float32(7.5)
        a = a * value + float32(8.5)
        store(y, i, a, float32)


@pytest.mark.parametrize(
    ("kernel", "code", "widest"),
    [(power, "formula", True), (power, "guarded", True), (power, "rows", True),
     (axpy, "formula", False)],
)  # fmt: skip
def test_formulas_bound_by_arithmetic_are_compiled_for_the_widest_vectors(
    monkeypatch, kernel, code, widest
):
    asked = []

    def machine(target, wide):
        asked.append(wide)
        return loader.target_machine(wide)

    monkeypatch.setattr(compiler, "_machine", machine)
    compile_to_module(kernel, UNIFORM, code=code)
    assert asked == [widest]


@pytest.mark.parametrize(("bits", "wide"), [(512, True), (512, False), (256, True), (128, False)])
def test_only_cpus_of_512_bits_are_told_to_use_the_widest_vectors(monkeypatch, bits, wide):
    given = []

    class Target:
        @staticmethod
        def from_triple(triple):
            return Target()

        def create_target_machine(self, **options):
            given.append(options["features"])

    cpu = loader.Target("some", "+feature", "", bits, bits == 512, True)
    monkeypatch.setattr(loader, "target", lambda: cpu)
    monkeypatch.setattr(llvm, "Target", Target)
    loader.target_machine(wide)
    widest = wide and bits == 512
    assert given == ["+feature,-prefer-256-bit" if widest else "+feature"]


def test_functions_of_other_users_of_numba_are_left_alone():
    native(collatz)

    @njit
    def normalised(values):
        if values.size == 0:
            raise ValueError("nothing to normalise")
        return values / values.sum()

    np.testing.assert_allclose(normalised(np.ones(4)), np.full(4, 0.25))
    with pytest.raises(ValueError, match="nothing to normalise"):
        normalised(np.ones(0))
    assert native(collatz, code="calls")(27, 1000) == 111


def test_shared_kernels_are_called_by_name_and_do_what_they_do_in_python():
    data = compile_to_object(strided_rows, loader.SHARED_SIGNATURE, "rows_of")
    assert b"numbagrad_shared.kernels.pointwise.rows.row_starts" in data
    words = ctypes.CFUNCTYPE(*[ctypes.c_int64] * 5)(loader.load(data, "rows_of"))
    args = np.zeros(layout.ARGUMENT_OPERANDS + 2 * layout.OPERAND_WORDS, np.int64)
    args[:4] = 3, 4, 2, 5
    args[layout.ARGUMENT_OPERANDS + layout.OPERAND_WORDS :][:4] = 1000, 400, 7, 8
    for lo in range(40):
        compiled, plain = np.zeros(7, np.int64), np.zeros(7, np.int64)
        rows = words(args.ctypes.data, lo, 2, compiled.ctypes.data)
        assert rows == strided_rows(args.ctypes.data, lo, 2, plain.ctypes.data) == 2 - lo // 5 % 2
        outer, row, column = np.unravel_index(lo, (4, 2, 5))
        expected = [column, 0, 0, 0, 1000 + 400 * outer + 7 * row, 7, 8]
        assert compiled.tolist() == plain.tolist() == expected


def strided_rows(args, lo, own, plane):
    describe_rows(args, own, plane, 0)
    return find_rows(args, lo, own, plane)
