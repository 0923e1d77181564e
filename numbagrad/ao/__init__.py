"""``torch.ao``: quantization and pruning; not there."""

from ..absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "pruning is in nn.utils.prune; there is no quantization",
    """ns pruning""",
    {"nn": ".nn", "quantization": ".quantization"},
)
