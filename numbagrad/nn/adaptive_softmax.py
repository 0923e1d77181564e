"""A softmax over very many classes: frequent ones in a short list, rare ones in clusters.

Grave et al., *Efficient softmax approximation for GPUs* (arXiv:1609.04309).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..ops.creation.filled import zeros
from ..ops.pointwise.selection import where
from ..ops.views.join import cat
from ..tensor import Tensor
from .containers import ModuleList, Sequential
from .functional import log_softmax
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _Result(NamedTuple):
    #: The logarithm of the probability of every target.
    output: Tensor
    #: Minus their mean.
    loss: Tensor


_Result.__name__ = _Result.__qualname__ = "_ASMoutput"


class AdaptiveLogSoftmaxWithLoss(Module):
    """Logarithms of the probabilities of classes, and their loss, where most classes are rare.

    Classes have to be in the order of how frequent they are.

    Args:
        in_features: the size of an input.
        n_classes: how many classes there are.
        cutoffs: the first class of every cluster.
        div_value: cluster i has ``in_features / div_value**(i + 1)`` features.
        head_bias: whether the head, of the short list and the clusters, has a bias.

    Raises:
        ValueError: for cutoffs that do not increase, or lie beyond the classes.
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        ends = list(cutoffs)
        if not ends:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            any(int(end) != end for end in ends)
            or ends != sorted(set(ends))
            or ends[0] <= 0
            or ends[-1] > n_classes - 1
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an "
                "increasing order, where each value is between 1 and n_classes-1"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*ends, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        made = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **made)
        self.tail = ModuleList()
        for number, (first, end) in enumerate(self._clusters(), 1):
            features = int(in_features // div_value**number)
            self.tail.append(
                Sequential(
                    Linear(in_features, features, bias=False, **made),
                    Linear(features, end - first, bias=False, **made),
                )
            )

    def _clusters(self) -> Iterator[tuple[int, int]]:
        """First class and end of every cluster."""
        return zip(self.cutoffs[:-1], self.cutoffs[1:], strict=True)

    def reset_parameters(self) -> None:
        """Draw new weights."""
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input: Tensor, target_: Tensor) -> _Result:
        """The logarithms of the probabilities of targets (N) for inputs (N, features); the loss.

        Raises:
            RuntimeError: for shapes that do not fit, and targets that are no classes.
        """
        rank = target_._array.ndim
        if rank > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if input._array.ndim != rank + 1:
            raise RuntimeError(
                f"{rank}D target tensor expects {rank + 1}D input tensors, but found inputs with "
                f"size {input.size()}"
            )
        if rank and input.size(0) != target_.size(0):
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        inputs, targets = (input, target_) if rank else (input.unsqueeze(0), target_.unsqueeze(0))
        output = self._of_targets(inputs, targets)
        loss = (-output).mean()
        return _Result(output if rank else output.squeeze(0), loss)

    def _of_targets(self, input: Tensor, target: Tensor) -> Tensor:
        size = target.size(0)
        if size and not 0 <= int(target.min()) <= int(target.max()) < self.n_classes:
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{int(target.min())}, {int(target.max())}] were found. "
            )
        in_head = target
        output = zeros(size, dtype=input.dtype, device=input.device)
        for number, (first, end) in enumerate(self._clusters()):
            is_member = (target >= first) & (target < end)
            rows = is_member.nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            in_head = where(is_member, self.shortlist_size + number, in_head)
            scores = log_softmax(self.tail[number](input.index_select(0, rows)), 1)
            members = (target.index_select(0, rows) - first).unsqueeze(1)
            output = output.index_copy(0, rows, scores.gather(1, members).squeeze(1))
        head = log_softmax(self.head(input), 1)
        return output + head.gather(1, in_head.unsqueeze(1)).squeeze(1)

    def _full(self, input: Tensor, head: Tensor) -> Tensor:
        """The logarithms of the probabilities of all classes, given the scores of the head."""
        scores = log_softmax(head, 1)
        parts = [scores[:, : self.shortlist_size]]
        for number, cluster in enumerate(self.tail):
            own = log_softmax(cluster(input), 1)
            parts.append(own + scores[:, self.shortlist_size + number].unsqueeze(1))
        return cat(parts, 1)

    def log_prob(self, input: Tensor) -> Tensor:
        """The logarithms of the probabilities of all classes, (N, classes)."""
        return self._full(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of every input, (N); clusters are asked only where one leads."""
        head = self.head(input)
        best = head.argmax(1)
        in_tail = best >= self.shortlist_size
        if not bool(in_tail.any()):
            return best
        rows = in_tail.nonzero().squeeze(1)
        found = self._full(input.index_select(0, rows), head.index_select(0, rows)).argmax(1)
        return best.index_copy(0, rows, found)
