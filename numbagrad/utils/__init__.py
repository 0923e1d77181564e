"""torch's name of the room ``data``, which is imported when it is first asked for."""

from typing import Any

__all__ = ["data"]


def __getattr__(name: str) -> Any:
    if name == "data":
        from importlib import import_module

        return import_module(".data", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
