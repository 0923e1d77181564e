"""Compile the kernels of every family for GPUs, and write what ptxas says of registers and spills.

    python tools/cuda_registers.py [bench/RESULTS-ptx.md] [--processes 2] [--seconds 600]

Runs the operator table on a driver that only notes kernels (``numbagrad/cuda/driver/offline.py``),
compiles each to PTX for sm_80 and sm_90, and assembles that with ptxas. Needs no GPU.
``tests/cuda/ptx/test_ptx.py`` does the same.

Beside the table is a record (``bench/ptx-kernels.json``): what ptxas said of each kernel, under a
digest of its text, and which compilers these were. Tests look there for kernels that have not
changed, so that each run of them is about all kernels and assembles those that are new.

Numba takes most of the time: a tenth of a second for a formula and several for a product, where
NVVM and ptxas take a twentieth each. Numba's part is therefore done once for all architectures.
What ptxas says of a kernel is kept in the cache of kernels under the kernel's key: only kernels
that changed are compiled again, and a run that was ended, or whose ``--seconds`` were over, is
taken up where it was by the next. The table is written when all kernels are in it.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import hashlib
import importlib.util
import json
import multiprocessing
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numbagrad as torch
from numbagrad.cuda.driver import chosen, compiling
from numbagrad.cuda.driver.offline import Offline
from numbagrad.cuda.driver.source import Source
from numbagrad.distributions.sampling import standard_gamma
from numbagrad.executor.cache import library

ROOT = pathlib.Path(__file__).parent.parent
RECORD = ROOT / "bench" / "ptx-kernels.json"
ARCHITECTURES = ((8, 0), (9, 0))
#: Rows and columns of products that 132 processors cut into squares of 32, 64 and 128.
SIZES = (4, 1000, 2000)


@dataclasses.dataclass(frozen=True)
class Report:
    """What ptxas says of a kernel."""

    registers: int
    stack: int
    spills: int
    shared: int


def ptxas() -> str:
    """The path of ptxas: that of the package ``nvidia-cuda-nvcc``, or of a toolkit.

    Raises:
        FileNotFoundError: without it.
    """
    found = importlib.util.find_spec("nvidia")
    for position in found.submodule_search_locations or () if found is not None else ():
        for path in sorted(pathlib.Path(position).glob("*/bin/ptxas")):
            return str(path)
    path = shutil.which("ptxas")
    if path is None:
        raise FileNotFoundError("ptxas is not here: pip install 'numbagrad[cuda-test]'")
    return path


def kept(source: Source, architecture: tuple[int, int]) -> Report | None:
    """What ptxas said of a kernel in a run before, if it did."""
    found = library.cache().read(_key(source, architecture))
    return None if found is None else Report(**json.loads(found))


@functools.cache
def recorded() -> dict[str, list[list[int]]]:
    """The record of kernels, for each architecture; none by other compilers than those here."""
    found = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    kernels: dict[str, list[list[int]]] = found.get("kernels", {})
    return kernels if found.get("compilers") == _compilers() else {}


def write_record(sources: list[Source]) -> None:
    """Write what ptxas said of kernels that are assembled."""
    kernels = {
        _digest(x): [dataclasses.astuple(assembled(x, to)) for to in ARCHITECTURES] for x in sources
    }
    lines = [f'"{name}": {json.dumps(said)}' for name, said in sorted(kernels.items())]
    inside = ",\n".join(lines)
    RECORD.write_text(f'{{"compilers": "{_compilers()}", "kernels": {{\n{inside}\n}}}}\n')


def _digest(source: Source) -> str:
    """What a kernel is known by in the record: its text without the first line, and its threads."""
    text = f"{source.threads}{source.text.partition(chr(10))[2]}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _compilers() -> str:
    return f"{compiling._environment().hex()[:16]} {version()}"


def assembled(source: Source, architecture: tuple[int, int], anew: bool = False) -> Report:
    """What ptxas says of a kernel for an architecture; kept on disk with the kernels.

    Unless it is to be assembled ``anew``, what the record says is enough.
    """
    known = None if anew else recorded().get(_digest(source))
    if known is not None:
        return Report(*known[ARCHITECTURES.index(architecture)])
    found = kept(source, architecture)
    if found is None:
        found = assemble(_of_all_architectures(source).get_asm_str(architecture), architecture)
        said = json.dumps(dataclasses.asdict(found)).encode()
        library.cache().write(_key(source, architecture), said)
    return found


def _key(source: Source, architecture: tuple[int, int]) -> str:
    return f"{compiling.cubin_key(source, architecture)}-{version().replace(' ', '-')}"


def missing(sources: list[Source]) -> list[Source]:
    """The kernels that some architecture has no report of."""
    new = [x for x in sources if _digest(x) not in recorded()]
    return [x for x in new if any([kept(x, to) is None for to in ARCHITECTURES])]


def assemble_all(source: Source) -> None:
    """Have a report of a kernel for every architecture."""
    for architecture in ARCHITECTURES:
        assembled(source, architecture)


def work_off(sources: list[Source], processes: int, seconds: float) -> int:
    """Assemble kernels of which nothing is kept; how many are left when the time is over."""
    start, left = time.monotonic(), missing(sources)
    print(len(sources), "kernels,", len(left), "to assemble", flush=True)
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        # One at a time to each: a product takes as long as fifty formulas.
        for done, _ in enumerate(pool.imap_unordered(assemble_all, left), 1):
            if done % 20 == 0:
                print(f"{done} of {len(left)}, {time.monotonic() - start:.0f} s", flush=True)
            if time.monotonic() - start > seconds:
                pool.terminate()
                break
    return len(missing(sources))


@functools.lru_cache(maxsize=1)
def _of_all_architectures(source: Source) -> Any:
    """What Numba makes of a kernel before an architecture is chosen, as its ``compile_ptx``."""
    from numba.cuda import compiler

    found, _ = compiler._compile_pyfunc_with_fixup(
        *compiling.prepared(source), debug=False, lineinfo=False, device=False, fastmath=False,
        cc=ARCHITECTURES[0], opt=True, abi="numba", abi_info=None, forceinline=False,
        launch_bounds=None, lto=False,
    )  # fmt: skip
    return found


def assemble(text: str, architecture: tuple[int, int]) -> Report:
    """Assemble PTX, and read what ptxas says of it."""
    major, minor = architecture
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "kernel.ptx")
        path.write_text(text)
        made = subprocess.run(
            [ptxas(), f"-arch=sm_{major}{minor}", "-v", str(path), "-o", f"{path}.cubin"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    said = made.stdout + made.stderr

    def number(pattern: str) -> int:
        return sum([int(x) for x in re.findall(pattern, said)])

    spills = number(r"(\d+) bytes spill stores") + number(r"(\d+) bytes spill loads")
    return Report(
        number(r"Used (\d+) registers"), number(r"(\d+) bytes stack frame"), spills,
        number(r"(\d+) bytes smem"),
    )  # fmt: skip


@functools.cache
def version() -> str:
    """The release of ptxas."""
    made = subprocess.run([ptxas(), "--version"], capture_output=True, text=True, check=True)
    found = re.search(r"release [\d.]+, V[\d.]+", made.stdout)
    return found[0] if found else "?"


def noted(calls: Callable[[], None]) -> list[Source]:
    """The kernels that calls on ``cuda`` launch."""
    offline = Offline()
    with chosen(offline):
        calls()
    return list(offline.sources)


def family(source: Source) -> str:
    """The family of a kernel, by the words that it takes."""
    words = set(source.parameters)
    if words & {"pivots", "at_pivots"}:
        return "decompositions"
    if "at_a" in words:
        return "matmul"
    if words & {"targets", "labels_of_all", "partials"}:
        return "losses"
    if "segments" in words:
        return "reductions"
    if {"order", "positions"} <= words:
        return "indexing and lifted"
    if "outer_size" in words:
        return "rows and scans"
    if "at_table" in words:
        return "optimizers"
    if "seed" in words:
        return "random numbers"
    if "at_logarithms" in words:
        return "attention"
    if "at_other" in words:
        return "convolution"
    if "planes" in words:
        return "pooling"
    if words & {"w0", "count", "of_row"}:
        return "indexing and lifted"
    return "elementwise"


def products() -> None:
    """Products of every dtype, order of strides and size of squares."""
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        for size in SIZES:
            a = torch.zeros(size, 4, device="cuda", dtype=dtype)
            b = torch.zeros(4, size, device="cuda", dtype=dtype)
            for first in (a, b.t()):
                for second in (b, a.t()):
                    first @ second


def windows() -> None:
    """A convolution and its two gradients in squares of every size, poolings and resampling."""
    functional = torch.nn.functional
    for batch, channels, side in ((2, 4, 30), (9, 4, 30), (20, 4, 30), (1, 1000, 6), (1, 2000, 6)):
        x = torch.zeros(batch, channels, side, side, device="cuda", requires_grad=True)
        w = torch.zeros(4, channels // 2, 3, 3, device="cuda", requires_grad=True)
        functional.conv2d(x, w, groups=2, padding=1).sum().backward()
    x = torch.zeros(2, 4, 30, 30, device="cuda", requires_grad=True)
    for pool in (functional.max_pool2d, functional.avg_pool2d):
        pool(x, 3, 2, 1).sum().backward()
    for dtype in (torch.float32, torch.float64):
        x = torch.zeros(2, 4, 30, 30, device="cuda", dtype=dtype, requires_grad=True)
        functional.interpolate(x, size=(7, 40), mode="bilinear").sum().backward()
        functional.adaptive_avg_pool2d(x, (7, 9)).sum().backward()


def attention() -> None:
    """Attention and its gradients: dtypes, widths, causal and with a mask."""
    attend = torch.nn.functional.scaled_dot_product_attention
    for dtype, width in (
        (torch.float32, 64), (torch.float32, 80), (torch.float32, 128), (torch.float32, 256),
        (torch.float64, 64), (torch.float64, 128), (torch.float16, 64), (torch.bfloat16, 128),
    ):  # fmt: skip
        q = torch.zeros(1, 2, 40, width, device="cuda", dtype=dtype, requires_grad=True)
        attend(q, q, q, is_causal=True).sum().backward()
        attend(q, q, q, torch.zeros(40, 40, device="cuda", dtype=dtype)).sum().backward()


def random() -> None:
    """Random numbers of every distribution."""
    for dtype in (torch.float32, torch.float64, torch.float16):
        x = torch.zeros(8, device="cuda", dtype=dtype)
        for fill in (
            x.uniform_, x.normal_, x.exponential_, x.log_normal_, x.cauchy_, x.bernoulli_,
            lambda x=x: x.geometric_(0.5), x.random_,
        ):  # fmt: skip
            fill()
        if dtype != torch.float16:
            torch.poisson(x)
            torch.binomial(x, x)
            standard_gamma(x)
    torch.randint(9, (8,), device="cuda")


def optimizers() -> None:
    """Steps of optimizers over many parameters."""
    for dtype in (torch.float32, torch.float64):
        for make in (
            lambda p: torch.optim.SGD(p, 0.1), lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
            lambda p: torch.optim.Adam(p, weight_decay=0.1, amsgrad=True), torch.optim.AdamW,
            torch.optim.RMSprop, torch.optim.NAdam, torch.optim.Adadelta,
        ):  # fmt: skip
            parameters = [torch.zeros(9, device="cuda", dtype=dtype) for _ in range(3)]
            optimizer = make([torch.nn.Parameter(x) for x in parameters])
            for _ in range(2):
                for p in optimizer.param_groups[0]["params"]:
                    p.grad = torch.zeros_like(p)
                optimizer.step()


def losses() -> None:
    """Losses of classes, with weights and without, and of sequences."""
    functional = torch.nn.functional
    for dtype in (torch.float32, torch.float64):
        x = torch.zeros(9, 5, device="cuda", dtype=dtype, requires_grad=True)
        target = torch.zeros(9, dtype=torch.int64, device="cuda")
        for weight in (None, torch.ones(5, device="cuda", dtype=dtype)):
            for reduction in ("mean", "none"):
                loss = functional.nll_loss(x, target, weight, reduction=reduction)
                loss.sum().backward()
        logs = torch.zeros(4, 2, 5, device="cuda", dtype=dtype, requires_grad=True)
        labels = torch.ones(2, 2, dtype=torch.int64, device="cuda")
        functional.ctc_loss(logs, labels, [4, 3], [2, 1]).backward()


def recurrent() -> None:
    """Steps of recurrent layers, forward and back."""
    for layer in (torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN):
        x = torch.zeros(3, 2, 4, device="cuda", requires_grad=True)
        layer(4, 8).cuda()(x)[0].sum().backward()


def decompositions() -> None:
    """Rows after swaps, and what is decomposed with pivots of two rows."""
    for dtype, hermitian in (
        (torch.float32, False), (torch.float64, False), (torch.complex64, False),
        (torch.complex128, True),
    ):  # fmt: skip
        A = torch.zeros(4, 4, device="cuda", dtype=dtype)
        LD, pivots, _ = torch.linalg.ldl_factor_ex(A, hermitian=hermitian)
        torch.linalg.ldl_solve(LD, pivots, A, hermitian=hermitian)
    torch.linalg.lu_solve(A, pivots, A)
    torch.lu_unpack(A, pivots)


def bags() -> None:
    """Sums of bags of rows by where these begin, and windows at random places."""
    functional = torch.nn.functional
    table = torch.zeros(5, 3, device="cuda", requires_grad=True)
    indices = torch.zeros(4, dtype=torch.int64, device="cuda")
    functional.embedding_bag(indices, table, indices[:2], mode="mean").sum().backward()
    x = torch.zeros(1, 1, 6, 6, device="cuda", requires_grad=True)
    functional.fractional_max_pool2d(x, 2, 3).sum().backward()


def operators(dtype: str) -> Callable[[], None]:
    """All of the operator table with one dtype, forward and backward."""

    def calls() -> None:
        if str(ROOT / "tests") not in sys.path:
            sys.path.insert(0, str(ROOT / "tests"))
        from device_cases import outcome
        from operator_table import ENTRIES, POINTWISE_ENTRIES

        for entry in (*POINTWISE_ENTRIES, *ENTRIES):
            if entry.admits(dtype):
                try:
                    outcome(entry, "cuda", dtype, int(entry.differentiable))
                except (ArithmeticError, RuntimeError, ValueError):
                    continue  # values that the host was asked about are zeros here

    return calls


def everything() -> list[Source]:
    """All kernels of the report; one text may have several names, in its first line."""
    sources: list[Source] = []
    for calls in (products, windows, attention, random, optimizers, losses, recurrent,
                  decompositions, bags, operators("float32")):  # fmt: skip
        sources += noted(calls)
    return list({x.text.partition("\n")[2]: x for x in sources}.values())


def rows(sources: list[Source]) -> Iterator[str]:
    """The lines of the table: for each family and architecture the largest numbers."""
    families = sorted({family(x) for x in sources})
    for name in families:
        members = [x for x in sources if family(x) == name]
        for architecture in ARCHITECTURES:
            reports = [assembled(x, architecture) for x in members]
            most = max(range(len(reports)), key=lambda k: reports[k].registers)
            yield (
                f"| {name} | sm_{architecture[0]}{architecture[1]} | {len(reports)} "
                f"| {max([x.registers for x in reports])} ({members[most].name}) "
                f"| {sum([x.spills > 0 for x in reports])} | {max([x.shared for x in reports])} |"
            )


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("target", nargs="?", type=pathlib.Path,
                        default=ROOT / "bench" / "RESULTS-ptx.md")  # fmt: skip
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    given = parser.parse_args()
    sources = everything()
    if left := work_off(sources, given.processes, given.seconds):
        sys.exit(f"{left} kernels are left: run this again")
    lines = [
        "# Kernels for GPUs, as ptxas assembles them",
        "",
        "Written by `python tools/cuda_registers.py`, which needs no GPU: nothing here was run.",
        f"ptxas {version()}. Kernels: products of four dtypes and a convolution in squares of all",
        "sizes, poolings, attention of several dtypes and widths, random numbers, steps of",
        "optimizers, losses of classes and sequences, steps of recurrent layers, decompositions",
        "with pivots, bags, and those of the operator table with float32, forward and backward,",
        "as made for 132 processors. What is said of each is in `ptx-kernels.json`.",
        "",
        "| family | architecture | kernels | most registers | kernels that spill | shared bytes |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for line in rows(sources):
        print(line, flush=True)
        lines.append(line)
    given.target.write_text("\n".join([*lines, ""]))
    write_record(sources)


if __name__ == "__main__":
    main()
