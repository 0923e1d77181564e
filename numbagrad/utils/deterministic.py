"""``torch.utils.deterministic``: whether new memory is filled; kept, and changes nothing."""

__all__ = ["fill_uninitialized_memory"]

#: torch fills what ``empty`` returns while deterministic algorithms are asked for.
fill_uninitialized_memory = True
