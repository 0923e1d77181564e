"""``torch.fx.passes``: what walks over graphs."""
