"""Matplotlib: figures of every common kind, inline and in files."""
# ruff: noqa
# fmt: off

# %% import
import matplotlib.pyplot as plt
import numpy as np
x = np.linspace(0, 2 * np.pi, 100)

# %% plot-value
plt.plot(x, np.sin(x))

# %% plot-show
plt.plot(x, np.cos(x))
plt.show()

# %% plot-semicolon
plt.plot(x, x ** 2);

# %% several-show
for k in (1, 2):
    plt.plot(x, np.sin(k * x))
    plt.show()

# %% print-around-show
print("before")
plt.plot([1, 2])
plt.show()
print("after")

# %% labels-and-legend
plt.figure(figsize=(5, 3))
plt.plot(x, np.sin(x), "r--", label="sine")
plt.plot(x, np.cos(x), "b:", label="cosine")
plt.title("Two waves")
plt.xlabel("angle")
plt.ylabel("value")
plt.legend()
plt.grid(True)

# %% math-text
plt.plot(x, np.exp(-x))
plt.title(r"$e^{-x}$ and $\alpha_i^2 \geq \frac{1}{2}$")
plt.show()

# %% object-oriented
fig, ax = plt.subplots()
ax.scatter(x[::5], np.sin(x[::5]), c=x[::5], cmap="viridis")
ax.set(title="points", xlabel="x")
plt.show()

# %% figure-value
fig

# %% axes-value
ax

# %% subplots-grid
fig, axes = plt.subplots(1, 2, figsize=(6, 3), sharey=True)
for k, axis in enumerate(axes, 1):
    axis.plot(x, np.sin(k * x))
fig.tight_layout()

# %% histogram-value
plt.hist([1, 2, 2, 3])

# %% pie
plt.pie([3, 2, 1], labels=["a", "b", "c"], autopct="%1.0f%%")
plt.show()

# %% imshow-colorbar
plt.imshow(np.arange(100).reshape(10, 10), cmap="magma")
plt.colorbar()
plt.show()

# %% contour
X, Y = np.meshgrid(x, x)
plt.contourf(X, Y, np.sin(X) * np.cos(Y), levels=10)
plt.show()

# %% three-d-surface
fig = plt.figure()
ax = fig.add_subplot(projection="3d")
ax.plot_surface(X[::10, ::10], Y[::10, ::10], np.sin(X[::10, ::10]), cmap="coolwarm")
plt.show()

# %% annotations
fig, ax = plt.subplots()
ax.plot(x, np.sin(x))
ax.annotate("top", xy=(np.pi / 2, 1), xytext=(3, 1.2), arrowprops={"arrowstyle": "->"})
ax.axhline(0, color="grey")
ax.axvspan(1, 2, alpha=0.2)
ax.text(4, -0.5, "text", bbox={"facecolor": "wheat"})
plt.show()

# %% dates-axis
import datetime as dt
days = [dt.date(2024, 1, 1) + dt.timedelta(days=i) for i in range(30)]
plt.plot(days, range(30))
plt.gcf().autofmt_xdate()
plt.show()

# %% style-list
"ggplot" in plt.style.available

# %% style-use
plt.style.use("seaborn-v0_8-darkgrid")
plt.plot(x, np.cos(x))
plt.show()

# %% style-unknown
plt.style.use("no-such-style")

# %% style-default
plt.style.use("default")

# %% colormap-value
plt.colormaps["viridis"]

# %% colormap-list
len(plt.colormaps()) > 50

# %% colormap-unknown
plt.get_cmap("no-such-map")

# %% listed-colormap
from matplotlib.colors import ListedColormap, LinearSegmentedColormap
ListedColormap(["red", "green", "blue"])

# %% close-leftovers
plt.close("all")

# %% rc-params
plt.rcParams["figure.figsize"] = (4, 3)
plt.rcParams["font.size"] = 9
plt.plot([1, 2])
plt.show()

# %% rc-defaults
plt.rcdefaults()

# %% rc-defaults-still-inline
plt.plot([1, 2])
plt.show()

# %% rc-unknown
plt.rcParams["no.such.setting"] = 1

# %% savefig-png
fig, ax = plt.subplots()
ax.plot(x, np.sin(x))
fig.savefig("sine.png", dpi=80, bbox_inches="tight")
import os
os.path.getsize("sine.png") > 1000

# %% savefig-pdf
fig.savefig("sine.pdf")
open("sine.pdf", "rb").read(4)

# %% savefig-svg
fig.savefig("sine.svg")
"<svg" in open("sine.svg").read()

# %% savefig-jpg
fig.savefig("sine.jpg")

# %% savefig-unknown
fig.savefig("sine.xyz")

# %% savefig-buffer
import io
buffer = io.BytesIO()
fig.savefig(buffer, format="png")
buffer.getvalue()[:4]

# %% imread
plt.imread("sine.png").shape[2]

# %% imsave
plt.imsave("noise.png", np.random.default_rng(0).random((10, 10)))

# %% imread-jpeg
plt.imsave("noise.jpg", np.random.default_rng(0).random((10, 10)))
plt.imread("noise.jpg").shape

# %% imshow-jpeg
plt.imshow(plt.imread("noise.jpg"))
plt.show()

# %% inline-svg
from matplotlib_inline.backend_inline import set_matplotlib_formats
set_matplotlib_formats("svg")
plt.plot([1, 2])
plt.show()

# %% inline-jpeg
set_matplotlib_formats("jpeg")
plt.plot([1, 2])
plt.show()

# %% [ipython] inline-retina
# %config InlineBackend.figure_format = 'retina'
# plt.plot([1, 2])
# plt.show()

# %% [ipython] inline-several
# %config InlineBackend.figure_formats = ['png', 'svg']
# plt.plot([1, 2])
# plt.show()

# %% [ipython] inline-png
# %config InlineBackend.figure_formats = ['png']

# %% [ipython] matplotlib-inline
# %matplotlib inline
# plt.plot([3, 1])

# %% [ipython] close-figures-off
# %config InlineBackend.close_figures = False
# fig, ax = plt.subplots()

# %% [ipython] close-figures-on
# plt.close("all")
# %config InlineBackend.close_figures = True

# %% figure-closed
fig, ax = plt.subplots()
ax.plot([1])
plt.close(fig)

# %% figure-show
fig.show()

# %% two-figures-in-a-cell
plt.figure()
plt.plot([1, 2])
plt.figure()
plt.plot([2, 1])

# %% figure-and-error
plt.plot([1, 2])
raise ValueError("after the plot")

# %% shapes-do-not-match
plt.plot([1, 2, 3], [1, 2])

# %% clear-and-redraw
from IPython.display import clear_output
for k in range(2):
    clear_output(wait=True)
    plt.plot(x, np.sin(x + k))
    plt.show()

# %% update-a-display
handle = display(display_id=True)
fig, ax = plt.subplots()
for k in range(2):
    ax.plot([k, 1])
    handle.update(fig)
plt.close(fig)

# %% animation-value
from matplotlib.animation import FuncAnimation
fig, ax = plt.subplots()
line, = ax.plot(x, np.sin(x))
animation = FuncAnimation(fig, lambda k: line.set_data(x, np.sin(x + k)), frames=2)
plt.close(fig)
animation

# %% animation-jshtml
from IPython.display import HTML
HTML(animation.to_jshtml())

# %% animation-html5
HTML(animation.to_html5_video())

# %% animation-gif
animation.save("wave.gif", writer="pillow", fps=5)
open("wave.gif", "rb").read(3)

# %% widgets
from matplotlib.widgets import Slider
fig, ax = plt.subplots()
slider = Slider(ax, "value", 0, 1)
plt.show()

# %% backend-name
plt.get_backend()

# %% switch-backend
plt.switch_backend("agg")
plt.plot([1, 2])

# %% use-tk
import matplotlib
matplotlib.use("TkAgg")

# %% [ipython] inline-again
# %matplotlib inline
# plt.plot([1, 2]);

# %% interactive-mode
plt.ion()
plt.plot([1, 2])
plt.pause(0.01)
plt.ioff()

# %% [ipython] matplotlib-alone
# %matplotlib

# %% plot-after-matplotlib-alone
plt.plot([1, 2])
plt.show()

# %% [ipython] inline-once-more
# plt.close("all")
# %matplotlib inline

# %% tables
fig, ax = plt.subplots()
ax.axis("off")
ax.table(cellText=[["1", "2"], ["3", "4"]], loc="center")
plt.show()

# %% missing-glyph
plt.title("数据 🎉")
plt.show()

# %% unknown-font
plt.title("text", fontname="No Such Font")
plt.show()

# %% use-tex
with plt.rc_context({"text.usetex": True}):
    plt.title("x")
    plt.show()

# %% many-open-figures
for k in range(21):
    plt.figure()
plt.close("all")

# %% log-warning
plt.plot([0, -1])
plt.yscale("log")
plt.show()
