"""What the training scripts of ``scripts_*.py`` are written with, and how their steps were run.

Each script takes ``compile``, trains for some steps, and returns what it saw and kept: tensors,
numbers, lists, logs. ``test_compile_more_scripts.py`` runs each with and without ``compile``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import numbagrad as torch

#: All scripts by name: ``family-name``.
SCRIPTS: dict[str, Callable[[Any], Any]] = {}

STEPS = 8


def script(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Register a script under its family, which is the name of its module, and its own name."""
    family = function.__module__.removeprefix("scripts_")
    SCRIPTS[f"{family}-{function.__name__}"] = function
    return function


def scripts(function: Callable[..., Any], options: dict[str, Any]) -> None:
    """Register one script for each of some options, which it takes after ``compile``."""
    family = function.__module__.removeprefix("scripts_")
    for name, option in options.items():
        SCRIPTS[f"{family}-{function.__name__}-{name}"] = lambda compile, option=option: function(
            compile, option
        )


def normal(k: int, *shape: int) -> torch.Tensor:
    """Random numbers that depend on nothing but ``k``."""
    return torch.from_numpy(np.random.default_rng(k).standard_normal(shape).astype("float32"))


def whole(k: int, below: int, *shape: int) -> torch.Tensor:
    """Random integers that depend on nothing but ``k``."""
    return torch.from_numpy(np.random.default_rng(1000 + k).integers(0, below, shape))


def mlp(*sizes: int, act: Any = torch.nn.ReLU) -> Any:
    """Linear layers with an activation between them."""
    layers: list[Any] = []
    for a, b in zip(sizes, sizes[1:], strict=False):
        layers += [torch.nn.Linear(a, b), act()]
    return torch.nn.Sequential(*layers[:-1])


def batch(k: int, size: int = 5) -> tuple[torch.Tensor, torch.Tensor]:
    """Inputs of four features and one of three classes."""
    return normal(k, size, 4), whole(k, 3, size)


def parts(lr: float = 0.1, **more: Any) -> tuple[Any, Any]:
    """A network for :func:`batch`, and an optimizer."""
    net = mlp(4, 6, 3)
    return net, torch.optim.SGD(net.parameters(), lr, **more)


def fit(
    compile: Any, net: Any, loss_of: Any, batches: Any, lr: float = 0.05, make: Any = None
) -> list[Any]:
    """Train with one compiled step; the losses and what was trained."""
    optimizer = (make or (lambda p: torch.optim.SGD(p, lr, momentum=0.9)))(net.parameters())

    @compile
    def step(*batch: Any) -> Any:
        optimizer.zero_grad()
        loss = loss_of(*batch)
        loss.backward()
        optimizer.step()
        return loss.detach()

    losses = [step(*batches(k)) for k in range(STEPS)]
    return [losses, dict(net.state_dict())]


def classes(shape: tuple[int, ...], count: int = 3, size: int = 5) -> Any:
    """Batches of random inputs with classes."""
    return lambda k: (normal(k, size, *shape), whole(k, count, size))


def classify(compile: Any, net: Any, shape: tuple[int, ...], **more: Any) -> list[Any]:
    """Train a network with the cross entropy of classes."""
    loss_of = lambda x, y: torch.nn.functional.cross_entropy(net(x), y)  # noqa: E731
    return fit(compile, net, loss_of, classes(shape), **more)


class Compiling:
    """``compile`` for one run of a script; remembers what it compiled."""

    def __init__(self) -> None:
        self.made: list[Any] = []

    def __call__(self, function: Any) -> Any:
        self.made.append(torch.compile(function))
        return self.made[-1]

    @property
    def how(self) -> str:
        """How the steps were run, the worst of them: whole, in pieces, or eagerly."""
        found = [how_it_ran(each) for each in self.made]
        return next((x for x in ("eager", "pieces", "whole") if x in found), "not compiled")

    @property
    def reasons(self) -> list[str]:
        """Why steps were not compiled whole."""
        inner = [getattr(each, "_compiled", each) for each in self.made]
        return [each._reason for each in inner if how_it_ran(each) != "whole"]


def how_it_ran(compiled: Any) -> str:
    """Whether a compiled function or Module runs whole, in pieces, or eagerly."""
    function = compiled if hasattr(compiled, "_given_up") else compiled._compiled
    if function.broken is not None:
        return "pieces"
    return "eager" if function._given_up or not function._programs else "whole"


__all__ = [
    "SCRIPTS", "STEPS", "Compiling", "batch", "classes", "classify", "fit", "how_it_ran", "mlp",
    "normal", "parts", "script", "scripts", "whole",
]  # fmt: skip
