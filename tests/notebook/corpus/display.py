"""IPython's rich display: every kind of object that a cell can show."""
# ruff: noqa
# fmt: off

# %% html-value
from IPython.display import HTML, Markdown, Latex, Math, JSON, SVG, Image, Pretty, Code, display
HTML("<h3>A title</h3><p>and <em>text</em></p>")

# %% html-table
HTML("<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>")

# %% html-with-style
HTML("<div style='color: red; border: 1px solid #ccc; padding: 4px'>framed</div>")

# %% html-with-link
HTML('<a href="https://example.org/" target="_blank">a link</a>')

# %% html-with-script
HTML("<div id='box'></div><script>document.getElementById('box').innerText = 'made by script'</script>")

# %% html-with-style-element
HTML("<style>table {font-size: 12px}</style>")

# %% html-with-picture
HTML("<img src='https://example.org/picture.png' width='100'>")

# %% html-with-frame
HTML("<iframe src='https://example.org/' width='300' height='200'></iframe>")

# %% markdown
Markdown("## Results\n\n- one\n- **two**\n\n$e = mc^2$")

# %% markdown-table
Markdown("| a | b |\n|---|---|\n| 1 | 2 |")

# %% display-markdown-function
from IPython.display import display_markdown, display_html, display_latex
display_markdown("*emphasis*", raw=True)

# %% display-html-function
display_html("<i>raw html</i>", raw=True)

# %% latex
Latex(r"\begin{align} a &= b + c \\ d &= e \end{align}")

# %% math
Math(r"\int_0^\infty e^{-x^2}\,dx = \frac{\sqrt{\pi}}{2}")

# %% json
JSON({"name": "Ada", "scores": [1, 2, 3], "nested": {"deep": True}})

# %% json-expanded
JSON([1, {"a": 2}], expanded=True, root="list")

# %% geojson
from IPython.display import GeoJSON
GeoJSON({"type": "Feature", "geometry": {"type": "Point", "coordinates": [13.4, 52.5]}, "properties": {}})

# %% svg
SVG("<svg xmlns='http://www.w3.org/2000/svg' width='60' height='60'><circle cx='30' cy='30' r='20' fill='teal'/></svg>")

# %% image-from-bytes
import base64, io
dot = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
Image(dot)

# %% image-with-size
Image(data=dot, width=40, height=40, alt="a dot")

# %% image-to-and-from-file
with open("dot.png", "wb") as file:
    file.write(dot)
Image("dot.png")

# %% image-by-url
Image(url="https://example.org/picture.png")

# %% image-missing-file
Image(filename="missing.png")

# %% image-jpeg
from PIL import Image as Picture
jpeg = io.BytesIO()
Picture.new("RGB", (8, 8), "orange").save(jpeg, "JPEG")
Image(jpeg.getvalue())

# %% jpeg-value
Picture.open(jpeg)

# %% jpeg-pixels
photograph = Picture.open(jpeg).convert("L")
photograph.size, photograph.getpixel((3, 3)), photograph.getextrema()

# %% jpeg-thumbnail
Picture.new("RGB", (640, 480), "teal").save("teal.jpg", quality=90, dpi=(96, 96))
with Picture.open("teal.jpg") as large:
    large.thumbnail((64, 64))
    print(large.size, large.format, large.info["dpi"])

# %% jpeg-cut-short
Picture.open(io.BytesIO(open("teal.jpg", "rb").read()[:2000])).load()

# %% image-gif
gif = io.BytesIO()
frames = [Picture.new("P", (8, 8), shade) for shade in (10, 100, 200)]
frames[0].save(gif, "GIF", save_all=True, append_images=frames[1:])
Image(gif.getvalue(), format="gif")

# %% pillow-value
Picture.new("RGB", (32, 16), (200, 30, 30))

# %% pillow-display
display(Picture.new("L", (16, 16), 128))

# %% pretty
Pretty("exactly this text")

# %% code
Code("def f(x):\n    return x", language="python")

# %% javascript
from IPython.display import Javascript
Javascript("console.log('hello')")

# %% javascript-that-draws
display(Javascript("element.append('text from a script')"))

# %% iframe
from IPython.display import IFrame
IFrame("https://example.org/", width=300, height=100)

# %% youtube
from IPython.display import YouTubeVideo
YouTubeVideo("abc123")

# %% video-by-url
from IPython.display import Video
Video("https://example.org/film.mp4")

# %% video-embedded
Video(data=b"\x00\x00\x00\x18ftypmp42", embed=True, mimetype="video/mp4")

# %% audio
from IPython.display import Audio
import numpy as np
Audio(np.sin(2 * np.pi * 440 * np.arange(800) / 8000), rate=8000)

# %% audio-file
with open("tone.wav", "wb") as file:
    file.write(Audio(np.ones(80), rate=8000).data)
Audio("tone.wav")

# %% file-link
from IPython.display import FileLink, FileLinks
FileLink("dot.png")

# %% file-links
FileLinks(".")

# %% file-link-missing
FileLink("missing.txt")

# %% scribd
from IPython.display import ScribdDocument
ScribdDocument(12345)

# %% several-displays
display(HTML("<b>one</b>"), Markdown("*two*"), "three")

# %% display-then-value
display(HTML("<b>first</b>"))
"and the value"

# %% print-display-print
print("before")
display(HTML("<hr>"))
print("after")

# %% display-id
handle = display("waiting", display_id=True)

# %% display-id-update
handle.update("done")

# %% display-named-id
display(HTML("<i>0 %</i>"), display_id="progress");

# %% update-display
from IPython.display import update_display
update_display(HTML("<i>100 %</i>"), display_id="progress")

# %% update-in-the-same-cell
other = display(Markdown("*a*"), display_id=True)
for letter in "bcd":
    other.update(Markdown(f"*{letter}*"))

# %% update-unknown-id
update_display("to nobody", display_id="never-made")

# %% display-handle-value
display("x", display_id="named")

# %% clear-output
from IPython.display import clear_output
print("gone soon")
clear_output()
print("stays")

# %% clear-output-wait
for i in range(3):
    clear_output(wait=True)
    print("step", i)

# %% repr-html
class Card:
    def __init__(self, title): self.title = title
    def _repr_html_(self): return f"<div><b>{self.title}</b></div>"
    def __repr__(self): return f"Card({self.title!r})"
Card("hello")

# %% repr-html-in-a-list
[Card("a"), Card("b")]

# %% repr-several
class Many:
    def _repr_html_(self): return "<b>x</b>"
    def _repr_markdown_(self): return "**x**"
    def _repr_latex_(self): return "$x$"
    def _repr_svg_(self): return "<svg xmlns='http://www.w3.org/2000/svg' width='5' height='5'/>"
    def _repr_json_(self): return {"x": 1}
    def _repr_png_(self): return dot
    def _repr_javascript_(self): return "1"
Many()

# %% repr-mimebundle
class Bundle:
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": "plain", "text/html": "<b>rich</b>", "application/x-own+json": {"a": 1}}
Bundle()

# %% repr-mimebundle-with-metadata
class Meta:
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": "p", "image/png": dot}, {"image/png": {"width": 20}}
Meta()

# %% repr-html-none
class Shy:
    def _repr_html_(self): return None
Shy()

# %% repr-html-that-fails
class Fails:
    def _repr_html_(self): raise ValueError("cannot draw")
Fails()

# %% repr-html-wrong-type
class Wrong:
    def _repr_html_(self): return 5
Wrong()

# %% ipython-display-method
class Own:
    def _ipython_display_(self):
        print("I show myself")
        display(HTML("<b>me</b>"))
Own()

# %% repr-pretty
class Tree:
    def __init__(self, *children): self.children = children
    def _repr_pretty_(self, p, cycle):
        with p.group(1, "Tree(", ")"):
            for i, child in enumerate(self.children):
                if i:
                    p.text(","); p.breakable()
                p.pretty(child)
Tree(Tree(), Tree(Tree()))

# %% raw-bundle
display({"text/plain": "plain", "text/html": "<b>raw</b>"}, raw=True)

# %% raw-vega
display({"application/vnd.vegalite.v5+json": {"mark": "bar", "data": {"values": []}}, "text/plain": "<chart>"}, raw=True)

# %% raw-plotly
display({"application/vnd.plotly.v1+json": {"data": [], "layout": {}}, "text/plain": "<figure>"}, raw=True)

# %% raw-pdf
display({"application/pdf": "JVBERi0xLjQK", "text/plain": "<pdf>"}, raw=True)

# %% raw-unknown-type
display({"application/x-unknown": "data", "text/plain": "fallback"}, raw=True)

# %% publish-display-data
from IPython.display import publish_display_data
publish_display_data({"text/plain": "a", "text/markdown": "**a**"})

# %% include-and-exclude
display(Many(), include=["text/html", "text/plain"])
display(Many(), exclude=["image/png", "text/latex"])

# %% formatter-for-a-type
html = get_ipython().display_formatter.formatters["text/html"]
html.for_type(complex, lambda c: f"<b>{c.real}</b> + {c.imag}i");
3 + 4j

# %% formatter-for-text
text = get_ipython().display_formatter.formatters["text/plain"]
text.for_type(float, lambda value, p, cycle: p.text(f"{value:.2f}"));
3.14159

# %% text-display-object
from IPython.display import TextDisplayObject, DisplayObject
DisplayObject("data")

# %% progress-bar-object
from IPython.display import ProgressBar
bar = ProgressBar(3)
bar.display()
for _ in bar:
    pass

# %% set-matplotlib-formats
from matplotlib_inline.backend_inline import set_matplotlib_formats
set_matplotlib_formats("png")

# %% capture-output
from IPython.utils.capture import capture_output
with capture_output() as captured:
    print("hidden")
    display(HTML("<b>hidden too</b>"))
captured.stdout, len(captured.outputs)

# %% capture-show
captured.show()

# %% interactivity-all
from IPython.core.interactiveshell import InteractiveShell
InteractiveShell.ast_node_interactivity = "all"

# %% interactivity-all-shows
1
"two"
[3]

# %% interactivity-back
InteractiveShell.ast_node_interactivity = "last_expr"

# %% interactivity-is-back
1
2

# %% ipywidgets
import ipywidgets

# %% display-exception-object
ValueError("as a value")

# %% display-none
display(None)

# %% display-nothing
display()

# %% many-displays
for i in range(50):
    display(HTML(f"<b>{i}</b>"))
