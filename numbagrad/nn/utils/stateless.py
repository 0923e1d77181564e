"""``torch.nn.utils.stateless``: modules as functions of their parameters, as ``torch.func`` has."""

from ...func import functional_call

__all__ = ["functional_call"]
