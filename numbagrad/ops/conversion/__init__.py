"""Other dtypes and devices, what tensors say of themselves, and their storages."""
