"""``torch.utils.backend_registration``: devices of other makers; not there."""

from ..absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "tensors are on the CPU",
    """generate_methods_for_privateuse1_backend rename_privateuse1_backend""",
)
