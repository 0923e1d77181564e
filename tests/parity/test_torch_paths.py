"""Every public module of torch, and every name of one, is there or raises where it is used."""

import importlib
import importlib.util
import inspect
import pathlib
import pkgutil
import sys
import warnings

import pytest
import torch as oracle
from torch_paths import PATHS

from numbagrad import absent_modules, torch_alias, torch_homes, torch_imports

PACKAGE = pathlib.Path(torch_alias.__file__).parent
#: Helpers of files whose public names are elsewhere, which are not there.
HELPERS = set(
    """
    Colorize ConnectionWrapper TaskSpec clean_worker ordered_unique select_unit set_torch_threads
    trim_sigfig unit_to_english
    """.split()
)
#: Paths of torch's inside, which have no public names.
INSIDE = [path for path in PATHS if any(part.startswith("_") for part in path.split("."))]


def names_of(path):
    """What torch says is public in a module."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = importlib.import_module(path)
        return [
            name
            for name in getattr(module, "__all__", ())
            if not name.startswith("_") and not inspect.ismodule(getattr(module, name, None))
        ]


@pytest.mark.parametrize("path", [path for path in PATHS if path not in INSIDE])
def test_public_names(path):
    ours = importlib.import_module(path.replace("torch", "numbagrad", 1))
    assert not [name for name in names_of(path) if not hasattr(ours, name)]


@pytest.mark.parametrize("path", PATHS)
def test_there_is_such_a_path(path):
    assert importlib.import_module(path) and oracle


def test_classes_have_the_modules_that_they_have_in_torch():
    for path, home, names in torch_homes.table():
        theirs = importlib.import_module(f"torch.{path}")
        ours = importlib.import_module(f"numbagrad.{home}")
        here = importlib.import_module(f"numbagrad.{path}")
        for name in names:
            assert getattr(theirs, name).__module__ == f"torch.{path}"
            assert vars(ours)[name] is getattr(here, name), (path, name)


@pytest.mark.parametrize("path", sorted(torch_imports.table()))
def test_names_that_files_import(path):
    theirs = importlib.import_module(path.replace("numbagrad", "torch", 1))
    for name, home in torch_imports.table()[path].items():
        module, _, own = home.partition(":")
        found = sys.modules.get(f"torch.{module}", oracle)
        parts = own.split(".") if found is not oracle else f"{module}.{own}".split(".")
        for part in filter(None, parts):
            found = getattr(found, part)
        assert getattr(theirs, name) is found, (name, home)


def public_modules(name, folders):
    """Dotted names of the modules below a package that no part hides; none is imported."""
    for found in pkgutil.iter_modules(folders, f"{name}."):
        own = found.name.rpartition(".")[2]
        if own.startswith("_"):
            continue
        yield found.name
        if found.ispkg:
            yield from public_modules(found.name, [f"{found.module_finder.path}/{own}"])


def is_there(path):
    """Whether programs can import a path under torch's name."""
    if (
        torch_alias._reason_of(path) is not None
        or path.removeprefix("torch.") in torch_alias._ELSEWHERE
    ):
        return True
    file = PACKAGE.joinpath(*path.split(".")[1:])
    if file.with_suffix(".py").exists() or (file / "__init__.py").exists():
        return True  # also where a package would ask for one that is not installed
    try:
        return importlib.util.find_spec(path.replace("torch", "numbagrad", 1)) is not None
    except ModuleNotFoundError:
        return False


def test_every_public_module_can_be_imported_under_torchs_name():
    assert not [path for path in public_modules("torch", oracle.__path__) if not is_there(path)]


def test_modules_that_are_absent_are_modules_of_torch_and_none_of_ours():
    ours = {path.removeprefix("torch.") for path in public_modules("torch", oracle.__path__)}
    assert set(absent_modules.REASONS) <= ours
    for path in absent_modules.REASONS:
        file = PACKAGE.joinpath(*path.split("."))
        assert not file.exists() and not file.with_suffix(".py").exists()


def test_paths_whose_names_are_elsewhere_have_those_of_torch():
    for path, home in torch_alias._ELSEWHERE.items():
        theirs = set(names_of(f"torch.{path}"))
        ours = importlib.import_module(f"numbagrad.{home}")
        assert {name for name in theirs if not hasattr(ours, name)} <= HELPERS
