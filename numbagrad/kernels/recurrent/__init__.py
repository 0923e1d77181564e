"""Kernels of recurrent layers: all steps of a layer in one launch."""
