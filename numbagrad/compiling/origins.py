"""Where code comes from: Python's library, installed packages, or the user.

``reachable_state.py`` and ``call_events.py`` ask, because a program guards what the user's own code
reads and not the insides of installed packages. Installed means that an installer put a file where
it lies: into a folder of this Python for packages, or into any folder (a distribution's own, that
of ``pip install --target``) with a record of it. What a folder is called says nothing, and in doubt
code is the user's.
"""

from __future__ import annotations

import functools
import os
import pathlib
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator

from ..program.running_code import is_library

#: Names in the folder of Python's library that are no module that ``sys`` lists.
_STANDARD_FOLDERS = frozenset(("lib-dynload", "test"))
#: Packages that are here for this one, even where an installer's records were removed.
_REQUIRED = ("numpy", "numba", "llvmlite")


@functools.cache
def is_installed_file(filename: str) -> bool:
    """Whether code belongs to Python, to this package or to an installed one; else it is a user's.

    Args:
        filename: the ``co_filename`` of code or the ``__file__`` of a module. Code without a file
            (``<stdin>``, cells of a notebook, what ``exec`` runs) is the user's, and so is an
            editable install.
    """
    if is_library(filename) or is_standard_library(filename):
        return True
    if not os.path.isabs(filename):  # a script; what is imported has its whole path
        return False
    return any(_holds(folder, top) for folder, top in _positions(filename))


@functools.cache
def is_standard_library(filename: str) -> bool:
    """Whether code belongs to Python's own library, modules frozen into Python included."""
    if filename.startswith("<frozen "):
        return _is_standard_name(filename[len("<frozen ") :].rstrip(">"))
    if not os.path.isabs(filename):
        return False
    folders = _standard_folders()
    return any(folder in folders and _is_standard_name(top) for folder, top in _positions(filename))


def _is_standard_name(name: str) -> bool:
    """Whether a module, or an entry of the library's folder, is part of Python.

    Others may lie in that folder: ``site-packages`` itself, and what users put beside it.
    """
    first = name.split(".")[0]
    return (
        first in sys.stdlib_module_names
        or first in _STANDARD_FOLDERS
        or first.startswith("_sysconfigdata")
    )


def _positions(filename: str) -> Iterator[tuple[str, str]]:
    """Every folder a file lies below, with the name of the entry that it belongs to there."""
    path = os.path.normcase(os.path.normpath(filename))
    folder, top = os.path.split(path)
    while top:
        yield folder, top
        folder, top = os.path.split(folder)


def _both_forms(folders: Iterable[str]) -> frozenset[str]:
    """Folders as they are written and as links lead to them: files may be named either way."""
    return frozenset().union(*[_forms(folder) for folder in folders if folder])


@functools.cache
def _forms(folder: str) -> frozenset[str]:
    written = os.path.normcase(os.path.normpath(folder))
    return frozenset((written, os.path.realpath(written)))


@functools.cache
def _standard_folders() -> frozenset[str]:
    named = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib")]
    folders = [os.path.dirname(os.__file__), *named]  # the first may be an archive
    return _both_forms([*folders, *[os.path.join(folder, "lib-dynload") for folder in folders]])


@functools.cache
def _package_folders() -> frozenset[str]:
    """The folders of this Python for packages, which belong to installers."""
    named = [sysconfig.get_path(name) for name in ("purelib", "platlib")]
    return _both_forms([*named, *site.getsitepackages(), site.getusersitepackages()])


@functools.cache
def _holds(folder: str, top: str) -> bool:
    """Whether an installer put the entry ``top`` of a folder there.

    An entry that is a link is installed where the link leads: an editable install may be a link
    out of the folder for packages, an environment may be made of links to installed packages.
    """
    path = os.path.join(folder, top)
    if os.path.islink(path):
        folder, top = os.path.split(os.path.realpath(path))
    elif not _is_searched(folder):  # records that lie there are of no module
        return _is_known(folder, top)
    return _is_known(folder, top) or top in _recorded(folder)


def _is_known(folder: str, top: str) -> bool:
    """Whether an entry needs no record to be installed."""
    return folder in _package_folders() or os.path.join(folder, top) in _required_packages()


def _required_packages() -> frozenset[str]:
    """The folders of the packages that this one imports."""
    modules = [sys.modules.get(name) for name in _REQUIRED]
    files = [getattr(module, "__file__", None) for module in modules]
    return _both_forms([os.path.dirname(file) for file in files if file])


def _is_searched(folder: str) -> bool:
    """Whether imports have looked for modules in a folder."""
    return folder in _both_forms(sys.path_importer_cache)


@functools.cache
def _recorded(folder: str) -> frozenset[str]:
    """The entries of a folder that installers' records in it name (``*.dist-info``)."""
    try:
        records = [pathlib.Path(entry.path) for entry in os.scandir(folder)]
    except OSError:  # an archive, or a folder that is gone
        return frozenset()
    infos = [path for path in records if path.suffix == ".dist-info"]
    if infos:
        # Old installers wrote these; alone in a folder they are those of a project at work.
        infos += [path for path in records if path.suffix == ".egg-info"]
    return frozenset(os.path.normcase(name) for info in infos for name in _names_recorded(info))


def _names_recorded(info: pathlib.Path) -> set[str]:
    """The entries that one distribution put beside its metadata.

    Distributions of an operating system leave out the list of files; then the names of modules
    are known, or that of the distribution, which most modules have.
    """
    record, modules = info / "RECORD", info / "top_level.txt"
    if record.is_file():
        lines = record.read_text(encoding="utf-8", errors="replace").splitlines()
        return {line.replace(",", "/").split("/")[0].strip('"') for line in lines}
    if modules.is_file():
        names = modules.read_text(encoding="utf-8", errors="replace").split()
    else:
        names = [info.stem.split("-")[0]]
    return {entry for name in names for entry in (name, f"{name}.py")}


__all__ = ["is_installed_file", "is_standard_library"]
