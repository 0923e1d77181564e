"""``torch.optim.adamw``: AdamW, at torch's path."""

from .adam import AdamW
from .step_functions import step_function

__all__ = ["AdamW", "adamw"]


adamw = step_function(
    AdamW,
    "exp_avgs exp_avg_sqs max_exp_avg_sqs state_steps",
    "foreach capturable differentiable fused grad_scale found_inf has_complex",
    "amsgrad beta1 beta2 lr weight_decay eps maximize",
    decoupled_weight_decay=True,
)
