# mypy: disable-error-code="assignment,override"
# Written by tools/write_stubs.py; do not edit.
"""The names of ``numbagrad.serialization``."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from numbagrad.dtype import dtype as DType
from numbagrad.ops.arguments.kinds import Ints, Real
from numbagrad.random import Generator
from numbagrad.tensor import Tensor

Number = builtins.bool | builtins.int | builtins.float

from ..absent import lacking
from numbagrad.serialization.locations import location_tag as location_tag
from numbagrad.serialization.locations import register_package as register_package
from numbagrad.serialization.locations import restore as _default_restore_location
from numbagrad.serialization.options import LoadEndianness as LoadEndianness
from numbagrad.serialization.options import SourceChangeWarning as SourceChangeWarning
from numbagrad.serialization.options import get_crc32_options as get_crc32_options
from numbagrad.serialization.options import get_default_load_endianness as get_default_load_endianness
from numbagrad.serialization.options import get_default_mmap_options as get_default_mmap_options
from numbagrad.serialization.options import set_crc32_options as set_crc32_options
from numbagrad.serialization.options import set_default_load_endianness as set_default_load_endianness
from numbagrad.serialization.options import set_default_mmap_options as set_default_mmap_options
from numbagrad.serialization.safe import add_safe_globals as add_safe_globals
from numbagrad.serialization.safe import clear_safe_globals as clear_safe_globals
from numbagrad.serialization.safe import get_safe_globals as get_safe_globals
from numbagrad.serialization.safe import safe_globals as safe_globals
from numbagrad.serialization.storages import StorageType as StorageType
from pathlib import Path
from typing import IO
import io
import os
import pickle
import sys

class check_module_version_greater_or_equal:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
default_restore_location = _default_restore_location
class mkdtemp:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class normalize_storage_type:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class skip_data:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class storage_to_tensor_type:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class validate_cuda_device:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class validate_hpu_device:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
DEFAULT_PROTOCOL = 2
_LOCATIONS = ('default_restore_location', 'location_tag', 'register_package')
_SAFE = ('add_safe_globals', 'clear_safe_globals', 'get_safe_globals', 'safe_globals')
_OPTIONS = ('LoadEndianness', 'SourceChangeWarning', 'get_crc32_options', 'get_default_load_endianness', 'get_default_mmap_options', 'set_crc32_options', 'set_default_load_endianness', 'set_default_mmap_options')
def save(obj: Any, f: str | os.PathLike[str] | IO[bytes], pickle_module: Any=..., pickle_protocol: int=..., _use_new_zipfile_serialization: bool=..., _disable_byteorder_record: bool=...) -> None:
    ...
def load(f: str | os.PathLike[str] | IO[bytes], map_location: Any=..., pickle_module: Any=..., *, weights_only: bool | None=..., mmap: bool | None=..., **pickle_load_args: Any) -> Any:
    ...
_READ_IN_PARTS = (io.BytesIO, io.BufferedReader, io.BufferedRandom)
def _content(path: Any, is_mapped: bool) -> Any:
    ...
def _seeks(file: Any) -> bool:
    ...
def get_unsafe_globals_in_checkpoint(f: str | os.PathLike[str] | IO[bytes]) -> list[str]:
    ...
MAP_LOCATION = Any
