"""``torch.nn.modules.distance``: distances of vectors, at torch's path."""

from ..distance import CosineSimilarity, PairwiseDistance

__all__ = ["CosineSimilarity", "PairwiseDistance"]
