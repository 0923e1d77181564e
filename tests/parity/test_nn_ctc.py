"""Connectionist temporal classification beside torch: losses, gradients, text, errors."""

import pytest
import torch
from parity_tools import both, close, message

import numbagrad

#: Labels of each sequence, steps of each, steps and classes of the batch.
CASES = {
    "two": ([[1, 2], [3, 3]], [5, 4], 5, 4),
    "unequal": ([[1, 2, 2, 1], [3], [2, 1]], [9, 2, 6], 9, 4),
    "empty": ([[1, 2], []], [4, 3], 6, 3),
    "no steps": ([[1], []], [3, 0], 3, 3),
    "one": ([[2, 1, 2]], [3], 3, 3),
    "long": ([[1 + k % 7 for k in range(20)], [3] * 12], [50, 40], 50, 9),
}


def given(library, case, layout):
    sequences, lengths, steps, classes = CASES[case]
    counts = [len(each) for each in sequences]
    if layout == "row":
        labels = library.tensor([x for each in sequences for x in each])
    else:
        longest = max(counts)
        labels = library.tensor([each + [0] * (longest - len(each)) for each in sequences])
    if layout == "tensors":
        return labels, library.tensor(lengths), library.tensor(counts), steps, classes
    return labels, lengths, counts, steps, classes


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("layout", ["row", "lists", "tensors"])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_losses_and_gradients(case, layout, reduction, dtype):
    def run(library):
        labels, lengths, counts, steps, classes = given(library, case, layout)
        kind = getattr(library, dtype)
        scores = library.randn(steps, len(counts), classes, dtype=kind, requires_grad=True)
        logs = scores.log_softmax(-1)
        logs.retain_grad()
        loss = library.nn.functional.ctc_loss(logs, labels, lengths, counts, reduction=reduction)
        (loss * library.rand(loss.shape)).sum().backward()
        return [loss, logs.grad, scores.grad]

    for mine, reference in zip(*both(run), strict=True):
        close(mine, reference, rtol=1e-4, atol=2e-5 if dtype == "float32" else 1e-10)


@pytest.mark.parametrize("zero", [False, True])
def test_targets_that_do_not_fit(zero):
    def run(library):
        labels = library.tensor([[1, 1, 1], [1, 2, 0]])
        logs = library.randn(4, 2, 3).log_softmax(-1).requires_grad_()
        loss = library.nn.functional.ctc_loss(
            logs, labels, [4, 4], [3, 2], reduction="none", zero_infinity=zero
        )
        loss.sum().backward()
        return [loss, logs.grad]

    for mine, reference in zip(*both(run), strict=True):
        close(mine, reference, atol=1e-5)


def test_a_single_sequence_and_another_blank():
    def run(library):
        logs = library.randn(6, 4).log_softmax(-1).requires_grad_()
        labels = library.tensor([0, 2, 2])
        loss = library.nn.CTCLoss(blank=3)(logs, labels, library.tensor(6), library.tensor(3))
        loss.backward()
        return loss, logs.grad, repr(library.nn.CTCLoss(blank=1, zero_infinity=True))

    ours, theirs = both(run)
    close(ours[0], theirs[0])
    close(ours[1], theirs[1], atol=1e-5)
    assert ours[2] == theirs[2]


def wrong(lib, labels=((1, 2), (3, 3)), lengths=(5, 5), counts=(2, 2), **options):
    kind = getattr(lib, options.pop("dtype", "float32"))
    logs = lib.zeros(5, 2, 4, dtype=kind)
    return lib.nn.functional.ctc_loss(logs, lib.tensor(labels), lengths, counts, **options)


ERRORS = [
    lambda lib: wrong(lib, lengths=[6, 5]),
    lambda lib: wrong(lib, lengths=[-1, 5]),
    lambda lib: wrong(lib, lengths=[5]),
    lambda lib: wrong(lib, counts=[2]),
    lambda lib: wrong(lib, counts=[3, 2]),
    lambda lib: wrong(lib, counts=[2, -2]),
    lambda lib: wrong(lib, [1, 2, 3, 3], counts=[2, 3]),
    lambda lib: wrong(lib, [[1, 2]]),
    lambda lib: wrong(lib, blank=4),
    lambda lib: wrong(lib, blank=-1),
    lambda lib: wrong(lib, dtype="float16"),
    lambda lib: wrong(lib, reduction="x"),
    lambda lib: wrong(lib, lengths=lib.tensor([5.0, 5.0]), counts=lib.tensor([2, 2])),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors_have_the_text_of_torch(number):
    assert message(numbagrad, ERRORS[number]) == message(torch, ERRORS[number])
