"""The families of kernels on ndarrays: a file checks operands, finds the kernel and launches it."""
