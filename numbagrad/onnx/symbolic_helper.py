"""``torch.onnx.symbolic_helper``: marks of functions that an exporter would call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["parse_args", "quantized_args"]


def parse_args(*arg_descriptors: str) -> Callable[[Any], Any]:
    """A decorator that leaves its function as it is."""
    return lambda function: function


def quantized_args(*arg_q_descriptors: Any, **options: Any) -> Callable[[Any], Any]:
    """A decorator that leaves its function as it is."""
    return lambda function: function
