# mypy: disable-error-code="assignment,override"
# Written by tools/write_stubs.py; do not edit.
"""The names of ``numbagrad.fx``."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from numbagrad.dtype import dtype as DType
from numbagrad.ops.arguments.kinds import Ints, Real
from numbagrad.random import Generator
from numbagrad.tensor import Tensor

Number = builtins.bool | builtins.int | builtins.float

from .absent import absent_if_missing, lacking
from types import ModuleType
import sys

class Graph:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class GraphModule:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class Interpreter:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class Node:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class Proxy:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class Tracer:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class Transformer:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class has_side_effect:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class map_arg:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class replace_pattern:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class symbolic_trace:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
_MODULES = frozenset('\n    experimental graph graph_module immutable_collections interpreter node operator_schemas passes\n    proxy subgraph_rewriter tensor_type traceback\n    '.split())
def wrap(fn_or_name: Any) -> Any:
    ...
