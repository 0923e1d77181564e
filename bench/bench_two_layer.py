"""A whole eager training step of the two-layer net."""

import torch

import numbagrad

from .two_layer import make_step


def test_step(race):
    race(
        "Training",
        "two-layer net (64-1000-100-10), eager step",
        bar=0.7,
        numbagrad=make_step(numbagrad),
        torch=make_step(torch),
    )
