# mypy: disable-error-code="assignment,override"
# Written by tools/write_stubs.py; do not edit.
"""The names of ``numbagrad.onnx``."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from numbagrad.dtype import dtype as DType
from numbagrad.ops.arguments.kinds import Ints, Real
from numbagrad.random import Generator
from numbagrad.tensor import Tensor

Number = builtins.bool | builtins.int | builtins.float

from ..absent import lacking

class ExportableModule:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class InputObserver:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class ONNXProgram:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class OnnxExporterError:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class errors:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class export:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class ops:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
def is_in_onnx_export() -> bool:
    ...
def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Any, opset_version: int) -> None:
    ...
def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    ...
