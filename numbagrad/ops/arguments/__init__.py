"""Checks of arguments of public functions: kinds, shapes, dtypes, ``out``; and the errors."""
