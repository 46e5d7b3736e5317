"""Integers that need more than 32 bits, where notebooks meet them."""
# ruff: noqa
# fmt: off

# %% import
import numpy as np, pandas as pd, matplotlib.pyplot as plt
counts = pd.Series([2, 1, 3]).to_numpy()
frame = pd.DataFrame({"city": list("abc"), "people": [3_000_000_000, 1, 2], "n": [2, 1, 3]})

def is_wide(*arrays):
    assert all(array.dtype == np.int64 for array in arrays), [array.dtype for array in arrays]

# %% arrays
is_wide(np.array([1, 2]), np.array([[1], [2]]), np.asarray((1, 2)), np.array(range(3)), np.array(5))

# %% arrays-of-another-type
np.array([1, 2], dtype="int32").dtype, np.array([np.int8(1)]).dtype, np.array([1, 2.5]).dtype, np.array([10**30]).dtype

# %% ranges
is_wide(np.arange(3), np.arange(1, 9, 2), np.arange(3, dtype=int), np.r_[0:3], np.mgrid[0:2, 0:2], np.indices((2, 2)))

# %% named-types
is_wide(np.zeros(2, int), np.ones(2, dtype=int), np.eye(2, dtype="int"), np.full(2, 7), np.full_like(np.arange(2), 7), np.linspace(0, 9, 3, dtype=int))

# %% read-as-integers
is_wide(np.loadtxt(["3000000000 1"], dtype=int), np.genfromtxt(["1,2"], delimiter=",", dtype=int), np.fromiter((n for n in range(3)), int))

# %% converted
is_wide(np.array([1.5]).astype(int), np.array(["3000000000"]).astype(int), np.array([True]).astype("int"), np.array([1]).astype(dtype=int))

# %% converted-times
stamps = pd.Series(pd.date_range("2020-01-01", periods=2))
stamps.astype(int) // 10**9, stamps.values.astype(int), pd.DatetimeIndex(stamps).astype(int)

# %% converted-columns
is_wide(frame["people"].astype(int), frame["people"].astype(float).astype("int"), pd.Series(["3000000000"]).astype(int), pd.Series([1], dtype=int))

# %% integer-type
np.int_(10**15), np.int_ is np.int64, isinstance(np.array([1])[0], np.int_), frame["n"].dtype == int, frame["n"].dtype != int, np.issubdtype(frame["n"].dtype, int)

# %% hash-of-a-type
{np.dtype("int64"): "wide"}[np.array([1]).dtype], np.dtype("int64") == "int64", np.dtype("int64") == np.dtype("float64")

# %% types-that-are-others
from pandas.api.types import CategoricalDtype
wide = np.array([1]).dtype
assert wide != frame["city"].dtype and wide != CategoricalDtype() and not wide == CategoricalDtype() and wide != "object"
frame[np.argsort(frame["n"])[::-1]]

# %% former-name-of-a-type
import warnings
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    assert not hasattr(np, "object")
assert told[0].filename == (lambda: 0).__code__.co_filename

# %% random-integers
state = np.random.RandomState(42)
is_wide(state.randint(0, 2**40, 3), state.choice(5, 3), state.permutation(4), state.poisson(3, 2), np.random.randint(9, size=2))

# %% random-seeded
np.random.seed(1)
assert np.random.randint(0, 100, 5).tolist() == [37, 12, 72, 9, 75]
assert np.random.randint(0, 2**35) > 0 and type(np.random.randint(5)) is int

# %% random-frame
table = pd.DataFrame(np.random.randint(0, 100, (3, 2)), columns=list("ab"))
table["a"] * 10**10

# %% counts-of-numpy
np.random.binomial(counts, 0.5).shape, np.random.hypergeometric(counts, counts, 1).shape

# %% sums
assert np.array([2_000_000_000] * 3).sum() == 6_000_000_000
assert np.sum([2_000_000_000] * 3) == np.cumsum([2_000_000_000] * 3)[-1] == 6_000_000_000
assert np.dot([100_000], [100_000]) == np.prod([100_000, 100_000]) == 10**10

# %% sums-of-small-types
pixels = np.full((4000, 3000, 2), 255, dtype="uint8")
assert pixels.sum() == np.sum(pixels) == 6_120_000_000
assert np.full(3, 2**31 - 1, dtype="int32").sum() == 3 * (2**31 - 1)
(pixels > 3).sum(), np.sum(pixels > 3), pixels.sum(axis=(0, 1))

# %% products
np.arange(100_000).dot(np.arange(100_000)), np.arange(1, 21).prod(), np.array([1, 2]) * 10**10, np.arange(3) + 3_000_000_000

# %% long-numbers-into-arrays
a = np.zeros(3, dtype=int)
a[0] = 3_000_000_000
a[1:] = frame["people"][1:]
a += counts
a

# %% choices
is_wide(np.where(counts > 1, 3_000_000_000, 0), np.where([True, False], 1, 0), np.select([counts > 1], [3_000_000_000], 0))

# %% choices-of-another-type
np.where(counts > 1, np.int8(1), np.int8(0)).dtype, np.where(counts > 1, "a", "b").dtype, np.where(counts > 1, 1.5, 0).dtype

# %% numbers-that-are-found
(counts > 1).sum() * 10**10, np.argmax(counts) * 10**10, np.argmax(counts) / 10**10, 10**10 // (counts > 1).sum(), 10**10 - np.argmax(counts)

# %% vectorised
np.vectorize(lambda n: 2**n)(np.arange(40))[-1], np.vectorize(len, otypes=[int])(["a"]).dtype

# %% repeated
np.repeat(["a", "b", "c"], counts), np.arange(3).repeat(counts), frame.loc[frame.index.repeat(frame["n"])].shape

# %% indexed-by-columns
np.take(np.arange(9), counts), np.arange(9)[counts], np.add.reduceat(np.arange(9.0), counts[:2]), np.choose(counts - 1, [counts] * 3), np.put(np.arange(9), counts, 0)

# %% sorted-by-columns
np.searchsorted(np.arange(9), counts, sorter=np.arange(9)), np.bincount(counts), np.digitize(counts, [1, 2])

# %% loop
total = 0
for n in np.arange(100_000):
    total += n
total

# %% shown
np.array([1, 2]), frame["n"].unique(), np.array([1], dtype="int8")

# %% info
pd.DataFrame(np.arange(4).reshape(2, 2)).info()

# %% bars
plt.bar(frame["city"], frame["people"])
plt.barh([0, 1], [3_000_000_000, 1]);

# %% wrong-number
np.array([1, 2]) + "a"

# %% too-long-number
np.array([1, 2]) + 2**70

# %% found
values = np.array([3.0, 1.0, 2.0])
is_wide(np.argsort(values), values.argsort(), np.nonzero(values)[0], np.where(values > 1)[0], np.flatnonzero(values), np.searchsorted(values, [2]), np.bincount(counts), np.digitize(values, [2]), np.unique([1, 1], return_counts=True)[1], np.histogram(values)[0])
values.argmax(), np.argmin(values), np.count_nonzero(values)

# %% found-and-multiplied
np.flatnonzero(np.ones(100_000))[-1] ** 2, (np.nonzero(np.ones(100_000))[0] ** 2)[-1]

# %% peaks
from scipy import signal
wave = np.array([0.0, 1, 0, 2, 0])
signal.peak_prominences(wave, np.array([1, 3])), signal.peak_widths(wave, np.flatnonzero(wave))[0], signal.find_peaks(wave)[0]

# %% computed-from-lists
is_wide(np.convolve([1, 2], [1, 2]), np.polymul([1, 2], [1, 2]), np.kron([1, 2], [1, 2]), np.tensordot([1, 2], [1, 2], 1), np.einsum("i,j->ij", [1, 2], [3, 4]), *np.meshgrid([1, 2], [3, 4]))
assert np.polyval([1, 0, 0, 0], 2000) == np.poly1d([1, 0, 0, 0])(2000) == 8_000_000_000
assert np.trace([[3_000_000, 1], [1, 3_000_000]]) * 1_000_000 == 6_000_000_000_000
assert np.linalg.matrix_power([[1, 1], [1, 0]], 60)[0, 1] == 1548008755920

# %% powers-of-lists
assert np.power(10, [1, 12])[1] == np.power([10, 10], 12)[0] == 10**12

# %% reduced-lists
assert np.multiply.reduce([100_000, 100_000]) == np.multiply.accumulate([100_000, 100_000])[1] == np.multiply.outer([100_000], [100_000])[0, 0] == 10**10
np.add.reduce([[1, 2], [3, 4]], axis=1), np.lcm.reduce([4, 6])

# %% rearranged-lists
is_wide(np.tril([[1, 2], [3, 4]]), np.pad([1, 2], 1), np.delete([1, 2], 0), np.atleast_2d([1, 2]), np.diag([1, 2]), np.rot90([[1, 2], [3, 4]]), np.block([[1, 2], [3, 4]]), np.union1d([1], [2]), np.clip([1, 9], 2, 5), np.take([1, 2], [0]), np.zeros_like([1, 2]), *np.ix_([0, 1], [0]))

# %% matrices
is_wide(np.matrix([[1, 2], [3, 4]]), np.matrix("1 2; 3 4"), np.asmatrix([1, 2]), np.matrix([[1.5]], dtype=int))
np.matrix([[100_000, 1], [1, 1]]) ** 2, np.matrix([[1.0, 2.0]]).I.shape

# %% masked-arrays
is_wide(np.ma.array([1, 2]), np.ma.masked_array([1, 2], mask=[0, 1]), np.ma.arange(3), np.ma.masked_equal([1, 2], 2), np.ma.array([1.5], dtype=int))
np.ma.asarray(np.array([1, 2]) * 3), np.ma.masked_where([True, False], [1, 2])

# %% fields
people = np.zeros(2, dtype=[("name", "U5"), ("number", int), ("size", "int", (2,)), ("weight", float)])
people["number"] = 3_000_000_000
assert np.array([(1, 2)], dtype=[("a", int), ("b", "i4")]).dtype == np.dtype([("a", "i8"), ("b", "i4")])
assert np.zeros(1, {"names": ("a", "b"), "formats": (int, float)}).dtype["a"] == np.int64
assert np.zeros(2, (int, 3)).shape == (2, 3) and np.zeros(2, dtype=(int, 3)).dtype == np.int64
people

# %% seen-as-integers
assert np.array([1.0]).view(int)[0] == 0x3FF0000000000000 and np.array([1.0]).view("int").shape == (1,)

# %% unsigned
np.zeros(2, np.uint).dtype, np.array([1, 2], dtype="uint").dtype, np.array([1]).astype("uint").dtype, np.uint(2**40), np.zeros(2, "l").dtype, np.zeros(2, "int32").dtype

# %% named-arguments
is_wide(np.full(shape=2, fill_value=7), np.array(object=[1, 2]), np.asarray(a=[1, 2]), np.ones((2, 2)).sum(axis=0, dtype=int), np.ones(2).astype(dtype="int"))
np.ones(2).astype(dtype=np.float32), np.array([1, 2]).astype("f4", copy=False)

# %% truth-values-added-up
flags = counts > 1
assert type(sum(flags)) is type(sum(n > 1 for n in counts)) is np.int64
sum(flags) * 10**10, np.True_ + 3_000_000_000, 10**10 * np.True_, sum(n > 1 for n in counts), -np.True_.astype(int)

# %% truth-values-of-columns
is_wide((frame["n"] > 1) * 1, 1 * (frame["n"] > 1), (frame["n"] > 1) + 0, (frame[["n"]] > 1).mul(1)["n"], (pd.get_dummies(frame["city"]) * 2)["a"])
assert ((frame["n"] > 1) * 3_000_000_000).sum() == 6_000_000_000
(frame["n"] > 1) * 1.5, (frame["n"] > 1) * (frame["n"] > 2), ~(frame["n"] > 1)

# %% truth-values-of-columns-and-a-long-number
(frame["n"] > 1) * 2**70

# %% running-sums-of-columns
is_wide((frame["n"] > 1).cumsum(), pd.Series([10**9] * 3, dtype="int32").cumsum(), (frame[["n"]] > 1).cumsum()["n"])
pd.Series([200, 200], dtype="uint8").cumsum(), pd.Series([0.5, 1]).cumsum(), pd.Series([3, 1]).cummax()

# %% arrays-of-columns
is_wide(frame["people"].to_numpy(dtype=int), frame[["people", "n"]].to_numpy(int), frame["people"].astype(float).to_numpy("int"))
assert frame["people"].to_numpy(dtype=int)[0] == 3_000_000_000

# %% cut-into-numbers
is_wide(pd.cut(frame["n"], 2, labels=False), pd.qcut(frame["n"], 2, labels=False), pd.cut([1, 2], 2, labels=False))
pd.cut(frame["n"], 2), pd.cut(frame["n"], [0, 1], labels=False)

# %% classes
from sklearn.datasets import load_iris, make_blobs, load_digits
from sklearn.preprocessing import LabelEncoder
flowers = load_iris(as_frame=True)
is_wide(load_iris().target, load_digits(return_X_y=True)[1], make_blobs(10, random_state=0)[1], flowers.target, flowers.frame["target"])
is_wide(LabelEncoder().fit_transform(["b", "a"]), LabelEncoder().fit(["a"]).transform(["a"]))
flowers.target.head(2)

# %% truth-values-with-a-number
is_wide(np.array([True, False]) * 1)

# %% found-in-columns
is_wide(frame["n"].argsort(), frame["city"].factorize()[0], pd.factorize(np.array(list("aba")))[0], pd.Series([1, 3]).searchsorted([2]), pd.Index(list("ab")).get_indexer(["b"]))
frame["n"].argmax(), pd.Index([3, 1]).argmin(), np.argsort(frame["n"]).dtype

# %% cut
is_wide(pd.cut(frame["n"], 2, labels=False), pd.qcut(frame["n"], 2, labels=False), pd.cut(frame["n"], 2, labels=False, retbins=True)[0], pd.cut([1, 2, 3], 2, labels=False))

# %% labels-of-classes
from sklearn.preprocessing import LabelBinarizer, LabelEncoder, MultiLabelBinarizer
is_wide(LabelEncoder().fit_transform(list("aba")), LabelEncoder().fit(list("ab")).transform(["b"]), LabelBinarizer().fit_transform(list("aba")), MultiLabelBinarizer().fit_transform([["a"], ["b"]]))
LabelEncoder().fit_transform(list("aba")) * 3_000_000_000

# %% labels-of-columns
labelled = frame[["city", "n"]].apply(LabelEncoder().fit_transform)
assert list(labelled.select_dtypes("int64")) == ["city", "n"]
labelled

# %% labels-of-data-sets
from sklearn import datasets
is_wide(datasets.load_iris().target, datasets.load_wine(return_X_y=True)[1], datasets.load_digits().target, datasets.make_blobs(5)[1], datasets.make_moons(6)[1], datasets.make_classification()[1])
is_wide(datasets.load_iris(as_frame=True).frame["target"], datasets.load_iris(as_frame=True).target)
datasets.load_iris(as_frame=True).frame.info()

# %% labels-of-groups
from sklearn.cluster import DBSCAN, AgglomerativeClustering
from sklearn.ensemble import IsolationForest
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import NearestNeighbors
points = np.array([[1.0], [2.0], [3.0], [9.0]])
is_wide(DBSCAN(eps=2, min_samples=2).fit(points).labels_, AgglomerativeClustering(2).fit_predict(points), GaussianMixture(2).fit(points).predict(points), IsolationForest(n_estimators=3).fit_predict(points), NearestNeighbors(n_neighbors=2).fit(points).kneighbors(points)[1])

# %% results-of-tests
from scipy import stats
stats.mode(np.array([1, 1, 2])), stats.describe(np.array([1, 2, 3])), stats.ttest_1samp([1.0, 2.0, 4.0], 0).df, stats.ttest_rel([1.0, 2.0, 4.0], [2.0, 2.0, 1.0])

# %% peaks-and-their-properties
found, properties = signal.find_peaks(wave, prominence=0.5)
is_wide(found, properties["left_bases"], signal.argrelmax(wave)[0])

# %% made-by-a-library
from sklearn.model_selection import KFold
is_wide(next(KFold(2).split(points))[0])

# %% function-of-a-list
assert np.square([100_000])[0] == 10**10

# %% limits-of-int
assert np.iinfo(int).max == 2**63 - 1
