"""``torch.nn.modules.container``: modules and parameters in containers, at torch's path."""

from ..containers import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from ..older_layers import Container

__all__ = [
    "Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList",
    "Sequential",
]  # fmt: skip
