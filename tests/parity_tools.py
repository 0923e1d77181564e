"""What tests against live torch share: one function run in both libraries, and comparison."""

import numpy as np
import pytest
import torch

import numbagrad


def both(function, seed=3):
    """What a function of a library returns in numbagrad and in torch, from one seed."""
    results = []
    for library in (numbagrad, torch):
        library.manual_seed(seed)
        results.append(function(library))
    return results


def close(ours, theirs, rtol=2e-5, atol=2e-6):
    """Check that two tensors, or numbers, agree; or that both are None."""
    if theirs is None:
        assert ours is None
        return
    ours = ours.detach().numpy() if isinstance(ours, numbagrad.Tensor) else ours
    theirs = theirs.detach().numpy() if isinstance(theirs, torch.Tensor) else theirs
    assert np.shape(ours) == np.shape(theirs)
    np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=atol)


def message(library, function):
    """Class and text of the error that a function of a library raises."""
    library.manual_seed(3)
    with pytest.raises(Exception) as caught:  # noqa: PT011
        function(library)
    return caught.type, str(caught.value)
