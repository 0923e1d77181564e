"""``torch._ops``: operators by schema and overload; only their classes' names."""

from .absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "operators are functions of the namespace, and Functions of numbagrad.functions",
    "HigherOrderOperator OpOverload OpOverloadPacket OperatorBase ops",
)
