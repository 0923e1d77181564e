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
sys.path.insert(0, str(FOLDER.parent))

from torch_paths import PATHS  # noqa: E402


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """What mypy knows of the package: to read that takes most of its time."""
    return tmp_path_factory.mktemp("mypy")


def _mypy(*arguments: object, folder: pathlib.Path, cache: pathlib.Path) -> list[tuple[int, str]]:
    """``(line, message)`` of what mypy says, seen from outside the package."""
    command = [sys.executable, "-m", "mypy", "--follow-imports=silent", "--no-implicit-reexport"]
    done = subprocess.run(
        [*command, "--config-file=", "--cache-dir", str(cache), *map(str, arguments)],
        cwd=folder, env={**os.environ, "MYPYPATH": str(ROOT)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    found = re.findall(r"^[^\n:]+:(\d+): (?:error|note): (.*)$", done.stdout, re.M)
    return [(int(line), message) for line, message in found]


def test_an_ordinary_program_has_no_errors(tmp_path, cache):
    assert _mypy("--check-untyped-defs", FOLDER / "program.py", folder=tmp_path, cache=cache) == []


def test_the_program_runs(tmp_path):
    done = subprocess.run(
        [sys.executable, FOLDER / "program.py"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_what_is_wrong_is_refused(tmp_path, cache):
    lines = (FOLDER / "wrong.py").read_text().splitlines()
    wrong = {n for n, line in enumerate(lines, 1) if n > 1 and line and "import" not in line}
    assert {line for line, _ in _mypy(FOLDER / "wrong.py", folder=tmp_path, cache=cache)} == wrong


def test_every_module_is_closed(tmp_path, cache):
    """Of names that a module does not have, checkers say so, whatever answers for them later."""
    modules = [
        path.replace("torch", "numbagrad", 1) for path in PATHS if "._" not in path
    ]  # fmt: skip
    probe = tmp_path / "probe.py"
    imports = "".join(f"import {module}\n" for module in modules)
    probe.write_text(imports + "".join(f"{module}.nosuch\n" for module in modules))
    refused = {line - len(modules) - 1 for line, said in _mypy(probe, folder=tmp_path, cache=cache)}
    assert [module for n, module in enumerate(modules) if n not in refused] == []


@pytest.mark.parametrize(
    "namespace",
    [
        "",
        ".linalg",
        ".special",
        ".fft",
        ".masked",
        ".autograd",
        ".nn",
        ".nn.functional",
        ".optim",
        ".utils.data",
    ],
)
def test_no_name_of_a_namespace_is_any(namespace, tmp_path, cache):
    module = importlib.import_module(f"numbagrad{namespace}")
    names = getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]
    names = [n for n in names if not isinstance(getattr(module, n), types.ModuleType)]
    names = [n for n in names if n != "lazy_names"]
    probe = tmp_path / "probe.py"
    asked = "".join(f"reveal_type(m.{name})\n" for name in names)
    probe.write_text(f"import numbagrad{namespace} as m\n{asked}")
    said = _mypy(probe, folder=tmp_path, cache=cache)
    revealed = [(names[line - 2], text) for line, text in said if text.startswith("Revealed")]
    assert len(revealed) == len(names), said
    assert [name for name, text in revealed if text.endswith('"Any"')] == []
