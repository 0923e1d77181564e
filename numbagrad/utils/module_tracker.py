"""``torch.utils.module_tracker``: which module is running; not there."""

from ..absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "register hooks with nn.modules.module.register_module_forward_hook",
    """ModuleTracker""",
)
