"""``torch.distributed.rpc``: calls of other processes; not there."""

from ..absent import lacking

_absent, __getattr__, __dir__ = lacking(
    __name__,
    "processes exchange tensors (numbagrad.distributed), and do not call each other",
    """AllGatherStates BackendType BackendValue RRef TensorPipeRpcBackendOptions
    backend_registered construct_rpc_backend_options get_worker_info init_backend init_rpc
    method_factory new_method register_backend remote rpc_async rpc_sync shutdown""",
)

__all__ = ["is_available"]


def is_available() -> bool:
    """False: there are no calls of other processes."""
    return False
