"""``torch.nn.attention.flex_attention``: attention compiled from functions of scores; not there."""

from ...absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "write the scores with Tensors, or give scaled_dot_product_attention an attn_mask",
    """AuxOutput AuxRequest BlockMask FlexKernelOptions and_masks create_block_mask create_mask
    flex_attention noop_mask or_masks""",
)

#: The size of the blocks of a mask, which libraries take over as their default.
_DEFAULT_SPARSE_BLOCK_SIZE = 128
