"""Modules of torch in which classes are defined, which are their ``__module__`` under its name.

Programs ask ``type(layer).__module__.startswith("torch.nn")``, write it into files, and pickle
instances by it. So classes have torch's while this package has torch's name, and their own
otherwise, since ``numbagrad.nn.linear`` is where readers find them. Functions keep theirs. The
table is written by ``tools/write_torch_homes.py``.
"""

from __future__ import annotations

import functools
import sys
from typing import Any, ForwardRef

__all__ = ["forget_homes", "module_here", "show_homes", "table"]

_OURS = __name__.partition(".")[0]
#: Classes that have torch's module, and their own one.
_renamed: dict[type[Any], str] = {}
#: Modules of torch, and of this package, whose classes have it already.
_done: set[tuple[str, str]] = set()


@functools.cache
def table() -> list[tuple[str, str, list[str]]]:
    """Modules of torch, those of this package, and the names of classes in both."""
    lines = [line.split() for line in _TABLE.replace("\n  ", " ").splitlines()]
    return [(path, home, names) for path, home, *names in lines]


def show_homes() -> None:
    """Let classes of modules that are loaded have the ``__module__`` that they have in torch."""
    _show(vars(sys.modules[_OURS])["Tensor"], "torch")
    for path, home, names in table():
        module = sys.modules.get(f"{_OURS}.{home}")
        if module is None or (path, home) in _done:
            continue
        kinds = [vars(module).get(name) for name in names]
        if None not in kinds:  # else it is being imported
            _done.add((path, home))
            for kind in kinds:
                _show(kind, f"torch.{path}")


def _show(kind: Any, module: str) -> None:
    if kind in _renamed:
        return
    _renamed[kind] = own = kind.__module__
    kind.__module__ = module
    annotations = vars(kind).get("__annotations__") or {}
    for name, text in annotations.items():
        if isinstance(text, str):  # whose names are those of the module that defines the class
            annotations[name] = ForwardRef(text, module=own, is_class=True)


def forget_homes() -> None:
    """Let classes have their own ``__module__`` again."""
    for kind, module in _renamed.items():
        kind.__module__ = module
        annotations = vars(kind).get("__annotations__") or {}
        for name, hint in annotations.items():
            if isinstance(hint, ForwardRef):
                annotations[name] = hint.__forward_arg__
    _renamed.clear()
    _done.clear()


def module_here(kind: type[Any]) -> str:
    """The module in which a class is defined, also where its ``__module__`` is torch's."""
    return _renamed.get(kind) or kind.__module__


#: A path of torch, one of this package, and the names of classes that are defined in both.
_TABLE = """\
amp.autocast_mode amp.autocast_mode autocast
amp.grad_scaler amp.grad_scaler GradScaler OptState
autograd.anomaly_mode autograd.anomaly_mode detect_anomaly set_detect_anomaly
autograd.forward_ad autograd.forward_ad UnpackedDualTensor _set_fwd_grad_enabled dual_level
autograd.function autograd.function.node BackwardCFunction FunctionCtx
autograd.function autograd.function Function InplaceFunction
autograd.grad_mode autograd.grad_mode _force_original_view_tracking enable_grad inference_mode
  no_grad set_grad_enabled set_multithreading_enabled
autograd.gradcheck autograd.gradcheck.problem GradcheckError
autograd.graph autograd.graph GradientEdge Node _MultiHandle save_on_cpu saved_tensors_hooks
autograd.profiler profiler.spans emit_nvtx record_function
autograd.variable autograd.variable Variable
distributions.bernoulli distributions.bernoulli Bernoulli
distributions.beta distributions.beta Beta
distributions.binomial distributions.binomial Binomial
distributions.categorical distributions.categorical Categorical
distributions.cauchy distributions.cauchy Cauchy
distributions.chi2 distributions.chi2 Chi2
distributions.constraint_registry distributions.constraint_registry ConstraintRegistry
distributions.constraints distributions.constraints Constraint MixtureSameFamilyConstraint _Boolean
  _Cat _CorrCholesky _Dependent _DependentProperty _GreaterThan _GreaterThanEq _HalfOpenInterval
  _IntegerGreaterThan _IntegerInterval _IntegerLessThan _Interval _LessThan _LowerCholesky
  _LowerTriangular _Multinomial _OneHot _PositiveDefinite _PositiveSemidefinite _Real _Simplex
  _Square _Stack _Symmetric
distributions.continuous_bernoulli distributions.continuous_bernoulli ContinuousBernoulli
distributions.dirichlet distributions.dirichlet Dirichlet
distributions.distribution distributions.distribution Distribution
distributions.exp_family distributions.distribution ExponentialFamily
distributions.exponential distributions.exponential Exponential
distributions.fishersnedecor distributions.fishersnedecor FisherSnedecor
distributions.gamma distributions.gamma Gamma
distributions.generalized_pareto distributions.generalized_pareto GeneralizedPareto
distributions.geometric distributions.geometric Geometric
distributions.gumbel distributions.gumbel Gumbel
distributions.half_cauchy distributions.half_cauchy HalfCauchy
distributions.half_normal distributions.half_normal HalfNormal
distributions.independent distributions.independent Independent
distributions.inverse_gamma distributions.inverse_gamma InverseGamma
distributions.kumaraswamy distributions.kumaraswamy Kumaraswamy
distributions.laplace distributions.laplace Laplace
distributions.lkj_cholesky distributions.lkj_cholesky LKJCholesky
distributions.log_normal distributions.log_normal LogNormal
distributions.logistic_normal distributions.logistic_normal LogisticNormal
distributions.lowrank_multivariate_normal distributions.lowrank_multivariate_normal
  LowRankMultivariateNormal
distributions.mixture_same_family distributions.mixture_same_family MixtureSameFamily
distributions.multinomial distributions.multinomial Multinomial
distributions.multivariate_normal distributions.multivariate_normal MultivariateNormal
distributions.negative_binomial distributions.negative_binomial NegativeBinomial
distributions.normal distributions.normal Normal
distributions.one_hot_categorical distributions.one_hot_categorical OneHotCategorical
  OneHotCategoricalStraightThrough
distributions.pareto distributions.pareto Pareto
distributions.poisson distributions.poisson Poisson
distributions.relaxed_bernoulli distributions.relaxed_bernoulli LogitRelaxedBernoulli
  RelaxedBernoulli
distributions.relaxed_categorical distributions.relaxed_categorical ExpRelaxedCategorical
  RelaxedOneHotCategorical
distributions.studentT distributions.studentT StudentT
distributions.transformed_distribution distributions.transformed_distribution
  TransformedDistribution
distributions.transforms distributions.transforms AbsTransform AffineTransform
  CumulativeDistributionTransform ExpTransform PowerTransform SigmoidTransform SoftplusTransform
  TanhTransform
distributions.transforms distributions.vector_transforms CatTransform CorrCholeskyTransform
  LowerCholeskyTransform PositiveDefiniteTransform SoftmaxTransform StackTransform
  StickBreakingTransform
distributions.transforms distributions.transform ComposeTransform IndependentTransform
  ReshapeTransform Transform _InverseTransform
distributions.uniform distributions.uniform Uniform
distributions.utils distributions.utils lazy_property
distributions.von_mises distributions.von_mises VonMises
distributions.weibull distributions.weibull Weibull
distributions.wishart distributions.wishart Wishart
nn.modules.activation nn.activation CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh
  LeakyReLU LogSigmoid LogSoftmax Mish PReLU RReLU ReLU ReLU6 SELU SiLU Sigmoid Softmax Softmax2d
  Softmin Softplus Softshrink Softsign Tanh Tanhshrink Threshold
nn.modules.activation nn.attention.multihead MultiheadAttention
nn.modules.adaptive nn.adaptive_softmax AdaptiveLogSoftmaxWithLoss
nn.modules.batchnorm nn.normalization BatchNorm1d BatchNorm2d BatchNorm3d _BatchNorm
nn.modules.batchnorm nn.lazy LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d
nn.modules.batchnorm nn.sync_batchnorm SyncBatchNorm
nn.modules.channelshuffle nn.resampling ChannelShuffle
nn.modules.container nn.older_layers Container
nn.modules.container nn.containers ModuleDict ModuleList ParameterDict ParameterList Sequential
nn.modules.conv nn.convolution Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d
nn.modules.conv nn.lazy LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d
  LazyConvTranspose3d
nn.modules.distance nn.distance CosineSimilarity PairwiseDistance
nn.modules.dropout nn.dropout AlphaDropout Dropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout
nn.modules.flatten nn.linear Flatten Unflatten
nn.modules.fold nn.convolution Fold Unfold
nn.modules.instancenorm nn.normalization InstanceNorm1d InstanceNorm2d InstanceNorm3d _InstanceNorm
nn.modules.instancenorm nn.lazy LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d
nn.modules.lazy nn.lazy LazyModuleMixin
nn.modules.linear nn.linear Bilinear Identity Linear
nn.modules.linear nn.lazy LazyLinear
nn.modules.linear nn.attention.multihead NonDynamicallyQuantizableLinear
nn.modules.loss nn.loss BCELoss BCEWithLogitsLoss CTCLoss CosineEmbeddingLoss CrossEntropyLoss
  GaussianNLLLoss HingeEmbeddingLoss HuberLoss KLDivLoss L1Loss MSELoss MarginRankingLoss
  MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss PoissonNLLLoss SmoothL1Loss
  SoftMarginLoss TripletMarginLoss TripletMarginWithDistanceLoss _Loss _WeightedLoss
nn.modules.loss nn.linear_loss LinearCrossEntropyLoss
nn.modules.loss nn.older_layers NLLLoss2d
nn.modules.module nn.module Module
nn.modules.normalization nn.older_layers CrossMapLRN2d
nn.modules.normalization nn.normalization GroupNorm LayerNorm LocalResponseNorm RMSNorm
nn.modules.padding nn.padding CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d
  ConstantPad3d ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d
  ReplicationPad3d ZeroPad1d ZeroPad2d ZeroPad3d
nn.modules.pixelshuffle nn.resampling PixelShuffle PixelUnshuffle
nn.modules.pooling nn.pooling AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d
  AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d AvgPool1d AvgPool2d AvgPool3d LPPool1d
  LPPool2d LPPool3d MaxPool1d MaxPool2d MaxPool3d
nn.modules.pooling nn.unpooling FractionalMaxPool2d FractionalMaxPool3d MaxUnpool1d MaxUnpool2d
  MaxUnpool3d
nn.modules.rnn nn.recurrent GRU GRUCell LSTM LSTMCell RNN RNNBase RNNCell RNNCellBase
nn.modules.sparse nn.embedding Embedding EmbeddingBag
nn.modules.transformer nn.transformer Transformer TransformerDecoder TransformerDecoderLayer
  TransformerEncoder TransformerEncoderLayer
nn.modules.upsampling nn.resampling Upsample UpsamplingBilinear2d UpsamplingNearest2d
nn.parallel.data_parallel nn.data_parallel DataParallel
nn.parallel.distributed distributed.data_parallel DistributedDataParallel
nn.parameter nn.parameter Buffer Parameter
nn.utils.parametrizations nn.utils.orthogonal_matrices _Orthogonal
nn.utils.parametrizations nn.utils.parametrizations _SpectralNorm _WeightNorm
nn.utils.parametrize nn.utils.parametrize ParametrizationList
nn.utils.prune nn.utils.prune BasePruningMethod CustomFromMask Identity L1Unstructured LnStructured
  PruningContainer RandomStructured RandomUnstructured
nn.utils.rnn nn.utils.rnn PackedSequence
nn.utils.spectral_norm nn.utils.spectral_norm SpectralNorm
nn.utils.weight_norm nn.utils.weight_norm WeightNorm
optim optim.adafactor Adafactor
optim optim.muon Muon
optim.adadelta optim.adadelta Adadelta
optim.adagrad optim.adagrad Adagrad
optim.adam optim.adam Adam
optim.adamax optim.adamax Adamax
optim.adamw optim.adam AdamW
optim.asgd optim.asgd ASGD
optim.lbfgs optim.lbfgs LBFGS
optim.lr_scheduler optim.lr_scheduler.composite ChainedScheduler SequentialLR
optim.lr_scheduler optim.lr_scheduler.decay ConstantLR ExponentialLR LambdaLR LinearLR MultiStepLR
  MultiplicativeLR PolynomialLR StepLR
optim.lr_scheduler optim.lr_scheduler.annealing CosineAnnealingLR CosineAnnealingWarmRestarts
optim.lr_scheduler optim.lr_scheduler.cyclic CyclicLR OneCycleLR
optim.lr_scheduler optim.lr_scheduler.scheduler LRScheduler _LRScheduler
optim.lr_scheduler optim.lr_scheduler.plateau ReduceLROnPlateau
optim.nadam optim.nadam NAdam
optim.optimizer optim.optimizer Optimizer
optim.radam optim.radam RAdam
optim.rmsprop optim.rmsprop RMSprop
optim.rprop optim.rprop Rprop
optim.sgd optim.sgd SGD
optim.sparse_adam optim.sparse_adam SparseAdam
optim.swa_utils optim.swa_utils AveragedModel SWALR
utils._pytree utils._pytree GetAttrKey LeafSpec MappingKey NodeDef SequenceKey TreeSpec
utils.checkpoint utils.checkpoint CheckpointError GraphExecGroup _Holder
utils.checkpoint utils.reentrant_checkpoint CheckpointFunction
utils.checkpoint utils.selective_checkpoint CheckpointPolicy SelectiveCheckpointContext
utils.data._utils.worker data.worker WorkerInfo
utils.data.dataloader data.loader DataLoader
utils.data.dataloader utils.data.dataloader _BaseDataLoaderIter _DatasetKind
  _MultiProcessingDataLoaderIter _SingleProcessDataLoaderIter
utils.data.dataset data.dataset ChainDataset ConcatDataset Dataset IterableDataset StackDataset
  Subset TensorDataset
utils.data.distributed utils.data.distributed DistributedSampler
utils.data.sampler data.sampler BatchSampler RandomSampler Sampler SequentialSampler
  SubsetRandomSampler WeightedRandomSampler
utils.dlpack tensor.dlpack DLDeviceType
utils.hooks autograd.hooks.tensor_hooks RemovableHandle
utils.weak utils.weak TensorWeakRef WeakIdKeyDictionary WeakIdRef
"""
