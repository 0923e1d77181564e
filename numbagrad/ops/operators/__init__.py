"""Kinds of operators, and their rules: gradients, tangents, what a node saves, launchers.

``base.py`` has what all kinds have in common; begin there.
"""
