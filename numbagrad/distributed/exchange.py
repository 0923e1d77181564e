"""One exchange of arrays: the check that ranks mean the same, eager, asynchronous, or in a program.

``collectives.py`` says what each function exchanges; this calls a communicator. A compiled program
holds an exchange as a call of Python between its launches. When a new program is compared with the
call that it was recorded from, no message is sent: the exchange repeats what came of it.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Callable

import numpy as np

from .. import half_precision as half
from ..executor import capture
from .communicator import Array, Communicator, Requests

__all__ = ["Exchange", "check_agreement", "divide"]

#: Whether ranks compare what they are about to do; ``NUMBAGRAD_DISTRIBUTED_CHECK=0`` spares that.
_CHECKS = os.environ.get("NUMBAGRAD_DISTRIBUTED_CHECK", "1") != "0"


@functools.lru_cache(maxsize=4096)
def _word(text: str) -> int:
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 2


def check_agreement(communicator: Communicator, text: str) -> None:
    """Compare what the ranks are about to do, described by ``text``.

    A number of each text is compared first; only if they differ are the texts exchanged.

    Raises:
        RuntimeError: on every rank, with what this rank and another one do.
    """
    if not _CHECKS or communicator.size == 1 or communicator.agree(_word(text)):
        return
    texts = communicator.objects(text)
    other = next(k for k, each in enumerate(texts) if each != text)
    raise RuntimeError(
        f"ranks disagree about what they exchange: rank {communicator.rank} calls {text}, "
        f"rank {other} calls {texts[other]} (ranks of the group, of {communicator.size})"
    )


def divide(array: Array, count: int) -> None:
    """Divide all elements by a number, in place."""
    if array.dtype.kind in "fc" and array.itemsize > 2:
        np.divide(array, count, out=array)
    else:
        quotient = half.readable(array).astype(np.float32) / np.float32(count)
        array[...] = half.converted(quotient, array.dtype)


class Exchange:
    """``exchange(array, *inputs)``: write ``array`` with what the ranks have.

    Args:
        name: of the public function.
        communicator: between which ranks.
        text: what all ranks have to agree on.
        start: ``start(array, *inputs, blocking)`` on contiguous arrays.
        divisor: what the outcome is divided by; 0 for none.
        share: how much the outcome changes with the own input, of a sum; None if that cannot be
            said.
    """

    def __init__(
        self,
        name: str,
        communicator: Communicator,
        text: str,
        start: Callable[..., Requests],
        divisor: int = 0,
        share: float | None = None,
    ) -> None:
        self.__name__ = name
        self._communicator = communicator
        self._text = text
        self._start = start
        self._divisor = divisor
        self._share = share
        #: The exchange in the captured call: the input, and the outcome.
        self._kept: tuple[Array, Array] | None = None
        self._keeps = capture.active is not None and capture.current_trace() is not None

    def __call__(self, array: Array, *inputs: Array) -> None:
        if capture.rehearsal.active:
            self._repeat(array, inputs)
            return
        source = (inputs[0] if inputs else array).copy() if self._keeps else None
        _, finish = self.begin(array, *inputs, blocking=True)
        finish()
        self._kept = None
        if source is not None:
            self._kept, self._keeps = (source, array.copy()), False

    def begin(
        self, array: Array, *inputs: Array, blocking: bool
    ) -> tuple[Requests, Callable[[], None]]:
        """Start; returns what has to be over, and what is then to be called."""
        check_agreement(self._communicator, self._text)
        whole = np.ascontiguousarray(array)
        given = [np.ascontiguousarray(each) for each in inputs]
        requests = self._start(whole, *given, blocking=blocking)

        def finish() -> None:
            if self._divisor:
                divide(whole, self._divisor)
            if whole is not array:
                array[...] = whole.reshape(array.shape)

        return requests, finish

    def _repeat(self, array: Array, inputs: tuple[Array, ...]) -> None:
        """Write what came of the recorded call, changed as the other input would change it."""
        if not capture.rehearsal.recalls:
            if inputs:
                array[...] = np.resize(inputs[0], array.shape)
            return
        if self._kept is None:
            raise RuntimeError(f"{self.__name__}() cannot be repeated: nothing of it was kept")
        source, outcome = self._kept
        array[...] = changed_outcome(source, inputs[0] if inputs else array, outcome, self._share)


def changed_outcome(source: Array, given: Array, outcome: Array, share: float | None) -> Array:
    """The outcome of an exchange if this rank had given another array than it did.

    Of a sum that is known. Of all else it is the same where the inputs are, but for rounding; where
    they are not, an array that nobody takes for the outcome.
    """
    if np.array_equal(
        half.readable(source), half.readable(given), equal_nan=source.dtype.kind in "fc"
    ):
        return outcome
    if source.dtype.kind not in "fc" or source.itemsize < 4:
        return np.zeros_like(outcome) if outcome.any() else _other(outcome)
    if share is not None:
        return outcome + (given - source) * outcome.dtype.type(share)
    if np.allclose(source, given, rtol=1e-3, atol=1e-5 * float(np.abs(source).max(initial=0.0))):
        return outcome
    return np.full_like(outcome, np.nan)


def _other(outcome: Array) -> Array:
    made = np.zeros_like(outcome)
    made.view(np.uint8)[...] = 1
    return made
