"""``torch._ops``: the classes of operators as torch's dispatcher names them."""

from .absent import lacking
from .ops.aten import OpOverload, OpOverloadPacket

_absent, __getattr__, __dir__ = lacking(
    __name__,
    "operators are functions of the namespace, and Functions of numbagrad.functions",
    "HigherOrderOperator OperatorBase ops",
)

__all__ = ["OpOverload", "OpOverloadPacket"]
