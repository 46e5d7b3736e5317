"""64-bit integers for the user's code, where pandas, scikit-learn and SciPy find, count and label.

They make such numbers with the machine's width. These functions of theirs widen what they return to
a cell or a script, and to libraries return it as it is.
"""

import functools
import sys

from wasm_guest import after_import

_PANDAS = "/pandas/"
_SOUGHT = ("argsort", "argmax", "argmin", "factorize", "searchsorted")
_GROUPING = ("AffinityPropagation", "AgglomerativeClustering", "Birch", "DBSCAN", "MeanShift")
_RESULTS = {
    "pandas": (
        *("factorize", "cut", "qcut", "Index.get_indexer", "Index.get_indexer_for"),
        *(f"{kind}.{name}" for kind in ("Series", "Index") for name in _SOUGHT),
    ),
    "scipy.signal": ("find_peaks", "argrelextrema", "argrelmax", "argrelmin"),
    "scipy.spatial": ("KDTree.query",),
    "scipy.stats": ("binned_statistic", "describe", "mode", "ttest_1samp", "ttest_rel"),
    "sklearn.base": ("OutlierMixin.fit_predict",),
    "sklearn.cluster": tuple(
        f"{kind}.{name}" for kind in _GROUPING for name in ("fit", "fit_predict")
    ),
    "sklearn.ensemble": ("IsolationForest.predict",),
    "sklearn.feature_selection": ("_base.SelectorMixin.get_support",),
    "sklearn.mixture": ("_base.BaseMixture.predict", "_base.BaseMixture.fit_predict"),
    "sklearn.neighbors": ("_base.KNeighborsMixin.kneighbors",),
    "sklearn.preprocessing": (
        "label_binarize",
        *(
            f"{kind}.{name}"
            for kind in ("LabelEncoder", "LabelBinarizer", "MultiLabelBinarizer")
            for name in ("fit_transform", "transform")
        ),
    ),
}


def install():
    """Have the functions changed where their modules are, and as soon as they come."""
    for name in _RESULTS:
        after_import.change(name, _complete)


def _complete(module):
    for path in _RESULTS[module.__name__]:
        *parts, name = path.split(".")
        owner = functools.reduce(getattr, parts, module)
        plain = getattr(owner, name)
        if not hasattr(plain, "_is_wide"):
            setattr(owner, name, _widening(plain, is_of_pandas=module.__name__ == "pandas"))


def _widening(plain, *, is_of_pandas):
    @functools.wraps(plain)
    def find(*args, **kwargs):
        result = plain(*args, **kwargs)
        caller = sys._getframe(1).f_code.co_filename
        if caller.startswith("/usr/") and (is_of_pandas or _PANDAS not in caller):
            return result
        # What pandas calls for somebody (``frame.apply``) is called by that one.
        return _widened(result)

    find._is_wide = True
    return find


def _widened(result):
    """What a function of theirs returns, with wide integers in it."""
    from wasm_guest.integer_width import NARROW, all_widened, widened

    if isinstance(result, dict):
        # Properties of peaks.
        for key, value in result.items():
            result[key] = _widened(value)
        return result
    if hasattr(result, "labels_"):
        result.labels_ = widened(result.labels_)
        return result
    if hasattr(result, "_make"):
        return result._make(map(_widened, result))
    if type(result) is tuple:
        return tuple(map(_widened, result))
    if hasattr(result, "columns"):
        narrow = [name for name, kind in result.dtypes.items() if kind.char == NARROW]
        return result.astype(dict.fromkeys(narrow, "int64")) if narrow else result
    if isinstance(result, tuple):
        # SciPy's results of tests are tuples with attributes.
        vars(result).update({name: widened(value) for name, value in vars(result).items()})
        return result
    return all_widened(result)
