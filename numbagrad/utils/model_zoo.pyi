# Written by tools/write_stubs.py; do not edit.
"""The names of ``numbagrad.utils.model_zoo``."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from numbagrad.dtype import dtype as DType
from numbagrad.ops.arguments.kinds import Ints, Real
from numbagrad.random import Generator
from numbagrad.tensor import Tensor

Number = builtins.bool | builtins.int | builtins.float

from numbagrad.hub import load_state_dict_from_url as _load_url

load_url = _load_url
