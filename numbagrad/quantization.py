"""``torch.quantization``: models of small integers; not there."""

from .absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "dtypes are those of floating point, complex numbers and plain integers",
    """DeQuantStub HistogramObserver ObserverBase QConfig QuantStub QuantType QuantWrapper
    WeightObserver add_quant_dequant convert default_dynamic_qconfig default_eval_fn
    default_fake_quant default_fixed_qparams_range_0to1_fake_quant
    default_fixed_qparams_range_neg1to1_fake_quant default_histogram_fake_quant
    default_observer default_per_channel_weight_fake_quant default_per_channel_weight_observer
    default_placeholder_observer default_qat_qconfig default_qconfig default_weight_fake_quant
    default_weight_observer float16_dynamic_qconfig float_qparams_weight_only_qconfig
    fuse_modules get_default_compare_output_module_list
    get_default_dynamic_quant_module_mappings get_default_qat_module_mappings
    get_default_qconfig_propagation_list get_default_static_quant_module_mappings
    get_fuser_method get_quantized_operator get_static_quant_module_class observer prepare
    prepare_qat propagate_qconfig_ quantize quantize_dynamic quantize_dynamic_jit quantize_jit
    quantize_qat swap_module""",
)
