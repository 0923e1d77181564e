"""Volatile tensors, as of 2017: a call with one is not recorded, and its results are volatile too.

``autograd/legacy/volatile.py`` says which tensors are. Modules take part as the operators do, and
``Function.apply`` asks by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.grad_mode import state as grad_mode
from ..autograd.legacy.volatile import mark, touched
from ..tensor import Tensor
from .layers import Arguments, Below, Keywords

__all__ = ["LAYER"]

#: Where functions come from that compute; an attribute of a volatile tensor is as it is.
_HOMES = ("numbagrad.ops", "numbagrad.nn", "numbagrad.linalg")


class Volatile:
    """The layer; it acts where an argument is volatile."""

    def acts_on(self, arguments: Arguments) -> bool:
        """Whether one of the arguments is volatile."""
        return touched(arguments)

    def call(
        self, function: Callable[..., Any], arguments: Arguments, keywords: Keywords, below: Below
    ) -> Any:
        """The function, unrecorded and with volatile results if an argument is volatile."""
        if not (touched(arguments) or (keywords and touched(keywords.values()))):
            return below(arguments, keywords)
        if not _computes(function):
            return below(arguments, keywords)
        recording = grad_mode.enabled
        grad_mode.enabled = False
        try:
            return mark(below(arguments, keywords))
        finally:
            grad_mode.enabled = recording


def _computes(function: Any) -> bool:
    home = function.__module__
    if home == "numbagrad" or home.startswith(_HOMES):
        return True
    return function is Tensor.detach


LAYER = Volatile()
