"""torch.amp: operators in lower precision where that is enough, and losses scaled for float16.

``autocast_mode.py`` has the contexts and ``grad_scaler.py`` scales. Operators say themselves what
they are cast to (``dispatch/policies.py``). A program that asks for none of it does not import this
package.
"""

from __future__ import annotations

from .autocast_mode import autocast, is_autocast_available
from .custom_function import custom_bwd, custom_fwd
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
