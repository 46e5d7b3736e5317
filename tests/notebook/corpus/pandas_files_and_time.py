"""pandas: files, time series, styles, options and plots."""
# ruff: noqa
# fmt: off

# %% import
import io
import numpy as np
import pandas as pd
df = pd.DataFrame({"city": ["Rome", "Bern", "Oslo"], "people": [2.87, 0.13, 0.7], "founded": pd.to_datetime(["0753-04-21", "1191-01-01", "1040-01-01"], format="%Y-%m-%d").as_unit("s")})

# %% to-csv
df.to_csv("cities.csv", index=False)
print(open("cities.csv").read())

# %% read-csv
pd.read_csv("cities.csv")

# %% read-csv-options
pd.read_csv(io.StringIO("a;b\n1,5;x\n2,5;NA\n"), sep=";", decimal=",", na_values="NA")

# %% read-csv-dates
pd.read_csv(io.StringIO("t,v\n2024-01-01,1\n2024-01-02,2"), parse_dates=["t"], index_col="t")

# %% read-csv-chunks
[len(chunk) for chunk in pd.read_csv("cities.csv", chunksize=2)]

# %% read-csv-missing
pd.read_csv("missing.csv")

# %% read-csv-broken
pd.read_csv(io.StringIO("a,b\n1,2\n1,2,3\n"))

# %% read-csv-empty
pd.read_csv(io.StringIO(""))

# %% read-csv-url
pd.read_csv("http://localhost:9/data.csv")

# %% csv-gzip
df.to_csv("cities.csv.gz", index=False)
pd.read_csv("cities.csv.gz").shape

# %% to-json
print(df[["city", "people"]].to_json(orient="records", indent=1))

# %% read-json
pd.read_json(io.StringIO('[{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]'))

# %% json-normalize
pd.json_normalize([{"id": 1, "name": {"first": "Ada", "last": "L"}}])

# %% to-excel
df[["city", "people"]].to_excel("cities.xlsx", index=False, sheet_name="all")
pd.read_excel("cities.xlsx")

# %% excel-writer
with pd.ExcelWriter("two.xlsx") as writer:
    df[["city"]].to_excel(writer, sheet_name="one")
    df[["people"]].to_excel(writer, sheet_name="two")
sorted(pd.read_excel("two.xlsx", sheet_name=None))

# %% parquet
df.to_parquet("cities.parquet")

# %% feather
df.to_feather("cities.feather")

# %% hdf
df.to_hdf("cities.h5", key="df")

# %% pickle
df.to_pickle("cities.pkl")
pd.read_pickle("cities.pkl").equals(df)

# %% to-html
print(df[["city"]].to_html())

# %% read-html
pd.read_html(io.StringIO("<table><tr><th>a</th></tr><tr><td>1</td></tr></table>"))[0]

# %% to-latex
print(df[["city"]].to_latex())

# %% to-markdown
print(df[["city", "people"]].to_markdown())

# %% to-string
print(df[["city", "people"]].to_string(index=False))

# %% to-dict
df[["city", "people"]].to_dict("records")

# %% read-xml
pd.read_xml(io.StringIO("<r><row><a>1</a></row><row><a>2</a></row></r>"))

# %% read-fwf
pd.read_fwf(io.StringIO("a  b\n1  2\n"))

# %% sql
import sqlite3
connection = sqlite3.connect("cities.db")
df[["city", "people"]].to_sql("cities", connection, index=False, if_exists="replace")
pd.read_sql("select * from cities where people > 0.5", connection)

# %% sql-error
pd.read_sql("select * from nowhere", connection)

# %% clipboard
df.to_clipboard()

# %% timestamp
pd.Timestamp("2024-02-29 13:45")

# %% to-datetime
pd.to_datetime(["2024-01-01", "2024-02-30"], errors="coerce")

# %% to-datetime-error
pd.to_datetime("yesterday or so")

# %% timedelta
pd.Timestamp("2024-03-01") - pd.Timestamp("2024-02-01"), pd.Timedelta("1 days 2 hours")

# %% offsets
pd.Timestamp("2024-01-31") + pd.offsets.MonthEnd(1), pd.bdate_range("2024-01-05", periods=3)

# %% period
pd.Period("2024Q1").end_time, pd.period_range("2024-01", periods=3, freq="M")

# %% time-series
rng = np.random.default_rng(3)
ts = pd.Series(rng.normal(size=100).cumsum(), index=pd.date_range("2024-01-01", periods=100))
ts

# %% partial-string-index
ts["2024-02"].shape, ts.loc["2024-01-30":"2024-02-02"]

# %% resample
ts.resample("ME").mean()

# %% resample-ohlc
ts.resample("W").ohlc().head(3)

# %% rolling
ts.rolling(7).mean().dropna().head(3)

# %% expanding-and-ewm
ts.expanding().max().iloc[-1] >= ts.iloc[0], ts.ewm(span=5).mean().tail(2)

# %% shift-and-diff
ts.diff().head(3), ts.shift(2, freq="D").head(1)

# %% asfreq
ts.iloc[::3].asfreq("D", method="ffill").head(4)

# %% time-zone
pd.Timestamp("2024-07-01 12:00", tz="Europe/Berlin").tz_convert("America/New_York")

# %% time-zone-series
pd.date_range("2024-03-30", periods=3, tz="Europe/Paris")

# %% time-zone-error
pd.Timestamp("2024-01-01", tz="Mars/Base")

# %% dt-accessor
pd.Series(pd.date_range("2024-01-01", periods=3)).dt.day_name()

# %% dt-accessor-error
pd.Series(["a"]).dt.year

# %% interpolate
pd.Series([1, np.nan, np.nan, 4]).interpolate().tolist()

# %% old-frequency
pd.date_range("2024-01-01", periods=2, freq="M")

# %% styler
df.style

# %% styler-format
df.style.format({"people": "{:.1f} M"}).hide(axis="index")

# %% styler-gradient
df[["people"]].style.background_gradient(cmap="viridis")

# %% styler-highlight
df[["people"]].style.highlight_max(color="lightgreen").highlight_min(color="pink")

# %% styler-bars
df[["people"]].style.bar(color="#5fba7d")

# %% styler-apply
df[["people"]].style.map(lambda v: "color: red" if v < 1 else "font-weight: bold")

# %% styler-caption
df[["city"]].style.set_caption("Three cities").set_table_styles([{"selector": "th", "props": [("color", "blue")]}])

# %% styler-to-html
"<table" in df.style.to_html()

# %% options-rows
pd.set_option("display.max_rows", 6)
ts

# %% options-columns
pd.options.display.max_columns = 4
pd.DataFrame(np.zeros((2, 10)))

# %% options-float-format
pd.set_option("display.float_format", "{:.2f}".format)
df

# %% options-context
with pd.option_context("display.max_rows", 4):
    display(ts.to_frame())

# %% options-reset
pd.reset_option("all")

# %% options-reset-one
pd.reset_option("display.max_rows")
pd.get_option("display.max_rows")

# %% options-unknown
pd.set_option("display.nothing", 1)

# %% options-no-html
pd.set_option("display.notebook_repr_html", False)
df

# %% options-html-again
pd.set_option("display.notebook_repr_html", True)

# %% options-table-schema
pd.set_option("display.html.table_schema", True)
df

# %% options-table-schema-off
pd.set_option("display.html.table_schema", False)

# %% options-describe
pd.describe_option("display.max_rows")

# %% plot-line
ts.plot()

# %% plot-semicolon
ts.plot(title="a walk", figsize=(6, 3));

# %% plot-bar
df.plot.bar(x="city", y="people")

# %% plot-hist
ts.hist(bins=20)

# %% plot-scatter
pd.DataFrame(rng.random((30, 3)), columns=list("abc")).plot.scatter(x="a", y="b", c="c", colormap="viridis")

# %% plot-pie
df.set_index("city")["people"].plot.pie()

# %% scatter-matrix
pd.plotting.scatter_matrix(pd.DataFrame(rng.random((20, 2)), columns=list("ab")));

# %% plot-error
df.plot(x="nothing")

# %% plot-no-numbers
df[["city"]].plot()

# %% plot-saved
ts.plot().get_figure().savefig("walk.png")

# %% backend-plotly
pd.options.plotting.backend = "plotly"
