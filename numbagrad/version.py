"""``torch.version``: which torch this library follows, and what it was built with."""

from __future__ import annotations

from ._version import __version__ as numbagrad
from .torch_alias import TORCH_VERSION
from .torch_version import TorchVersion

__all__ = ["cuda", "debug", "git_version", "hip", "numbagrad", "rocm", "xpu"]

__version__ = TorchVersion(TORCH_VERSION)
debug = False
cuda: str | None = None
git_version = "unknown"
hip: str | None = None
rocm: str | None = None
xpu: str | None = None
