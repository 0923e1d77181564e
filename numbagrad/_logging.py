"""``torch._logging``: what torch's compiler says of its work; accepted, and changes nothing."""

from typing import Any

__all__ = ["set_logs", "warning_once"]


def set_logs(**options: Any) -> None:
    """Accepted for torch's sake; ``numbagrad.explain`` shows what a compiled function runs."""


def warning_once(logger_obj: Any, *args: Any, **kwargs: Any) -> None:
    """Have a logger warn, once for each text."""
    key = (logger_obj.name, str(args))
    if key not in _shown:
        _shown.add(key)
        logger_obj.warning(*args, **kwargs)


_shown: set[tuple[str, str]] = set()
