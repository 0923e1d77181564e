"""``torch.autograd.anomaly_mode``: anomaly detection, at torch's path."""

from .anomaly import detect_anomaly, set_detect_anomaly

__all__ = ["detect_anomaly", "set_detect_anomaly"]
