"""Autograd as of 2017: functions with state, volatile tensors."""
