"""Device-side asserts: what a kernel found wrong with values is told where values are read next.

A check of indices, classes or probabilities is a launch (``kernels/losses/checks.py``) that nobody
waits for. It writes a word of pinned memory of the host; every synchronisation looks at it. Kernels
that use the values read and write nothing out of bounds meanwhile. With torch's variable
``CUDA_LAUNCH_BLOCKING=1`` each check is waited for, so that the error comes from the call itself.
"""

from __future__ import annotations

import os

from ..errors import AcceleratorError
from .driver import driver

#: A failure as a word: the number of its subject, counted from 1, above the bits of a size.
_SIZE_BITS = 40
_subjects: dict[str, int] = {}

_TEXTS = {
    "classes": "{subject} is out of bounds for a dimension of size {size}",
    "probabilities": "{subject} is not in [0, 1]",
    "no_negatives": "{subject} is negative",
    "offsets": "{subject} is before the one before, or none at which a bag of the indices begins",
}
_KINDS = tuple(_TEXTS)


def launch_args_of(kernel: str, subject: str, size: int) -> tuple[int, int]:
    """The first two arguments of the launch of a check: where a failure is noted, and as what."""
    (kind,) = [k for k, x in enumerate(_KINDS) if kernel.startswith(x)]
    number = _subjects.setdefault(subject, len(_subjects) + 1)
    return driver().failure_address, (number * len(_KINDS) + kind) << _SIZE_BITS | size


def raise_failure() -> None:
    """Raise for what a kernel has noted, if one has. Called behind every synchronisation.

    Raises:
        AcceleratorError: names the operator.
    """
    word = driver().take_failure()
    if not word:
        return
    number, kind = divmod(word >> _SIZE_BITS, len(_KINDS))
    subject = next(name for name, own in _subjects.items() if own == number)
    size = word & ((1 << _SIZE_BITS) - 1)
    raise AcceleratorError(
        "CUDA error: device-side assert triggered: "
        f"{_TEXTS[_KINDS[kind]].format(subject=subject, size=size)}. The call was made before, and "
        "what was computed since is of no use; with CUDA_LAUNCH_BLOCKING=1 the call itself raises"
    )


def is_blocking() -> bool:
    """Whether the environment asks that launches are waited for."""
    return os.environ.get("CUDA_LAUNCH_BLOCKING", "0") not in ("", "0")
