"""Graphs that grow until the process may have no more memory.

``test_allocation_faults.py`` runs this file as a program, which prints one line for each program
in ``PROGRAMS``. Each runs in a fork of its own, whose address space is limited to little more than
it has. Its graph grows until a step raises MemoryError. Steps fail for a while, the graph is
dropped, which frees a chain of thousands of nodes, and the program has to work as before.

Two faults are CPython's. 3.12 and 3.13 free the constants of a function once too often where they
have no memory for it, so steps make no functions. 3.11 and later lose the exception that leaves a
frame where they have no memory for the object of the frame that called it, and raise ``LOST``.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import resource
from collections.abc import Callable
from typing import Any

import numbagrad as torch
from numbagrad.executor.cache import deferred
from numbagrad.nn import functional as F

#: What a process may have beside what it has, in bytes.
ROOM = 3 << 20
#: Of a SystemError that stands for the MemoryError which CPython lost.
LOST = "error return without exception set"

x = torch.linspace(0.5, 1.5, 64).requires_grad_()
m = (torch.eye(8) + 0.01).requires_grad_()
plain = torch.linspace(0.1, 1.0, 64).reshape(8, 8)


class Graph:
    """What a program holds on to: the end of a chain of vectors, one of matrices, and a list."""

    def __init__(self) -> None:
        self.vector = x * 1
        self.matrix = m * 1
        self.kept: list[Any] = []

    def value(self) -> list[Any]:
        """Numbers that show whether steps computed what they should."""
        kept = [item.sum().item() for item in self.kept]
        return [self.vector.sum().item(), self.matrix.sum().item(), *kept]


def same(thing: Any) -> Any:
    """A hook that changes nothing."""
    return thing


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 2 * x / x


@torch.compile
def compiled_step(w):
    y = (w * 2).sin()
    return y.sum() + (y * y).sum()


def pointwise(graph: Graph) -> None:
    graph.vector = graph.vector * 1.001 + 0.001


def products(graph: Graph) -> None:
    graph.matrix = (graph.matrix @ m) * 0.9


def views(graph: Graph) -> None:
    graph.kept.append(graph.matrix.t()[1:].reshape(-1))


def in_place(graph: Graph) -> None:
    graph.vector.mul_(0.999)
    graph.vector.add_(x)


def in_place_through_views(graph: Graph) -> None:
    graph.vector[3:10].mul_(0.99)


def hooks(graph: Graph) -> None:
    graph.vector = graph.vector * 0.999
    graph.vector.register_hook(same)


def functions(graph: Graph) -> None:
    graph.matrix = Double.apply(graph.matrix) * 0.5


def compiled(graph: Graph) -> None:
    graph.kept.append(compiled_step(x))


def results(graph: Graph) -> None:
    graph.kept.append(plain + 1)
    graph.kept.append(plain[1])
    graph.kept.append(plain.sum())


def backward(graph: Graph) -> None:
    (x * 2).sum().backward()
    graph.kept += torch.autograd.grad((x * x).sum(), x, create_graph=True)


def reductions(graph: Graph) -> None:
    graph.kept.append(x.softmax(0).log().sum())
    graph.kept.append(torch.cat([x, x]).view(2, -1).mean(0))


def layers(graph: Graph) -> None:
    graph.kept.append(F.linear(m, plain).relu().std())


def saved_tensor_hooks(graph: Graph) -> None:
    with torch.autograd.graph.saved_tensors_hooks(same, same):
        graph.matrix = graph.matrix.sin() * m


def without_recording(graph: Graph) -> None:
    with torch.no_grad():
        graph.kept.append(plain.exp())


PROGRAMS: list[Callable[[Graph], None]] = [
    pointwise, products, views, in_place, in_place_through_views, hooks, functions, compiled,
    results, backward, reductions, layers, saved_tensor_hooks, without_recording,
]  # fmt: skip


def a_few(program: Callable[[Graph], None]) -> list[Any]:
    """What some steps compute, and their gradients."""
    graph = Graph()
    for _ in range(5):
        program(graph)
    x.grad = m.grad = None
    for tensor in [graph.vector.sum(), graph.matrix.sum(), *[item.sum() for item in graph.kept]]:
        if tensor.requires_grad:
            tensor.backward(retain_graph=True)
    gradients = [None if leaf.grad is None else leaf.grad.tolist() for leaf in (x, m)]
    return [*graph.value(), *gradients]


def limit_memory() -> None:
    """Give this process little more than it has."""
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[0])
    limit = pages * resource.getpagesize() + ROOM
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))


def succeeds(program: Callable[[Graph], None], graph: Graph) -> bool:
    """Whether there was memory for a step."""
    try:
        program(graph)
    except MemoryError:
        return False
    except SystemError as error:
        if str(error) != LOST:
            raise
        return False
    return True


def grow(program: Callable[[Graph], None]) -> str:
    """Grow a graph until there is no memory; returns what was wrong then, or nothing."""
    for _ in range(50):
        expected = a_few(program)
    graph = Graph()
    more = iter(range(100))
    reserve = bytearray(100_000)
    limit_memory()
    failed = done = 0
    try:
        while succeeds(program, graph):
            done += 1
    except MemoryError:  # there was none for the count itself, which is a new object each time
        pass
    for _ in more:
        failed += not succeeds(program, graph)
    del reserve, graph
    gc.collect()
    if done < 500 or not failed:
        return f"{done} steps before memory was out, {failed} of 100 failed after that"
    found = a_few(program)
    return "" if found == expected else f"afterwards {found} instead of {expected}"


def main() -> None:
    """Run each program in a fork of its own, for which everything is compiled."""
    faulthandler.enable()
    deferred.CALLS_WORTH_COMPILING = 0  # a compiler takes more memory than there will be
    for program in PROGRAMS:
        a_few(program)
    for program in PROGRAMS:
        if os.fork() == 0:
            wrong = grow(program)
            print(f"{program.__name__}: {wrong or 'fine'}", flush=True)
            os._exit(0)
        if status := os.wait()[1]:
            print(f"{program.__name__}: ended with {os.waitstatus_to_exitcode(status)}", flush=True)


if __name__ == "__main__":
    main()
