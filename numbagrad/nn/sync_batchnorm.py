"""``SyncBatchNorm``: batch norm whose statistics are those of the batches of all processes."""

from __future__ import annotations

from typing import Any

from ..ops.views.join import cat, stack
from ..tensor import Tensor
from .module import Module
from .normalization import _BatchNorm

__all__ = ["SyncBatchNorm"]


class SyncBatchNorm(_BatchNorm):
    """Batch norm over inputs of two dimensions or more, by the statistics of all ranks' batches.

    In training each rank computes the mean and the sum of squared deviations of its batch, all of
    them are gathered, and joined by the formula of Chan, Golub and LeVeque (1979). Batches may
    differ in size. Without a process group, or with one rank, and in evaluation it is an ordinary
    batch norm.

    Args:
        num_features: channels, the size of dimension 1.
        eps, momentum, affine, track_running_stats, bias: as for ``BatchNorm1d``.
        process_group: which processes share statistics; all without.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        self.process_group = process_group

    def _check_input(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer."""
        if not (self.training or self.running_mean is None) or not self._is_shared():
            return super().forward(input)
        self._check_input(input)
        mean, variance, count = self._statistics(input)
        if self.training and self.track_running_stats:
            self._update(mean.detach(), variance.detach(), count.detach())
        shape = (1, -1, *[1] * (input.dim() - 2))
        scale = (variance + self.eps).rsqrt()
        if self.weight is not None:
            scale = scale * self.weight
        made = (input - mean.reshape(shape)) * scale.reshape(shape)
        return made if self.bias is None else made + self.bias.reshape(shape)

    def _is_shared(self) -> bool:
        from .. import distributed

        if not distributed.is_initialized():
            return False
        return distributed.get_world_size(self.process_group) > 1

    def _statistics(self, input: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The mean and the variance of each channel over all ranks, and the number of values."""
        from ..distributed.nn.functional import all_gather

        values = input.transpose(0, 1).reshape(self.num_features, -1)
        own = values.mean(1) if values.shape[1] else values.sum(1)
        squares = (values - own.unsqueeze(1)).pow(2).sum(1)
        size = own.new_full((1,), values.shape[1])
        gathered = stack(all_gather(cat([own, squares, size]), self.process_group))
        means, sums, sizes = gathered.split([self.num_features, self.num_features, 1], 1)
        count = sizes.sum()
        mean = (means * sizes).sum(0) / count
        variance = (sums + sizes * (means - mean).pow(2)).sum(0) / count
        return mean, variance, count

    def _update(self, mean: Tensor, variance: Tensor, count: Tensor) -> None:
        """Move the running averages on; their variance is the unbiased one."""
        self.num_batches_tracked.add_(1)
        share = self.momentum
        if share is None:  # a plain average over all batches
            share = 1.0 / float(self.num_batches_tracked)
        unbiased = variance * (count / (count - 1).clamp(min=1))
        self.running_mean.mul_(1 - share).add_(mean.to(self.running_mean.dtype), alpha=share)
        self.running_var.mul_(1 - share).add_(unbiased.to(self.running_var.dtype), alpha=share)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """The module with every batch norm in it replaced by this one, of the same state."""
        made = module
        if isinstance(module, _BatchNorm):
            made = cls(
                module.num_features, module.eps, module.momentum, module.affine,
                module.track_running_stats, process_group, bias=module.bias is not None,
            )  # fmt: skip
            # The very parameters and buffers, of their dtypes: optimizers may know them.
            made._parameters.update(module._parameters)
            made._buffers.update(module._buffers)
            made.training = module.training
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made
