"""Kernels of random numbers, equal to those of torch's CPU generator."""
