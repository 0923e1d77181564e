"""compile(): training scripts as people write them, beside the same scripts uncompiled."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from compile_checks import assert_compiled
from training_scripts import SCRIPTS, packed_sequences

import numbagrad

#: Scripts whose steps are cut: lengths decide on sizes.
IN_PIECES = {packed_sequences}


@pytest.mark.parametrize("script", SCRIPTS)
def test_script(script):
    made = []

    def compiled(function):
        made.append(numbagrad.compile(function, fullgraph=script not in IN_PIECES))
        return made[-1]

    outcomes = []
    for compile in (lambda function: function, compiled):
        numbagrad.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if script in IN_PIECES else "error")
            warnings.simplefilter("ignore", FutureWarning)
            found, trained = script(numbagrad, compile)
        outcomes.append([x.detach().numpy() for x in (*found, *trained)])
    for a, b in zip(*outcomes, strict=True):
        np.testing.assert_allclose(b, a, rtol=2e-3, atol=2e-5)
    for each in made:
        if script not in IN_PIECES:
            assert_compiled(each)
