"""How functions become methods of Tensor, files that are imported on demand, names of 2017."""
