"""``torch._classes``: classes of extensions in C++; there are none."""

from .absent import lacking

__all__, __getattr__, __dir__ = lacking(__name__, "there are no extensions in C++", "classes")
