"""``torch.utils.model_zoo``: models from the network, under its old path; see ``hub.py``."""

from ..hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]
