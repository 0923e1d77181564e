"""``torch.utils.mobile_optimizer``: models for phones; not there."""

from ..absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "there is no TorchScript",
    """LintCode MobileOptimizerType generate_mobile_module_lints optimize_for_mobile""",
)
