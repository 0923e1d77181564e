"""``torch.utils.data._utils.worker``: what code in a worker can know."""

from ....data.worker import WorkerInfo, get_worker_info

__all__ = ["WorkerInfo", "get_worker_info"]
