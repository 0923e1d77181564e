"""``torch.sparse``: sparse matrices; not there."""

from .absent import DENSE, lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    DENSE,
    """SparseSemiStructuredTensor SparseSemiStructuredTensorCUSPARSELT
    SparseSemiStructuredTensorCUTLASS addmm as_sparse_gradcheck check_sparse_tensor_invariants
    log_softmax mm softmax solve sum to_sparse_semi_structured
    BFloat16Tensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor
    ShortTensor""",
)
