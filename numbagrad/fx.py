"""``torch.fx``: programs as graphs of their calls; not there."""

import sys
from types import ModuleType
from typing import Any

from .absent import absent_if_missing, lacking

#: Modules below this one, of which annotations of libraries name things.
_MODULES = frozenset(
    """
    experimental graph graph_module immutable_collections interpreter node operator_schemas passes
    proxy subgraph_rewriter tensor_type traceback
    """.split()
)

_absent, _find, __dir__ = lacking(
    __name__,
    "numbagrad.compile records and runs functions, numbagrad.graph draws the recorded graph",
    """Graph GraphModule Interpreter Node Proxy Tracer Transformer has_side_effect map_arg
    replace_pattern symbolic_trace""",
)

__all__ = ["wrap"]


def wrap(fn_or_name: Any) -> Any:
    """A mark for the tracer of torch, which libraries set where they are imported; nothing."""
    return fn_or_name


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        return _find(name)
    path = f"torch.fx.{name}"
    made = sys.modules.get(path)
    if made is None:
        made = ModuleType(path, f"``{path}``, which is not there.")
        absent_if_missing(made, path)
    globals()[name] = made
    return made
