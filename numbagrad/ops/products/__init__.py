"""Products of matrices and vectors, contractions, and distances, which are computed by them."""
