"""``torch.hub``: models from folders on this machine; nothing is fetched from a network."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
from types import ModuleType
from typing import Any

from .absent import absent

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url",
           "set_dir"]  # fmt: skip

_NETWORK = "nothing is fetched from a network; get the file yourself and use torch.load"
download_url_to_file = absent("torch.hub.download_url_to_file", _NETWORK)
load_state_dict_from_url = absent("torch.hub.load_state_dict_from_url", _NETWORK)

_FILE = "hubconf.py"
_dir: str | None = None


def get_dir() -> str:
    """The folder of ``set_dir``, or torch's of old: ``$TORCH_HOME/hub``."""
    if _dir is not None:
        return _dir
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    home = os.environ.get("TORCH_HOME", os.path.join(cache, "torch"))
    return os.path.join(os.path.expanduser(home), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Choose the folder that ``get_dir`` returns."""
    global _dir
    _dir = os.path.expanduser(d)


def _module(folder: str, source: str) -> ModuleType:
    """What ``hubconf.py`` of a folder defines."""
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source != "local":
        raise NotImplementedError(
            "torch.hub is not available in numbagrad for repositories on the network; clone the "
            "repository, and pass its folder with source='local'"
        )
    path = os.path.join(folder, _FILE)
    spec = importlib.util.spec_from_file_location(_FILE, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with _importing_from(folder):
        spec.loader.exec_module(module)
    missing = [
        name for name in getattr(module, "dependencies", ())
        if importlib.util.find_spec(name) is None
    ]  # fmt: skip
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    return module


@contextlib.contextmanager
def _importing_from(folder: str) -> Any:
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


def _entry(module: ModuleType, name: Any) -> Any:
    if not isinstance(name, str):
        raise ValueError("Invalid input: model should be a string of function name")
    function = getattr(module, name, None)
    if not callable(function):
        raise RuntimeError(f"Cannot find callable {name} in hubconf")
    return function


def load(
    repo_or_dir: str,
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: Any = None,
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """What the function ``model`` of the file ``hubconf.py`` in a folder returns.

    Args:
        repo_or_dir: the folder.
        model: the name of the function; all arguments that are not listed here go to it.
        source: "local"; "github" raises NotImplementedError.
        trust_repo, force_reload, verbose, skip_validation: not used.
    """
    folder = os.path.expanduser(repo_or_dir)
    module = _module(folder, source)
    with _importing_from(folder):
        return _entry(module, model)(*args, **kwargs)


def list(
    github: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = None,
    verbose: bool = True,
    *,
    source: str = "local",
) -> Any:
    """The names of the functions of ``hubconf.py`` in a folder."""
    module = _module(os.path.expanduser(github), source)
    return [n for n, v in vars(module).items() if callable(v) and not n.startswith("_")]


def help(
    github: str,
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = None,
    *,
    source: str = "local",
) -> str | None:
    """The docstring of a function of ``hubconf.py`` in a folder."""
    return _entry(_module(os.path.expanduser(github), source), model).__doc__
