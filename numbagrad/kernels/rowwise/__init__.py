"""Kernels of whole rows: scans, definitions as softmax, and fused stages."""
