"""``torch._inductor``: the compiler behind torch.compile; not there."""

from .absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "numbagrad.compile compiles functions",
    """compile cudagraph_mark_step_begin list_mode_options list_options standalone_compile""",
)
