"""A Function around a user's own @njit loops, soft-DTW, forward and backward, beside torch."""

import pytest
import soft_dtw
import torch

import numbagrad

TABLE = "Functions around @njit kernels"
NAME = "soft-DTW of 8 pairs of series of 48 points, forward and backward; torch has"


@pytest.mark.parametrize("rival", soft_dtw.RIVALS)
def test_soft_dtw(race, rival):
    ours = soft_dtw.step_function(numbagrad, soft_dtw.SoftDTW.apply)
    theirs = soft_dtw.step_function(torch, soft_dtw.torch_rivals()[rival])
    loss, gradient = ours()
    expected_loss, expected_gradient = theirs()
    assert abs(loss - expected_loss) < 1e-4 * abs(expected_loss)
    assert abs(gradient - expected_gradient).max() < 1e-3 * abs(expected_gradient).max()
    race(TABLE, f"{NAME} {rival}", numbagrad=ours, torch=theirs)
