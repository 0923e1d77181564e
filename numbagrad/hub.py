"""``torch.hub``: models and files from this machine; nothing is fetched from a network."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.parse import urlparse as urlparse  # which libraries take from here
from urllib.request import url2pathname

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url",
           "set_dir"]  # fmt: skip

_FILE = "hubconf.py"
#: The beginning of a hash, in the name of a file.
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
_dir: str | None = None


def get_dir() -> str:
    """The folder of ``set_dir``, or torch's of old: ``$TORCH_HOME/hub``."""
    if _dir is not None:
        return _dir
    return os.path.join(_get_torch_home(), "hub")


def _get_torch_home() -> str:
    """The folder where torch keeps files."""
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.environ.get("TORCH_HOME", os.path.join(cache, "torch")))


def set_dir(d: str | os.PathLike[str]) -> None:
    """Choose the folder that ``get_dir`` returns."""
    global _dir
    _dir = os.path.expanduser(d)


def _module(folder: str, source: str) -> ModuleType:
    """The names that ``hubconf.py`` of a folder defines."""
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
    """The result of the function ``model`` of the file ``hubconf.py`` in a folder.

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


def _path_of(url: str, function: str) -> Path:
    """The file that a ``file:`` URL names.

    Raises:
        NotImplementedError: for a URL of a network.
    """
    parts = urlsplit(url)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        raise NotImplementedError(
            f"torch.hub.{function} is not available in numbagrad for {url!r}: nothing is fetched "
            "from a network; get the file yourself, and use torch.load or a file: URL"
        )
    return Path(url2pathname(parts.path))


def download_url_to_file(
    url: str, dst: str, hash_prefix: str | None = None, progress: bool = True
) -> None:
    """Copy the file of a ``file:`` URL to ``dst``, whole or not at all.

    Args:
        url: of a file on this machine.
        dst: a path; its folder exists.
        hash_prefix: how the SHA-256 of the content begins, in hexadecimal digits.
        progress: not used.

    Raises:
        NotImplementedError: for a URL of a network.
        RuntimeError: if the content has another hash.
    """
    from .serialization.replacement import write_file

    content = _path_of(url, "download_url_to_file").read_bytes()
    if hash_prefix is not None:
        digest = hashlib.sha256(content).hexdigest()
        if not digest.startswith(hash_prefix):
            raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest}")')
    write_file(Path(dst), lambda write: write(content))


#: A hash in the name of a file, as model zoos write it.


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = True,
) -> Any:
    """The object in a checkpoint at a ``file:`` URL, or in its copy in a folder if there is one.

    Args:
        url: of a file on this machine.
        model_dir: the folder of copies; ``checkpoints`` in :func:`get_dir` without it.
        map_location: as for ``torch.load``.
        progress: not used.
        check_hash: whether the name of the file has the beginning of its hash, ``name-<hash>.pth``,
            which is compared.
        file_name: of the copy, that of the URL without it.
        weights_only: as for ``torch.load``; False only for files that you trust.

    Raises:
        NotImplementedError: for a URL of a network whose file is not in the folder.
        RuntimeError: if the content has another hash.
    """
    from .serialization import load as load_checkpoint

    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(folder, exist_ok=True)
    name = file_name or os.path.basename(unquote(urlsplit(url).path))
    copy = os.path.join(folder, name)
    if not os.path.exists(copy):
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, copy, found and found.group(1), progress)
    return load_checkpoint(copy, map_location=map_location, weights_only=weights_only)


def __getattr__(name: str) -> Any:
    """``tqdm``: the progress bar of that package, which libraries take from here."""
    if name != "tqdm":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tqdm.auto import tqdm

    return tqdm
