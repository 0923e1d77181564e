"""Operator definitions by family: the one place where it says what an operator computes and what
its gradient is. Importing this package installs the operators as methods of Tensor."""
