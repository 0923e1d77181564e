"""Classes of nodes that programs ask for with ``isinstance``: ``torch._C._functions``."""

from ..autograd.inplace import CopySlices
from ..autograd.node import AccumulateGrad

__all__ = ["AccumulateGrad", "CopySlices"]
