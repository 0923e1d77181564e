"""``torch._subclasses``: tensors without memory; not there."""

from .absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "numbagrad.compile records functions with real ones",
    """CrossRefFakeMode DynamicOutputShapeException FakeTensor FakeTensorMode
    UnsupportedFakeTensorException""",
)
