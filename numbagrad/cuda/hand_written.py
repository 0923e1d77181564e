"""Launches of the hand-written kernels that the CPU calls by name (``HandWrittenKernel``).

Those in ``_OWN`` have a text for GPUs; of all others the CPU's text is compiled with a unit of work
a thread (``kernels/lifted.py``). Words are those of the CPU's kernel.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..executor.families.checks import subject_of
from ..executor.plan.operations import Check, Kernel
from ..executor.plan.views import Memory, View
from . import asserts, launches
from .array import CudaArray
from .driver import driver
from .driver.source import Source
from .kernels import ctc_loss, lifted, nll_loss
from .kernels import indexing as texts
from .launches import Launch, LaunchArgs, blocks_for

_READS, _CHECKS = "kernels.indexing.reads", "kernels.losses.checks"
_NLL_LOSS, _CTC = "kernels.losses.nll_loss", "kernels.losses.ctc_loss"


def run_kernel(module: str, name: str, total: int, launch_args: Sequence[Any]) -> None:
    """A hand-written kernel over ``total`` units of work, at once."""
    if total:
        index = next(x.block.device for x in launch_args if isinstance(x, CudaArray))
        launches.run(_launches(module, name, total, launch_args), _address, (), index)


def lower_kernel(operation: Kernel) -> list[Launch]:
    """The launches of a ``HandWrittenKernel`` of a program."""
    kernel = operation.kernel
    return _launches(kernel.module, kernel.name, operation.total, operation.args)


def run_check(name: str, total: int, launch_args: Sequence[Any], subject: str) -> None:
    """A kernel of ``kernels/losses/checks.py`` over the elements of the first of the arguments."""
    if total:
        launches.run(
            [_check(name, total, launch_args, subject)], _address, (), launch_args[0].block.device
        )


def lower_check(operation: Check) -> list[Launch]:
    """The launch of a check of a program."""
    if not operation.total:
        return []
    subject = subject_of(operation)
    return [_check(operation.kernel.name, operation.total, operation.args, subject)]


def _check(name: str, total: int, launch_args: Sequence[Any], subject: str) -> Launch:
    size = int(launch_args[2]) if name == "classes" else 0
    given = (*asserts.launch_args_of(name, subject, size), *launch_args)
    return _lifted(_CHECKS, name, total, given)


def _address(memory: Memory) -> int:
    return memory.address


def packed(given: Sequence[Any]) -> LaunchArgs:
    """Arrays, views and ints as arguments."""
    launch_args = LaunchArgs()
    for word in given:
        if isinstance(word, View):
            launch_args.add_view(word)
        elif isinstance(word, CudaArray):
            launch_args.add(word.address)
        else:
            launch_args.add(word)
    return launch_args


def _launches(module: str, name: str, total: int, given: Sequence[Any]) -> list[Launch]:
    if not total:
        return []
    role, _, kind = name.rpartition("_")
    own = _OWN.get((module, role))
    return [_lifted(module, name, total, given)] if own is None else own(kind, total, given)


def _lifted(module: str, name: str, total: int, given: Sequence[Any]) -> Launch:
    launch_args = packed(given)
    launch_args.add(total)
    source = _lifted_source(module, name, len(given), driver().threads)
    return launch_args.launch(source, blocks_for(total, driver().threads))


_lifted_source = functools.lru_cache(maxsize=256)(lifted.source)


# --- elements by index ----------------------------------------------------------------------------


def _read(text: Callable[[int, int], Source], kind: str, total: int, given: Any) -> list[Launch]:
    """A thread for each element that is read."""
    launch_args = packed(given)
    launch_args.add(total)
    threads = driver().threads
    return [
        launch_args.launch(text(int(kind), threads), blocks_for(total * int(given[5]), threads))
    ]


_gather = functools.cache(texts.gather_source)
_index_select = functools.cache(texts.index_select_source)


# --- losses of classes ----------------------------------------------------------------------------


@functools.lru_cache(maxsize=64)
def _class_source(role: str, kind: str, threads: int, lanes: int, weighted: bool = False) -> Source:
    text: Callable[..., Source] = getattr(nll_loss, f"{role}_source")
    if role == "partial_counts":
        return text(kind, weighted, threads, lanes)
    return text(kind, threads, lanes)


def _segments(number: int) -> tuple[int, int]:
    """How many segments a sum over elements is taken in, and their length."""
    where = driver()
    count = min(max(-(-number // (where.threads * where.segment)), 1), where.blocks)
    length = -(-number // count)
    return -(-number // length), length


def _launch(
    role: str, kind: str, launch_args: LaunchArgs, blocks: int, weighted: bool = False
) -> Launch:
    where = driver()
    source = _class_source(role, kind, where.threads, where.lanes, weighted)
    return launch_args.launch(source, blocks)


def _partial(
    role: str, kind: str, given: Sequence[Any], number: int, weighted: bool = False
) -> Any:
    """The launch that sums segments, where it leaves these, and how many they are."""
    segments, length = _segments(number)
    partials = Memory.scratch(segments * 8)
    launch_args = LaunchArgs()
    launch_args.addresses.append((0, partials, 0))
    launch_args.add(0)
    rest = packed(given)
    launch_args.addresses += [(at + 1, memory, offset) for at, memory, offset in rest.addresses]
    launch_args.add(*rest.launch_args, number, segments, length)
    return _launch(role, kind, launch_args, segments, weighted), partials, segments


def _factors(kind: str, total: int, given: Sequence[Any]) -> list[Launch]:
    """The weights of elements, over their sum for a mean."""
    factor, target, number, ignored, mean, weights = given
    classes = 0 if isinstance(weights, int) else weights.size
    made: list[Launch] = []
    launch_args = packed((factor, target, number, ignored, weights, classes))
    if mean and number:
        launch, partials, segments = _partial(
            "partial_counts", kind, (target, weights, classes, ignored), number, classes > 0
        )
        made.append(launch)
        launch_args.addresses.append((len(launch_args.launch_args), partials, 0))
        launch_args.add(0, segments)
    else:
        launch_args.add(0, 0)
    where = driver()
    return [*made, _launch("factors", kind, launch_args, blocks_for(max(number, 1), where.threads))]


def _elements(kind: str, total: int, given: Sequence[Any]) -> list[Launch]:
    launch_args = packed(given)
    launch_args.add(total)
    return [_launch("elements", kind, launch_args, blocks_for(total, driver().threads))]


def _total(kind: str, total: int, given: Sequence[Any]) -> list[Launch]:
    output, input, target, factor, classes, inner, ignored, number = given
    launch, partials, segments = _partial(
        "partial_losses", kind, (input, target, factor, classes, inner, ignored), number
    )
    launch_args = packed((output,))
    launch_args.addresses.append((1, partials, 0))
    launch_args.add(0, segments)
    return [launch, _launch("total", kind, launch_args, 1)]


def _placed(kind: str, total: int, given: Sequence[Any]) -> list[Launch]:
    """A thread for each element of the gradient."""
    units = total * int(given[4]) * int(given[5])
    launch_args = packed(given)
    launch_args.add(units)
    return [_launch("placed", kind, launch_args, blocks_for(max(units, 1), driver().threads))]


# --- connectionist temporal classification --------------------------------------------------------


@functools.lru_cache(maxsize=32)
def _ctc_source(role: str, kind: str, threads: int) -> Source:
    if role in ("forward", "backward"):
        return ctc_loss.recursion_source(kind, 1 if role == "backward" else -1, threads)
    text: Callable[[str, int], Source] = getattr(ctc_loss, f"{role}_source")
    return text(kind, threads)


def _ctc(role: str, kind: str, total: int, given: Sequence[Any]) -> list[Launch]:
    """A block for each table, a thread for each loss, and for each element of a gradient."""
    launch_args = packed(given)
    launch_args.add(total)
    threads = driver().threads
    units = given[0].size if role == "gradient" else total
    of_block = 1 if role in ("forward", "backward") else threads
    return [launch_args.launch(_ctc_source(role, kind, threads), blocks_for(units, of_block))]


#: By module and name, without the dtype or size behind it.
_OWN: dict[tuple[str, str], Callable[[str, int, Sequence[Any]], list[Launch]]] = {
    (_READS, "gather"): functools.partial(_read, _gather),
    (_READS, "index_select"): functools.partial(_read, _index_select),
    (_NLL_LOSS, "factors"): _factors,
    (_NLL_LOSS, "elements"): _elements,
    (_NLL_LOSS, "total"): _total,
    (_NLL_LOSS, "placed"): _placed,
    **{
        (_CTC, role): functools.partial(_ctc, role)
        for role in ("forward", "backward", "losses", "gradient")
    },
}
