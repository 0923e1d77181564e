"""``torch.utils.deterministic``: whether new memory is filled for deterministic algorithms."""

__all__ = ["fill_uninitialized_memory"]

#: Whether what ``empty`` returns is filled while deterministic algorithms are asked for.
fill_uninitialized_memory = True
