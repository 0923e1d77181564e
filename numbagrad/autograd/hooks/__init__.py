"""Hooks of tensors, of the creation of nodes and of what nodes save."""
