"""Connectionist temporal classification (Graves et al., 2006): losses of unaligned sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...backend import foreign
from ...dispatch.policies import autocasts
from ...dtype import scalar_type_name
from ...executor.families import ctc_loss as sequence_loss
from ...executor.families.checks import check_inside
from ...executor.families.ctc_loss import Targets
from ...executor.memory.arrays import constant, constant_beside, values_on_host
from ...ops.creation.from_data import as_tensor
from ...ops.operators.array_function import array_function
from ...ops.operators.tensor_operator import TensorOperator
from ...ops.pointwise.selection import where
from ...tensor import Tensor, new_tensor
from ...transforms.levels import is_transformed
from ...type_names import type_name
from .checks import Reduction
from .reduction import reduce_loss

__all__ = ["ctc_loss"]

Array = np.ndarray[Any, Any]


def _differentiated(grad: Tensor) -> Tensor:
    """torch's error where the gradient of a loss is differentiated in turn."""
    raise NotImplementedError(
        "derivative for 'ctc_loss_backward' is not implemented: the gradient of ctc_loss() has no "
        "gradient itself; detach() it if none should flow"
    )


_gradient = TensorOperator(
    "ctc_loss_backward",
    lambda grad_output, logs, table, loss, labels, starts, counts, lengths, options: (
        sequence_loss.gradient(
            grad_output, logs, Targets(labels, starts, counts, lengths, *options[:2]), table, loss,
            options[2],
        )
    ),
    {
        "grad_output": lambda grad: _differentiated(grad),
        "logs": lambda grad: _differentiated(grad),
        "table": None,  # type: ignore[dict-item]
        "loss": lambda grad: _differentiated(grad),
        "labels": None,  # type: ignore[dict-item]
        "starts": None,  # type: ignore[dict-item]
        "counts": None,  # type: ignore[dict-item]
        "lengths": None,  # type: ignore[dict-item]
    },
    portable=True,
)  # fmt: skip

#: The losses of a batch. As in torch the gradient is that of the scores behind a log_softmax.
_losses = TensorOperator(
    "ctc_loss",
    lambda logs, table, labels, starts, counts, lengths, options: sequence_loss.losses(
        logs, Targets(labels, starts, counts, lengths, *options[:2]), table
    ),
    {
        "logs": lambda grad, logs, table, result, labels, starts, counts, lengths, options: (
            _gradient(
                grad.contiguous(), logs, table, result, labels, starts, counts, lengths, options
            )
        ),
        "table": None,  # type: ignore[dict-item]
        "labels": None,  # type: ignore[dict-item]
        "starts": None,  # type: ignore[dict-item]
        "counts": None,  # type: ignore[dict-item]
        "lengths": None,  # type: ignore[dict-item]
    },
    grad_fn="CtcLossBackward0",
    portable=True,
)


def _check_kinds(*lengths: Any) -> None:
    """Raise unless the lengths of inputs and targets are two Tensors, or two lists of ints."""
    if all([isinstance(given, Tensor) for given in lengths]):
        return
    for name, given in zip(("input_lengths", "target_lengths"), lengths, strict=True):
        if not isinstance(given, (list, tuple)) or not all([_is_length(x) for x in given]):
            kinds = ", ".join([type_name(x) for x in lengths])
            raise TypeError(
                f"ctc_loss(): argument '{name}' must be a list of ints, or both it and the other "
                f"lengths Tensors, but the lengths are {kinds}"
            )


def _is_length(value: Any) -> bool:
    """Whether an element of a list of lengths is an int, or a Tensor of a single one."""
    if isinstance(value, Tensor):
        return value._array.size == 1 and value._array.dtype.kind in "iu"
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _lengths(name: str, given: Any, batch: int) -> Tensor:
    found = as_tensor(given)
    if found._array.dtype.kind not in "iu" and found._array.size:
        raise RuntimeError(f"{name} must be integral")
    if found.numel() != batch:
        raise RuntimeError(f"{name} must be of size batch_size")
    return found.cpu().long().contiguous().reshape(batch)


@array_function("check")
def _check_lengths(name: str, values: Array, most: int | None) -> None:
    for value in values.tolist():
        if value < 0:
            raise RuntimeError(
                f"Expected {name} to have value at least 0, but got value {value} (while checking "
                "arguments for ctc_loss_allocate_outputs)"
            )
        if most is not None and value > most:
            raise RuntimeError(
                f"Expected {name} to have value at most {most}, but got value {value} (while "
                "checking arguments for ctc_loss_allocate_outputs)"
            )


@array_function("check")
def _check_rows(shape: tuple[int, ...], counts: Array) -> None:
    """Raise torch's error if the targets, side by side or in a row, are shorter than they say."""
    most = int(counts.max(initial=0))
    if len(shape) == 1 and counts.sum() > shape[0]:
        size, position, found = int(counts.sum()), 0, shape[0]
    elif len(shape) == 2 and most > shape[1]:
        size, position, found = most, 1, shape[1]
    else:
        return
    least = "at least " if position else ""
    raise RuntimeError(
        f"Expected tensor to have size {least}{size} at dimension {position}, but got size {found} "
        "for argument #2 'targets' (while checking arguments for ctc_loss_allocate_outputs)"
    )


@array_function("check")
def _check_labels(labels: Array, starts: Array, counts: Array, classes: int) -> None:
    for start, count in zip(starts.tolist(), counts.tolist(), strict=True):
        own = labels[start : start + count]
        if own.size and not 0 <= own.min() <= own.max() < classes:
            raise RuntimeError(f"ctc_loss: targets have to be in [0, {classes})")


@array_function()
def _starts_in_a_row(counts: Array) -> Array:
    return np.cumsum(counts) - counts


@autocasts("float32")
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: Reduction = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the logarithm of the probability of a sequence of labels, however it is aligned.

    The gradient is, as in torch, that of scores whose ``log_softmax`` the log probabilities are.

    Args:
        log_probs: logarithms of probabilities (time, batch, classes), or (time, classes).
        targets: labels (batch, longest), or those of all sequences in a row.
        input_lengths: the number of steps of each sequence.
        target_lengths: the number of labels of each.
        blank: the class that is no label.
        reduction: "mean" divides each loss by the number of its labels first.
        zero_infinity: whether losses of targets longer than their input, and their gradients, are
            zero instead of infinite.

    Raises:
        RuntimeError: for lengths, labels or a blank out of range.
        NotImplementedError: for other dtypes than float32 and float64, and under ``vmap``.
    """
    if is_transformed((log_probs, targets)):
        raise NotImplementedError("ctc_loss under vmap is not supported: pass the batch at once")
    batched = log_probs.ndim == 3
    if not batched:
        log_probs, targets = log_probs.unsqueeze(1), targets.unsqueeze(0)
    kind = log_probs._array.dtype
    if kind not in (np.float32, np.float64):
        name = scalar_type_name(log_probs.dtype)
        raise NotImplementedError(f"\"ctc_loss_cpu\" not implemented for '{name}'")
    _, batch, classes = log_probs.shape
    lengths, counts = _checked_lengths(log_probs, input_lengths, target_lengths, blank)
    labels, starts, states = _labels(targets, counts, batch)
    logs = log_probs.contiguous()
    if foreign(logs._array) is None:
        _check_labels(labels._array, starts, counts._array, classes)
    else:
        labels, starts, counts, lengths = _beside(logs, targets, labels, starts, counts, lengths)
    found = Targets(labels._array, starts, counts._array, lengths._array, states, blank)
    table = new_tensor(sequence_loss.forward(logs._array, found))
    options = states, blank, zero_infinity
    loss = _losses(logs, table, labels, new_tensor(starts), counts, lengths, options)
    if zero_infinity:
        loss = where(loss == float("inf"), 0.0, loss)
    if reduction == "mean":
        loss = loss / counts.clamp(min=1).to(loss.dtype)
    if not batched:
        loss = loss.squeeze(0)
    return reduce_loss(loss, reduction)


def _beside(
    logs: Tensor, targets: Tensor, labels: Tensor, starts: Array, *lengths: Tensor
) -> tuple[Tensor, Array, Tensor, Tensor]:
    """Labels, starts and lengths on the device of the scores; those labels that count are checked.

    Lengths are the host's until here, which has checked them: as torch, ctc_loss() waits for them.
    """
    counts, steps = [new_tensor(constant_beside(logs._array, x._array)) for x in lengths]
    labels = labels.to(logs.device)
    rows = targets._array.shape if targets._array.ndim == 2 else (1, labels.numel())
    total = counts.reshape(-1, 1) if targets._array.ndim == 2 else counts.sum()
    positions = new_tensor(constant_beside(logs._array, np.arange(rows[1])))
    used = where(positions < total, labels.reshape(rows), 0)._array
    explain = _check_labels, labels._array, starts, lengths[0]._array, logs.shape[2]
    check_inside("ctc_loss(): a label", used, logs.shape[2], *explain)
    return labels, constant_beside(logs._array, starts), counts, steps


def _checked_lengths(
    logs: Tensor, input_lengths: Any, target_lengths: Any, blank: int
) -> tuple[Tensor, Tensor]:
    """The lengths of the sequences of a batch, and of their targets, int64."""
    steps, batch, classes = logs.shape
    _check_kinds(input_lengths, target_lengths)
    lengths = _lengths("input_lengths", input_lengths, batch)
    counts = _lengths("target_lengths", target_lengths, batch)
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    _check_lengths("input_lengths", lengths._array, steps)
    _check_lengths("target_lengths", counts._array, None)
    return lengths, counts


def _labels(targets: Tensor, counts: Tensor, batch: int) -> tuple[Tensor, Array, int]:
    """The labels of all targets in a row, where each begins, and the states of the longest."""
    shape = targets._array.shape
    if len(shape) not in (1, 2):
        raise RuntimeError(
            f"ctc_loss(): argument 'targets' must have 1 or 2 dimensions, but has {len(shape)}"
        )
    if len(shape) == 2 and shape[0] != batch:
        raise RuntimeError(
            f"Expected tensor to have size {batch} at dimension 0, but got size {shape[0]} for "
            "argument #2 'targets' (while checking arguments for ctc_loss_allocate_outputs)"
        )
    _check_rows(shape, counts._array)
    labels = targets.long().contiguous().reshape(-1)
    if len(shape) == 2:
        return labels, constant(np.arange(batch) * shape[1]), 2 * shape[1] + 1
    starts = _starts_in_a_row(counts._array)
    reader = "ctc_loss() of targets in a row, whose longest one is a matter of values"
    longest = int(values_on_host(counts._array, reader).max(initial=0))
    return labels, starts, 2 * longest + 1
