"""torch.amp: operators in lower precision where that is enough, and losses scaled for float16.

``autocast_mode.py`` has the contexts and ``grad_scaler.py`` scales. Operators say themselves what
they are cast to (``dispatch/policies.py``). A program that asks for none of it does not import this
package.
"""

from __future__ import annotations

from . import autocast_mode as _mode
from .autocast_mode import autocast, is_autocast_available
from .custom_function import custom_bwd, custom_fwd
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

for _function in (custom_bwd, custom_fwd):  # which are in the file of autocast in torch
    setattr(_mode, _function.__name__, _function)
