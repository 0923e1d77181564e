"""Weights of convolutions brought into another memory format."""

from __future__ import annotations

from typing import Any, TypeVar

from ...autograd.grad_mode import no_grad
from ..convolution import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from ..module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]

M = TypeVar("M", bound=Module)


def convert_conv2d_weight_memory_format(module: M, memory_format: Any) -> M:
    """Bring the weights of all ``Conv2d`` and ``ConvTranspose2d`` of a module into a memory format.

    Args:
        module: the layer, or what holds layers; it is returned.
        memory_format: as ``torch.channels_last``.
    """
    return _convert(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module: M, memory_format: Any) -> M:
    """Bring the weights of all ``Conv3d`` and ``ConvTranspose3d`` of a module into a memory format.

    Args:
        module: the layer, or what holds layers; it is returned.
        memory_format: as ``torch.channels_last_3d``.
    """
    return _convert(module, (Conv3d, ConvTranspose3d), memory_format)


def _convert(module: M, layers: tuple[type[Module], ...], memory_format: Any) -> M:
    with no_grad():
        for layer in module.modules():
            if isinstance(layer, layers):
                weight: Any = layer.weight
                weight.data = weight.detach().clone().contiguous(memory_format=memory_format)
    return module
