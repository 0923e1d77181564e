"""``torch.backends.quantized``: what computes with quantized numbers; there are none."""

engine = "none"
supported_engines = ["none"]
