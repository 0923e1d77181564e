"""What autograd was in 2017: functions with state, volatile tensors."""
