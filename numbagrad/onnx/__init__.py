"""``torch.onnx``: models as files of ONNX; not there.

What libraries tell an exporter about their operators, where they are imported, is left aside.
"""

from typing import Any

from ..absent import lacking

_absent, __getattr__, __dir__ = lacking(
    __name__,
    "there is no exporter; save the state_dict",
    "ExportableModule InputObserver ONNXProgram OnnxExporterError errors export ops",
)

__all__ = [*_absent, "is_in_onnx_export", "register_custom_op_symbolic",
           "unregister_custom_op_symbolic"]  # fmt: skip


def is_in_onnx_export() -> bool:
    """False: there is no exporter."""
    return False


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Any, opset_version: int) -> None:
    """Nothing: no exporter asks how an operator is written."""


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Nothing."""
