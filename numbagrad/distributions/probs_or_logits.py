"""Distributions of probabilities that are given as such or as log odds."""

from __future__ import annotations

from typing import Any

from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits


class ProbsOrLogits:
    """A distribution with one of two parameters; the other follows from it when it is read."""

    #: Whether the logits are log odds of probabilities, else they are logarithms of a simplex.
    _is_binary = True

    def _take(self, probs: Any, logits: Any, *others: Any) -> Any:
        """Set the parameter that is given; returns the others, broadcast with it.

        Raises:
            ValueError: if both are given, or neither.
        """
        name = self._given(probs, logits)
        *others, self.__dict__[name] = broadcast_all(*others, probs if logits is None else logits)
        return others

    def _given(self, probs: Any, logits: Any) -> str:
        """The name of the parameter that is given."""
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        return "probs" if logits is None else "logits"

    @property
    def _param(self) -> Any:
        return self.__dict__["probs" if "probs" in self.__dict__ else "logits"]

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter."""
        return self._param.size()

    @lazy_property
    def logits(self) -> Any:
        """Log odds, or log probabilities."""
        return probs_to_logits(self.probs, is_binary=self._is_binary)

    @lazy_property
    def probs(self) -> Any:
        """Probabilities."""
        return logits_to_probs(self.logits, is_binary=self._is_binary)
