"""The wheel and the sdist in ``dist/`` install into fresh environments, and train there.

``make package`` builds both before it runs this module.
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import tarfile
import venv
import zipfile

import pytest

ROOT = pathlib.Path(__file__).parents[2]
FILES = ["numbagrad/py.typed", "numbagrad/tensor_methods.pyi", "numbagrad_numba.py"]


def _package(ending: str) -> pathlib.Path:
    found = list((ROOT / "dist").glob(f"numbagrad-*{ending}"))
    assert len(found) == 1, f"make package builds one {ending} in dist/, which holds {found}"
    return found[0]


def _run(*command: object, folder: pathlib.Path) -> str:
    """What a command prints, run where neither the folder nor a variable leads to the sources."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module", params=[".whl", ".tar.gz"])
def installed(request, tmp_path_factory):
    """``(python, folder)``: the interpreter of an environment that has the package alone."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder / "environment", with_pip=True)
    python = folder / "environment" / "bin" / "python"
    _run(python, "-m", "pip", "install", "--quiet", _package(request.param), folder=folder)
    return python, folder


def test_the_readmes_script_trains(installed):
    python, folder = installed
    readme = (ROOT / "README.md").read_text()
    script = re.search(r"^```python\n(import numbagrad as torch.*?)^```$", readme, re.M | re.S)
    (folder / "script.py").write_text(
        script[1] + "import numbagrad\nprint(numbagrad.__file__, loss.item())\n"
    )
    path, loss = _run(python, "script.py", folder=folder).split()[-2:]
    assert path.startswith(str(folder))
    assert 0 < float(loss) < 1


def test_a_script_of_torch_trains(installed):
    python, folder = installed
    source = (ROOT / "examples" / "two_layer_optim.py").read_text()
    source = source.replace("import numbagrad as torch", "import torch")
    (folder / "two_layer.py").write_text(source)
    printed = _run(python, "-m", "numbagrad", "two_layer.py", folder=folder)
    losses = [float(number) for number in re.findall(r"[0-9.]+(?:e[-+]?\d+)?$", printed, re.M)]
    assert losses[-1] < losses[0] / 10


def test_metadata(installed):
    python, folder = installed
    words = "import importlib.metadata as m; d = m.metadata('numbagrad'); print("
    words += "d['License-Expression'], d['Author'], len(d['Description']),"
    words += " *m.requires('numbagrad'), *map(str, m.files('numbagrad')), sep='\\n')"
    license, authors, length, *rest = _run(python, "-c", words, folder=folder).splitlines()
    assert (license, authors) == ("BSD-3-Clause", "The numbagrad developers")
    assert int(length) > 1000
    required = [word for word in rest if re.match(r"[a-z]+ *>=[^;]*$", word)]
    names = sorted(re.match("[a-z]+", word)[0] for word in required)
    assert names == ["llvmlite", "numba", "numpy"]
    assert any(word.endswith("licenses/LICENSE") for word in rest)


def test_no_dependency_is_broken(installed):
    python, folder = installed
    _run(python, "-m", "pip", "check", folder=folder)


_FIRST_STEP = """
w = t.randn(100, 10, requires_grad=True)
(t.randn(64, 100).mm(w).clamp(min=0) - 1).pow(2).sum().backward()
"""

#: Other dtypes in the middle of a training. CPUs that multiply bfloat16 have kernels of their own
#: for that, which no level of CPUs has.
_NEW_DTYPES = """
x, y = t.randn(16, 64), t.randint(0, 10, (16,))
for dtype in (t.float32, t.float64, t.float16):
    model = t.nn.Sequential(t.nn.Linear(64, 32), t.nn.ReLU(), t.nn.Linear(32, 32), t.nn.Tanh(),
                            t.nn.Linear(32, 10)).to(dtype)
    optimizer = t.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(2):
        optimizer.zero_grad()
        t.nn.functional.cross_entropy(model(x.to(dtype)), y).backward()
        optimizer.step()
"""


@pytest.mark.parametrize("program", [_FIRST_STEP, _NEW_DTYPES], ids=["first step", "new dtypes"])
def test_common_operators_compile_nothing(installed, program):
    """Where this CPU is of a level that kernels were compiled for (all with AVX2 are)."""
    python, folder = installed
    words = f"""
import numbagrad as t, numbagrad.executor as e
from numbagrad.codegen import loader
{program}
print(loader.host_level(), e.stats().compiled)
"""
    cache = folder / "no kernels here"
    level, count = _run("env", f"NUMBAGRAD_CACHE_DIR={cache}", python, "-c", words,
                        folder=folder).split()  # fmt: skip
    assert level == "None" or count == "0"


def test_files_of_the_wheel():
    wheel = _package(".whl")
    assert wheel.stat().st_size < 15 << 20
    names = zipfile.ZipFile(wheel).namelist()
    sources = (path for path in ROOT.glob("numbagrad/**/*.py*") if path.suffix in (".py", ".pyi"))
    wanted = {str(path.relative_to(ROOT)) for path in sources} | set(FILES)
    assert not wanted - set(names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert "numbagrad/shipped/x86-64-v3.kernels" in names
    stray = [name for name in names if not name.startswith("numbagrad")]
    assert not stray


def test_files_of_the_sdist():
    with tarfile.open(_package(".tar.gz")) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    tracked = ["LICENSE", "CITATION.cff", "README.md", "CHANGELOG.md", "docs/design.md", "Makefile"]
    tracked += ["examples/two_layer_net.py", "tests/conftest.py", "tools/write_stubs.py"]
    assert not {*tracked, *FILES} - names
