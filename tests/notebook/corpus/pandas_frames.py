"""pandas: frames from creation to reshaping, as in the usual introductions."""
# ruff: noqa
# fmt: off

# %% import
import numpy as np
import pandas as pd

# %% series
pd.Series([1, 3, 5, np.nan, 6, 8])

# %% date-range
pd.date_range("2024-01-01", periods=6)

# %% frame
df = pd.DataFrame({
    "name": ["Ada", "Ben", "Cleo", "Dan", "Eve", "Finn"],
    "team": ["red", "blue", "red", "blue", "red", "green"],
    "points": [12, 7, 19, 3, 8, 11],
    "height": [1.65, 1.80, 1.72, np.nan, 1.60, 1.91],
    "joined": pd.date_range("2024-01-05", periods=6, freq="W"),
})
df

# %% head-and-tail
df.head(2)

# %% print-frame
print(df.tail(2))

# %% info
df.info()

# %% describe
df.describe()

# %% describe-all
df.describe(include="all")

# %% dtypes
df.dtypes

# %% shape-and-columns
df.shape, df.columns, df.index

# %% column
df["points"]

# %% columns
df[["name", "points"]]

# %% missing-column
df["score"]

# %% attribute-error
df.scores

# %% loc
df.loc[1:3, ["name", "height"]]

# %% iloc
df.iloc[0]

# %% at
df.at[0, "name"], df.iat[0, 2]

# %% boolean-filter
df[(df["points"] > 5) & (df["team"] != "red")]

# %% ambiguous-truth
df[df["points"] > 5 and df["points"] < 10]

# %% query
df.query("points > 8 and team == 'red'")

# %% isin
df[df["team"].isin(["blue", "green"])]

# %% sort
df.sort_values(["team", "points"], ascending=[True, False])

# %% set-index
indexed = df.set_index("name")
indexed.loc["Cleo"]

# %% reset-index
indexed.reset_index().head(1)

# %% new-column
df["double"] = df["points"] * 2
df.assign(half=lambda d: d["points"] / 2).head(2)

# %% drop
df = df.drop(columns="double")
df.columns.tolist()

# %% rename
df.rename(columns={"points": "score"}).head(1)

# %% missing-values
df.isna().sum()

# %% fillna
df.fillna({"height": df["height"].mean()})

# %% dropna
df.dropna()

# %% chained-assignment
df["points"][0] = 100

# %% copy-on-write
part = df["points"]
part.iloc[0] = 100
df["points"].iloc[0]

# %% value-counts
df["team"].value_counts()

# %% value-counts-share
df["team"].value_counts(normalize=True).round(2)

# %% groupby-mean
df.groupby("team")["points"].mean()

# %% groupby-agg
df.groupby("team").agg(total=("points", "sum"), tallest=("height", "max"), n=("name", "count"))

# %% groupby-several
df.groupby(["team", df["points"] > 8]).size()

# %% groupby-multi-level-columns
df.groupby("team")[["points", "height"]].agg(["min", "max"])

# %% groupby-transform
df["points"] - df.groupby("team")["points"].transform("mean")

# %% groupby-apply
df.groupby("team")[["points"]].apply(lambda g: g.nlargest(1, "points"))

# %% groupby-iterate
for team, group in df.groupby("team"):
    print(team, len(group))

# %% groupby-object
df.groupby("team")

# %% groupby-error
df.groupby("nothing").sum()

# %% mean-of-text
df.mean()

# %% numeric-only
df.mean(numeric_only=True)

# %% apply
df["name"].apply(len)

# %% apply-rows
df.apply(lambda row: f"{row['name']}/{row['team']}", axis=1)

# %% map
df["team"].map({"red": 1, "blue": 2})

# %% frame-map
df[["points", "height"]].map(lambda v: v * 10)

# %% pipe
df.pipe(lambda d: d[d["points"] > 10]).shape

# %% merge
cities = pd.DataFrame({"team": ["red", "blue", "black"], "city": ["Rome", "Bern", "Oslo"]})
df.merge(cities, on="team", how="left")

# %% merge-outer
df.merge(cities, how="outer", indicator=True)["_merge"].value_counts()

# %% merge-error
df.merge(cities, on="points")

# %% join
indexed.join(indexed["points"].rank().rename("rank"))

# %% concat
pd.concat([df.head(1), df.tail(1)], ignore_index=True)

# %% concat-columns
pd.concat({"a": df["points"], "b": df["height"]}, axis=1)

# %% pivot-table
df["month"] = df["joined"].dt.month
df.pivot_table(index="team", columns="month", values="points", aggfunc="sum", fill_value=0, margins=True)

# %% pivot
long = pd.DataFrame({"day": [1, 1, 2, 2], "kind": ["a", "b"] * 2, "value": [1, 2, 3, 4]})
long.pivot(index="day", columns="kind", values="value")

# %% pivot-duplicates
pd.concat([long, long]).pivot(index="day", columns="kind", values="value")

# %% melt
df.melt(id_vars="name", value_vars=["points", "height"]).head(4)

# %% stack-and-unstack
stacked = long.set_index(["day", "kind"])["value"].unstack().stack()
stacked

# %% multi-index
mi = pd.MultiIndex.from_product([["x", "y"], [1, 2]], names=["letter", "number"])
frame = pd.DataFrame({"v": range(4)}, index=mi)
frame

# %% multi-index-select
frame.loc["x"], frame.xs(2, level="number")

# %% crosstab
pd.crosstab(df["team"], df["points"] > 8)

# %% cut
pd.cut(df["points"], bins=[0, 5, 10, 20], labels=["low", "mid", "high"])

# %% qcut
pd.qcut(df["points"], 3)

# %% categorical
sizes = pd.Series(["small", "large", "small"], dtype=pd.CategoricalDtype(["small", "large"], ordered=True))
sizes

# %% categorical-order
sizes.max(), sizes.cat.codes.tolist(), (sizes > "small").tolist()

# %% get-dummies
pd.get_dummies(df["team"])

# %% string-methods
df["name"].str.upper().str.cat(sep="|"), df["name"].str.contains("n").tolist()

# %% string-extract
pd.Series(["a-1", "b-22"]).str.extract(r"(?P<letter>\w)-(?P<number>\d+)")

# %% string-split
pd.Series(["a,b", "c,d"]).str.split(",", expand=True)

# %% explode
pd.DataFrame({"k": [1, 2], "v": [[1, 2], [3]]}).explode("v")

# %% duplicates
pd.DataFrame({"a": [1, 1, 2]}).drop_duplicates()

# %% correlation
df[["points", "height"]].corr()

# %% nullable-types
pd.array([1, None, 3], dtype="Int64")

# %% convert-dtypes
pd.DataFrame({"a": [1, None], "b": ["x", None], "c": [True, None]}).convert_dtypes().dtypes

# %% to-numeric
pd.to_numeric(pd.Series(["1", "x", "3"]), errors="coerce")

# %% to-numeric-error
pd.to_numeric(pd.Series(["1", "x"]))

# %% astype-error
df["name"].astype(int)

# %% memory-usage
df.memory_usage(deep=True).sum() > 0

# %% sample
df.sample(3, random_state=1)

# %% iterrows
for index, row in df.head(2).iterrows():
    print(index, row["name"])

# %% itertuples
[row.name for row in df.itertuples()][:2]

# %% large-frame
big = pd.DataFrame(np.arange(10000).reshape(1000, 10), columns=list("abcdefghij"))
big

# %% wide-frame
pd.DataFrame(np.zeros((3, 40)))

# %% wide-frame-shows-twenty-columns
assert pd.get_option("display.max_columns") == 20
"20 columns" in pd.DataFrame(np.zeros((3, 20)))._repr_html_()

# %% empty-frame
pd.DataFrame()

# %% empty-with-columns
pd.DataFrame(columns=["a", "b"])

# %% series-to-frame
df["points"].to_frame()

# %% display-two-frames
display(df.head(1), df.tail(1))

# %% frame-in-a-list
[df.head(1)]

# %% transpose
df.head(2).T

# %% length-mismatch
df["wrong"] = [1, 2]

# %% unequal-columns
pd.DataFrame({"a": [1, 2], "b": [1]})

# %% arithmetic-alignment
pd.Series([1, 2], index=["a", "b"]) + pd.Series([10, 20], index=["b", "c"])

# %% compare-frames
df.head(2).equals(df.head(2)), df.head(2).compare(df.head(2).assign(points=0))

# %% eval
df.eval("points * height").round(1).tolist()

# %% nlargest
df.nlargest(2, "points")[["name", "points"]]

# %% cumulative
df["points"].cumsum().tolist(), df["points"].pct_change().round(2).tolist()

# %% rank-and-shift
df["points"].rank(), df["points"].shift(1)

# %% where-and-clip
df["points"].where(df["points"] > 5, 0), df["points"].clip(5, 10)

# %% idxmax
df.set_index("name")["points"].idxmax()

# %% interval-index
pd.interval_range(0, 3)

# %% testing
pd.testing.assert_frame_equal(df.head(1), df.head(2))

# %% show-versions
pd.__version__ >= "3"
