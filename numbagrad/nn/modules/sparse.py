"""``torch.nn.modules.sparse``: embeddings, at torch's path."""

from ..embedding import Embedding, EmbeddingBag

__all__ = ["Embedding", "EmbeddingBag"]
