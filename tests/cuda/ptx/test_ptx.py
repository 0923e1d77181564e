"""Kernels of every family compile to PTX for sm_80 and sm_90, and ptxas finds room in registers."""

from __future__ import annotations

import collections
import dataclasses
import functools
import os
import pathlib
import sys

import pytest

import numbagrad as torch
from numbagrad.cuda.driver.compiling import compile_to_cubin, compile_to_ptx

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "tools"))

import cuda_registers  # noqa: E402
from cuda_registers import (  # noqa: E402
    ARCHITECTURES,
    assembled,
    everything,
    family,
    noted,
    recorded,
    write_record,
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


#: Families whose kernels neither spill nor have a stack; no kernel of another one spills either.
IN_REGISTERS = ("attention", "convolution", "matmul", "pooling", "reductions")
PARTS = 24
#: Which of the kernels of a part, the longest of which come first, are assembled though the record
#: has them: see the Makefile.
EVERY = int(os.environ.get("ASSEMBLED_EVERY", "1"))


def check(source, anew=True):
    """A kernel is assembled for every architecture, without spills, and its blocks fit there."""
    for architecture in ARCHITECTURES:
        report = assembled(source, architecture, anew)
        assert report.spills == 0, source.text
        assert report.stack == 0 or family(source) not in IN_REGISTERS, source.text
        assert report.shared <= 48 << 10, source.text
        # A block of its threads has to fit the registers of a processor.
        assert report.registers * source.threads <= 1 << 16, source.text


@functools.cache
def kernels():
    """All kernels of the report, the longest first, which are spread over the parts so."""
    return sorted(everything(), key=lambda x: -len(x.text))


@pytest.mark.parametrize("part", range(PARTS))
def test_every_kernel_of_every_family_is_assembled(part):
    """Those of bench/RESULTS-ptx.md: the operator table with float32, and all other families.

    Where the compilers are those of the record, kernels that have not changed since are looked up
    there, but for every third or so; those that changed are assembled.
    """
    for number, source in enumerate(kernels()[part::PARTS]):
        if number % EVERY == 0 or recorded():
            check(source, anew=number % EVERY == 0)


def test_the_record_is_about_kernels_as_they_are_and_the_compilers_that_are_here(
    tmp_path, monkeypatch
):
    (source,) = noted(lambda: torch.zeros(8).to("cuda").fill_(2.0))
    changed = dataclasses.replace(source, text=f"{source.text}\n# changed")
    monkeypatch.setattr(cuda_registers, "RECORD", tmp_path / "record.json")
    recorded.cache_clear()
    assert recorded() == {}
    write_record([source])
    recorded.cache_clear()
    known = assembled(source, (8, 0))

    def assemble(*given):
        raise AssertionError("it is not in the record")

    monkeypatch.setattr(cuda_registers, "assemble", assemble)
    monkeypatch.setattr(cuda_registers, "kept", lambda *given: None)
    assert assembled(source, (8, 0)) == known and cuda_registers.missing([source]) == []
    for given in ((changed, (8, 0)), (source, (8, 0), True)):
        with pytest.raises(AssertionError, match="not in the record"):
            assembled(*given)
    monkeypatch.setattr(cuda_registers, "version", lambda: "of another release")
    recorded.cache_clear()
    assert recorded() == {} and cuda_registers.missing([source]) == [source]
    monkeypatch.undo()
    recorded.cache_clear()


def test_the_kernels_are_those_of_all_families():
    counts = collections.Counter([family(x) for x in kernels()])
    chosen = [x for part in range(PARTS) for x in kernels()[part::PARTS][::EVERY]]
    assert {family(x) for x in chosen} == set(counts)
    assert len(kernels()) > 600
    assert {*IN_REGISTERS, "decompositions", "elementwise", "indexing and lifted", "losses",
            "optimizers", "random numbers", "rows and scans"} == set(counts)  # fmt: skip
    assert counts["matmul"] >= 16 and counts["attention"] >= 40


@pytest.mark.parametrize("calls", [formulas, reductions, along_rows])
def test_kernels_of_other_dtypes_are_assembled(calls):
    sources = noted(calls)
    assert len(sources) > 10
    for source in sources:
        check(source)


def test_indices_beyond_two_to_the_31_are_divided_in_64_bits():
    """Memory here is virtual: nothing is read, and operands repeat."""

    def calls():
        rows, columns = torch.zeros(1 << 16, 1, device="cuda"), torch.zeros(1 << 16, device="cuda")
        assert (rows < columns).shape == (1 << 16, 1 << 16)
        assert columns.expand(1 << 16, 1 << 16).sum().shape == ()

    for name in ("lt", "sum"):
        source = next(x for x in noted(calls) if x.name == name)
        assert "quotient(" not in source.text
        check(source)


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
