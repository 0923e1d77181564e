"""Kernels that come with the package, compiled for a level of CPUs; the command that warms up."""

import os
import signal
import subprocess
import sys
import time

import pytest

from numbagrad.codegen import loader
from numbagrad.executor import stats
from numbagrad.executor.cache import keys, library, shipped
from numbagrad.executor.cache.disk import ObjectCache
from numbagrad.warming import PROGRAMS, run_program

SOURCE = (
    "from numbagrad.codegen.intrinsics import *\n\n\n"
    "def kernel(args, lo, hi):\n    store(args, 0, 42, int64)\n"
)
KERNEL = library.Kernel("answer", "compiled", library.UNIFORM, SOURCE, code="formula")


def run(code, *arguments, **environment):
    """Standard output of a fresh process; its status and errors with ``check=False``."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    """A cache without entries, and a folder of the package's without files."""
    monkeypatch.setattr(library, "cache", lambda: ObjectCache(tmp_path / "cache"))
    monkeypatch.setattr(library, "_addresses", {})
    monkeypatch.setattr(shipped, "FOLDER", tmp_path / "shipped")
    monkeypatch.setattr(shipped, "ENABLED", True)
    shipped.of_level.cache_clear()
    yield tmp_path
    shipped.of_level.cache_clear()


def ship(monkeypatch, level, kernel):
    """Write the file of a level with one kernel, and have this CPU be of that level."""
    cpu = loader.LEVELS[level]
    with monkeypatch.context() as patch:
        patch.setattr(loader, "target", lambda: cpu)
        content, data = library.compile_ahead(kernel)
    objects = {keys.shipped_key(content, level): data}
    shipped.write(shipped.FOLDER / f"{level}.kernels", objects)
    monkeypatch.setattr(loader, "host_level", lambda: level)
    return data


def test_a_kernel_of_the_package_is_not_compiled(empty_cache, monkeypatch):
    level = loader.host_level()
    runs = level is not None
    level = level or "x86-64-v3"
    data = ship(monkeypatch, level, KERNEL)
    before = stats()
    assert len(shipped.of_level(level)) == 1
    content = keys.generated_content("answer", SOURCE, library.UNIFORM, ("contract",))
    assert library._stored(content) == data
    with monkeypatch.context() as patch:  # an object file needs no compiler
        patch.setattr(keys, "_numba_version", lambda: b"99.0")
        keys.environment_of.cache_clear()
        assert library._stored(content) == data
    keys.environment_of.cache_clear()
    if runs:
        library.generated("answer", SOURCE)
        assert stats().compiled == before.compiled
    other = keys.generated_content("other", SOURCE, library.UNIFORM, ("contract",))
    assert library._stored(other) is None
    monkeypatch.setattr(shipped, "ENABLED", False)
    assert library._stored(content) is None


def test_a_file_of_something_else_is_refused(tmp_path):
    path = tmp_path / "level.kernels"
    path.write_bytes(b"something else")
    with pytest.raises(RuntimeError, match=r"level\.kernels holds no kernels; install"):
        shipped.Shipped(path)
    assert len(shipped.Shipped(tmp_path / "absent.kernels")) == 0


def test_the_same_kernels_make_the_same_file(tmp_path):
    objects = {"b" * 40: b"second" * 9, "a" * 40: b"first"}
    shipped.write(tmp_path / "one", objects)
    shipped.write(tmp_path / "two", dict(reversed(objects.items())))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    read = shipped.Shipped(tmp_path / "one")
    assert {key: read.read(key) for key in objects} == objects
    assert read.read("c" * 40) is None


_FOR_ARM = """
import numpy
from numbagrad.codegen import loader
from numbagrad.executor.cache import library
answer = library.Kernel("answer", "compiled", library.UNIFORM, SOURCE)
matmul = library.Kernel(
    "matmul_tiles_float32", "compiled", library.UNIFORM, None, None,
    "numbagrad.kernels.matmul.product", ("contract",), "calls",
)
for kernel in (answer, matmul):
    _, data = library.compile_ahead(kernel)
    print(data[:4] == b"\\x7fELF", int.from_bytes(data[18:20], "little"))
print(loader.host_level() == "aarch64")
loader.load(data, "numbagrad_matmul_tiles_float32")
"""


def test_kernels_of_another_architecture_are_compiled_and_do_not_run(tmp_path):
    """In a process of its own: what was made for vectors of this CPU is remembered."""
    code = f"SOURCE = {SOURCE!r}\n{_FOR_ARM}"
    folder = str(tmp_path / "cache")
    ran = run(code, NUMBAGRAD_TARGET="aarch64", NUMBAGRAD_CACHE_DIR=folder)
    *objects, runs = ran.stdout.splitlines()
    assert objects == ["True 183"] * 2, ran.stderr  # EM_AARCH64
    refused = "kernels for aarch64 do not run on this CPU; unset NUMBAGRAD_TARGET"
    assert (ran.returncode, refused in ran.stderr) == ((0, False) if runs == "True" else (1, True))


def test_an_unknown_level_is_an_error():
    ran = run("import numbagrad; numbagrad.ones(3) + 1", NUMBAGRAD_TARGET="x86-64-v9")
    assert ran.returncode == 1
    assert "NUMBAGRAD_TARGET is 'x86-64-v9', and has to be one of x86-64-v4" in ran.stderr


def test_what_a_process_compiles_for_a_level_computes_the_same(tmp_path):
    level = loader.host_level()
    if level is None:
        return  # no level's code runs here
    code = "import numbagrad as t; x = t.arange(9.); print((x.exp() + x.view(3, 3).sum()).tolist())"
    folder = str(tmp_path / "cache")
    mine = run(code)
    other = run(code, NUMBAGRAD_TARGET=level, NUMBAGRAD_CACHE_DIR=folder)
    assert mine.returncode == other.returncode == 0, mine.stderr + other.stderr
    assert [float(x) for x in other.stdout.strip("[]\n").split(",")] == pytest.approx(
        [float(x) for x in mine.stdout.strip("[]\n").split(",")], rel=1e-6
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_programs_that_warm_up_run(name):
    run_program(name)


def test_warm_runs_a_script_until_it_compiles_nothing(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, time\nimport torch\nprint((torch.ones(3) * 2).tolist(), sys.argv[1:])\n"
        "while sys.argv[1] == 'wait':\n    time.sleep(0.1)\n"
    )
    folder = tmp_path / "cache"

    def warm(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "numbagrad", "warm", *map(str, arguments)],
            env={**os.environ, "NUMBAGRAD_CACHE_DIR": str(folder)}, capture_output=True, text=True,
        )  # fmt: skip

    ran = warm("--quiet", 300, script, "end")
    assert ran.returncode == 0 and ran.stdout == "[2.0, 2.0, 2.0] ['end']\n"
    assert list(folder.glob("*.o"))
    ran = warm("--quiet", 2, script, "wait")
    assert ran.returncode == 0 and "compiled nothing for 2 s and was ended" in ran.stdout
    ran = warm("nosuch.py")
    assert ran.returncode == 2 and "there is no script nosuch.py" in ran.stderr


def test_a_script_that_was_suspended_while_it_is_warmed_up_goes_on(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import pathlib, sys, time\nfolder = pathlib.Path(sys.argv[1])\n"
        "(folder / 'begun').touch()\n"
        "while not (folder / 'go').exists():\n    time.sleep(0.05)\nprint('to the end')\n"
    )
    command = [sys.executable, "-m", "numbagrad", "warm", "--quiet", "8", script, tmp_path]
    process = subprocess.Popen(
        list(map(str, command)), stdout=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, "NUMBAGRAD_CACHE_DIR": str(tmp_path / "cache")},
    )  # fmt: skip
    while not (tmp_path / "begun").exists():
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGSTOP)
    time.sleep(9)
    os.killpg(process.pid, signal.SIGCONT)
    time.sleep(0.5)  # longer than it takes to look again
    (tmp_path / "go").touch()
    assert process.communicate(timeout=120)[0] == "to the end\n" and process.returncode == 0
