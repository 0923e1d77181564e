"""Pointwise kernels whose outputs are too large for the caches, and write past them.

The size from which on that is done is set to zero, so that arrays of some rows will do; every
result must have the bits that ordinary stores leave, wherever the memory of the output begins.
"""

from __future__ import annotations

import numpy as np
import pytest

import numbagrad
from numbagrad.executor.builtin import runtime
from numbagrad.executor.cache import library
from numbagrad.executor.memory import buffers as memory
from numbagrad.kernels.pointwise.source import BLOCK
from numbagrad.ops.operators.pointwise_operator import pointwise

#: Columns: whole blocks, whole lines, neither; and rows so short that they are not streamed.
COLUMNS = [2 * BLOCK, BLOCK + 16, 1003, 7]


@pytest.fixture
def streaming():
    """Have every output streamed."""
    runtime().stream_bytes = 0
    yield
    runtime().stream_bytes = memory.stream_bytes()


def kernels_of(call) -> str:
    """The sources of the kernels that a call looks up."""
    found: list[library.Kernel] = []
    library.forget_lookups()
    library.listener = found.append
    try:
        call()
    finally:
        library.listener = None
    return "".join(kernel.source or "" for kernel in found)


def random(*shape: int, dtype: str = "float32"):
    values = np.random.default_rng(7).standard_normal(shape) * 3
    return numbagrad.from_numpy(values.astype(dtype))


@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int16"])
def test_a_row_added_to_every_row(streaming, columns: int, dtype: str) -> None:
    a, row = random(5, columns, dtype=dtype), random(columns, dtype=dtype)
    np.testing.assert_array_equal((a + row).numpy(), a.numpy() + row.numpy())


@pytest.mark.parametrize("columns", COLUMNS)
def test_booleans(streaming, columns: int) -> None:
    a, row = random(5, columns), random(columns)
    np.testing.assert_array_equal((a > row).numpy(), a.numpy() > row.numpy())


@pytest.mark.parametrize("begin", [0, 1, 2, 5, 15])
def test_an_output_that_begins_inside_a_line(streaming, begin: int) -> None:
    a = random(3 * BLOCK + 5)
    output = numbagrad.zeros(3 * BLOCK + 40)
    pointwise("mul").into(output[begin : begin + len(a)], (a, 2.0))
    np.testing.assert_array_equal(output.numpy()[begin : begin + len(a)], 2 * a.numpy())
    assert not output.numpy()[:begin].any() and not output.numpy()[begin + len(a) :].any()


def test_several_outputs(streaming) -> None:
    a, b = random(3, BLOCK + 3), random(3, BLOCK + 3)
    a.requires_grad_(), b.requires_grad_()
    (a * b).backward(numbagrad.ones(3, BLOCK + 3))
    np.testing.assert_array_equal(a.grad.numpy(), b.detach().numpy())
    np.testing.assert_array_equal(b.grad.numpy(), a.detach().numpy())


def test_blocks_with_elements_beyond_the_fast_body(streaming) -> None:
    a = random(4 * BLOCK + 9)
    a[BLOCK + 7] = 11.0
    parts = [numbagrad.nn.functional.gelu(a[k : k + 100]) for k in range(0, len(a), 100)]
    whole = numbagrad.nn.functional.gelu(a)
    np.testing.assert_array_equal(whole.numpy(), numbagrad.cat(parts).numpy())


def test_which_kernels_stream(streaming) -> None:
    a, row, short = random(64, 512), random(512), random(64, 7)
    assert "streams_done" in kernels_of(lambda: a + row)
    assert "streams_done" not in kernels_of(lambda: a.add_(row))
    assert "streams_done" not in kernels_of(lambda: a[:, ::2] + 1)
    assert "streams_done" not in kernels_of(lambda: short[:, :6] + row[:6])


def test_the_next_row_is_fetched_where_computing_one_takes_long(monkeypatch) -> None:
    functional = numbagrad.nn.functional

    def step(x, grad):
        normed = functional.layer_norm(x, (512,))
        result = functional.gelu(numbagrad.softmax(normed, 1))
        return result.detach(), *numbagrad.autograd.grad(result, x, grad)

    def light(x, grad):
        return numbagrad.softmax(x * grad, 1)

    x, grad = random(5, 512), random(5, 512)
    x.requires_grad_()
    usual = numbagrad.compile(step)
    usual(x, grad)
    expected = [value.numpy() for value in usual(x, grad)]
    monkeypatch.setattr("numbagrad.program.row_stages.stream_bytes", lambda: 0)
    heavy = numbagrad.compile(step)
    assert "fetch(" in kernels_of(lambda: heavy(x, grad))
    for value, same in zip(heavy(x, grad), expected, strict=True):
        np.testing.assert_array_equal(value.numpy(), same)
    text = kernels_of(lambda: numbagrad.compile(light)(x.detach(), grad))
    assert "streams_done" in text and "fetch(" not in text


def test_outputs_that_fit_the_cache_are_kept_there() -> None:
    a = random(64, 512)
    assert "streams_done" not in kernels_of(lambda: a + a)
    assert memory.stream_bytes() >= 1 << 20


def test_the_last_cache_where_the_system_does_not_tell(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(memory, "_CACHES", tmp_path)
    assert memory.last_cache_bytes() == 32 << 20
    (tmp_path / "index3").mkdir()
    (tmp_path / "index3" / "size").write_text("8M\n")
    assert memory.last_cache_bytes() == 32 << 20
    (tmp_path / "index3" / "size").write_text("8192K\n")
    assert memory.last_cache_bytes() == 8 << 20
