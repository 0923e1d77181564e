"""``torch.fx``: programs as graphs of their calls, which can be changed and are modules again.

``symbolic_trace`` calls a function once with Proxies (``proxy.py``), whose operations become nodes
of a Graph (``graph.py``, ``node.py``); a GraphModule runs the Python code of one. This is for
programs that rewrite models; ``numbagrad.compile`` records calls by itself and makes nothing of it.
"""

import sys
from types import ModuleType
from typing import Any

from ..absent import absent_if_missing, lacking

#: Modules below this one, of which annotations of libraries name things.
_MODULES = frozenset(
    "experimental operator_schemas subgraph_rewriter tensor_type traceback".split()
)

_absent, _find, __dir__ = lacking(
    __name__,
    "graphs are changed by hand: Graph, Node, Interpreter and Transformer are there",
    """ProxyableClassMeta replace_pattern""",
    {
        "CodeGen": ".graph", "Graph": ".graph", "GraphModule": ".graph_module",
        "Interpreter": ".interpreter",
        "Node": ".node", "PH": "._symbolic_trace", "Proxy": ".proxy",
        "Tracer": "._symbolic_trace", "Transformer": ".interpreter",
        "has_side_effect": ".node", "map_arg": ".node",
        "symbolic_trace": "._symbolic_trace", "wrap": "._symbolic_trace",
        "graph": ".graph", "graph_module": ".graph_module",
        "immutable_collections": ".immutable_collections",
        "interpreter": ".interpreter", "node": ".node", "passes": ".passes", "proxy": ".proxy",
    },
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        return _find(name)
    path = f"torch.fx.{name}"
    made = sys.modules.get(path)
    if made is None:
        made = ModuleType(path, f"``{path}``, which is not there.")
        absent_if_missing(made, path, "it is an internal part of torch")
    globals()[name] = made
    return made
