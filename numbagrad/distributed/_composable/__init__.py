"""``torch.distributed._composable``: the older path of functions that change modules."""
