"""Statistics: seaborn, SciPy and statsmodels."""
# ruff: noqa
# fmt: off

# %% import
import numpy as np
import pandas as pd
import matplotlib.pyplot as plt
import seaborn as sns
rng = np.random.default_rng(5)
tips = pd.DataFrame({
    "bill": rng.gamma(4, 5, 80).round(2),
    "day": rng.choice(["Thu", "Fri", "Sat"], 80),
    "time": rng.choice(["Lunch", "Dinner"], 80),
    "size": rng.integers(1, 6, 80),
})
tips["tip"] = (tips["bill"] * 0.15 + rng.normal(0, 1, 80)).round(2)

# %% set-theme
sns.set_theme(style="whitegrid")

# %% scatterplot
sns.scatterplot(data=tips, x="bill", y="tip", hue="day")

# %% lineplot
sns.lineplot(x=[1, 2, 3, 4], y=[3, 1, 4, 1]);

# %% histplot
sns.histplot(tips["bill"], kde=True)
plt.show()

# %% boxplot
sns.boxplot(data=tips, x="day", y="bill", hue="time")
plt.show()

# %% barplot
sns.barplot(data=tips, x="day", y="tip", errorbar=None)
plt.show()

# %% heatmap
sns.heatmap(tips[["bill", "tip", "size"]].corr(), annot=True, cmap="coolwarm")
plt.show()

# %% relplot
sns.relplot(data=tips, x="bill", y="tip", col="time", height=2.5)

# %% pairplot
sns.pairplot(tips[["bill", "tip", "time"]], hue="time", height=1.5);

# %% palette
sns.color_palette("deep")

# %% palette-map
sns.color_palette("rocket", as_cmap=True)

# %% palplot
sns.palplot(sns.color_palette("husl", 4))

# %% load-dataset
sns.load_dataset("iris")

# %% wrong-column
sns.scatterplot(data=tips, x="nothing", y="tip")

# %% despine-and-reset
sns.despine()
sns.reset_defaults()

# %% close-all
plt.close("all")

# %% scipy-stats
from scipy import stats
stats.ttest_ind(tips["tip"][:40], tips["tip"][40:])

# %% scipy-distribution
stats.norm.cdf(1.96).round(4), stats.binom(10, 0.5).pmf(5).round(4), stats.poisson.rvs(3, size=3, random_state=1)

# %% scipy-fit
stats.linregress([1, 2, 3, 4], [2, 4, 6, 8.5])

# %% scipy-tests
stats.shapiro(tips["tip"]), stats.pearsonr(tips["bill"], tips["tip"])

# %% scipy-describe
stats.describe([1, 2, 3, 4, 5])

# %% scipy-optimize
from scipy import optimize
optimize.minimize(lambda p: (p[0] - 1) ** 2 + (p[1] + 2) ** 2, [0, 0])

# %% scipy-root
optimize.brentq(lambda v: v ** 2 - 2, 0, 2)

# %% scipy-curve-fit
optimize.curve_fit(lambda v, a, b: a * v + b, [0, 1, 2, 3], [1, 3, 5, 7.1])[0].round(3)

# %% scipy-linprog
optimize.linprog([-1, -2], A_ub=[[1, 1]], b_ub=[4]).fun

# %% scipy-integrate
from scipy import integrate
integrate.quad(np.sin, 0, np.pi)

# %% scipy-ode
integrate.solve_ivp(lambda t, y: -y, (0, 1), [1.0]).y[0, -1].round(3)

# %% scipy-interpolate
from scipy import interpolate
interpolate.CubicSpline([0, 1, 2], [0, 1, 4])(1.5)

# %% scipy-surface-of-integers
rows, columns = (axis.ravel() for axis in np.mgrid[0:4, 0:5])
surface = interpolate.bisplrep(rows, columns, rows * columns, kx=1, ky=1, s=0)
assert np.isclose(interpolate.bisplev(2.5, 3.0, surface), 7.5), surface

# %% scipy-signal
from scipy import signal
signal.find_peaks([0, 2, 0, 3, 0])[0], signal.butter(2, 0.3)[0].round(4)

# %% scipy-sparse
from scipy import sparse
sparse.csr_matrix(np.eye(3))

# %% scipy-linalg
from scipy import linalg
linalg.expm(np.zeros((2, 2))), linalg.lu(np.array([[2.0, 1], [1, 3]]))[2]

# %% scipy-spatial
from scipy.spatial import distance, ConvexHull
distance.cdist([[0, 0]], [[3, 4]]), ConvexHull([[0, 0], [1, 0], [0, 1]]).volume

# %% scipy-special
from scipy import special
special.gamma(5), special.erf(1).round(4)

# %% scipy-constants
from scipy import constants
constants.c

# %% scipy-cluster
from scipy.cluster.hierarchy import linkage, dendrogram
dendrogram(linkage(rng.random((8, 2)), "ward"))
plt.show()

# %% scipy-ndimage
from scipy import ndimage
ndimage.gaussian_filter(np.eye(5), 1).round(2)

# %% scipy-io
from scipy.io import savemat, loadmat, wavfile
savemat("m.mat", {"a": np.eye(2)})
loadmat("m.mat")["a"]

# %% scipy-wav
wavfile.write("tone.wav", 8000, np.zeros(10, dtype=np.int16))
wavfile.read("tone.wav")

# %% ols
import statsmodels.api as sm
model = sm.OLS(tips["tip"], sm.add_constant(tips["bill"])).fit()
model.params.round(3)

# %% ols-summary
model.summary()

# %% ols-summary-print
print(model.summary())

# %% formula
import statsmodels.formula.api as smf
smf.ols("tip ~ bill + C(day)", data=tips).fit().summary2()

# %% formula-error
smf.ols("tip ~ nothing", data=tips)

# %% logit
late = (tips["time"] == "Dinner").astype(int)
sm.Logit(late, sm.add_constant(tips["bill"])).fit()

# %% glm
sm.GLM(tips["size"], sm.add_constant(tips["bill"]), family=sm.families.Poisson()).fit().summary()

# %% anova
sm.stats.anova_lm(smf.ols("tip ~ C(day)", data=tips).fit())

# %% arima
from statsmodels.tsa.arima.model import ARIMA
walk = pd.Series(rng.normal(size=60).cumsum(), index=pd.date_range("2024-01-01", periods=60))
ARIMA(walk, order=(1, 1, 0)).fit().forecast(2).shape

# %% seasonal-decompose
from statsmodels.tsa.seasonal import seasonal_decompose
seasonal_decompose(walk, period=7).plot();

# %% acf-plot
from statsmodels.graphics.tsaplots import plot_acf
plot_acf(walk)

# %% adfuller
from statsmodels.tsa.stattools import adfuller
len(adfuller(walk))

# %% stats-datasets
sm.datasets.longley.load_pandas().data.shape

# %% scipy-operator
from scipy.sparse.linalg import LinearOperator, eigsh
class Scaling(LinearOperator):
    def __init__(self, factors):
        self.factors, self.shape, self.dtype = factors, (len(factors),) * 2, factors.dtype
    def _matvec(self, x):
        return self.factors * x
eigsh(Scaling(np.arange(10.0)), k=2)[0].round(6).tolist()

# %% scipy-lagrange
interpolate.lagrange([0, 1, 2], [0, 1, 4])
