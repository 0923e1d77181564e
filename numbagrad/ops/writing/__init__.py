"""Operators in place, and on lists of tensors at once."""
