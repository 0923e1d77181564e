"""``torch.backends.mha``: the switch of torch's fast path of attention layers; kept."""

_fastpath = True


def get_fastpath_enabled() -> bool:
    """The last setting of ``set_fastpath_enabled``."""
    return _fastpath


def set_fastpath_enabled(value: bool) -> None:
    """Kept, and changes nothing: there is one path."""
    global _fastpath
    _fastpath = value
