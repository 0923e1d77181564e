"""Random functions compiled, uncompiled and in torch, call by call, with arguments that change.

``parity/test_fuzz.py`` and ``fuzz.py`` call ``compiled_deviation``. A function lies in a file of
its own, as compile() reads sources; each call has other values, later ones other numbers and flags.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import fuzz_check
import numpy as np
import torch
from fuzz_check import RoundingErrors, by_rounding, counts, differing, unlike
from fuzz_programs import Given, Program

import numbagrad

CALLS = 7


def source(program: Program, library: str) -> str:
    """A module with the function ``step(given, n, flag)``: the program, and a backward."""
    names = [x.name for x in program.given]
    body = [x for x in program.lines if x.split(" = ")[0] not in names]
    made = [name for line in body for name in fuzz_check.targets(line) if name[0] == "x"]
    made = list(dict.fromkeys(made))
    lines = [
        f"({', '.join(names)},) = given",
        *body,
        f"made = [{', '.join(made)}]",
        "roots = [x for x in made if isinstance(x, t.Tensor) and x.requires_grad]",
        "roots = [t.view_as_real(x) if x.is_complex() else x for x in roots]",
        "if roots:",
        "    sum([(x * x).mean() for x in roots]).backward()",
        "return [x.detach() if isinstance(x, t.Tensor) else x for x in made]",
    ]
    inside = "\n".join(["    " + line for line in lines])
    return f"import {library} as t\n\n\ndef step(given, n, flag):\n{inside}\n"


def module_of(program: Program, library: str, folder: Path, number: int) -> ModuleType:
    """The program as an imported module."""
    path = folder / f"program_{number}_{library}.py"
    path.write_text(source(program, library))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def inputs(given: list[Given], library: Any, step: int) -> list[Any]:
    """The tensors of a call."""
    scope: dict[str, Any] = {"t": library}
    for each in given:
        exec(each.line(step), scope)
    return [scope[each.name] for each in given]


def outcome(function: Callable[..., Any], program: Program, library: Any, step: int) -> list[Any]:
    """What a call returns, writes and adds to gradients; or the class of what it raises."""
    given = inputs(program.given, library, step)
    try:
        made = function(given, 1.5 if step < 4 else 2.5, step % 3 != 2)
    except Exception as error:  # compared with what the other library raises
        return [type(error)]
    return [*made, *[x.detach() for x in given], *[x.grad for x in given]]


def differs(found: list[Any], expected: list[Any]) -> str:
    """What sets two outcomes apart; empty where nothing does."""
    if len(found) == 1 and isinstance(found[0], type) or isinstance(expected[0], type):
        if isinstance(found[0], type) and isinstance(expected[0], type):
            related = issubclass(found[0], expected[0]) or issubclass(expected[0], found[0])
            return "" if related else f"{found[0]} for {expected[0]}"
        return f"{found[0]} for {expected[0]}"
    if len(found) != len(expected):
        return f"{len(found)} results for {len(expected)}"
    for position, (one, other) in enumerate(zip(found, expected, strict=True)):
        what = unlike(one, other)
        if what:
            return f"result {position}: {what}"
        if other is None or not isinstance(other, (torch.Tensor, numbagrad.Tensor)):
            continue
        where = differing(one, other)
        if where.any():
            return f"result {position}: {fuzz_check.shown(one)} for {fuzz_check.shown(other)}"
    return ""


def excused(found: list[Any], expected: list[Any], shaken: list[list[Any]]) -> bool:
    """Whether rounding errors inside torch make all that sets two outcomes apart."""
    if len(found) != len(expected) or any(len(x) != len(expected) for x in shaken):
        return True
    for position, (one, other) in enumerate(zip(found, expected, strict=True)):
        if not isinstance(other, torch.Tensor) or unlike(one, other):
            continue
        where = differing(one, other)
        if where.any() and not by_rounding(one, other, where, [x[position] for x in shaken]):
            return False
    return True


def compiled_deviation(program: Program, folder: Path, number: int = 0) -> str:
    """How the compiled function differs from itself uncompiled; empty where it does not."""
    theirs = module_of(program, "torch", folder, number).step
    mine = module_of(program, "numbagrad", folder, number).step
    compiled = numbagrad.compile(module_of(program, "numbagrad", folder, number).step)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for step in range(CALLS):
            expected = outcome(theirs, program, torch, step)
            eager = outcome(mine, program, numbagrad, step)
            found = outcome(compiled, program, numbagrad, step)
            counts["calls"] += 2 * len(program.lines)
            what = differs(found, eager)
            if not what:
                continue
            shaken = []
            for seed in range(8):
                with RoundingErrors(seed):
                    shaken.append(outcome(theirs, program, torch, step))
            if not isinstance(expected[0], type) and excused(found, expected, shaken):
                counts["excused as rounding"] += 1
                continue
            return f"call {step}, compiled: {what}"
    counts["compiled functions"] += 1
    counts["programs of compile"] += sum(map(len, compiled._programs.values()))
    return ""
