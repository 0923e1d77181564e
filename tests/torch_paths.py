"""The modules of torch that programs import, each a path of this library too."""

PATHS = """
    torch._C torch._VF torch._classes torch._decomp torch._dynamo torch._functorch
    torch._higher_order_ops torch._inductor torch._jit_internal torch._logging torch._ops
    torch._prims torch._subclasses torch._tensor torch._tensor_str torch._utils
    torch.accelerator torch.amp torch.amp.autocast_mode torch.amp.grad_scaler torch.ao
    torch.ao.nn torch.ao.quantization torch.autograd torch.autograd.anomaly_mode
    torch.autograd.forward_ad
    torch.autograd.function torch.autograd.functional torch.autograd.grad_mode
    torch.autograd.gradcheck torch.autograd.graph torch.autograd.profiler
    torch.autograd.variable torch.backends torch.backends.cpu torch.backends.cuda
    torch.backends.cudnn torch.backends.mkl torch.backends.mkldnn torch.backends.mps
    torch.backends.nnpack torch.backends.openmp torch.backends.opt_einsum
    torch.backends.quantized torch.compiler torch.cpu torch.cpu.amp torch.cuda torch.cuda.amp
    torch.cuda.comm torch.cuda.memory torch.cuda.nvtx torch.cuda.random torch.cuda.streams
    torch.distributed torch.distributed.algorithms torch.distributed.fsdp
    torch.distributed.optim torch.distributed.rpc torch.distributions torch.export torch.fft
    torch.func torch.functional torch.futures torch.fx torch.hub torch.jit torch.jit.annotations
    torch.library torch.linalg torch.masked torch.monitor torch.mps torch.mtia
    torch.multiprocessing torch.nested torch.nn.attention torch.nn.attention.flex_attention
    torch.nn.common_types torch.nn.functional torch.nn.grad torch.nn.init torch.nn.intrinsic
    torch.nn.modules torch.nn.modules.activation torch.nn.modules.adaptive
    torch.nn.modules.batchnorm torch.nn.modules.channelshuffle torch.nn.modules.container
    torch.nn.modules.conv torch.nn.modules.distance torch.nn.modules.dropout
    torch.nn.modules.flatten torch.nn.modules.fold torch.nn.modules.instancenorm
    torch.nn.modules.lazy torch.nn.modules.linear torch.nn.modules.loss torch.nn.modules.module
    torch.nn.modules.normalization torch.nn.modules.padding torch.nn.modules.pixelshuffle
    torch.nn.modules.pooling torch.nn.modules.rnn torch.nn.modules.sparse
    torch.nn.modules.transformer torch.nn.modules.upsampling torch.nn.modules.utils
    torch.nn.parallel torch.nn.parallel.data_parallel torch.nn.parallel.distributed
    torch.nn.parameter torch.nn.qat torch.nn.quantized torch.nn.utils torch.nn.utils.clip_grad
    torch.nn.utils.convert_parameters torch.nn.utils.fusion torch.nn.utils.init
    torch.nn.utils.parametrizations torch.nn.utils.parametrize torch.nn.utils.prune
    torch.nn.utils.rnn torch.nn.utils.spectral_norm torch.nn.utils.stateless
    torch.nn.utils.weight_norm torch.onnx torch.optim torch.optim._functional
    torch.optim.adadelta torch.optim.adagrad torch.optim.adam torch.optim.adamax
    torch.optim.adamw torch.optim.asgd torch.optim.lbfgs torch.optim.lr_scheduler
    torch.optim.nadam torch.optim.optimizer torch.optim.radam torch.optim.rmsprop
    torch.optim.rprop torch.optim.sgd torch.optim.sparse_adam torch.optim.swa_utils
    torch.overrides torch.package torch.profiler torch.quantization torch.quasirandom
    torch.random torch.return_types torch.serialization torch.signal torch.signal.windows
    torch.sparse torch.special torch.storage torch.testing torch.torch_version torch.types
    torch.utils torch.utils._contextlib torch.utils._python_dispatch torch.utils._pytree
    torch.utils.backend_registration torch.utils.benchmark torch.utils.bundled_inputs
    torch.utils.checkpoint torch.utils.collect_env torch.utils.cpp_extension torch.utils.data
    torch.utils.data._utils torch.utils.data._utils.collate torch.utils.data._utils.fetch
    torch.utils.data._utils.worker torch.utils.data.dataloader torch.utils.data.dataset
    torch.utils.data.distributed torch.utils.data.sampler torch.utils.deterministic
    torch.utils.dlpack torch.utils.flop_counter torch.utils.hooks torch.utils.mobile_optimizer
    torch.utils.model_zoo torch.utils.module_tracker torch.utils.throughput_benchmark
    torch.utils.weak torch.version torch.xpu
""".split()
