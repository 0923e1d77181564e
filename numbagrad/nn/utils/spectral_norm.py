"""Spectral normalization as a hook before ``forward``: what torch had before parametrizations."""

from __future__ import annotations

from typing import Any

from ...absent import absent
from ...autograd.grad_mode import no_grad
from ...tensor import Tensor
from .. import functional as F
from ..functional import weight_normalization as norms
from ..module import Module
from ..parameter import Parameter
from .parametrizations import output_dim, require_iterations

__all__ = ["SpectralNorm", "remove_spectral_norm", "spectral_norm"]


class SpectralNorm:
    """The hook: it divides ``name_orig`` by its largest singular value, and sets ``name``.

    The vectors of the power method are the buffers ``name_u`` and ``name_v``.
    """

    #: Version of the layout of the state, which torch keeps in its metadata.
    _version = 1

    def __init__(
        self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        require_iterations(n_power_iterations)
        self.name = name
        self.dim = dim
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """The weight, after some steps of the power method if asked."""
        weight, u, v = [getattr(module, f"{self.name}_{each}") for each in ("orig", "u", "v")]
        matrix = norms.as_matrix(weight, self.dim)
        if do_power_iteration:
            for _ in range(self.n_power_iterations):
                norms.power_step(matrix.t(), u, self.eps, v)
                norms.power_step(matrix, v, self.eps, u)
        return norms.spectral_weight(weight, matrix, u, v)

    @staticmethod
    def apply(
        module: Module, name: str, n_power_iterations: int, dim: int, eps: float
    ) -> SpectralNorm:
        """Replace a parameter by the original and two buffers, and register the hook."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, SpectralNorm) and hook.name == name:
                raise RuntimeError(
                    f"Cannot register two spectral_norm hooks on the same parameter {name}"
                )
        made = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        with no_grad():
            sizes = norms.as_matrix(weight, dim).shape
            u, v = [
                F.normalize(weight.new_empty(size).normal_(0, 1), dim=0, eps=eps) for size in sizes
            ]
        delattr(module, name)
        module.register_parameter(f"{name}_orig", weight)
        setattr(module, name, weight.data)  # for what expects it before the first call
        module.register_buffer(f"{name}_u", u)
        module.register_buffer(f"{name}_v", v)
        module.register_forward_pre_hook(made)
        module._register_state_dict_hook(_StateHook(made))
        return made

    def remove(self, module: Module) -> None:
        """Let the weight be a parameter again."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for name in (self.name, *[f"{self.name}_{each}" for each in ("u", "v", "orig")]):
            delattr(module, name)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))


class _StateHook:
    """Writes the version of the layout into the metadata of a state."""

    def __init__(self, hook: SpectralNorm) -> None:
        self.hook = hook

    def __call__(self, module: Module, state_dict: Any, prefix: str, metadata: Any) -> None:
        versions = metadata.setdefault("spectral_norm", {})
        key = f"{self.hook.name}.version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.hook._version


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divide a weight by its largest singular value; ``parametrizations.spectral_norm`` is newer.

    Args:
        module: the module; it is changed and returned.
        name: its weight.
        n_power_iterations: steps of the power method at each call while training.
        eps: what lengths of vectors are at least.
        dim: the dimension that becomes the rows of the matrix, by default that of the outputs.
    """
    if dim is None:
        dim = output_dim(module)
    SpectralNorm.apply(module, name, n_power_iterations, dim, eps)
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Undo ``spectral_norm``: the weight keeps its value.

    Raises:
        ValueError: if there is none of that name.
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            break
    else:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    for key, each in module._state_dict_hooks.items():
        if isinstance(each, _StateHook) and each.hook.name == name:
            del module._state_dict_hooks[key]
            break
    return module


_REASON = "files of versions before 1.0 are not converted"
SpectralNormLoadStateDictPreHook = absent(
    "torch.nn.utils.spectral_norm.SpectralNormLoadStateDictPreHook", _REASON
)
SpectralNormStateDictHook = absent(
    "torch.nn.utils.spectral_norm.SpectralNormStateDictHook", _REASON
)
