"""``torch._decomp``: operators in terms of others; not there."""

from .absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "numbagrad.explain shows what an operator runs",
    """core_aten_decompositions decomposition_table get_decompositions register_decomposition""",
)
