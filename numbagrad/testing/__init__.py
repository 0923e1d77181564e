"""``torch.testing``: tensors that are compared, and tensors that are drawn, for tests."""

from ..absent import absent
from .comparison import assert_allclose, assert_close
from .creation import make_tensor

__all__ = ["FileCheck", "assert_allclose", "assert_close", "make_tensor"]

FileCheck = absent("torch.testing.FileCheck", "use plain assertions")
