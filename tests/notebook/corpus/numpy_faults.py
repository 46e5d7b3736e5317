"""What NumPy says of results that are not finite, where notebooks meet it."""
# ruff: noqa
# fmt: off

# %% import
import io, warnings
import numpy as np, pandas as pd
values = np.array([-1.0, 0.0, 1.0, np.nan, np.inf])

# %% logarithm
np.log(values)

# %% logarithm-once-more
np.log(values)

# %% logarithms-of-other-bases
np.log2(0), np.log10(0.0), np.log1p(-1), np.log1p(-2)

# %% logarithm-of-a-list
np.log([0, 1])

# %% logarithm-of-a-series
np.log(pd.Series([0, 1]))

# %% logarithm-of-a-column-with-nulls
np.log(pd.DataFrame({"a": [1.0, None]})["a"])

# %% logarithm-behind-where
np.where(values > 0, np.log(values), 0)

# %% logarithm-where
np.log(values, out=np.zeros(5), where=values > 0)

# %% logarithm-of-a-masked-array
np.ma.log(np.ma.array([0.0, 1.0]))

# %% square-root
np.sqrt(-1)

# %% square-root-as-a-power
np.array([-8.0, 8.0]) ** 0.5

# %% cube-root-as-a-power
np.array([-8.0, 8.0]) ** (1 / 3)

# %% negative-power-of-zero
np.array([0.0, 2.0]) ** -1

# %% angles
np.arcsin(2), np.arccos([0.5, 1.5]), np.arctanh(1), np.sin(np.inf)

# %% overflow
np.exp(1000), np.exp(np.array([1, 800]))

# %% sigmoid
1 / (1 + np.exp(-np.array([-1000.0, 0.0])))

# %% no-overflow-of-infinity
np.exp(np.inf), np.exp(-np.inf), np.exp(np.nan)

# %% large-but-finite
np.exp(np.full(1000, 709.0)).max() > 1e307

# %% half-precision
np.exp(np.array([5, 12], dtype="float16"))

# %% division
np.array([1.0, 0.0, np.nan, np.inf]) / 0

# %% division-of-infinities
np.array([np.inf]) / np.array([np.inf])

# %% division-of-integers
np.array([1, 0]) / np.array([0, 0])

# %% division-by-a-long-integer
np.array([1.0, np.inf]) / 10**30

# %% floor-division-of-integers
np.array([1, 2]) // 0

# %% division-in-place
shares = np.array([1.0, 0.0])
shares /= shares.sum() - 1
shares

# %% division-where
np.divide([1.0, 2.0], [0.0, 1.0], out=np.zeros(2), where=[False, True])

# %% division-of-a-frame
pd.DataFrame({"a": [1, 0]}) / 0

# %% division-of-values
frame = pd.DataFrame({"a": [1, 0], "b": [0, 0]})
frame["a"].values / frame["b"].values

# %% division-of-a-matrix
warnings.simplefilter("ignore", PendingDeprecationWarning)
np.matrix([[1.0, 0.0]]) / 0

# %% outer-division
np.divide.outer([1.0, 2.0], [1.0, 4.0]), np.divide.reduce([8.0, 2.0])

# %% shapes-that-do-not-fit
np.ones(3) / np.ones(2)

# %% division-of-texts
np.array(["a"]) / 2

# %% division-of-a-number
np.float64(1) / 0

# %% division-by-a-number
1 / np.float64(0), 1.0 / np.float32(0)

# %% share-of-nothing
hits, tries = np.int64(0), np.int64(0)
hits / tries

# %% division-of-numbers-that-is-fine
np.float64(3) / 2, 3 / np.float64(2), np.int64(3) / np.int32(2), np.float64(np.inf) / 10**30

# %% division-of-a-number-and-a-text
np.float64(1) / "a"

# %% python-division
1 / 0

# %% mean-of-nothing
np.mean([])

# %% deviation-of-one
np.std([1.0], ddof=1)

# %% correlation-of-constants
np.corrcoef([1, 1, 1], [1, 2, 3])

# %% errstate-ignore
with np.errstate(divide="ignore", invalid="ignore"):
    print(np.array([1.0, 0.0]) / 0)

# %% errstate-raise-of-an-array
with np.errstate(divide="raise"):
    np.log(np.zeros(2))

# %% errstate-raise-of-another-kind
with np.errstate(over="raise", divide="ignore"):
    print(np.log(np.zeros(2)))

# %% caught
try:
    with np.errstate(all="raise"):
        np.sqrt(np.array([-1.0]))
except FloatingPointError as error:
    print(error)

# %% errstate-call
with np.errstate(all="call", call=lambda kind, flag: print(kind, flag)):
    np.log(values)

# %% errstate-log
text = io.StringIO()
with np.errstate(all="log", call=text):
    np.exp(1000)
print(text.getvalue())

# %% seterr
before = np.seterr(all="ignore")
np.array([1.0]) / 0

# %% seterr-back
np.seterr(**before)
np.array([1.0]) / 0

# %% warnings-as-errors
with warnings.catch_warnings():
    warnings.simplefilter("error")
    np.array([0.0]) / 0

# %% warnings-that-are-recorded
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    np.log(values)
[(str(one.message), one.category.__name__, one.lineno) for one in caught]

# %% functions-are-what-they-were
import copy, pickle
isinstance(np.log, np.ufunc), np.log.nin, copy.copy(np.log) is np.log, pickle.loads(pickle.dumps(np.divide)) is np.divide, np.log

# %% own-idea-of-a-function
class Own:
    def __array_ufunc__(self, function, method, *inputs, **options):
        return function is np.divide, method, np.log(0.0)

Own() / np.ones(2)

# %% cast-of-nothing
np.array([np.nan, 1.5]).astype(int)[1]

# %% cast-to-the-usual-number
np.array([np.nan, np.inf, -np.inf, 2.5]).astype(int), np.array([np.nan, 2.5], dtype="float32").astype("int32")

# %% cast-of-complex-numbers
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    np.array([1 + 0j]).astype(float), np.asarray(np.array([1j]), dtype=float)
assert [(one.category.__name__, one.lineno) for one in caught] == [("ComplexWarning", 3)] * 2

# %% cast-of-complex-numbers-told
np.array([1 + 0j]).astype(float)

# %% cast-of-a-column
pd.Series([1.0, np.nan]).values.astype("int64")[0]

# %% cast-that-is-fine
np.array([1.5, 1e300]).astype(float), np.array([1.5]).astype(int), np.array([np.nan]).astype("float32")

# %% cast-refused-by-pandas
pd.Series([1.0, np.nan]).astype(int)

# %% cast-of-parts
np.ma.array([1.0, 2.0], mask=[0, 1]).astype(int), np.array([[1.5], [np.nan]]).astype("str")

# %% overflow-of-a-product
np.array([1e200]) * 1e200

# %% difference-of-infinities
np.array([np.inf]) - np.inf

# %% float-remainder
np.array([5.0]) % 0
