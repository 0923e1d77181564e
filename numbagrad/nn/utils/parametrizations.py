"""Parametrizations to register on weights: orthogonal, of given norms, or of spectral norm one."""

from __future__ import annotations

from typing import Any

from ...ops.reductions.statistics import norm_except_dim
from ...tensor import Tensor
from .. import functional as F
from ..convolution import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..functional import weight_normalization as norms
from ..module import Module
from .orthogonal_matrices import MAPS, _Orthogonal
from .parametrize import register_parametrization

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


class _WeightNorm(Module):
    """Slices along a dimension as norms, ``original0``, and directions, ``original1``."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return norms.weight_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Train norms and directions of a weight apart (Salimans and Kingma).

    Args:
        module: the module; it is changed and returned.
        name: its weight. ``parametrizations.<name>.original0`` are the norms, ``original1`` the
            directions; states with ``<name>_g`` and ``<name>_v`` load as well.
        dim: the dimension along which slices have norms of their own; None for one norm.
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename(state_dict: Any, prefix: str, *rest: Any) -> None:
        old = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all(key in state_dict for key in old):
            for number, key in enumerate(old):
                new = f"{prefix}parametrizations.{name}.original{number}"
                state_dict[new] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(rename)
    return module


class _SpectralNorm(Module):
    """A weight over its largest singular value, which the power method finds while training."""

    _u: Tensor
    _v: Tensor

    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        ndim = weight.ndim
        if dim >= ndim or dim < -ndim:
            raise IndexError(
                "Dimension out of range (expected to be in range of "
                f"[-{ndim}, {ndim - 1}] but got {dim})"
            )
        require_iterations(n_power_iterations)
        self.dim = dim if dim >= 0 else dim + ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = norms.as_matrix(weight.detach(), self.dim)
            u, v = [matrix.new_empty(size).normal_(0, 1) for size in matrix.shape]
            self.register_buffer("_u", F.normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", F.normalize(v, dim=0, eps=eps))
            self._iterate(matrix, 15)

    def _iterate(self, matrix: Tensor, steps: int) -> None:
        for _ in range(steps):
            norms.power_step(matrix, self._v, self.eps, self._u)
            norms.power_step(matrix.mH, self._u, self.eps, self._v)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = norms.as_matrix(weight, self.dim)
        if self.training:
            self._iterate(matrix, self.n_power_iterations)
        return norms.spectral_weight(weight, matrix, self._u, self._v)

    def right_inverse(self, value: Tensor) -> Tensor:
        return value  # the norm is not undone: a weight that is assigned is divided, too


def require_iterations(count: int) -> None:
    """Raise torch's error for a power method without steps."""
    if count <= 0:
        raise ValueError(
            f"Expected n_power_iterations to be positive, but got n_power_iterations={count}"
        )


def output_dim(module: Module) -> int:
    """The dimension of a layer's weight that its outputs are along."""
    transposed = (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)
    return 1 if isinstance(module, transposed) else 0


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divide a weight by its largest singular value (Miyato et al., "Spectral Normalization").

    Args:
        module: the module; it is changed and returned.
        name: its weight.
        n_power_iterations: steps of the power method at each call while training.
        eps: what lengths of vectors are at least.
        dim: the dimension that becomes the rows of the matrix, by default that of the outputs.

    Raises:
        ValueError: if there is no such tensor.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = output_dim(module)
    made = _SpectralNorm(weight, n_power_iterations, dim, eps)
    return register_parametrization(module, name, made)


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Module:
    """Keep a weight orthogonal, or unitary: its columns, or its rows if fewer, are orthonormal.

    Args:
        module: the module; it is changed and returned.
        name: its weight, a matrix or a batch of them.
        orthogonal_map: "matrix_exp" (by default for square and complex weights), "cayley", or
            "householder" (by default for others).
        use_trivialization: whether the weight is multiplied with a matrix of its own, so that
            "matrix_exp" and "cayley" can be assigned to.

    Raises:
        ValueError: if there is no such tensor, or it is no matrix, or there is no such map.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions."
        )
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in MAPS:
        raise ValueError(
            'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". '
            f"Got: {orthogonal_map}"
        )
    made = _Orthogonal(weight, orthogonal_map, use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)
