"""Reading and writing by subscripts, index tensors and masks."""
