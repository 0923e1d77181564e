"""Functions that torch had until 1.9 and that raise since; their errors say what to call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from .registry import method

__all__ = ["eig", "lstsq", "matrix_rank", "solve", "symeig"]


def _removed(name: str, instead: str) -> Callable[..., Any]:
    def function(*arguments: Any, **options: Any) -> NoReturn:
        raise RuntimeError(
            f"{name}: This function was deprecated since version 1.9 and is now removed. {instead}"
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Raises RuntimeError: {instead}"
    return function


eig = _removed(
    "eig", "torch.linalg.eig(A) returns complex tensors, and torch.linalg.eigvals(A) values alone."
)
lstsq = _removed("lstsq", "Use torch.linalg.lstsq(B, A), whose arguments are the other way round.")
matrix_rank = _removed("matrix_rank", "Use torch.linalg.matrix_rank(A, hermitian=symmetric).")
solve = _removed("solve", "Use torch.linalg.solve(B, A), whose arguments are the other way round.")
symeig = _removed(
    "symeig", "Use torch.linalg.eigh(A, UPLO='U' if upper else 'L') or torch.linalg.eigvalsh."
)
for _function in (eig, lstsq, solve, symeig):
    method(_function.__name__)(_function)


@method("reinforce")
def _reinforce(self: Any, *arguments: Any, **options: Any) -> NoReturn:
    """Raises RuntimeError: ``torch.distributions`` has what took its place."""
    raise RuntimeError(
        "reinforce() was removed. Use torch.distributions instead: "
        "loss = -Categorical(probabilities).log_prob(action) * reward"
    )
