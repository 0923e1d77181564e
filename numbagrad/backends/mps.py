"""``torch.backends.mps``: GPUs of Apple; tensors are on the CPU."""


def is_built() -> bool:
    """Whether the library can use them: no."""
    return False


def is_available() -> bool:
    """Whether tensors can be put there: never."""
    return False
