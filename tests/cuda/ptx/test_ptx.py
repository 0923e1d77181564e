"""Kernels of every family compile to PTX for sm_80 and sm_90, and ptxas finds room in registers."""

from __future__ import annotations

import pathlib
import sys

import pytest

import numbagrad as torch
from numbagrad.cuda.driver.compiling import compile_to_cubin, compile_to_ptx

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "tools"))

from cuda_registers import (  # noqa: E402
    ARCHITECTURES,
    assembled,
    family,
    noted,
    optimizers,
    products,
    random,
    windows,
)

F = torch.nn.functional


def formulas():
    """Formulas of several dtypes, contiguous, strided and with numbers; and their gradients."""
    for dtype in (torch.float32, torch.float64, torch.float16, torch.int64, torch.bool):
        x = torch.zeros(8, 8, dtype=dtype, device="cuda")
        for given in (x, x.t()):
            made = (given + x, given == x, given.float())
            assert len(made) == 3
    x = torch.zeros(8, 8, device="cuda", requires_grad=True)
    for call in (torch.exp, torch.erf, torch.tanh, F.gelu, torch.digamma, torch.lgamma, torch.sin):
        call(x * 2.5).sum().backward()
    torch.pow(x, 3).fmod(2).remainder(3).sum().backward()


def reductions():
    """Reductions over rows, columns and everything; selections."""
    for dtype in (torch.float32, torch.float64, torch.int64, torch.float16):
        x = torch.zeros(300, 300, dtype=dtype, device="cuda")
        for dim in (0, 1):
            made = (x.sum(dim), x.max(dim), x.amin(dim), x.prod(dim), (x > 0).any(dim))
            assert len(made) == 5
    x = torch.zeros(1 << 20, device="cuda")
    assert (x.sum(), x.var(), x.norm()) is not None


def along_rows():
    """Definitions over rows, scans, elements by index."""
    x = torch.zeros(300, 300, device="cuda", requires_grad=True)
    index = torch.zeros(300, 300, dtype=torch.int64, device="cuda")
    for dim in (0, 1):
        for call in (torch.softmax, torch.log_softmax, torch.cumsum, torch.logcumsumexp):
            call(x, dim).sum().backward()
        x.gather(dim, index).sum().backward()
        x.index_select(dim, index[0]).sum().backward()
        assert x.cummax(dim) is not None


@pytest.mark.parametrize("calls", [formulas, reductions, along_rows])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_kernels_are_assembled(calls, architecture):
    sources = noted(calls)
    assert len(sources) > 10
    for source in sources:
        report = assembled(source, architecture)
        assert report.spills == 0, source.text
        # A block of its threads has to fit the registers of a processor.
        assert report.registers * source.threads <= 1 << 16, source.text


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_products_are_assembled(architecture):
    sources = [x for x in noted(products) if family(x) == "matmul"]
    assert len(sources) == 16
    for source in (sources[0], sources[7], sources[-1]):
        report = assembled(source, architecture)
        assert (report.spills, report.stack) == (0, 0), source.text
        assert report.registers * source.threads <= 1 << 16


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_convolutions_and_poolings_are_assembled(architecture):
    sources = noted(windows)
    convolutions = [x for x in sources if family(x) == "convolution"]
    poolings = [x for x in sources if family(x) == "pooling"]
    assert (len(convolutions), len(poolings)) == (3, 3)
    for source in (*convolutions, *poolings):
        report = assembled(source, architecture)
        assert (report.spills, report.stack) == (0, 0), source.text
        assert report.registers * source.threads <= 1 << 16


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_attention_is_assembled(architecture):
    """Forward and backward in three dtypes; the widest have two kernels for keys and values."""

    def calls():
        for dtype, width in ((torch.float32, 256), (torch.float64, 64), (torch.float16, 128)):
            q = torch.zeros(1, 1, 9, width, device="cuda", dtype=dtype, requires_grad=True)
            F.scaled_dot_product_attention(q, q, q, is_causal=True).sum().backward()

    sources = [x for x in noted(calls) if family(x) == "attention"]
    assert len(sources) >= 12
    for source in sources:
        report = assembled(source, architecture)
        assert (report.spills, report.stack) == (0, 0), source.text
        assert report.registers * source.threads <= 1 << 16
        assert report.shared <= 48 << 10


@pytest.mark.parametrize("calls", [random, optimizers])
def test_random_numbers_and_optimizers_are_assembled(calls):
    sources = [x for x in noted(calls) if family(x) in ("random numbers", "optimizers")]
    assert len(sources) > 8
    for source in sources[::3]:
        assert assembled(source, (9, 0)).spills == 0, source.text


def test_reductions_meet_by_exchange():
    sources = noted(lambda: torch.zeros(64, 5000, device="cuda").sum(1))
    (source,) = [x for x in sources if ", rows," in x.text.partition("\n")[0]]
    text, _ = compile_to_ptx(source, (8, 0))
    assert text.count("shfl.sync.bfly.b32") == 8  # five bits of a warp, and three of eight warps


def test_formulas_read_sixteen_bytes_at_once():
    x = torch.zeros(8)

    def calls():
        there = x.to("cuda")
        assert (there * there) is not None

    (source,) = noted(calls)
    text, _ = compile_to_ptx(source, (9, 0))
    assert "ld.global.v4.f32" in text
    assert "st.global.v4.f32" in text


def test_machine_code_is_kept_on_disk(tmp_path, monkeypatch):
    from numbagrad.cuda.driver import compiling
    from numbagrad.executor.cache.disk import ObjectCache

    (source,) = noted(lambda: torch.zeros(8).to("cuda").fill_(2.0))
    cache = ObjectCache(tmp_path / "cache")
    monkeypatch.setattr(compiling.library, "cache", lambda: cache)
    first = compile_to_cubin(source, (9, 0))
    assert first[0][:4] == b"\x7fELF"
    monkeypatch.setattr(compiling, "compile_to_ptx", None)  # which is not called again
    assert compile_to_cubin(source, (9, 0)) == first
    assert compiling.cubin_key(source, (8, 0)) != compiling.cubin_key(source, (9, 0))


def test_without_a_gpu_cuda_says_so():
    assert not torch.cuda.is_available()
    assert torch.cuda.device_count() == 0
    with pytest.raises(AssertionError, match="ask torch.cuda.is_available"):
        torch.ones(2, device="cuda")
