"""Operators of torchaudio's extension: the loops of filters whose output is fed back.

Without them ``import torchaudio`` fails, and with it every library that asks whether torchaudio is
installed. The losses of transducers and forced alignment are named and have no function.
"""

from __future__ import annotations

import numba

from ..library import custom_op, define
from ..ops.operators.user_kernel import kernel
from ..tensor import Tensor

__all__: list[str] = []


@kernel(shapes=lambda x, feedback, past: past)
@numba.njit
def _feedback_filter(x, feedback, past, y):
    batch, channels, samples = x.shape
    order = feedback.shape[1]
    y[...] = past
    for i in range(batch):
        for j in range(channels):
            for t in range(samples):
                value = x[i, j, t]
                for k in range(order):
                    value -= y[i, j, t + k] * feedback[j, k]
                y[i, j, t + order - 1] = value


@kernel(shapes=lambda waveform, bent, last_in, last_out: waveform)
@numba.njit
def _overdriven(waveform, bent, last_in, last_out, y):
    for j in range(waveform.shape[0]):
        before, state = last_in[j], last_out[j]
        for t in range(waveform.shape[1]):
            state = bent[j, t] - before + 0.995 * state
            before = bent[j, t]
            y[j, t] = waveform[j, t] * 0.5 + state * 0.75


@custom_op("torchaudio::_lfilter_core_loop", mutates_args=("output",))
def lfilter_core_loop(input: Tensor, coefficients: Tensor, output: Tensor) -> None:
    """Write y[t] = x[t] - sum_k a[k] y[t - order + 1 + k] into ``output``.

    Args:
        input: of shape (batch, channels, samples).
        coefficients: of shape (channels, order), the last one first.
        output: of shape (batch, channels, samples + order - 1); its first values are the past.
    """
    output.copy_(_feedback_filter(input, coefficients, output))


@custom_op("torchaudio::_overdrive_core_loop", mutates_args=("output",))
def overdrive_core_loop(
    waveform: Tensor, bent: Tensor, last_in: Tensor, last_out: Tensor, output: Tensor
) -> None:
    """Write the overdriven ``waveform`` into ``output``; all are of shape (channels, samples)."""
    output.copy_(_overdriven(waveform, bent, last_in, last_out))


@custom_op("_torchaudio::cuda_version", mutates_args=())
def cuda_version() -> None:
    """None: built without CUDA."""


@custom_op("_torchaudio::is_align_available", mutates_args=())
def is_align_available() -> bool:
    """False: forced alignment has no function here."""
    return False


for _name in ("forced_align", "rnnt_loss_forward", "rnnt_loss_backward"):
    define(f"torchaudio::{_name}", "")
