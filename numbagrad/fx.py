"""``torch.fx``: programs as graphs of their calls; not there."""

from typing import Any

from .absent import lacking

_absent, __getattr__, __dir__ = lacking(
    __name__,
    "numbagrad.compile records and runs functions, numbagrad.graph draws the recorded graph",
    """Graph GraphModule Interpreter Node Proxy Tracer Transformer has_side_effect map_arg
    replace_pattern symbolic_trace""",
)

__all__ = ["wrap"]


def wrap(fn_or_name: Any) -> Any:
    """A mark for the tracer of torch, which libraries set where they are imported; nothing."""
    return fn_or_name
