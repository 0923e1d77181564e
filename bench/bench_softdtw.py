"""A Function around a user's own @njit loops, soft-DTW, forward and backward, beside torch."""

import soft_dtw
import torch

import numbagrad

TABLE = "Functions around @njit kernels"
NAME = "soft-DTW of 8 pairs of series of 48 points, forward and backward"


def steps():
    """The step of the example, for each contestant; they agree on loss and gradient."""
    rivals = soft_dtw.torch_rivals()
    made = {"numbagrad": soft_dtw.step_function(numbagrad, soft_dtw.SoftDTW.apply)}
    for name, function in zip(("torch", "operators"), rivals.values(), strict=True):
        made[name] = soft_dtw.step_function(torch, function)
    expected_loss, expected_gradient = made["torch"]()
    for step in made.values():
        loss, gradient = step()
        assert abs(loss - expected_loss) < 1e-4 * abs(expected_loss)
        assert abs(gradient - expected_gradient).max() < 1e-3 * abs(expected_gradient).max()
    return made


def test_soft_dtw(race):
    ours, loops, operators = steps().values()
    race(TABLE, f"{NAME}; torch: the same loops", numbagrad=ours, torch=loops)
    race(TABLE, f"{NAME}; torch: its operators", numbagrad=ours, torch=operators)
