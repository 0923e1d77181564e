"""Numbers of every family of kernels, from the ones that come with the package.

``python tools/aarch64_families.py result.npz [level]`` computes them and writes them to a file;
``tools/emulate_aarch64.py`` runs it on this machine and under an emulator. With a level
the process takes the kernels of that level from the package, whatever its CPU says; it prints how
many it had to compile besides.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np


def families(torch: Any) -> dict[str, Any]:
    """Results by name, with the gradients that belong to them; all of seeded inputs."""
    numbers = np.random.default_rng(0)

    def new(*shape: int) -> Any:
        values = numbers.uniform(0.5, 1.5, shape).astype(np.float32)
        return torch.from_numpy(values).requires_grad_()

    nn, results = torch.nn, {}

    def keep(name: str, value: Any, *inputs: Any) -> None:
        results[name] = value.detach().numpy()
        loss = (value * value).sum() if value.dtype.is_floating_point else None
        if loss is not None and inputs:
            grads = torch.autograd.grad(loss, inputs)
            results.update({f"{name}_{k}": grad.numpy() for k, grad in enumerate(grads)})

    x, y = new(8, 12), new(8, 12)
    keep("pointwise", x.exp() * y.relu() + x.tanh(), x, y)
    keep("strided", x.t() + y.t() * 2, x, y)
    keep("reduction", x.sum(1), x)
    keep("product", x @ y.t(), x, y)
    keep("large_product", (big := new(70, 80)) @ (other := new(80, 90)), big, other)
    keep("rows", x.log_softmax(1), x)
    keep("indexing", x[torch.tensor([0, 2, 2])], x)
    keep("sort", x.sort(1).values, x)
    keep("cumulative", x.cumsum(0), x)
    images, filters = new(2, 3, 8, 8), new(4, 3, 3, 3)
    keep("convolution", nn.functional.conv2d(images, filters, padding=1), images, filters)
    keep("pooling", nn.functional.max_pool2d(images, 2), images)
    torch.manual_seed(0)
    layer = nn.LSTM(12, 8)
    keep("recurrent", layer(x.view(4, 2, 12))[0], x)
    keep("norm", nn.LayerNorm(12)(x), x)
    torch.manual_seed(1)
    keep("random", torch.rand(16))
    return results


def main(arguments: list[str]) -> None:
    """Compute, compare what was compiled with what may be, and write the file."""
    import numbagrad
    from numbagrad.codegen import loader
    from numbagrad.executor.cache import library

    if len(arguments) > 1:
        # The emulator says nothing of the CPU's features.
        loader.host_level = lambda: arguments[1]  # type: ignore[assignment]
    results = families(numbagrad)
    print(f"{loader.host_level()}: {library.stats()}")
    np.savez(arguments[0], **results)


if __name__ == "__main__":
    main(sys.argv[1:])
