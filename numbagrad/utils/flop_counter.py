"""``torch.utils.flop_counter``: arithmetic counted by module; not there."""

from ..absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "numbagrad.explain and numbagrad.profile count it by launch",
    """FlopCounterMode register_flop_formula""",
)
