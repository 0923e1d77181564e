"""``torch.utils._python_dispatch``: classes that see operators below autograd; not there."""

from typing import Any

from ..absent import lacking

_absent, __getattr__, __dir__ = lacking(
    __name__,
    "use torch.overrides.TorchFunctionMode, which sees public functions",
    "BaseTorchDispatchMode TorchDispatchMode return_and_correct_aliasing transform_subclass",
)

__all__ = ["is_traceable_wrapper_subclass"]


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Whether a tensor holds others that the compiler may look into: never."""
    return False


def _get_current_dispatch_mode() -> None:
    """The mode that sees operators: there is none."""
    return None
