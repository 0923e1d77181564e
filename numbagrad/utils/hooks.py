"""``torch.utils.hooks``: what registrations of hooks return, and marks on hooks."""

from __future__ import annotations

import warnings
from typing import Any

from ..absent import absent
from ..autograd.hooks.tensor_hooks import RemovableHandle

__all__ = ["BackwardHook", "RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]

BackwardHook = absent(
    "torch.utils.hooks.BackwardHook", "register hooks with Module.register_full_backward_hook"
)


def unserializable_hook(f: Any) -> Any:
    """Mark a hook as one that is meant not to be saved, so that ``warn_if_has_hooks`` is silent."""
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor: Any) -> None:
    """Warn of hooks of a tensor that are lost when it is saved."""
    for hook in (tensor._backward_hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, "
                "you can decorate the function with @torch.utils.hooks.unserializable_hook to "
                "suppress this warning",
                stacklevel=2,
            )
