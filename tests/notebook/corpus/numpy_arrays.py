"""NumPy as tutorials teach it."""
# ruff: noqa
# fmt: off

# %% import
import numpy as np

# %% array-value
np.array([1, 2, 3])

# %% matrix-value
a = np.arange(12).reshape(3, 4)
a

# %% print-array
print(a)

# %% attributes
a.shape, a.dtype, a.ndim, a.size, a.strides, a.nbytes

# %% default-integer
assert a.dtype == np.int64, a.dtype

# %% sum-beyond-32-bits
assert np.arange(100_000).sum() == 4_999_950_000, np.arange(100_000).sum()

# %% scalar-value
a[0, 0]

# %% zeros-ones-eye
np.zeros((2, 3)), np.ones(3, dtype=int), np.eye(2), np.full((2, 2), 7.5)

# %% linspace
np.linspace(0, 1, 5)

# %% broadcasting
np.arange(3)[:, None] + np.arange(4)

# %% broadcasting-error
np.ones((3, 4)) + np.ones((2, 4))

# %% boolean-mask
a[a % 2 == 0]

# %% fancy-indexing
a[[0, 2], [1, 3]], a[:, ::-1], a[-1]

# %% index-error
a[5]

# %% where-and-select
np.where(a > 5, a, -1), np.select([a < 3, a > 8], [0, 1], default=9)

# %% reductions
a.sum(), a.mean(axis=0), a.std(), a.argmax(), np.median(a), np.percentile(a, [25, 75])

# %% cumulative
np.cumsum([1, 2, 3]), np.diff([1, 4, 9]), np.cumprod([1, 2, 3])

# %% stack-and-split
np.vstack([a, a]).shape, np.hstack([a, a]).shape, np.split(np.arange(6), 3), np.concatenate([[1], [2]])

# %% transpose-and-ravel
a.T, a.ravel(), a.flatten()[:3]

# %% unique-and-counts
np.unique([3, 1, 2, 3, 1], return_counts=True)

# %% sort-and-argsort
np.sort([3, 1, 2]), np.argsort([3, 1, 2]), np.searchsorted([1, 3, 5], 4)

# %% random-generator
rng = np.random.default_rng(42)
rng.integers(0, 10, 5), rng.normal(size=3), rng.choice(["a", "b"], 2)

# %% random-legacy
np.random.seed(0)
np.random.rand(2, 2), np.random.randint(0, 5, 3)

# %% random-shuffle
values = np.arange(6)
rng.shuffle(values)
sorted(values)

# %% dot-products
a @ a.T, np.dot([1, 2], [3, 4]), np.outer([1, 2], [3, 4]), np.cross([1, 0, 0], [0, 1, 0])

# %% linalg-solve
m = np.array([[3.0, 1.0], [1.0, 2.0]])
np.linalg.solve(m, [9, 8]), np.linalg.det(m), np.linalg.inv(m)

# %% linalg-eig
np.linalg.eigh(m)

# %% linalg-svd-qr
[part.shape for part in np.linalg.svd(a)], [part.shape for part in np.linalg.qr(m)]

# %% linalg-singular
np.linalg.inv(np.ones((2, 2)))

# %% linalg-norm-rank
np.linalg.norm([3, 4]), np.linalg.matrix_rank(a), np.linalg.lstsq(np.ones((3, 1)), [1, 2, 3], rcond=None)[0]

# %% einsum
np.einsum("ij,kj->ik", a, a)

# %% fft
np.round(np.abs(np.fft.fft(np.sin(2 * np.pi * np.arange(8) / 8))), 6)

# %% fft-frequencies
np.fft.rfftfreq(8, d=0.1)

# %% polynomials
np.polyfit([0, 1, 2], [1, 3, 7], 2).round(6), np.polyval([1, 1, 1], 2), np.poly1d([1, -3, 2])

# %% polynomial-class
np.polynomial.Polynomial([1, 2, 3])

# %% polynomial-roots
np.poly1d([1, -3, 2]).roots

# %% structured-array
people = np.array([("Ada", 36, 1.65), ("Alan", 41, 1.8)], dtype=[("name", "U10"), ("age", "i4"), ("height", "f8")])
people

# %% structured-field
people["age"].mean(), people[people["age"] > 40]["name"]

# %% record-array
people.view(np.recarray).name

# %% datetime64
np.arange("2024-01-30", "2024-02-03", dtype="datetime64[D]")

# %% timedelta64
np.datetime64("2024-03-01") - np.datetime64("2024-02-01")

# %% strings
np.char.upper(np.array(["ab", "c"])), np.strings.find(np.array(["hello"]), "l")

# %% nan-handling
b = np.array([1.0, np.nan, 3.0])
np.nanmean(b), np.isnan(b), b.sum()

# %% divide-by-zero-warning
np.array([1.0, 0.0]) / 0

# %% errstate
with np.errstate(divide="ignore", invalid="ignore"):
    print(np.log(np.array([-1.0, 0.0])))

# %% errstate-raise
with np.errstate(all="raise"):
    np.float64(1) / 0

# %% overflow-warning
np.int8(127) + np.int8(1)

# %% type-conversion
np.array([1.7, -1.7]).astype(int), np.array(["1", "2"]).astype(float)

# %% conversion-error
np.array(["one"]).astype(int)

# %% ragged
np.array([[1, 2], [3]])

# %% object-array
np.array([1, "a", None], dtype=object)

# %% complex-array
np.sqrt(np.array([-1 + 0j, 4]))

# %% large-array
np.arange(10000).reshape(100, 100)

# %% print-options
np.set_printoptions(precision=3, suppress=True, linewidth=60)
np.array([1.23456789, 1e-10, 12345.678])

# %% print-options-context
with np.printoptions(precision=1):
    print(np.array([3.14159]))

# %% print-options-threshold
np.set_printoptions(threshold=6)
np.arange(100)

# %% print-options-back
np.set_printoptions()
np.get_printoptions()["precision"]

# %% array-repr-of-floats
np.array([0.1, 1e20, 1e-20])

# %% save-and-load
np.save("a.npy", a)
np.load("a.npy")

# %% savez
np.savez_compressed("both.npz", a=a, b=b)
with np.load("both.npz") as archive:
    print(sorted(archive.files))

# %% load-missing
np.load("missing.npy")

# %% savetxt-loadtxt
np.savetxt("a.csv", a, delimiter=",", fmt="%d", header="w,x,y,z")
np.loadtxt("a.csv", delimiter=",")

# %% genfromtxt
import io
np.genfromtxt(io.StringIO("1,2\n3,"), delimiter=",", filling_values=-1)

# %% memmap
mapped = np.memmap("big.dat", dtype="float32", mode="w+", shape=(4,))
mapped[:] = 1.5
mapped.flush()
np.fromfile("big.dat", dtype="float32")

# %% tofile-and-fromfile
np.arange(4.0).tofile("plain.dat")
np.fromfile("plain.dat")

# %% vectorize
np.vectorize(lambda x: "even" if x % 2 == 0 else "odd")(np.arange(3))

# %% ufunc-methods
np.add.reduce([1, 2, 3]), np.multiply.outer([1, 2], [3, 4]), np.maximum.accumulate([1, 3, 2])

# %% histogram
np.histogram([1, 2, 2, 3, 3, 3], bins=3)

# %% meshgrid
x, y = np.meshgrid(np.arange(3), np.arange(2))
x + 10 * y

# %% interpolate
np.interp(1.5, [1, 2], [10, 20]), np.trapezoid([1, 2, 3])

# %% sets
np.intersect1d([1, 2, 3], [2, 3, 4]), np.isin([1, 5], [1, 2])

# %% bits
np.bitwise_and(12, 10), np.binary_repr(10, width=8), np.packbits([1, 0, 1])

# %% masked-array
np.ma.masked_greater(np.arange(5), 3)

# %% views-and-copies
view = a[:, :2]
view[0, 0] = 99
a[0, 0], view.base is a, np.shares_memory(view, a)

# %% readonly
fixed = np.arange(3)
fixed.flags.writeable = False
fixed[0] = 1

# %% iterate
for row in np.arange(4).reshape(2, 2):
    print(row)

# %% ndenumerate
list(np.ndenumerate(np.eye(2, dtype=int)))

# %% broadcast-to
np.broadcast_to([1, 2], (2, 2)), np.tile([1, 2], 2), np.repeat([1, 2], 2)

# %% testing
np.testing.assert_allclose([1.0, 2.0], [1.0, 2.1])

# %% allclose
np.allclose([0.1 + 0.2], [0.3]), np.array_equal([1], [1])

# %% truth-value-error
if np.array([1, 2]) > 1:
    pass

# %% attribute-error
np.float(3)

# %% window-functions
np.hanning(5), np.convolve([1, 2, 3], [0, 1, 0.5])

# %% covariance
np.cov([1, 2, 3], [1, 2, 4]), np.corrcoef([1, 2, 3], [3, 2, 1])

# %% monte-carlo-pi
rng = np.random.default_rng(1)
points = rng.random((100_000, 2))
float(4 * np.mean((points ** 2).sum(axis=1) < 1)) - 3.14 < 0.1

# %% matrix-multiplication-speed
big = rng.random((200, 200))
(big @ big).shape

# %% show-config
np.show_config()

# %% info
np.info(np.add)

# %% memory-order
np.asfortranarray(a).flags

# %% finfo
np.finfo(np.float32)

# %% float16-and-longdouble
np.float16(0.1), np.dtype("longdouble").kind

# %% functions-of-a-class-of-its-own
OWN = {}
class Constant:
    def __array_function__(self, function, kinds, args, kwargs):
        return OWN[function](*args, **kwargs) if function in OWN else NotImplemented
OWN[np.sum] = lambda array: "sum"
OWN[np.concatenate] = lambda arrays: "concatenate"
assert (np.sum(Constant()), np.concatenate([Constant()])) == ("sum", "concatenate")

# %% functions-it-has-not
np.cumsum(Constant())

# %% functions-of-a-subclass
class Seen(np.ndarray):
    def __array_function__(self, function, kinds, args, kwargs):
        print(function.__name__)
        return super().__array_function__(function, kinds, args, kwargs)
np.sum(np.arange(3).view(Seen)), np.where(np.arange(3).view(Seen) > 1)[0].tolist()

# %% functions-are-functions
import inspect, pickle
list(inspect.signature(np.sum).parameters)[:3], pickle.loads(pickle.dumps(np.sum)) is np.sum, np.sum.__module__

# %% shape-that-is-set
square = np.arange(4)
square.shape = (2, 2)
square

# %% long-range
len(np.arange(80_000_000))
