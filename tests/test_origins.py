"""Which code is the user's: installed is what an installer put in place, whatever the folder."""

import json
import os
import pathlib
import site
import subprocess
import sys
import sysconfig

import numba
import numpy as np
import pytest

import numbagrad as ng
from numbagrad.compiling.origins import is_installed_file, is_standard_library

PACKAGES = pathlib.Path(np.__file__).parents[1]


@pytest.mark.parametrize(
    "filename",
    [
        json.__file__,
        os.__file__,
        sysconfig.get_path("stdlib") + "/dataclasses.py",
        sysconfig.get_path("platstdlib") + "/lib-dynload/math.cpython-310-x86_64-linux-gnu.so",
        "<frozen importlib._bootstrap>",
        "<frozen os>",
        "<frozen importlib._bootstrap_external>",
    ],
)
def test_the_standard_library(filename):
    assert is_standard_library(filename) and is_installed_file(filename)


@pytest.mark.parametrize(
    "filename",
    [
        np.__file__,
        np.random.__file__,
        numba.__file__,
        pytest.__file__,
        ng.__file__,
        ng.nn.__file__,
        str(PACKAGES / "package" / "module.py"),
        str(PACKAGES / "module.py"),
        f"{site.getusersitepackages()}/module.py",
        f"{site.getsitepackages()[0]}/../{pathlib.Path(site.getsitepackages()[0]).name}/module.py",
    ],
)
def test_installed_packages(filename):
    assert is_installed_file(filename) and not is_standard_library(filename)


@pytest.mark.parametrize(
    "filename",
    [
        "<stdin>",
        "<string>",
        "<ipython-input-1-abc>",
        "<frozen train>",
        "train.py",
        "",
        __file__,
        "/home/somebody/site-packages/train.py",
        "/home/somebody/dist-packages-of-mine/train.py",
        str(PACKAGES.parent / "project" / "train.py"),
        str(PACKAGES) + "-of-mine/train.py",
        sysconfig.get_path("stdlib") + "/project/train.py",
        "/home/somebody/json/train.py",
    ],
)
def test_code_of_users(filename):
    assert not is_installed_file(filename) and not is_standard_library(filename)


def _layout(root):
    """A folder with packages as an installer leaves them, and other folders that look like it."""
    files = {
        # A distribution's folder: NumPy, a package with a list of files, one without, and a
        # module whose name only the metadata say.
        "dist-packages/listed/__init__.py": "",
        "dist-packages/listed/inner/__init__.py": "",
        "dist-packages/listed-1.0.dist-info/RECORD": (
            'listed/__init__.py,,\nlisted/inner/__init__.py,,\n"single.py",,\n'
            "listed-1.0.dist-info/RECORD,,\n../../../bin/tool,,\n"
        ),
        "dist-packages/single.py": "",
        "dist-packages/unlisted/__init__.py": "",
        "dist-packages/unlisted-2.dist-info/METADATA": "Name: unlisted\n",
        "dist-packages/older/__init__.py": "",
        "dist-packages/older_things-2.egg-info/top_level.txt": "older\n",
        "dist-packages/handler.py": "",  # a user's file beside what was installed there
        # A project at work, whose metadata lie beside it; it also has a package linked in.
        "project/mine/__init__.py": "",
        "project/mine.egg-info/top_level.txt": "mine\n",
        "elsewhere/editable/__init__.py": "",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name in ("numpy", "numpy.libs", "numba", "llvmlite"):
        if (PACKAGES / name).exists():
            (root / "dist-packages" / name).symlink_to(PACKAGES / name)
    (root / "dist-packages" / "editable").symlink_to(root / "elsewhere" / "editable")
    (root / "linked").mkdir()
    (root / "linked" / "listed").symlink_to(root / "dist-packages" / "listed")


def test_packages_in_a_folder_of_another_name(tmp_path):
    _layout(tmp_path)
    program = """
import importlib, json, sys
import numpy
from numbagrad.compiling.origins import is_installed_file
found = {}
for name in sys.argv[1:]:
    file = importlib.import_module(name).__file__
    found[name] = file, is_installed_file(file)
print(json.dumps(found))
"""
    folders = [tmp_path / "linked", tmp_path / "dist-packages", tmp_path / "project"]
    own = pathlib.Path(ng.__file__).parents[1]
    names = [
        "numpy.linalg", "numba", "numbagrad", "listed.inner", "single", "unlisted", "older",
        "json", "handler", "mine", "editable",
    ]  # fmt: skip
    done = subprocess.run(
        # Without "site" the child has no folder for packages but these.
        [sys.executable, "-S", "-c", program, *names],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [*folders, own]))},
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    assert found["numpy.linalg"][0].startswith(str(tmp_path))
    assert found["listed.inner"][0].startswith(str(tmp_path / "linked"))
    users = [name for name in names if not found[name][1]]
    assert users == ["handler", "mine", "editable"]
