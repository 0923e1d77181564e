"""``Backend``: the names of what carries tensors between processes."""

from __future__ import annotations

__all__ = ["Backend"]


class Backend(str):
    """The name of a backend, in small letters; ``MPI`` is the one that groups here have."""

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    UCC = "ucc"
    MPI = "mpi"
    XCCL = "xccl"
    #: The backend of groups by default, by the kind of device of their tensors.
    default_device_backend_map = {"cpu": MPI}

    def __new__(cls, name: str) -> Backend:
        """Raises ValueError for what is no str."""
        if not isinstance(name, str):
            raise ValueError(f"Backend name must be a string, but got: {name}")
        return super().__new__(cls, name.lower())
