"""``torch.library``: operators of users in the dispatcher; not there."""

from .absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "numbagrad.kernel and autograd.Function make operators of functions of Python",
    """Library custom_op define fallthrough_kernel get_ctx get_kernel impl impl_abstract
    infer_schema register_autocast register_fake register_torch_dispatch register_vmap
    triton_op wrap_triton""",
)
