"""``torch.onnx``: models as files of ONNX; not there."""

from .absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "there is no exporter; save the state_dict",
    """ExportableModule InputObserver ONNXProgram OnnxExporterError errors export
    is_in_onnx_export ops""",
)
