"""Errors that programs catch by torch's names, and that nothing here raises: there is no GPU."""

__all__ = ["AcceleratorError", "OutOfMemoryError"]


class OutOfMemoryError(RuntimeError):
    """A GPU has no memory left. On a CPU that is MemoryError."""


class AcceleratorError(RuntimeError):
    """Something failed on a GPU."""
