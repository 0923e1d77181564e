"""Connectionist temporal classification without torch: all alignments summed up, gradients."""

import itertools

import numpy as np
import pytest
from compile_checks import assert_compiled

import numbagrad as ng
from numbagrad.autograd import gradcheck

F = ng.nn.functional


def by_alignments(logs, labels):
    """The loss by its definition: paths are joined where they repeat, then blanks are left out."""
    total = 0.0
    for path in itertools.product(range(logs.shape[1]), repeat=logs.shape[0]):
        joined = [label for label, _ in itertools.groupby(path) if label != 0]
        if joined == labels:
            total += np.exp(sum(logs[t, label] for t, label in enumerate(path)))
    return -np.log(total)


@pytest.mark.parametrize("labels", [[1, 2], [1, 1], [2], [], [1, 2, 1]])
def test_the_loss_is_that_of_all_alignments(labels):
    ng.manual_seed(0)
    logs = ng.randn(5, 3, dtype=ng.float64).log_softmax(-1)
    found = F.ctc_loss(logs, ng.tensor(labels or [0]), [5], [len(labels)], reduction="sum")
    assert found.item() == pytest.approx(by_alignments(logs.numpy(), labels), rel=1e-12)


def test_gradients_of_scores():
    ng.manual_seed(0)
    scores = ng.randn(6, 3, 4, dtype=ng.float64, requires_grad=True)
    labels = ng.tensor([[1, 2, 2], [3, 1, 0], [2, 0, 0]])

    def loss(scores):
        return F.ctc_loss(scores.log_softmax(-1), labels, [6, 5, 4], [3, 2, 0], reduction="none")

    assert gradcheck(loss, (scores,))


def test_what_a_backward_reads_must_not_be_written():
    logs = ng.zeros(4, 1, 3).log_softmax(-1).requires_grad_()
    labels = ng.tensor([[1, 2]])
    loss = F.ctc_loss(logs, labels, [4], [2])
    labels.fill_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_there_is_no_second_derivative():
    logs = ng.zeros(4, 1, 3).log_softmax(-1).requires_grad_()
    loss = F.ctc_loss(logs, ng.tensor([[1, 2]]), [4], [2])
    with pytest.raises(RuntimeError, match="the gradient of ctc_loss.. has no gradient"):
        ng.autograd.grad(ng.autograd.grad(loss, logs, create_graph=True)[0].sum(), logs)


def test_labels_that_are_no_classes_are_refused():
    for label in (-1, 3):
        with pytest.raises(RuntimeError, match="targets have to be in"):
            F.ctc_loss(ng.zeros(4, 1, 3), ng.tensor([[label, 1]]), [4], [2])
    F.ctc_loss(ng.zeros(4, 1, 3), ng.tensor([[1, -1]]), [4], [1])  # padding may be anything


def test_a_compiled_step_follows_labels_and_lengths():
    ng.manual_seed(0)
    layer = ng.nn.Linear(3, 4)
    x = ng.randn(6, 2, 3)

    def step(labels, lengths, counts):
        layer.zero_grad()
        loss = F.ctc_loss(layer(x).log_softmax(-1), labels, lengths, counts)
        loss.backward()
        return loss, layer.weight.grad.clone()

    compiled = ng.compile(step)
    for labels, lengths, counts in (
        ([[1, 2], [3, 1]], [6, 5], [2, 2]), ([[1, 2], [3, 1]], [6, 5], [2, 2]),
        ([[2, 2], [1, 0]], [4, 6], [2, 1]), ([[3, 0], [1, 1]], [1, 3], [1, 2]),
    ):  # fmt: skip
        given = [ng.tensor(each) for each in (labels, lengths, counts)]
        for mine, reference in zip(compiled(*given), step(*given), strict=True):
            np.testing.assert_allclose(
                mine.detach().numpy(), reference.detach().numpy(), rtol=1e-5, atol=1e-6
            )
    assert_compiled(compiled)
    with pytest.raises(RuntimeError, match="at most 6, but got value 7"):
        compiled(ng.tensor([[1, 2], [3, 1]]), ng.tensor([7, 5]), ng.tensor([2, 2]))
