"""``torch.export``: whole programs as graphs; not there."""

from .absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "numbagrad.compile runs functions as recorded programs; save the state_dict",
    """AdditionalInputs Constraint CustomDecompTable Dim ExportBackwardSignature
    ExportGraphSignature ExportedProgram FlatArgsAdapter ModuleCallEntry ModuleCallSignature
    ShapesCollection UnflattenedModule default_decompositions dims draft_export export load
    register_dataclass save unflatten""",
)
