"""scikit-learn: the data sets it ships, pipelines, and what they look like."""
# ruff: noqa
# fmt: off

# %% import
import numpy as np
import pandas as pd
import matplotlib.pyplot as plt
from sklearn import datasets
from sklearn.model_selection import train_test_split
iris = datasets.load_iris(as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(iris.data, iris.target, random_state=0)

# %% dataset-frame
iris.frame.head()

# %% dataset-bunch
list(datasets.load_wine())

# %% dataset-digits
digits = datasets.load_digits()
plt.matshow(digits.images[0])
plt.show()

# %% dataset-generated
X, y = datasets.make_blobs(100, centers=3, random_state=1)
plt.scatter(X[:, 0], X[:, 1], c=y)
plt.show()

# %% dataset-download
datasets.fetch_california_housing()

# %% dataset-pictures
datasets.load_sample_image("china.jpg")

# %% estimator-value
from sklearn.linear_model import LogisticRegression, LinearRegression, Ridge
LogisticRegression(max_iter=500)

# %% fit-value
model = LogisticRegression(max_iter=500)
model.fit(X_train, y_train)

# %% score
model.score(X_test, y_test) > 0.8

# %% predict
model.predict(X_test)[:5]

# %% predict-proba
model.predict_proba(X_test)[:2].round(1)

# %% coefficients
model.coef_.shape, model.classes_

# %% not-fitted
LogisticRegression().predict(X_test)

# %% wrong-shape
model.predict([[1, 2]])

# %% nan-input
model.fit([[np.nan], [1.0]], [0, 1])

# %% convergence-warning
LogisticRegression(max_iter=1).fit(X_train, y_train)

# %% pipeline
from sklearn.pipeline import make_pipeline, Pipeline
from sklearn.preprocessing import StandardScaler, OneHotEncoder, PolynomialFeatures, MinMaxScaler
pipe = make_pipeline(StandardScaler(), PolynomialFeatures(2), LogisticRegression(max_iter=500))
pipe

# %% pipeline-fitted
pipe.fit(X_train, y_train)

# %% pipeline-step
pipe.named_steps["standardscaler"].mean_.round(1)

# %% pipeline-text-display
import sklearn
sklearn.set_config(display="text")
pipe

# %% pipeline-diagram-display
sklearn.set_config(display="diagram")
pipe[:2]

# %% column-transformer
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
people = pd.DataFrame({"age": [20, None, 40], "city": ["Rome", "Oslo", "Rome"]})
columns = ColumnTransformer([
    ("numbers", make_pipeline(SimpleImputer(), MinMaxScaler()), ["age"]),
    ("words", OneHotEncoder(sparse_output=False), ["city"]),
])
columns

# %% column-transformer-result
columns.set_output(transform="pandas").fit_transform(people)

# %% cross-validation
from sklearn.model_selection import cross_val_score, GridSearchCV, KFold, cross_validate
cross_val_score(LogisticRegression(max_iter=500), iris.data, iris.target, cv=3).shape

# %% cross-validation-parallel
cross_val_score(LogisticRegression(max_iter=500), iris.data, iris.target, cv=3, n_jobs=-1).shape

# %% grid-search
search = GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, cv=3)
search.fit(iris.data.iloc[:, :3], iris.data.iloc[:, 3])

# %% grid-search-results
pd.DataFrame(search.cv_results_)[["param_alpha", "rank_test_score"]]

# %% tree
from sklearn.tree import DecisionTreeClassifier, plot_tree, export_text
tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X_train, y_train)
print(export_text(tree, feature_names=iris.feature_names))

# %% tree-plot
plot_tree(tree, filled=True)
plt.show()

# %% forest
from sklearn.ensemble import RandomForestClassifier, GradientBoostingClassifier, HistGradientBoostingClassifier
forest = RandomForestClassifier(20, random_state=0).fit(X_train, y_train)
pd.Series(forest.feature_importances_, iris.feature_names).sort_values().plot.barh();

# %% forest-parallel
RandomForestClassifier(10, n_jobs=-1, random_state=0).fit(X_train, y_train)

# %% boosting
HistGradientBoostingClassifier(max_iter=5).fit(X_train, y_train).score(X_test, y_test) > 0.5

# %% neighbours-and-svm
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
[kind().fit(X_train, y_train).score(X_test, y_test) > 0.8 for kind in (KNeighborsClassifier, SVC)]

# %% naive-bayes
from sklearn.naive_bayes import GaussianNB
GaussianNB().fit(X_train, y_train)

# %% neural-network
from sklearn.neural_network import MLPClassifier
MLPClassifier((5,), max_iter=10, random_state=0).fit(X_train, y_train)

# %% clustering
from sklearn.cluster import KMeans, DBSCAN, AgglomerativeClustering
KMeans(3, n_init=2, random_state=0).fit(X)

# %% clustering-labels
np.bincount(DBSCAN(eps=1).fit(X).labels_ + 1).sum()

# %% pca
from sklearn.decomposition import PCA
PCA(2).fit(iris.data).explained_variance_ratio_.round(2)

# %% tsne
from sklearn.manifold import TSNE
TSNE(perplexity=5, max_iter=250, random_state=0).fit_transform(iris.data[:30]).shape

# %% metrics
from sklearn import metrics
predicted = model.fit(X_train, y_train).predict(X_test)
metrics.accuracy_score(y_test, predicted) > 0.8, metrics.f1_score(y_test, predicted, average="macro") > 0.8

# %% classification-report
print(metrics.classification_report(y_test, predicted))

# %% confusion-matrix
metrics.confusion_matrix(y_test, predicted).shape

# %% confusion-matrix-display
metrics.ConfusionMatrixDisplay.from_estimator(model, X_test, y_test)

# %% roc-curve-display
binary = y_train == 1
metrics.RocCurveDisplay.from_estimator(LogisticRegression(max_iter=500).fit(X_train, binary), X_train, binary)
plt.show()

# %% undefined-metric
metrics.precision_score([0, 1], [0, 0])

# %% text-features
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
words = CountVectorizer().fit(["the cat sat", "the dog sat down"])
words.get_feature_names_out(), words.transform(["the cat"])

# %% text-pipeline
from sklearn.naive_bayes import MultinomialNB
make_pipeline(TfidfVectorizer(), MultinomialNB()).fit(["good film", "bad film"], [1, 0]).predict(["good"])

# %% feature-selection
from sklearn.feature_selection import SelectKBest, f_classif
SelectKBest(f_classif, k=2).fit(X_train, y_train).get_feature_names_out()

# %% linear-regression
diabetes = datasets.load_diabetes(as_frame=True)
LinearRegression().fit(diabetes.data[["bmi"]], diabetes.target).coef_.round(0)

# %% learning-curve
from sklearn.model_selection import learning_curve
[part.shape for part in learning_curve(GaussianNB(), iris.data, iris.target, cv=3, train_sizes=[0.5, 1.0], shuffle=True, random_state=0)]

# %% permutation-importance
from sklearn.inspection import permutation_importance
permutation_importance(tree, X_test, y_test, n_repeats=2, random_state=0).importances_mean.shape

# %% partial-dependence
from sklearn.inspection import PartialDependenceDisplay
PartialDependenceDisplay.from_estimator(tree, X_train, [2], target=0)
plt.show()

# %% own-estimator
from sklearn.base import BaseEstimator, ClassifierMixin
class Majority(ClassifierMixin, BaseEstimator):
    def __init__(self, bias=0):
        self.bias = bias
    def fit(self, X, y):
        self.value_ = np.bincount(y).argmax()
        return self
    def predict(self, X):
        return np.full(len(X), self.value_)
Majority().fit(X_train, y_train)

# %% persistence
import joblib
joblib.dump(model, "model.joblib")
joblib.load("model.joblib").score(X_test, y_test) > 0.8

# %% parallel-joblib
joblib.Parallel(n_jobs=2)(joblib.delayed(abs)(v) for v in [-1, -2])

# %% anomaly-and-gp
from sklearn.ensemble import IsolationForest
from sklearn.gaussian_process import GaussianProcessRegressor
IsolationForest(n_estimators=5, random_state=0).fit_predict(X)[:3].shape, GaussianProcessRegressor().fit([[1.0], [2.0]], [1, 2]).predict([[1.0]]).round(2)

# %% show-versions
sklearn.__version__ >= "1.5"

# %% clone-and-params
from sklearn.base import clone
clone(pipe).get_params()["logisticregression__max_iter"]

# %% wrong-parameter
LogisticRegression(wrong=1)
