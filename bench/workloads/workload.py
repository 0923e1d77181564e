"""What a workload is, and the data that every library is given alike.

A workload is one training step written as a function of a torch-like module, and the same step for
JAX. ``bench_compile.py`` times them, ``tests/test_workloads.py`` checks what they compute; the
workloads themselves are the other files of this folder.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np


class Task(NamedTuple):
    """A step that can be called again and again: ``step(*arguments)``.

    ``leaves`` are the tensors by which one can tell what the step did: their values and gradients.
    """

    step: Callable[..., Any]
    arguments: tuple[Any, ...]
    leaves: list[Any]


@dataclasses.dataclass(frozen=True)
class Workload:
    """A row of the table: what is run, and the bar of our compiled time over the best rival's.

    ``make(torch)`` makes the step for numbagrad or torch. ``make_jax()`` makes a function that does
    one step, jitted whole with its buffers donated, waits for it, and returns what the step of the
    other libraries returns first.
    """

    name: str
    what: str
    bar: float
    make: Callable[[Any], Task]
    make_jax: Callable[[], Callable[[], Any]]
    #: False where ``torch.compile`` raises: on second derivatives, and inside Numba's dispatcher.
    torch_compiles: bool = True


def normal(seed: int, *shape: int, scale: float = 1.0) -> np.ndarray:
    """Random float32 numbers that are the same in every process."""
    numbers = np.random.default_rng(seed).standard_normal(shape)
    return (scale * numbers).astype(np.float32)


def uniform(seed: int, low: float, high: float, *shape: int) -> np.ndarray:
    """Random float32 numbers between two bounds."""
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)


def linear_weights(sizes: list[int]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Weight (in, out) and bias of each layer between ``sizes``."""
    return [
        (
            normal(2 * k, inputs, outputs, scale=inputs**-0.5),
            normal(2 * k + 1, outputs, scale=0.1),
        )
        for k, (inputs, outputs) in enumerate(zip(sizes, sizes[1:], strict=False))
    ]


def mlp(torch: Any, sizes: list[int], activation: Any, activate_last: bool = False) -> Any:
    """``Linear`` layers with an activation between them, and the weights of ``linear_weights``."""
    modules = []
    for weight, bias in linear_weights(sizes):
        layer = torch.nn.Linear(*weight.shape)
        set_values(torch, layer.parameters(), [weight.T.copy(), bias])
        modules += [layer, activation()]
    return torch.nn.Sequential(*(modules if activate_last else modules[:-1]))


def set_values(torch: Any, parameters: Iterable[Any], arrays: Iterable[np.ndarray]) -> None:
    """Write arrays into parameters."""
    with torch.no_grad():
        for parameter, array in zip(parameters, arrays, strict=True):
            parameter.copy_(torch.from_numpy(array))


def leaf(torch: Any, array: np.ndarray) -> Any:
    """A tensor of its own memory that collects gradients."""
    return torch.from_numpy(array.copy()).requires_grad_()


def outcome(task: Task, result: Any) -> dict[str, np.ndarray]:
    """Copies of all that a step left behind: results, and values and gradients of the leaves."""
    results = result if isinstance(result, tuple) else (result,)
    tensors = {f"result {k}": each for k, each in enumerate(results)}
    tensors |= {f"leaf {k}": each for k, each in enumerate(task.leaves)}
    tensors |= {
        f"gradient of leaf {k}": each.grad
        for k, each in enumerate(task.leaves)
        if each.grad is not None
    }
    return {name: each.detach().numpy().copy() for name, each in tensors.items()}


def difference(expected: dict[str, np.ndarray], found: dict[str, np.ndarray]) -> tuple[float, str]:
    """The largest difference of two outcomes, relative to the largest element, and where it is."""
    if expected.keys() != found.keys():
        raise ValueError(f"one has {sorted(expected)}, the other {sorted(found)}")
    return max(
        (float(np.abs(array - found[name]).max() / max(np.abs(array).max(), 1e-30)), name)
        for name, array in expected.items()
    )
