"""``torch.utils.bundled_inputs``: models saved with inputs; not there."""

from ..absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "there is no TorchScript",
    """InflatableArg MAX_RAW_TENSOR_SIZE augment_many_model_functions_with_bundled_inputs
    augment_model_with_bundled_inputs bundle_inputs bundle_large_tensor bundle_randn
    wrap_cpp_module""",
)
