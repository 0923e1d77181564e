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

from numbagrad.fx._symbolic_trace import Tracer as Tracer
from numbagrad.fx._symbolic_trace import _Placeholder as __Placeholder
from numbagrad.fx._symbolic_trace import symbolic_trace as symbolic_trace
from numbagrad.fx._symbolic_trace import wrap as wrap
from numbagrad.fx.graph import CodeGen as CodeGen
from numbagrad.fx.graph import Graph as Graph
from numbagrad.fx.graph_module import GraphModule as GraphModule
from numbagrad.fx.interpreter import Interpreter as Interpreter
from numbagrad.fx.interpreter import Transformer as Transformer
from numbagrad.fx.node import Node as Node
from numbagrad.fx.node import has_side_effect as has_side_effect
from numbagrad.fx.node import map_arg as map_arg
from numbagrad.fx.proxy import Proxy as Proxy

class ModuleType:
    def __init__(self, *arguments: Any, **keywords: Any) -> None: ...
PH: __Placeholder
class ProxyableClassMeta:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class replace_pattern:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
