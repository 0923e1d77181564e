"""Two worlds of one small module, one compiled: what ``test_compile_reads.py`` compares.

A ``Kind`` names a way to hold state, to read it, and to change it, and is read from the files in
``reads/``; ``sources`` writes it as modules of a user, of an installed package or of both;
``played`` imports them and calls the step.
"""

from __future__ import annotations

import copy
import dataclasses
import gc
import importlib
import re
import sys
import textwrap
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compile_checks import breaks_said

import numbagrad as torch
from numbagrad.executor.mode import NATIVE

#: What ``change`` is given before a call, by the number of the call. 2.0 is how a world begins.
CHANGES = {4: 3.0, 6: 2.0, 7: 5.0}
CALLS = 8

#: Where the code lies: the compiled function is the user's code itself, calls code of the user,
#: calls an installed package that holds the state, or reads state of an installed package.
POSITIONS = ("inline", "called", "package", "object")


@dataclasses.dataclass(frozen=True)
class Kind:
    """A way to hold state, in statements of Python. ``v`` is the number that is put there.

    Args:
        setup: makes the state; it holds 2.0. With ``whole`` it defines ``access(x)`` as well.
        read: statements, of which the last is the expression that ``x`` is multiplied by.
        change: done by the caller between calls.
        write: done inside of the call.
        state: an expression of what is there after the call.
        begin: done by the caller before every call.
        finish: puts back what the whole process shares.
        whole: the one role of ``setup``, where that defines ``access(x)`` itself.
        raises: whether calls raise, in eager execution too.
        distinct: whether every call gives another result, so that values cannot be compared.
        compiles: whether reading it has to stay compiled.
        among: the places where it is tried.
    """

    setup: str = ""
    read: str = ""
    change: str = ""
    write: str = ""
    state: str = "None"
    begin: str = ""
    finish: str = ""
    whole: str = ""
    raises: bool = False
    distinct: bool = False
    compiles: bool = False
    among: tuple[str, ...] = POSITIONS

    @property
    def roles(self) -> list[str]:
        """What the call does: reads what the caller changes, writes, or both."""
        if self.whole:
            return [self.whole]
        roles = ["read"] if self.read else []
        roles += ["effect"] if self.write else []
        return roles + (["both"] if self.read and self.write else [])

    @property
    def positions(self) -> list[str]:
        """Where its code may lie; what is bound anew in a module is read where it is bound."""
        text = self.setup + self.change + self.write + self.read + self.state
        local = self.whole or "global " in text or "__name__" in text or "globals()" in text
        return [x for x in self.among if not (local and x == "object")]


#: What may stand behind the name of a kind.
OPTIONS = ("raises", "distinct", "compiles")
#: The parts of a kind, after the setup, which comes first.
PARTS = ("begin", "read", "change", "write", "state", "finish")


def kinds_in(text: str) -> dict[str, Kind]:
    """The kinds of one file of ``reads/``.

    ``== name  [options]`` begins a kind, ``-- part`` each of its parts after the setup. A kind
    with the option ``prelude`` is the beginning of the setup of those that say ``-- with name``.
    A line ``# positions: ...`` at the head names the places where the kinds are tried. The state is
    the value that is read, unless a kind says otherwise.
    """
    kinds, preludes = {}, {}
    positions = re.match(r"(?:#.*\n)*?# places: (.*)\n", text)
    among = tuple(positions[1].split()) if positions else POSITIONS
    for block in text.split("\n== ")[1:]:
        head, *lines = block.rstrip("\n").split("\n")
        name, _, options = head.partition("  [")
        words = options.rstrip("]").split(", ") if options else []
        parts: dict[str, Any] = {"setup": "", "among": among}
        part = "setup"
        for line in lines:
            if line.startswith("-- with "):
                parts["setup"] += "".join(preludes[each] for each in line.split()[2:])
            elif line.startswith("-- "):
                part = line[3:]
                assert part in PARTS and part not in parts, (name, line)
                parts[part] = ""
            else:
                parts[part] += line + "\n"
        if "prelude" in words:
            preludes[name] = parts["setup"]
            continue
        if "read" in parts:
            parts.setdefault("state", parts["read"].strip().split("\n")[-1])
        for word in words:
            key, _, value = word.partition("=")
            assert key in (*OPTIONS, "whole"), (name, word)
            parts[key] = value or True
        assert name not in kinds, name
        kinds[name] = Kind(**parts)
    return kinds


def all_kinds() -> dict[str, Kind]:
    """The kinds of all files."""
    kinds: dict[str, Kind] = {}
    for path in sorted(Path(__file__).with_name("reads").glob("*.txt")):
        found = kinds_in(path.read_text())
        assert kinds.keys().isdisjoint(found), path
        kinds.update(found)
    return kinds


def combinations(kinds: dict[str, Kind]) -> list[Any]:
    """Parameters for pytest: every kind in every role, at every place."""
    return [
        pytest.param(kind, role, position, id=f"{name}-{role}-{position}")
        for name, kind in kinds.items()
        for role in kind.roles
        for position in kind.positions
    ]


def _access(kind: Kind, role: str) -> str:
    """The function that reads and writes."""
    if kind.whole:
        return ""
    *before, value = textwrap.dedent(kind.read).strip().split("\n")
    write = textwrap.dedent(kind.write).strip().split("\n")
    if role == "read":
        lines = [*before, f"return x * ({value})"]
    elif role == "effect":
        lines = [*write, "return x * 2.0"]
    else:
        lines = [*before, f"y = x * ({value})", *write, "return y + 1.0"]
    lines.sort(key=lambda line: not line.startswith("global "))
    return _function("access(x)", "\n".join(lines))


def _function(head: str, body: str) -> str:
    body = textwrap.dedent(body).strip() or "pass"
    return f"def {head}:\n{textwrap.indent(body, '    ')}\n\n"


HEAD = (
    "from __future__ import annotations\n\nimport numbagrad as torch\nfrom numbagrad import nn\n\n"
)


def sources(kind: Kind, role: str, position: str, name: str) -> dict[str, str]:
    """The text of each module: of the user, and of the installed package if there is one."""
    access = _access(kind, role)
    held = HEAD + textwrap.dedent(kind.setup).strip() + "\n\n"
    rest = _function("begin()", kind.begin) + _function("change(v)", kind.change)
    rest += _function("state()", f"return {kind.state.strip()}") + _function(
        "finish()", kind.finish
    )
    calls = "def step(x):\n    return access(x + 1.0) * 0.5\n"
    if position == "inline":
        return {name: held + access + rest + "step = access\n"}
    if position == "called":
        return {name: held + access + rest + calls}
    if position == "package":
        user = HEAD + f"import {name}_lib\n\n" + calls.replace("access(", f"{name}_lib.access(")
        return {f"{name}_lib": held + access + rest, name: user}
    user = HEAD + f"from {name}_lib import *\n\n" + access + calls
    return {f"{name}_lib": held + rest, name: user}


def plain(value: Any) -> Any:
    """A copy of a result or a state, with arrays of NumPy in the place of tensors."""
    if isinstance(value, torch.Tensor):
        return value.detach().numpy().copy()
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return copy.deepcopy(value)


@dataclasses.dataclass
class Played:
    """What the calls of one world gave, and how the step was run."""

    outcomes: list[tuple[Any, Any]]
    step: Any
    said: list[str]

    @property
    def how(self) -> str:
        """Whether the step was compiled whole, in pieces, or left as it is."""
        if self.step.broken is not None:
            return "pieces"
        return "eager" if self.step._given_up or not self.step._programs else "whole"


def played(kind: Kind, role: str, position: str, name: str, folder: Path, compiled: bool) -> Played:
    """Write the modules of one world below ``folder``, import them, and call the step."""
    folders = folder / "site-packages", folder / "user"
    texts = sources(kind, role, position, name)
    for module, text in texts.items():
        at = folders[module == name]
        if module != name:  # as packages are installed
            at = at / module
        at.mkdir(parents=True, exist_ok=True)
        (at / (f"{module}.py" if module == name else "__init__.py")).write_text(text)
    sys.path[:0] = map(str, folders)
    importlib.invalidate_caches()
    try:
        user = importlib.import_module(name)
        holder = sys.modules[next(iter(texts))]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            step = torch.compile(user.step) if compiled else user.step
            outcomes = _outcomes(kind, role, holder, step)
        return Played(outcomes, step, breaks_said(caught))
    finally:
        del sys.path[:2]
        for module in texts:
            sys.modules.pop(module, None)
        for searched in [x for x in sys.path_importer_cache if x.startswith(str(folder))]:
            del sys.path_importer_cache[searched]  # thousands of folders would slow down imports


def _outcomes(kind: Kind, role: str, holder: Any, step: Any) -> list[tuple[Any, Any]]:
    outcomes: list[tuple[Any, Any]] = []
    try:
        for k in range(CALLS):
            holder.begin()
            if k in CHANGES and kind.change:
                holder.change(CHANGES[k])
            torch.manual_seed(k)
            # What has to be distinct must not be so because of the argument.
            x = torch.full((3,), 1.0 if kind.distinct else k + 1.0)
            if kind.raises:
                try:
                    result = step(x)
                except Exception as error:
                    result = f"{type(error).__name__}: {error}"
            else:
                result = step(x)
            outcomes.append((plain(result), plain(holder.state())))
    finally:
        holder.finish()
    return outcomes


def compare(found: Any, expected: Any, where: str, rtol: float = 1e-5, atol: float = 1e-6) -> None:
    """Check that two results or states are equal, but for rounding."""
    assert type(found) is type(expected), (where, found, expected)
    if isinstance(expected, np.ndarray):
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol, err_msg=where)
        assert found.dtype == expected.dtype, where
    elif isinstance(expected, list):
        assert len(found) == len(expected), (where, found, expected)
        for a, b in zip(found, expected, strict=True):
            compare(a, b, where, rtol, atol)
    elif isinstance(expected, dict):
        assert list(found) == list(expected), (where, found, expected)
        for key in expected:
            compare(found[key], expected[key], f"{where}[{key!r}]", rtol, atol)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=rtol, abs=atol, nan_ok=True), where
    else:
        assert found == expected, where


def check(kind: Kind, role: str, position: str, folder: Path, name: str) -> Played:
    """Play both worlds, one after the other, and compare them call by call."""
    eager = played(kind, role, position, f"{name}_eager", folder, compiled=False)
    gc.collect(0)
    found = played(kind, role, position, f"{name}_compiled", folder, compiled=True)
    if kind.distinct:
        for each in (eager, found):
            results = [str(result) for result, _ in each.outcomes]
            assert len(set(results)) == CALLS, results
    else:
        for k, (a, b) in enumerate(zip(found.outcomes, eager.outcomes, strict=True)):
            compare(a[0], b[0], f"result of call {k}")
            compare(a[1], b[1], f"state after call {k}")
    if NATIVE:
        if kind.compiles and role == "read":
            assert found.how == "whole", found.said
        if found.step._given_up and "too few" not in found.step._reason:
            assert len(found.said) == 1, (found.said, found.step._reason)
    return found


__all__ = ["Kind", "Played", "all_kinds", "check", "combinations", "compare", "plain", "played"]
