"""Public names of torch that this package has not, each under a reason.

``parity/test_absent_names.py`` walks torch's namespaces and compares;
``docs/torch-compatibility.md`` shows them, which ``tools/write_compatibility.py`` writes. A name
that stands here raises NotImplementedError where it is used, or is an AttributeError.
"""

#: The namespaces that are walked.
NAMESPACES = """
    torch torch.Tensor torch.nn torch.nn.functional torch.nn.init torch.nn.utils
    torch.nn.utils.rnn torch.nn.utils.parametrize torch.nn.utils.parametrizations
    torch.nn.utils.prune torch.nn.attention torch.linalg torch.fft torch.special torch.optim
    torch.optim.lr_scheduler torch.optim.swa_utils torch.autograd torch.autograd.function
    torch.autograd.functional torch.autograd.forward_ad torch.autograd.graph torch.func
    torch.utils.data torch.utils.checkpoint torch.distributions torch.distributions.transforms
    torch.distributions.constraints torch.masked torch.random torch.signal.windows torch.amp
    torch.overrides
""".split()

#: What is absent, and why.
REASONS = {
    "quantised": (
        "Tensors of quantised integers with a scale. No tensor here has such a dtype; "
        "`fake_quantize_per_tensor_affine` and `fake_quantize_per_channel_affine` compute "
        "what quantisation would leave of floats."
    ),
    "sparse": ("Layouts other than strided, sparse COO and CSR: nested and masked tensors too."),
    "dtypes": (
        "Dtypes that no tensor here has (float8, complex32, integers of other widths), and "
        "what is only of these."
    ),
    "vendors": (
        "Kernels and devices of one vendor: cuDNN, MIOpen, oneDNN, FBGEMM, flash attention, "
        "statistics of batch norm over several GPUs, XLA, XPU. The functions without a "
        "vendor's name compute the same."
    ),
    "script": (
        "TorchScript: its compiler, types, graphs and schemas. `torch.jit.script` and `trace` "
        "return what they are given; `torch.compile` records programs."
    ),
    "memory": (
        "Typed storages, streams and events, file readers and memory shared between "
        "processes. A tensor's memory is an array of NumPy's; `untyped_storage()` and "
        "`numpy()` show it."
    ),
    "symbols": ("Symbolic sizes of torch's tracer. Shapes are numbers."),
    "pipes": (
        "Data pipes, which torchdata took over. Datasets, samplers and `DataLoader` are there."
    ),
    "optimizers": ("Optimizers and scheduling helpers that are not written yet."),
    "unwritten": ("Not written yet; nothing of the CPU stands against it."),
    "internal": (
        "Not meant for programs: what torch's files import or leave behind in a namespace, "
        "classes of its C++ interface, texts of its documentation."
    ),
}

#: By reason and namespace the names.
ABSENT = {
    "quantised": {
        "torch": """
            QInt32Storage QInt8Storage QUInt2x4Storage QUInt4x2Storage QUInt8Storage
            choose_qparams_optimized dequantize empty_quantized fbgemm_linear_quantize_weight
            fbgemm_pack_quantized_matrix fused_moving_avg_obs_fake_quant int_repr
            per_channel_affine per_channel_affine_float_qparams per_channel_symmetric
            per_tensor_affine per_tensor_symmetric q_per_channel_axis q_per_channel_scales
            q_per_channel_zero_points q_scale q_zero_point qscheme
            quantize_per_channel quantize_per_tensor quantize_per_tensor_dynamic
            quantized_batch_norm quantized_gru quantized_gru_cell quantized_lstm
            quantized_lstm_cell quantized_max_pool1d quantized_max_pool2d quantized_max_pool3d
            quantized_rnn_relu_cell quantized_rnn_tanh_cell""",
        "torch.Tensor": """
            dequantize int_repr q_per_channel_axis q_per_channel_scales
            q_per_channel_zero_points q_scale q_zero_point qscheme""",
    },
    "sparse": {
        "torch": """
            ccol_indices_copy col_indices_copy crow_indices_copy indices_copy
            resize_as_sparse_ row_indices_copy sparse_bsc_tensor sparse_bsr_tensor
            sparse_compressed_tensor sparse_csc_tensor values_copy""",
        "torch.Tensor": """
            resize_as_sparse_ sparse_resize_ sparse_resize_and_clear_ to_padded_tensor
            to_sparse_bsc to_sparse_bsr to_sparse_csc""",
        "torch.nn.functional": """
            sparse_support_notes""",
        "torch.masked": """
            MaskedTensor as_masked_tensor is_masked_tensor masked_tensor""",
    },
    "dtypes": {
        "torch": """
            bit bits16 bits1x8 bits2x4 bits4x2 bits8 chalf hash_tensor""",
        "torch.Tensor": """
            chalf hash_tensor""",
        "torch.nn.functional": """
            ScalingType SwizzleType scaled_grouped_mm scaled_mm""",
    },
    "vendors": {
        "torch": """
            batch_norm_backward_elemt batch_norm_backward_reduce batch_norm_elemt
            batch_norm_gather_stats batch_norm_gather_stats_with_counts batch_norm_stats
            batch_norm_update_stats cudnn_affine_grid_generator cudnn_batch_norm
            cudnn_convolution cudnn_convolution_add_relu cudnn_convolution_relu
            cudnn_convolution_transpose cudnn_grid_sampler cudnn_is_acceptable
            fbgemm_linear_fp16_weight fbgemm_linear_fp16_weight_fp32_activation
            fbgemm_linear_int8_weight fbgemm_linear_int8_weight_fp32_activation
            fbgemm_pack_gemm_matrix_fp16 get_autocast_ipu_dtype get_autocast_xla_dtype
            is_autocast_ipu_enabled is_autocast_xla_enabled miopen_batch_norm miopen_convolution
            miopen_convolution_add_relu miopen_convolution_relu miopen_convolution_transpose
            miopen_ctc_loss miopen_depthwise_convolution miopen_rnn mkldnn_adaptive_avg_pool2d
            mkldnn_convolution mkldnn_linear_backward_weights mkldnn_max_pool2d
            mkldnn_max_pool3d mkldnn_rnn_layer prepare_multiprocessing_environment
            profiler_allow_cudagraph_cupti_lazy_reinit_cuda12 set_autocast_ipu_dtype
            set_autocast_ipu_enabled set_autocast_xla_dtype set_autocast_xla_enabled""",
        "torch.Tensor": """
            ipu mtia to_mkldnn xpu""",
        "torch.nn.functional": """
            tf32_notes""",
        "torch.nn.attention": """
            SDPAParams activate_flash_attention_impl
            can_use_efficient_attention can_use_flash_attention current_flash_attention_impl
            list_flash_attention_impls register_flash_attention_impl
            restore_flash_attention_impl""",
        "torch.autograd": """
            ProfilerActivity ProfilerConfig ProfilerEvent ProfilerState kineto_available""",
        "torch.autograd.graph": """
            set_override_stale_capture_stream set_warn_on_accumulate_grad_stream_mismatch""",
    },
    "script": {
        "torch": """
            AggregationType AliasDb AnyType Argument ArgumentSpec AwaitType Block BoolType
            CallStack Capsule ClassType Code CompilationUnit CompleteArgumentSpec ComplexType
            ConcreteModuleType ConcreteModuleTypeBuilder DeviceObjType DictType EnumType
            ErrorReport ExecutionPlan FileCheck FloatType FunctionSchema FutureType Gradient
            Graph GraphExecutorState IODescriptor InferredType IntType InterfaceType
            JITException ListType LiteScriptModule Node NoneType NumberType OperatorInfo
            OptionalType PyObjectType RRefType ScriptClass ScriptClassFunction ScriptDict
            ScriptDictIterator ScriptDictKeyIterator ScriptFunction ScriptList
            ScriptListIterator ScriptMethod ScriptModuleSerializer ScriptObject
            ScriptObjectProperty StaticModule StringType Tag TensorType TracingState TupleType
            Type UnionType Use Value import_ir_module import_ir_module_from_buffer
            merge_type_from_type_comment parse_ir parse_schema parse_type_comment
            unify_type_list""",
        "torch.nn.functional": """
            BroadcastingList1 BroadcastingList2 BroadcastingList3 boolean_dispatch""",
        "torch.autograd": """
            DeviceType""",
        "torch.utils.checkpoint": """
            DefaultDeviceType""",
    },
    "memory": {
        "torch": """
            BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage
            ComplexFloatStorage DeepCopyMemoTable DeserializationStorageContext DoubleStorage
            Event FloatStorage HalfStorage IntStorage LongStorage PyTorchFileReader
            PyTorchFileWriter SerializationStorageContext ShortStorage Storage StorageBase
            Stream StreamObjType""",
        "torch.Tensor": """
            storage_type""",
    },
    "symbols": {
        "torch": """
            SymBool SymBoolType SymFloat SymInt SymIntType sym_constrain_range
            sym_constrain_range_for_size sym_fresh_size""",
    },
    "pipes": {
        "torch.utils.data": """
            DFIterDataPipe DataChunk argument_validation
            guaranteed_datapipes_determinism non_deterministic
            runtime_validation runtime_validation_disabled""",
    },
    "optimizers": {
        "torch.optim": """
            swap_in_optimizer_params_and_state""",
    },
    "unwritten": {
        "torch": """
            fork legacy_contiguous_format native_norm slice_inverse thread_safe_generator wait""",
        "torch.Tensor": """
            name slice_inverse""",
        "torch.nn.functional": """
            grouped_mm""",
        "torch.nn.utils.rnn": """
            PackedSequence_""",
        "torch.autograd": """
            enforce_grad_layout_policy""",
        "torch.autograd.graph": """
            region_activation_memory_budget""",
        "torch.func": """
            rearrange""",
        "torch.random": """
            thread_safe_generator""",
        "torch.overrides": """
            BaseTorchFunctionMode redispatch_function""",
    },
    "internal": {
        "torch": """
            AVG BenchmarkConfig BenchmarkExecutionStats BufferDict DisableTorchFunction
            DisableTorchFunctionSubclass DispatchKey DispatchKeySet ExcludeDispatchKeyGuard
            FatalError LockingLogger LoggerBase ModuleDict NoopLogger PRIVATE_OPS ParameterDict
            SUM ThroughputBenchmark USE_GLOBAL_DEPS USE_RTLD_GLOBAL_WITH_LIBTORCH classproperty""",
        "torch.Tensor": """
            index""",
        "torch.nn": """
            factory_kwargs""",
        "torch.nn.functional": """
            Tensor assert_int_or_pair handle_torch_function has_torch_function
            has_torch_function_unary has_torch_function_variadic reproducibility_notes""",
        "torch.nn.utils.rnn": """
            bind copy_method_params""",
        "torch.nn.utils.parametrize": """
            OpaqueBase get_swap_module_params_on_conversion is_opaque_reference_type
            is_traceable_wrapper_subclass""",
        "torch.nn.attention": """
            warn""",
        "torch.linalg": """
            common_notes""",
        "torch.fft": """
            common_args factory_common_args""",
        "torch.special": """
            common_args multi_dim_common""",
        "torch.optim.lr_scheduler": """
            EPOCH_DEPRECATION_WARNING Optimizer Tensor annotations inf""",
        "torch.autograd": """
            NestedIOFunction handle_torch_function has_torch_function is_tensor_like""",
        "torch.autograd.function": """
            AUTOGRAD_FUNCTION_COUNTER NestedIOFunction custom_function_call""",
        "torch.autograd.graph": """
            TorchDispatchMode Variable""",
        "torch.utils.checkpoint": """
            LoggingTensorMode SAC_IGNORED_OPS SavedTensor TorchDispatchMode capture_logs
            tree_map""",
        "torch.distributions.transforms": """
            Distribution broadcast_all lazy_property pad tril_matrix_to_vec vec_to_tril_matrix""",
    },
}
