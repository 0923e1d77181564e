"""``torch.backends.mps``: GPUs of Apple; tensors are on the CPU."""

from ..absent import absent

get_core_count = absent(
    "torch.backends.mps.get_core_count",
    "there is no such GPU; ask torch.backends.mps.is_available() first",
)
get_name = absent(
    "torch.backends.mps.get_name",
    "there is no such GPU; ask torch.backends.mps.is_available() first",
)


def is_built() -> bool:
    """Whether the library can use them: no."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Whether the system is one of Apple's that has them: never."""
    return False


def is_available() -> bool:
    """Whether tensors can be put there: never."""
    return False


def is_macos13_or_newer(minor: int = 0) -> bool:
    """Whether the system is macOS 13 or a later one: none that is has a GPU here."""
    return False
