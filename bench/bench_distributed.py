"""Data parallel training over ranks: ``mpiexec -n 2 python -m bench.bench_distributed``.

It times steps of a model of 10 MB in turns, with the same batch a rank: of each rank by itself
while the others sleep; of all ranks at the same time without any exchange, which shows what they
take from each other's caches and cores; and the data parallel step. Copies of as many bytes, by one
rank and by all, tell how much of that is memory. Compiled, it shows when sums of gradients are
under way. For the perceptron it fits latency and bandwidth to sums of many sizes, from which it
estimates steps of up to 1,024 ranks. Every rank computes with one thread. ``--model`` and
``--batch`` choose what is trained. ``docs/distributed.md`` explains the figures.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import numbagrad as torch
from numbagrad import distributed as dist
from numbagrad import nn

#: Widths of the layers: 2.6 million parameters of four bytes.
WIDTHS = (784, 1024, 1024, 768, 10)
BATCH = 128


#: Channels of the layers of the convolutional net, for pictures of 32×32.
CHANNELS = (3, 64, 128, 256, 512)
#: The transformer: its vocabulary, the length of its texts, the width of its three layers.
VOCABULARY, LENGTH, WIDTH = 128, 64, 256


class Model(NamedTuple):
    """A model of 10 MB, and its batch.

    Attributes:
        make: makes it, with the same parameters on all ranks.
        batch: the size of the batch of a rank, if the command line does not say.
        inputs: ``inputs(batch, generator)``.
        labels: how many classes, and how many labels a sample has.
    """

    make: Callable[[], Any]
    batch: int
    inputs: Callable[[int, Any], Any]
    labels: tuple[int, int]


def network() -> Any:
    torch.manual_seed(0)
    pairs = list(itertools.pairwise(WIDTHS))
    layers = [part for a, b in pairs for part in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(*layers[:-1])


def convolutional() -> Any:
    torch.manual_seed(0)
    layers = [
        part
        for a, b in itertools.pairwise(CHANNELS)
        for part in (nn.Conv2d(a, b, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
    ]
    head = nn.Linear(4 * CHANNELS[-1], 512), nn.ReLU(), nn.Linear(512, 10)
    return nn.Sequential(*layers, nn.Flatten(), *head)


def transformer() -> Any:
    torch.manual_seed(0)
    layers = [
        nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, 0.0, batch_first=True) for _ in range(3)
    ]
    head = nn.Linear(WIDTH, VOCABULARY), nn.Flatten(0, 1)
    return nn.Sequential(nn.Embedding(VOCABULARY, WIDTH), *layers, *head)


MODELS = {
    "perceptron": Model(
        network, BATCH, lambda n, g: torch.randn(n, WIDTHS[0], generator=g), (WIDTHS[-1], 1)
    ),
    "convolutional": Model(
        convolutional, 8, lambda n, g: torch.randn(n, CHANNELS[0], 32, 32, generator=g), (10, 1)
    ),
    "transformer": Model(
        transformer,
        8,
        lambda n, g: torch.randint(0, VOCABULARY, (n, LENGTH), generator=g),
        (VOCABULARY, LENGTH),
    ),
}


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


def seconds(step: Callable[..., Any], data: Any, alone: int | None = None) -> tuple[float, float]:
    """The time of a step until all ranks have done it, and the time that it had this rank's core.

    A turn begins with a step that is not timed: it finds the caches full of what other kinds of
    steps use. The rank ``alone``, if that is given, works by itself while the others sleep.
    """
    works = alone is None or dist.get_rank() == alone
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


def compare(
    model: Model, batch: int, bucket: float, compiled: bool, turns: int
) -> tuple[float, list[tuple[float, int]]]:
    """Time the kinds of steps in turns, and print them.

    Returns the median time of one rank, and when the sums start, as shares of the arithmetic of
    the step, and their bytes.
    """
    generator = torch.Generator().manual_seed(dist.get_rank())
    classes, each = model.labels
    labels = torch.randint(0, classes, (batch * each,), generator=generator)
    data = model.inputs(batch, generator), labels
    single = make_step(model.make(), compiled)
    parallel = nn.parallel.DistributedDataParallel(
        model.make(), bucket_cap_mb=bucket, gradient_as_bucket_view=True
    )
    together = make_step(parallel, compiled)
    ranks = range(dist.get_world_size())
    kinds = {f"rank {rank}, others asleep": (single, rank) for rank in ranks}
    steps = kinds | {"ranks without exchange": (single, None), "data parallel": (together, None)}
    times: dict[str, list[tuple[float, float]]] = {kind: [] for kind in steps}
    for turn in range(turns + 6):
        for kind, (step, alone) in steps.items():
            time_of_step = seconds(step, data, alone)
            if turn >= 6:
                times[kind].append(time_of_step)
    if dist.get_rank() == 0:
        print_times("compiled" if compiled else "eager", times)
    median = statistics.median([wall for wall, _ in next(iter(times.values()))])
    return median, show_overlap(together, data) if compiled else []


def print_times(title: str, times: dict[str, list[tuple[float, float]]]) -> None:
    """Print times of the kinds of steps, and how much longer the data parallel one takes.

    Where other programs run, a tenth of the turns is left alone by them rather than the median. A
    step of several ranks ends with the slowest of them, and cores differ from moment to moment, so
    the median of the ratios to the rank that was slower by itself in the same turn tells what comes
    from being parallel.
    """
    *alone, together, parallel = ([wall for wall, _ in found] for found in times.values())
    turns = f"{len(parallel)} turns of {STEPS}"
    print(f"{title}, milliseconds a step, {turns}: median, first tenth, median of rank 0's core")
    for kind, found in times.items():
        wall, core = ([1e3 * each[k] for each in found] for k in (0, 1))
        tenth = sorted(wall)[len(wall) // 10]
        of_core = statistics.median(core)  # none of one that sleeps
        print(f"  {kind:24} {statistics.median(wall):8.2f} {tenth:8.2f} {of_core:8.2f}")
    slowest = [max(turn) for turn in zip(*alone, strict=True)]
    for name, others in (
        ("rank 0", alone[0]), ("the slowest rank", slowest), ("ranks without exchange", together)
    ):  # fmt: skip
        ratio = statistics.median([a / b for a, b in zip(parallel, others, strict=True)])
        tenths = [sorted(found)[len(found) // 10] for found in (parallel, others)]
        print(f"  {'over ' + name:24} {ratio - 1:+8.1%} {tenths[0] / tenths[1] - 1:+8.1%}")


def show_memory(size: int) -> None:
    """Print how long a rank takes to copy an array of so many bytes, by itself and beside all."""
    array, other = torch.ones(size // 4), torch.empty(size // 4)
    turns: list[list[float]] = [
        [seconds(other.copy_, (array,), alone)[0] for alone in (0, None)] for _ in range(60)
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
    parser.add_argument("--turns", type=int, default=120)
    parser.add_argument("--model", choices=MODELS, default="perceptron")
    parser.add_argument("--batch", type=int, help="samples a rank")
    parser.add_argument("--bucket", type=float, default=4, help="MiB of a bucket")
    parser.add_argument("--mode", choices=("eager", "compiled", "both"), default="both")
    options = parser.parse_args()
    dist.init_process_group()
    torch.set_num_threads(1)
    model = MODELS[options.model]
    batch = options.batch or model.batch
    size = 4 * sum([each.numel() for each in model.make().parameters()])
    if dist.get_rank() == 0:
        print(f"{options.model} of {size / 1e6:.1f} MB, batch {batch} a rank, one thread a rank")
    show_memory(size)
    if options.mode != "compiled":
        compare(model, batch, options.bucket, False, options.turns)
    if options.mode != "eager":
        step, sums = compare(model, batch, options.bucket, True, options.turns)
        if options.model == "perceptron":
            show_larger_jobs(step, sums)
    dist.destroy_process_group()


def show_larger_jobs(step: float, sums: list[tuple[float, int]]) -> None:
    """Print what sums of many sizes take, and steps of many ranks by the model."""
    sizes, times = measured_sums(16 << 20)
    if dist.get_rank():
        return
    for each, seconds_of_it in zip(sizes, times, strict=True):
        print(f"  all_reduce of {each:>9} bytes: {1e6 * seconds_of_it:9.1f} µs")
    latency, bandwidth = fitted(sizes, times)
    print(f"latency {1e6 * latency:.1f} µs, bandwidth {bandwidth / 1e9:.2f} GB/s")
    print_estimates(step, sums, latency, bandwidth)


if __name__ == "__main__":
    main()
