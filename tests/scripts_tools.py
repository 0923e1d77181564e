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
    "SCRIPTS", "STEPS", "Compiling", "how_it_ran", "mlp", "normal", "script", "scripts", "whole",
]  # fmt: skip
