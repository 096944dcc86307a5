"""Functions of SciPy and scikit-learn, on tensors and on the same NumPy arrays.

Run as a program it prints, for each function of a library, what went wrong, as JSON:
SciPy has to find SCIPY_ARRAY_API in the environment when it is imported.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

Cases = dict[str, Callable[..., Any]]

SCIPY: Final = (
    "cumulative_trapezoid", "detrend", "fft", "fftconvolve", "fftn", "gaussian_filter",
    "gmean", "hilbert", "kurtosis", "log_softmax", "logsumexp", "pearsonr", "quantile",
    "resample", "rfft", "rotation", "skew", "softmax", "ttest_ind", "vq", "whiten",
    "xlogy", "zscore",
)  # fmt: skip
SKLEARN: Final = (
    "LabelEncoder", "LinearDiscriminantAnalysis", "MaxAbsScaler", "MinMaxScaler",
    "Normalizer", "PCA", "PolynomialFeatures", "Ridge", "StandardScaler",
    "accuracy_score", "confusion_matrix", "cosine_similarity", "euclidean_distances",
    "f1_score", "log_loss", "mean_squared_error", "r2_score", "rbf_kernel",
    "train_test_split",
)  # fmt: skip


def scipy_cases() -> Cases:
    """Functions of SciPy that take an array of the standard, of 20 numbers."""
    from scipy import fft, integrate, ndimage, signal, special, stats
    from scipy.cluster import vq
    from scipy.spatial.transform import Rotation

    return {
        "fft": fft.fft,
        "rfft": fft.rfft,
        "fftn": lambda x: fft.fftn(x.reshape(4, 5)),
        "cumulative_trapezoid": integrate.cumulative_trapezoid,
        "logsumexp": special.logsumexp,
        "softmax": special.softmax,
        "log_softmax": special.log_softmax,
        "xlogy": lambda x: special.xlogy(x, x),
        "zscore": stats.zscore,
        "skew": stats.skew,
        "kurtosis": stats.kurtosis,
        "gmean": stats.gmean,
        "ttest_ind": lambda x: stats.ttest_ind(x, x * x).pvalue,
        "pearsonr": lambda x: stats.pearsonr(x, x * x).statistic,
        "quantile": lambda x: stats.quantile(x, 0.3),
        "hilbert": signal.hilbert,
        "detrend": signal.detrend,
        "fftconvolve": lambda x: signal.fftconvolve(x, x),
        "resample": lambda x: signal.resample(x, 10),
        "whiten": lambda x: vq.whiten(x.reshape(10, 2)),
        "vq": lambda x: vq.vq(x.reshape(10, 2), x.reshape(10, 2)[:3])[1],
        "gaussian_filter": lambda x: ndimage.gaussian_filter(x, 1.0),
        "rotation": lambda x: Rotation.from_rotvec(x[:3]).as_matrix(),
    }


def sklearn_cases() -> Cases:
    """What scikit-learn makes of features, classes, targets and probabilities."""
    from sklearn import metrics, model_selection, preprocessing
    from sklearn.decomposition import PCA
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import Ridge
    from sklearn.metrics import pairwise

    def scaled(name: str, *args: Any) -> Callable[..., Any]:
        return lambda x, *_: getattr(preprocessing, name)(*args).fit_transform(x)

    return {
        "StandardScaler": scaled("StandardScaler"),
        "MinMaxScaler": scaled("MinMaxScaler"),
        "MaxAbsScaler": scaled("MaxAbsScaler"),
        "Normalizer": scaled("Normalizer"),
        "PolynomialFeatures": scaled("PolynomialFeatures", 2),
        "LabelEncoder": lambda x, y, *_: preprocessing.LabelEncoder().fit_transform(y),
        "PCA": lambda x, *_: abs(PCA(2, svd_solver="full").fit_transform(x)),
        "Ridge": lambda x, y, t, p: Ridge(solver="svd").fit(x, t).coef_,
        "LinearDiscriminantAnalysis": lambda x, y, *_: (
            LinearDiscriminantAnalysis().fit(x, y).predict(x)
        ),
        "accuracy_score": lambda x, y, *_: metrics.accuracy_score(y, y),
        "f1_score": lambda x, y, *_: metrics.f1_score(y, y),
        "confusion_matrix": lambda x, y, *_: metrics.confusion_matrix(y, y),
        "mean_squared_error": lambda x, y, t, p: metrics.mean_squared_error(t, p),
        "r2_score": lambda x, y, t, p: metrics.r2_score(t, p),
        "log_loss": lambda x, y, t, p: metrics.log_loss(y, p),
        "cosine_similarity": lambda x, *_: pairwise.cosine_similarity(x),
        "euclidean_distances": lambda x, *_: pairwise.euclidean_distances(x),
        "rbf_kernel": lambda x, *_: pairwise.rbf_kernel(x),
        "train_test_split": lambda x, *_: model_selection.train_test_split(
            x, random_state=0
        )[0],
    }


def wrong(function: Callable[..., Any], arrays: list[Any], dispatches: Any) -> str:
    """What a function does otherwise with tensors than with arrays; "" if nothing."""
    import dovetail as dt

    expected = np.asarray(function(*(a.copy() for a in arrays)))
    with dispatches:
        found = function(*map(dt.tensor, arrays))
    if expected.ndim and not isinstance(found, dt.Tensor | np.ndarray):
        return f"a {type(found).__name__} instead of a tensor"
    close = np.allclose(np.asarray(found), expected, rtol=1e-5, atol=1e-8)
    return "" if close else f"{found} instead of {expected}"


def main(library: str) -> None:
    """Print what goes wrong in each function of a library."""
    from contextlib import nullcontext

    draws = np.random.default_rng(0)
    numbers = draws.random((40, 5))
    if library == "scipy":
        cases, arrays, dispatches = scipy_cases(), [draws.random(20)], nullcontext
    else:
        from sklearn import config_context

        cases = sklearn_cases()
        classes = (numbers[:, 0] > 0.5).astype(np.int64)
        arrays = [numbers, classes, numbers.sum(1), draws.uniform(0.1, 0.9, 40)]

        def dispatches() -> Any:
            return config_context(array_api_dispatch=True)

    told = {}
    for name, function in cases.items():
        try:
            told[name] = wrong(function, arrays, dispatches())
        except Exception as error:
            told[name] = f"{type(error).__name__}: {error}"
    print(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1])
