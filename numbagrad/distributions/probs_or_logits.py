"""Distributions of probabilities that are given as such or as log odds."""

from __future__ import annotations

from typing import Any

from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits


class ProbsOrLogits:
    """A distribution with one of two parameters; the other follows from it when it is read."""

    def _take(self, probs: Any, logits: Any, *others: Any) -> Any:
        """Set the parameter that is given; returns the others, broadcast with it.

        Raises:
            ValueError: if both are given, or neither.
        """
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        name, given = ("probs", probs) if logits is None else ("logits", logits)
        *others, self.__dict__[name] = broadcast_all(*others, given)
        return others

    @property
    def _param(self) -> Any:
        return self.__dict__["probs" if "probs" in self.__dict__ else "logits"]

    @lazy_property
    def logits(self) -> Any:
        """Log odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Any:
        """Probabilities."""
        return logits_to_probs(self.logits, is_binary=True)
