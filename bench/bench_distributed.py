"""Data parallel training over ranks: ``mpiexec -n 2 python -m bench.bench_distributed``.

It times three kinds of steps of a model of 10 MB in turns, with the same batch a rank: of one rank
while the others sleep; of all ranks at the same time without any exchange, which shows what they
take from each other's caches and cores; and the data parallel step. Copies of as many bytes, by one
rank and by all, tell how much of that is memory. It shows when sums of gradients are under way, and
fits latency and bandwidth to sums of many sizes, from which it estimates steps of up to 1,024
ranks. Every rank computes with one thread. ``docs/distributed.md`` explains the model.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import numbagrad as torch
from numbagrad import distributed as dist
from numbagrad import nn

#: Widths of the layers: 2.6 million parameters of four bytes.
WIDTHS = (784, 1024, 1024, 768, 10)
BATCH = 128


def network() -> Any:
    torch.manual_seed(0)
    pairs = list(itertools.pairwise(WIDTHS))
    layers = [part for a, b in pairs for part in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(*layers[:-1])


def make_step(model: Any, compiled: bool) -> Callable[..., Any]:
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def step(images: Any, labels: Any) -> Any:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss

    return torch.compile(step) if compiled else step


def meet(sleeps: bool = False) -> None:
    """Wait for all ranks; one that ``sleeps`` leaves its core to others meanwhile."""
    work = dist.barrier(async_op=True)
    while sleeps and not work.is_completed():
        time.sleep(2e-4)
    work.wait()


#: Steps of a turn that are timed, one after another as in training.
STEPS = 2


def seconds(step: Callable[..., Any], data: Any, alone: bool = False) -> tuple[float, float]:
    """The time of a step until all ranks have done it, and the time that it had this rank's core.

    A turn begins with a step that is not timed: it finds the caches full of what other kinds of
    steps use. With ``alone`` rank 0 works by itself while the others sleep.
    """
    works = not alone or dist.get_rank() == 0
    if works:
        step(*data)
    meet(sleeps=not works)
    start, start_of_core = time.perf_counter(), time.process_time()
    if works:
        for _ in range(STEPS):
            step(*data)
    of_core = time.process_time() - start_of_core
    meet(sleeps=not works)
    return (time.perf_counter() - start) / STEPS, of_core / STEPS


#: The kinds of steps, in the order of the turns.
KINDS = ("one rank, others asleep", "ranks without exchange", "data parallel")


def compare(compiled: bool, blocks: int) -> tuple[float, list[tuple[float, int]]]:
    """Time the three kinds of steps in turns, and print them.

    Returns the median time of one rank, and when the sums start, as shares of the arithmetic of
    the step, and their bytes.
    """
    rank = dist.get_rank()
    generator = torch.Generator().manual_seed(rank)
    images = torch.randn(BATCH, WIDTHS[0], generator=generator)
    labels = torch.randint(0, WIDTHS[-1], (BATCH,), generator=generator)
    data = images, labels
    single = make_step(network(), compiled)
    parallel = nn.parallel.DistributedDataParallel(
        network(), bucket_cap_mb=4, gradient_as_bucket_view=True
    )
    together = make_step(parallel, compiled)
    kinds = ((single, True), (single, False), (together, False))
    times: list[list[tuple[float, float]]] = [[], [], []]
    for turn in range(blocks + 6):
        for found, (step, alone) in zip(times, kinds, strict=True):
            time_of_step = seconds(step, data, alone)
            if turn >= 6:
                found.append(time_of_step)
    if rank == 0:
        print_times("compiled" if compiled else "eager", times)
    median = statistics.median([wall for wall, _ in times[0]])
    return median, show_overlap(together, data) if compiled else []


def print_times(title: str, times: list[list[tuple[float, float]]]) -> None:
    """Print times of the three kinds, and how much more the last one takes.

    Where other programs run, a tenth of the turns is left alone by them rather than the median.
    """
    turns = f"{len(times[0])} turns of {STEPS}"
    print(f"{title}, milliseconds a step, {turns}: median, first tenth, median of the core")
    columns = []
    for kind, found in zip(KINDS, times, strict=True):
        wall, core = ([1e3 * each[k] for each in found] for k in (0, 1))
        tenth = sorted(wall)[len(wall) // 10]
        columns.append((statistics.median(wall), tenth, statistics.median(core)))
        print(f"  {kind:24}", *[f"{value:8.2f}" for value in columns[-1]])
    for kind, column in zip(KINDS[:2], columns, strict=False):
        more = [f"{last / value - 1:+8.1%}" for last, value in zip(columns[2], column, strict=True)]
        print(f"  {'over ' + kind:24}"[:26], *more)


def show_memory(size: int) -> None:
    """Print how long a rank takes to copy an array of so many bytes, by itself and beside all."""
    array, other = torch.ones(size // 4), torch.empty(size // 4)
    turns: list[list[float]] = [
        [seconds(other.copy_, (array,), alone)[0] for alone in (True, False)] for _ in range(60)
    ]
    one, every = (1e3 * statistics.median(times) for times in zip(*turns, strict=True))
    if dist.get_rank() == 0:
        print(f"a copy of {size / 1e6:.1f} MB: {one:.2f} ms in one rank, {every:.2f} ms in each")


def show_overlap(step: Callable[..., Any], data: Any) -> list[tuple[float, int]]:
    """Print for each sum how long it was under way, and how long launches ran meanwhile."""
    with torch.profile() as profile:
        step(*data)
    events = sorted(profile.events, key=lambda event: event.start)
    starts = [each for each in events if each.name == "start_all_reduce"]
    waits = [each for each in events if each.name == "wait_all_reduce"]
    whole = sum([each.flops or 0 for each in events])
    sums = []
    for k, (begun, waited) in enumerate(zip(starts, waits, strict=True)):
        inside = [
            e for e in events if begun.start < e.start < waited.start and e.where == "program"
        ]
        busy = sum([each.duration for each in inside]) / 1e6
        before = sum([each.flops or 0 for each in events if each.start < begun.start])
        sums.append((before / whole, begun.bytes // 2))
        if dist.get_rank():
            continue
        print(
            f"  sum {k}: {begun.bytes / 2e6:.1f} MB; started after "
            f"{(begun.start - events[0].start) / 1e6:.2f} ms, {busy:.2f} ms of launches "
            f"({', '.join(sorted({each.name for each in inside}))[:60]}), then waited for "
            f"{waited.duration / 1e6:.2f} ms"
        )
    return sums


def measured_sums(most: int) -> tuple[list[int], list[float]]:
    """Bytes, and the median seconds of an all-reduce of so many."""
    sizes = [4 << k for k in range(0, most.bit_length() - 2, 2)]
    found = []
    for size in sizes:
        array = torch.ones(size // 4)
        times = []
        for _ in range(30 if size < 1 << 20 else 12):
            dist.barrier()
            start = time.perf_counter()
            dist.all_reduce(array, dist.ReduceOp.MAX)
            times.append(time.perf_counter() - start)
        found.append(statistics.median(times))
    return sizes, found


def fitted(sizes: list[int], times: list[float]) -> tuple[float, float]:
    """Latency in seconds and bandwidth in bytes a second, by least squares of relative errors."""
    weights = 1 / np.array(times)
    columns = np.stack([np.ones(len(sizes)), np.array(sizes, float)], 1) * weights[:, None]
    latency, slope = np.linalg.lstsq(columns, np.ones(len(sizes)), rcond=None)[0]
    return float(latency), float(1 / slope)


def estimate(
    step: float, sums: list[tuple[float, int]], latency: float, bandwidth: float, ranks: int
) -> float:
    """Seconds of a step of so many ranks.

    Rabenseifner's algorithm takes ``2 log2(p)`` messages, and ``2 (p - 1) / p`` of the bytes on a
    link. Sums follow one another on the link, and the step ends when the last one is over.

    Args:
        step: seconds of the step of one rank.
        sums: for each sum when it starts, as a share of the step, and its bytes.
    """
    free = 0.0
    for share, size in sums:
        messages = 2 * np.log2(ranks) * latency
        free = max(free, share * step) + messages + 2 * (ranks - 1) / ranks * size / bandwidth
    return max(step, free)


def print_estimates(
    step: float, sums: list[tuple[float, int]], latency: float, bandwidth: float
) -> None:
    """Print what the model says of steps of 2 to 1,024 ranks."""
    print(f"estimates from {1e6 * latency:.1f} µs and {bandwidth / 1e9:.2f} GB/s:")
    for ranks in (2, 8, 64, 256, 1024):
        time_of_step = estimate(step, sums, latency, bandwidth, ranks)
        print(f"  {ranks:>5} ranks: {1e3 * time_of_step:6.2f} ms a step, {step / time_of_step:.0%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--blocks", type=int, default=120)
    options = parser.parse_args()
    dist.init_process_group()
    torch.set_num_threads(1)
    size = 4 * sum([a * b + b for a, b in itertools.pairwise(WIDTHS)])
    if dist.get_rank() == 0:
        print(f"model of {size / 1e6:.1f} MB, batch {BATCH} a rank, one thread a rank")
    show_memory(size)
    compare(False, options.blocks)
    step, sums = compare(True, options.blocks)
    sizes, times = measured_sums(16 << 20)
    if dist.get_rank() == 0:
        for each, seconds_of_it in zip(sizes, times, strict=True):
            print(f"  all_reduce of {each:>9} bytes: {1e6 * seconds_of_it:9.1f} µs")
        latency, bandwidth = fitted(sizes, times)
        print(f"latency {1e6 * latency:.1f} µs, bandwidth {bandwidth / 1e9:.2f} GB/s")
        print_estimates(step, sums, latency, bandwidth)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
