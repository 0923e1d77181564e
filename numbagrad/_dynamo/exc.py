"""``torch._dynamo.exc``: exceptions of torch's compiler, which programs name to catch them.

``numbagrad.compile`` raises none of these: what it cannot hold runs as it is.
"""

from __future__ import annotations

__all__ = [
    "BackendCompilerFailed", "CondOpArgsMismatchError", "FailOnRecompileLimitHit",
    "InternalTorchDynamoError", "InvalidBackend", "RecompileError", "ResetRequired",
    "TorchDynamoException", "TorchRuntimeError", "UncapturedHigherOrderOpError", "Unsupported",
    "UserError",
]  # fmt: skip


class TorchDynamoException(RuntimeError):  # noqa: N818 - torch's name
    """The base of them."""


class InternalTorchDynamoError(TorchDynamoException):
    """The compiler itself failed."""


class ResetRequired(TorchDynamoException):
    """The backend changed within a process."""


class ShortenTraceback(TorchDynamoException):
    """One whose traceback leaves the compiler out."""


class BackendCompilerFailed(ShortenTraceback):
    """A backend raised."""


class TorchRuntimeError(TorchDynamoException):
    """An operation failed while it was traced."""


class InvalidBackend(TorchDynamoException):
    """There is no backend of that name."""


class RecompileError(TorchDynamoException):
    """A function was compiled again where that is an error."""


class Unsupported(TorchDynamoException):
    """A function that cannot be traced."""


class CondOpArgsMismatchError(TorchDynamoException):
    """Branches whose arguments or results do not fit."""


class UserError(TorchDynamoException):
    """A mistake of the program that is compiled."""


class UncapturedHigherOrderOpError(TorchDynamoException):
    """Control flow that could not be traced."""


class FailOnRecompileLimitHit(Exception):  # noqa: N818 - torch's name
    """A function that was compiled too often, where that is an error."""
