"""New tensors: filled, from data, of random numbers, sequences and windows."""
