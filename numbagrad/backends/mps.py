"""``torch.backends.mps``: GPUs of Apple; tensors are on the CPU."""


def is_built() -> bool:
    """Whether the library can use them: no."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Whether the system is one of Apple's that has them: never."""
    return False


def is_available() -> bool:
    """Whether tensors can be put there: never."""
    return False
