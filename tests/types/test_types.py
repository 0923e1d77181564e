"""Type checkers accept an ordinary program, refuse what is wrong, and see the types of names.

``make types`` runs this, with mypy, which reads the files beside it; ``program.py`` runs as well.
"""

from __future__ import annotations

import importlib
import os
import pathlib
import re
import subprocess
import sys
import types

import pytest

FOLDER = pathlib.Path(__file__).parent
ROOT = FOLDER.parents[1]


def _mypy(*arguments: object, folder: pathlib.Path) -> list[tuple[int, str]]:
    """``(line, message)`` of what mypy says, seen from outside the package."""
    command = [sys.executable, "-m", "mypy", "--follow-imports=silent", "--no-implicit-reexport"]
    done = subprocess.run(
        [*command, "--config-file=", "--cache-dir", str(folder / "cache"), *map(str, arguments)],
        cwd=folder, env={**os.environ, "MYPYPATH": str(ROOT)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    found = re.findall(r"^[^\n:]+:(\d+): (?:error|note): (.*)$", done.stdout, re.M)
    return [(int(line), message) for line, message in found]


def test_an_ordinary_program_has_no_errors(tmp_path):
    assert _mypy("--check-untyped-defs", FOLDER / "program.py", folder=tmp_path) == []


def test_the_program_runs(tmp_path):
    done = subprocess.run(
        [sys.executable, FOLDER / "program.py"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_what_is_wrong_is_refused(tmp_path):
    lines = (FOLDER / "wrong.py").read_text().splitlines()
    wrong = {n for n, line in enumerate(lines, 1) if n > 1 and line and "import" not in line}
    assert {line for line, _ in _mypy(FOLDER / "wrong.py", folder=tmp_path)} == wrong


@pytest.mark.parametrize(
    "namespace", ["", ".autograd", ".nn", ".nn.functional", ".optim", ".utils.data"]
)
def test_no_name_of_a_namespace_is_any(namespace, tmp_path):
    module = importlib.import_module(f"numbagrad{namespace}")
    names = getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]
    names = [n for n in names if not isinstance(getattr(module, n), types.ModuleType)]
    names = [n for n in names if n != "lazy_names"]
    probe = tmp_path / "probe.py"
    asked = "".join(f"reveal_type(m.{name})\n" for name in names)
    probe.write_text(f"import numbagrad{namespace} as m\n{asked}")
    said = _mypy(probe, folder=tmp_path)
    revealed = [(names[line - 2], text) for line, text in said if text.startswith("Revealed")]
    assert len(revealed) == len(names), said
    assert [name for name, text in revealed if text.endswith('"Any"')] == []
