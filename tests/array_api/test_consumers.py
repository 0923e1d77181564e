"""Libraries that take arrays of any namespace: array-api-compat, scikit-learn and SciPy.

SciPy decides when it is imported, by an environment variable, whether it does; so these tests run
in a process of their own, with ``make array-api``.
"""

from __future__ import annotations

import os

os.environ["SCIPY_ARRAY_API"] = "1"

import array_api_compat  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402
import scipy.fft  # noqa: E402
import scipy.special  # noqa: E402
import scipy.stats  # noqa: E402
import sklearn  # noqa: E402
from sklearn.decomposition import PCA  # noqa: E402
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis  # noqa: E402
from sklearn.linear_model import Ridge  # noqa: E402
from sklearn.metrics import mean_squared_error  # noqa: E402
from sklearn.preprocessing import MinMaxScaler, StandardScaler  # noqa: E402

import numbagrad  # noqa: E402
from numbagrad import array_api as xp  # noqa: E402

NUMBERS = np.random.default_rng(0).normal(size=(60, 4))
LABELS = (NUMBERS[:, 0] > 0).astype(np.int64)


def test_compat_finds_the_namespace():
    x = xp.asarray(NUMBERS)
    assert array_api_compat.array_namespace(x, xp.ones(2)) is xp
    assert array_api_compat.is_array_api_obj(x)
    assert str(array_api_compat.device(x)) == "cpu"
    assert array_api_compat.size(x) == 240
    assert array_api_compat.to_device(x, "cpu") is x
    with pytest.raises(TypeError, match="[Mm]ultiple namespaces"):
        array_api_compat.array_namespace(x, NUMBERS)


ESTIMATORS = {
    "MinMaxScaler": lambda x, y: MinMaxScaler().fit_transform(x),
    "StandardScaler": lambda x, y: StandardScaler().fit_transform(x),
    "PCA": lambda x, y: PCA(2, svd_solver="full").fit_transform(x),
    "LinearDiscriminantAnalysis": lambda x, y: LinearDiscriminantAnalysis().fit(x, y).predict(x),
    "Ridge": lambda x, y: Ridge(solver="svd").fit(x, x[:, 0]).predict(x),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_scikit_learn(name):
    """Estimators compute with the arrays they are given, and give such arrays back."""
    expected = ESTIMATORS[name](NUMBERS, LABELS)
    with sklearn.config_context(array_api_dispatch=True):
        found = ESTIMATORS[name](xp.asarray(NUMBERS), xp.asarray(LABELS))
    assert isinstance(found, numbagrad.Tensor)
    np.testing.assert_allclose(np.abs(found.numpy()), np.abs(expected), atol=1e-10)


def test_scikit_learn_metric():
    x = xp.asarray(NUMBERS)
    with sklearn.config_context(array_api_dispatch=True):
        found = mean_squared_error(x[:, 0], x[:, 1])
    assert found == pytest.approx(np.mean((NUMBERS[:, 0] - NUMBERS[:, 1]) ** 2))


FUNCTIONS = {
    "zscore": lambda x: scipy.stats.zscore(x),
    "skew": lambda x: scipy.stats.skew(x),
    "pearsonr": lambda x: scipy.stats.pearsonr(x[:, 0], x[:, 1]).statistic,
    "ttest_ind": lambda x: scipy.stats.ttest_ind(x[:, 0], x[:, 1]).pvalue,
    "logsumexp": lambda x: scipy.special.logsumexp(x, axis=1),
    "fft": lambda x: scipy.fft.fft(x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_scipy(name):
    expected = FUNCTIONS[name](NUMBERS)
    found = FUNCTIONS[name](xp.asarray(NUMBERS))
    assert isinstance(found, numbagrad.Tensor)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-10, atol=1e-12)
