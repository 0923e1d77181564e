"""``torch.nn.parallel.scatter_gather``: batches on several devices; here there is one."""

from ...absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__, "tensors are on one device, the CPU", "gather is_namedtuple scatter scatter_kwargs"
)
