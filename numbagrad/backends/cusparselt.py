"""``torch.backends.cusparselt``: cuSPARSELt, which is not used; threads are this library's own."""


def is_available() -> bool:
    """Whether it computes anything: never."""
    return False
