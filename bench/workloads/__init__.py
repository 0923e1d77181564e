"""The training steps that ``compile`` is measured by, by name."""

from . import (
    blackscholes,
    deep_narrow,
    fused_rows,
    gru,
    lenet,
    mlp_adam,
    pinn,
    recurrence,
    small_many,
    two_layer,
)
from .workload import Task, Workload, difference, outcome

WORKLOADS: dict[str, Workload] = {
    module.workload.name: module.workload
    for module in (
        two_layer, mlp_adam, blackscholes, pinn, gru, deep_narrow, fused_rows, small_many,
        recurrence, lenet,
    )
}  # fmt: skip

__all__ = ["WORKLOADS", "Task", "Workload", "difference", "outcome"]
