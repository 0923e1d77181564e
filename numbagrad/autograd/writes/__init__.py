"""Writes in place: who may be written, and how histories follow the memory."""
