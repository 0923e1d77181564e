"""Functions and classes written in C that a captured call may use.

What a function in Python reads and does can be followed; of one in C this list says that it
depends on its arguments alone and changes nothing but them. All others end a capture
(``call_events.py``): a clock, random numbers, files, the state of the process, and whatever an
extension module does that nobody has looked at.
"""

from __future__ import annotations

import io
import types
from typing import Any

import numpy as np

from .classes import is_a, module_of

#: Modules of which every function, and every method of its classes, may be called.
_MODULES = frozenset((
    "math", "cmath", "_operator", "operator", "itertools", "_functools", "functools",
    "_collections", "collections", "_collections_abc", "_bisect", "_heapq", "_struct", "struct",
    "_json", "_string", "_statistics", "binascii", "zlib", "_abc", "_weakref", "weakref",
    "_weakrefset", "unicodedata", "_sre", "re", "array", "_stat", "_datetime", "datetime",
    "_ctypes", "ctypes", "_typing", "typing", "types", "_types", "copyreg", "_pickle", "pickle",
    "_copy", "enum", "abc", "fractions", "numbers", "_hashlib", "_md5",
    "_sha1", "_sha2", "_sha256", "_sha512", "_sha3", "_blake2", "zoneinfo", "_zoneinfo",
    "_decimal",
    "decimal", "_codecs", "_csv", "_elementtree", "_opcode", "_symtable", "_ast", "_interpchannels",
))  # fmt: skip

#: Functions of modules that have others as well.
_FUNCTIONS = {
    "builtins": frozenset((
        "abs", "all", "any", "ascii", "bin", "callable", "chr", "delattr", "dir", "divmod",
        "format", "getattr", "hasattr", "hex", "isinstance", "issubclass", "iter", "len", "locals",
        "max", "min", "next", "oct", "ord", "pow", "repr", "round", "setattr", "sorted", "sum",
        "vars", "anext", "aiter", "__build_class__", "compile", "id", "hash",
    )),
    "sys": frozenset((
        "intern", "exc_info", "exception", "is_finalizing",
        "getdefaultencoding", "getfilesystemencoding",
    )),
    "_thread": frozenset(("allocate_lock", "RLock")),
    "_io": frozenset(("text_encoding",)),
    "posix": frozenset(("fspath", "fsencode", "fsdecode")),
    "_imp": frozenset(("lock_held", "acquire_lock", "release_lock")),
}  # fmt: skip

#: Functions that give other answers at other times, or reach outside, unlike their module.
_NOT_KNOWN = frozenset((
    "now", "utcnow", "today", "fromtimestamp", "localtime", "getcontext", "setcontext",
    "localcontext", "dlopen", "dlsym", "call_function", "string_at", "PyObj_FromPtr", "cache_clear",
    "_count", "getweakrefcount", "astimezone", "timestamp", "cache_info", "tofile", "fromfile",
    "getrefcount",
))  # fmt: skip

#: Modules in C that reach outside: files, the process, clocks, random numbers, other processes.
_OUTSIDE = frozenset((
    "_io", "io", "posix", "nt", "time", "mmap", "_socket", "select", "_random", "_posixsubprocess",
    "_multiprocessing", "fcntl", "resource", "_signal", "_sqlite3", "_contextvars",
))  # fmt: skip

#: Methods of builtin classes that depend on more than the object and the arguments.
_METHODS_NOT_KNOWN = frozenset(("__subclasses__", "__sizeof__"))

#: Functions of NumPy that read or write how it treats errors and prints, and a class that may read
#: the clock.
SETTINGS_OF_NUMPY = frozenset((
    "geterr", "seterr", "errstate", "geterrcall", "seterrcall", "setbufsize", "getbufsize",
    "get_printoptions", "set_printoptions", "printoptions", "datetime64",
))  # fmt: skip

_ARRAY_MODULES = ("numpy", "numba", "llvmlite")


def is_known(function: Any) -> bool:
    """Whether a function or bound method in C depends on its arguments alone, the object included.

    Args:
        function: a builtin function, or a method of a class in C bound to its object.
    """
    name = getattr(function, "__name__", "")
    owner = getattr(function, "__self__", None)
    module = module_of(function)
    if name in _NOT_KNOWN:
        return False
    if is_a(owner, types.ModuleType) or owner is None:
        module = module or getattr(owner, "__name__", "")
        return _knows_module(module) or name in _FUNCTIONS.get(module, ())
    kind = owner if is_a(owner, type) else type(owner)
    return name not in _METHODS_NOT_KNOWN and any(
        [is_known_class(base) for base in kind.__mro__ if base is not object and name in vars(base)]
        or [is_known_class(kind)]
    )


def reaches_outside(function: Any) -> bool:
    """Whether a function or bound method in C reads or writes files, clocks, or the process."""
    owner = getattr(function, "__self__", None)
    module = module_of(function)
    if owner is not None and not is_a(owner, types.ModuleType):
        module = module_of(owner if is_a(owner, type) else type(owner))
        if is_a(owner, (io.StringIO, io.BytesIO)):
            return False
    elif not module:
        module = getattr(owner, "__name__", "")
    name = getattr(function, "__name__", "")
    return module in _OUTSIDE and name not in _FUNCTIONS.get(module, ())


def is_known_class(kind: type) -> bool:
    """Whether instances of a class in C may be made and used: they reach nothing outside."""
    module = module_of(kind)
    if issubclass(kind, (np.random.Generator, np.random.RandomState, np.random.BitGenerator)):
        return False
    return module == "builtins" or _knows_module(module)


def _knows_module(module: str) -> bool:
    if module in _MODULES:
        return True
    return module.split(".")[0] in _ARRAY_MODULES and not module.startswith("numpy.random")


__all__ = ["SETTINGS_OF_NUMPY", "is_known", "is_known_class", "reaches_outside"]
