"""Kernels that read, write and sum elements which arrays of indices choose."""
