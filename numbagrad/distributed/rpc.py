"""``torch.distributed.rpc``: calls of other processes; not there."""

from ..absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "there is no communication between processes",
    """AllGatherStates BackendType BackendValue RRef TensorPipeRpcBackendOptions
    backend_registered construct_rpc_backend_options get_worker_info init_backend init_rpc
    is_available method_factory new_method register_backend remote rpc_async rpc_sync shutdown""",
)
