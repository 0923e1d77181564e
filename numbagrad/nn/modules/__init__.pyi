# Written by tools/write_stubs.py; do not edit.
"""The names of ``numbagrad.nn.modules``."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from numbagrad.dtype import dtype as DType
from numbagrad.ops.arguments.kinds import Ints, Real
from numbagrad.random import Generator
from numbagrad.tensor import Tensor

Number = builtins.bool | builtins.int | builtins.float

from numbagrad.nn.activation import CELU as CELU
from numbagrad.nn.activation import ELU as ELU
from numbagrad.nn.activation import GELU as GELU
from numbagrad.nn.activation import GLU as GLU
from numbagrad.nn.activation import Hardshrink as Hardshrink
from numbagrad.nn.activation import Hardsigmoid as Hardsigmoid
from numbagrad.nn.activation import Hardswish as Hardswish
from numbagrad.nn.activation import Hardtanh as Hardtanh
from numbagrad.nn.activation import LeakyReLU as LeakyReLU
from numbagrad.nn.activation import LogSigmoid as LogSigmoid
from numbagrad.nn.activation import LogSoftmax as LogSoftmax
from numbagrad.nn.activation import Mish as Mish
from numbagrad.nn.activation import PReLU as PReLU
from numbagrad.nn.activation import RReLU as RReLU
from numbagrad.nn.activation import ReLU as ReLU
from numbagrad.nn.activation import ReLU6 as ReLU6
from numbagrad.nn.activation import SELU as SELU
from numbagrad.nn.activation import SiLU as SiLU
from numbagrad.nn.activation import Sigmoid as Sigmoid
from numbagrad.nn.activation import Softmax as Softmax
from numbagrad.nn.activation import Softmax2d as Softmax2d
from numbagrad.nn.activation import Softmin as Softmin
from numbagrad.nn.activation import Softplus as Softplus
from numbagrad.nn.activation import Softshrink as Softshrink
from numbagrad.nn.activation import Softsign as Softsign
from numbagrad.nn.activation import Tanh as Tanh
from numbagrad.nn.activation import Tanhshrink as Tanhshrink
from numbagrad.nn.activation import Threshold as Threshold
from numbagrad.nn.adaptive_softmax import AdaptiveLogSoftmaxWithLoss as AdaptiveLogSoftmaxWithLoss
from numbagrad.nn.attention.multihead import MultiheadAttention as MultiheadAttention
from numbagrad.nn.attention.multihead import NonDynamicallyQuantizableLinear as NonDynamicallyQuantizableLinear
from numbagrad.nn.containers import ModuleDict as ModuleDict
from numbagrad.nn.containers import ModuleList as ModuleList
from numbagrad.nn.containers import ParameterDict as ParameterDict
from numbagrad.nn.containers import ParameterList as ParameterList
from numbagrad.nn.containers import Sequential as Sequential
from numbagrad.nn.convolution import Conv1d as Conv1d
from numbagrad.nn.convolution import Conv2d as Conv2d
from numbagrad.nn.convolution import Conv3d as Conv3d
from numbagrad.nn.convolution import ConvTranspose1d as ConvTranspose1d
from numbagrad.nn.convolution import ConvTranspose2d as ConvTranspose2d
from numbagrad.nn.convolution import ConvTranspose3d as ConvTranspose3d
from numbagrad.nn.convolution import Fold as Fold
from numbagrad.nn.convolution import Unfold as Unfold
from numbagrad.nn.distance import CosineSimilarity as CosineSimilarity
from numbagrad.nn.distance import PairwiseDistance as PairwiseDistance
from numbagrad.nn.dropout import AlphaDropout as AlphaDropout
from numbagrad.nn.dropout import Dropout as Dropout
from numbagrad.nn.dropout import Dropout1d as Dropout1d
from numbagrad.nn.dropout import Dropout2d as Dropout2d
from numbagrad.nn.dropout import Dropout3d as Dropout3d
from numbagrad.nn.dropout import FeatureAlphaDropout as FeatureAlphaDropout
from numbagrad.nn.embedding import Embedding as Embedding
from numbagrad.nn.embedding import EmbeddingBag as EmbeddingBag
from numbagrad.nn.functional.linear_loss import LinearCrossEntropyOptions as LinearCrossEntropyOptions
from numbagrad.nn.lazy import LazyLinear as LazyLinear
from numbagrad.nn.lazy import LazyModuleMixin as LazyModuleMixin
from numbagrad.nn.lazy import _LazyConvolution as __LazyConvolution
from numbagrad.nn.lazy import _LazyNorm as __LazyNorm
from numbagrad.nn.linear import Bilinear as Bilinear
from numbagrad.nn.linear import Flatten as Flatten
from numbagrad.nn.linear import Identity as Identity
from numbagrad.nn.linear import Linear as Linear
from numbagrad.nn.linear import Unflatten as Unflatten
from numbagrad.nn.linear_loss import LinearCrossEntropyLoss as LinearCrossEntropyLoss
from numbagrad.nn.loss import BCELoss as BCELoss
from numbagrad.nn.loss import BCEWithLogitsLoss as BCEWithLogitsLoss
from numbagrad.nn.loss import CTCLoss as CTCLoss
from numbagrad.nn.loss import CosineEmbeddingLoss as CosineEmbeddingLoss
from numbagrad.nn.loss import CrossEntropyLoss as CrossEntropyLoss
from numbagrad.nn.loss import GaussianNLLLoss as GaussianNLLLoss
from numbagrad.nn.loss import HingeEmbeddingLoss as HingeEmbeddingLoss
from numbagrad.nn.loss import HuberLoss as HuberLoss
from numbagrad.nn.loss import KLDivLoss as KLDivLoss
from numbagrad.nn.loss import L1Loss as L1Loss
from numbagrad.nn.loss import MSELoss as MSELoss
from numbagrad.nn.loss import MarginRankingLoss as MarginRankingLoss
from numbagrad.nn.loss import MultiLabelMarginLoss as MultiLabelMarginLoss
from numbagrad.nn.loss import MultiLabelSoftMarginLoss as MultiLabelSoftMarginLoss
from numbagrad.nn.loss import MultiMarginLoss as MultiMarginLoss
from numbagrad.nn.loss import NLLLoss as NLLLoss
from numbagrad.nn.loss import PoissonNLLLoss as PoissonNLLLoss
from numbagrad.nn.loss import SmoothL1Loss as SmoothL1Loss
from numbagrad.nn.loss import SoftMarginLoss as SoftMarginLoss
from numbagrad.nn.loss import TripletMarginLoss as TripletMarginLoss
from numbagrad.nn.loss import TripletMarginWithDistanceLoss as TripletMarginWithDistanceLoss
from numbagrad.nn.module import Module as Module
from numbagrad.nn.module_hooks import register_module_backward_hook as register_module_backward_hook
from numbagrad.nn.module_hooks import register_module_buffer_registration_hook as register_module_buffer_registration_hook
from numbagrad.nn.module_hooks import register_module_forward_hook as register_module_forward_hook
from numbagrad.nn.module_hooks import register_module_forward_pre_hook as register_module_forward_pre_hook
from numbagrad.nn.module_hooks import register_module_full_backward_hook as register_module_full_backward_hook
from numbagrad.nn.module_hooks import register_module_full_backward_pre_hook as register_module_full_backward_pre_hook
from numbagrad.nn.module_hooks import register_module_module_registration_hook as register_module_module_registration_hook
from numbagrad.nn.module_hooks import register_module_parameter_registration_hook as register_module_parameter_registration_hook
from numbagrad.nn.modules import activation as activation
from numbagrad.nn.modules import adaptive as adaptive
from numbagrad.nn.modules import batchnorm as batchnorm
from numbagrad.nn.modules import channelshuffle as channelshuffle
from numbagrad.nn.modules import container as container
from numbagrad.nn.modules import conv as conv
from numbagrad.nn.modules import distance as distance
from numbagrad.nn.modules import dropout as dropout
from numbagrad.nn.modules import flatten as flatten
from numbagrad.nn.modules import fold as fold
from numbagrad.nn.modules import instancenorm as instancenorm
from numbagrad.nn.modules import lazy as lazy
from numbagrad.nn.modules import linear as linear
from numbagrad.nn.modules import loss as loss
from numbagrad.nn.modules import module as module
from numbagrad.nn.modules import normalization as normalization
from numbagrad.nn.modules import padding as padding
from numbagrad.nn.modules import pixelshuffle as pixelshuffle
from numbagrad.nn.modules import pooling as pooling
from numbagrad.nn.modules import rnn as rnn
from numbagrad.nn.modules import sparse as sparse
from numbagrad.nn.modules import transformer as transformer
from numbagrad.nn.modules import upsampling as upsampling
from numbagrad.nn.modules import utils as utils
from numbagrad.nn.normalization import BatchNorm1d as BatchNorm1d
from numbagrad.nn.normalization import BatchNorm2d as BatchNorm2d
from numbagrad.nn.normalization import BatchNorm3d as BatchNorm3d
from numbagrad.nn.normalization import GroupNorm as GroupNorm
from numbagrad.nn.normalization import InstanceNorm1d as InstanceNorm1d
from numbagrad.nn.normalization import InstanceNorm2d as InstanceNorm2d
from numbagrad.nn.normalization import InstanceNorm3d as InstanceNorm3d
from numbagrad.nn.normalization import LayerNorm as LayerNorm
from numbagrad.nn.normalization import LocalResponseNorm as LocalResponseNorm
from numbagrad.nn.normalization import RMSNorm as RMSNorm
from numbagrad.nn.older_layers import Container as Container
from numbagrad.nn.older_layers import CrossMapLRN2d as CrossMapLRN2d
from numbagrad.nn.older_layers import NLLLoss2d as NLLLoss2d
from numbagrad.nn.padding import CircularPad1d as CircularPad1d
from numbagrad.nn.padding import CircularPad2d as CircularPad2d
from numbagrad.nn.padding import CircularPad3d as CircularPad3d
from numbagrad.nn.padding import ConstantPad1d as ConstantPad1d
from numbagrad.nn.padding import ConstantPad2d as ConstantPad2d
from numbagrad.nn.padding import ConstantPad3d as ConstantPad3d
from numbagrad.nn.padding import ReflectionPad1d as ReflectionPad1d
from numbagrad.nn.padding import ReflectionPad2d as ReflectionPad2d
from numbagrad.nn.padding import ReflectionPad3d as ReflectionPad3d
from numbagrad.nn.padding import ReplicationPad1d as ReplicationPad1d
from numbagrad.nn.padding import ReplicationPad2d as ReplicationPad2d
from numbagrad.nn.padding import ReplicationPad3d as ReplicationPad3d
from numbagrad.nn.padding import ZeroPad1d as ZeroPad1d
from numbagrad.nn.padding import ZeroPad2d as ZeroPad2d
from numbagrad.nn.padding import ZeroPad3d as ZeroPad3d
from numbagrad.nn.pooling import AdaptiveAvgPool1d as AdaptiveAvgPool1d
from numbagrad.nn.pooling import AdaptiveAvgPool2d as AdaptiveAvgPool2d
from numbagrad.nn.pooling import AdaptiveAvgPool3d as AdaptiveAvgPool3d
from numbagrad.nn.pooling import AdaptiveMaxPool1d as AdaptiveMaxPool1d
from numbagrad.nn.pooling import AdaptiveMaxPool2d as AdaptiveMaxPool2d
from numbagrad.nn.pooling import AdaptiveMaxPool3d as AdaptiveMaxPool3d
from numbagrad.nn.pooling import AvgPool1d as AvgPool1d
from numbagrad.nn.pooling import AvgPool2d as AvgPool2d
from numbagrad.nn.pooling import AvgPool3d as AvgPool3d
from numbagrad.nn.pooling import LPPool1d as LPPool1d
from numbagrad.nn.pooling import LPPool2d as LPPool2d
from numbagrad.nn.pooling import LPPool3d as LPPool3d
from numbagrad.nn.pooling import MaxPool1d as MaxPool1d
from numbagrad.nn.pooling import MaxPool2d as MaxPool2d
from numbagrad.nn.pooling import MaxPool3d as MaxPool3d
from numbagrad.nn.recurrent import GRU as GRU
from numbagrad.nn.recurrent import GRUCell as GRUCell
from numbagrad.nn.recurrent import LSTM as LSTM
from numbagrad.nn.recurrent import LSTMCell as LSTMCell
from numbagrad.nn.recurrent import RNN as RNN
from numbagrad.nn.recurrent import RNNBase as RNNBase
from numbagrad.nn.recurrent import RNNCell as RNNCell
from numbagrad.nn.recurrent import RNNCellBase as RNNCellBase
from numbagrad.nn.resampling import ChannelShuffle as ChannelShuffle
from numbagrad.nn.resampling import PixelShuffle as PixelShuffle
from numbagrad.nn.resampling import PixelUnshuffle as PixelUnshuffle
from numbagrad.nn.resampling import Upsample as Upsample
from numbagrad.nn.resampling import UpsamplingBilinear2d as UpsamplingBilinear2d
from numbagrad.nn.resampling import UpsamplingNearest2d as UpsamplingNearest2d
from numbagrad.nn.sync_batchnorm import SyncBatchNorm as SyncBatchNorm
from numbagrad.nn.transformer import Transformer as Transformer
from numbagrad.nn.transformer import TransformerDecoder as TransformerDecoder
from numbagrad.nn.transformer import TransformerDecoderLayer as TransformerDecoderLayer
from numbagrad.nn.transformer import TransformerEncoder as TransformerEncoder
from numbagrad.nn.transformer import TransformerEncoderLayer as TransformerEncoderLayer
from numbagrad.nn.unpooling import FractionalMaxPool2d as FractionalMaxPool2d
from numbagrad.nn.unpooling import FractionalMaxPool3d as FractionalMaxPool3d
from numbagrad.nn.unpooling import MaxUnpool1d as MaxUnpool1d
from numbagrad.nn.unpooling import MaxUnpool2d as MaxUnpool2d
from numbagrad.nn.unpooling import MaxUnpool3d as MaxUnpool3d

class LazyBatchNorm1d(__LazyNorm):
    def __init__(self, *arguments: Any, **keywords: Any) -> None: ...
class LazyBatchNorm2d(__LazyNorm):
    def __init__(self, *arguments: Any, **keywords: Any) -> None: ...
class LazyBatchNorm3d(__LazyNorm):
    def __init__(self, *arguments: Any, **keywords: Any) -> None: ...
class LazyConv1d(__LazyConvolution):
    def __init__(self, *arguments: Any, **keywords: Any) -> None: ...
class LazyConv2d(__LazyConvolution):
    def __init__(self, *arguments: Any, **keywords: Any) -> None: ...
class LazyConv3d(__LazyConvolution):
    def __init__(self, *arguments: Any, **keywords: Any) -> None: ...
class LazyConvTranspose1d(__LazyConvolution):
    def __init__(self, *arguments: Any, **keywords: Any) -> None: ...
class LazyConvTranspose2d(__LazyConvolution):
    def __init__(self, *arguments: Any, **keywords: Any) -> None: ...
class LazyConvTranspose3d(__LazyConvolution):
    def __init__(self, *arguments: Any, **keywords: Any) -> None: ...
class LazyInstanceNorm1d(__LazyNorm):
    def __init__(self, *arguments: Any, **keywords: Any) -> None: ...
class LazyInstanceNorm2d(__LazyNorm):
    def __init__(self, *arguments: Any, **keywords: Any) -> None: ...
class LazyInstanceNorm3d(__LazyNorm):
    def __init__(self, *arguments: Any, **keywords: Any) -> None: ...
