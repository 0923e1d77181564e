# mypy: disable-error-code="assignment,override"
# Written by tools/write_stubs.py; do not edit.
"""The names of ``numbagrad.hub``."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from numbagrad.dtype import dtype as DType
from numbagrad.ops.arguments.kinds import Ints, Real
from numbagrad.random import Generator
from numbagrad.tensor import Tensor

Number = builtins.bool | builtins.int | builtins.float

from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit
from urllib.parse import urlparse as urlparse
from urllib.request import url2pathname
import contextlib
import hashlib
import importlib.util
import os
import re
import sys

_FILE = 'hubconf.py'
HASH_REGEX = re.compile('-([a-f0-9]*)\\.')
_dir: str | None = None
def get_dir() -> str:
    ...
def _get_torch_home() -> str:
    ...
def set_dir(d: str | os.PathLike[str]) -> None:
    ...
def _module(folder: str, source: str) -> ModuleType:
    ...
@contextlib.contextmanager
def _importing_from(folder: str) -> Any:
    ...
def _entry(module: ModuleType, name: Any) -> Any:
    ...
def load(repo_or_dir: str, model: str, *args: Any, source: str=..., trust_repo: Any=..., force_reload: bool=..., verbose: bool=..., skip_validation: bool=..., **kwargs: Any) -> Any:
    ...
def list(github: str, force_reload: bool=..., skip_validation: bool=..., trust_repo: Any=..., verbose: bool=..., *, source: str=...) -> Any:
    ...
def help(github: str, model: str, force_reload: bool=..., skip_validation: bool=..., trust_repo: Any=..., *, source: str=...) -> str | None:
    ...
def _path_of(url: str, function: str) -> Path:
    ...
def download_url_to_file(url: str, dst: str, hash_prefix: str | None=..., progress: bool=...) -> None:
    ...
def load_state_dict_from_url(url: str, model_dir: str | None=..., map_location: Any=..., progress: bool=..., check_hash: bool=..., file_name: str | None=..., weights_only: bool=...) -> Any:
    ...
