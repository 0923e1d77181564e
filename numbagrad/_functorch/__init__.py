"""``torch._functorch``: the inside of torch.func; not there, but names for containers."""

from ..absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "use numbagrad.func",
    """apis autograd_function batch_norm_replacement config deprecated eager_transforms einops
    functional_call make_functional predispatch pyfunctorch utils""",
)
