"""Hostile cells: what reaches the page by other ways than a display, or through a library's help.

Each piece runs in the guest. ``{PWN}`` and ``{CANARY}`` are put in as in the vectors.
"""

from __future__ import annotations

from .page_vectors import swapped

_IMAGE = "<img src=x: onerror={PWN}>"

UPDATES = {
    "update": "from IPython.display import HTML, display\n"
    f"display(HTML('<b>harmless</b>'), display_id=True).update(HTML('{_IMAGE}'))",
    "update-type": "from IPython.display import Javascript, display\n"
    "display('harmless', display_id='mine').update(Javascript('{PWN}'))",
    "update-markdown": "from IPython.display import Markdown, display\n"
    "display('harmless', display_id='mine').update(Markdown('![x]({CANARY})'))",
    "update-foreign": "from IPython.display import HTML, update_display\n"
    f"update_display(HTML('{_IMAGE}'), display_id='not-mine')",
    "update-metadata": "from IPython.display import display\n"
    "display({'text/html': '<b>x</b>'}, raw=True, display_id='other')\n"
    f"display({{'text/html': '{_IMAGE}'}}, raw=True, display_id='other', update=True,\n"
    "        metadata={'text/html': {'isolated': True}})",
    "clear": "from IPython.display import HTML, clear_output, display\n"
    f"display(HTML('<b>gone</b>')); clear_output(wait=True); display(HTML('{_IMAGE}'))",
}

OBJECTS = {
    "repr-html": f"class A:\n    def _repr_html_(self): return '{_IMAGE}'\n"
    "from IPython.display import display\ndisplay(A())",
    "repr-javascript": "class A:\n    def _repr_javascript_(self): return '{PWN}'\n"
    "from IPython.display import display\ndisplay(A())",
    "repr-svg": "class A:\n    def _repr_svg_(self):\n"
    "        return \"<svg xmlns='http://www.w3.org/2000/svg' onload='{PWN}'/>\"\n"
    "from IPython.display import display\ndisplay(A())",
    "repr-bundle": "class A:\n    def _repr_mimebundle_(self, **_):\n"
    f"        return {{'text/html': '{_IMAGE}', 'application/javascript': '{{PWN}}'}}, {{}}\n"
    "from IPython.display import display\ndisplay(A())",
    "repr-plain": "class A:\n"
    "    def __repr__(self): return '<script>{PWN}</script>' + '\\x1b]8;;x'\n"
    "from IPython.display import display\ndisplay(A())",
    "hook": f"class A:\n    def _repr_html_(self): return '{_IMAGE}'\n"
    "import sys\nsys.displayhook(A())",
    "iframe": "from IPython.display import IFrame, display\ndisplay(IFrame('{CANARY}', 90, 90))",
    "image-url": "from IPython.display import Image, display\ndisplay(Image(url='{CANARY}'))",
    "video-url": "from IPython.display import Video, display\ndisplay(Video('{CANARY}'))",
    "audio-url": "from IPython.display import Audio, display\n"
    "display(Audio(url='{CANARY}', autoplay=True))",
    "javascript-library": "from IPython.display import Javascript, display\n"
    "display(Javascript('{PWN}', lib='{CANARY}.js', css='{CANARY}.css'))",
    "svg": "from IPython.display import SVG, display\n"
    "display(SVG(\"<svg xmlns='http://www.w3.org/2000/svg' onload='{PWN}'/>\"))",
    "markdown": "from IPython.display import Markdown, display\n"
    "display(Markdown('![x]({CANARY}) <img src=x: onerror={PWN}>'))",
    "math": "from IPython.display import Math, display\n"
    "display(Math(r'\\href{javascript:{PWN}}{x}'))",
    "geojson": "from IPython.display import GeoJSON, display\n"
    "display(GeoJSON({'type': 'Point', 'coordinates': [1, 2]}, url_template='{CANARY}'))",
    "pandas-cell": "import pandas as pd\nfrom IPython.display import HTML, display\n"
    f"frame = pd.DataFrame({{'{_IMAGE}': ['{_IMAGE}']}})\n"
    "display(frame, HTML(frame.to_html(escape=False)))",
    "pandas-styler": "import pandas as pd\nfrom IPython.display import display\n"
    f"style = pd.DataFrame({{'a': ['{_IMAGE}']}}).style.set_caption('{_IMAGE}')\n"
    "rules = [{'selector': 'td', 'props': [('background', 'url({CANARY})')]}]\n"
    "display(style.set_table_styles(rules))",
    "pandas-attributes": "import pandas as pd\nfrom IPython.display import display\n"
    "display(pd.DataFrame({'a': [1]}).style.set_table_attributes('onpointerover={PWN}'))",
    "matplotlib": "import io\nimport matplotlib.pyplot as plt\n"
    "from IPython.display import SVG, display\nplt.figure(figsize=(1, 1))\n"
    f"plt.title('{_IMAGE}', url='{{CANARY}}')\nfile = io.StringIO()\n"
    "plt.savefig(file, format='svg')\nplt.close()\n"
    "display(SVG(file.getvalue().replace('<g ', '<g onclick=\"{PWN}\" ')))",
    "payload": "get_ipython().set_next_input('{PWN}', replace=True)",
    "payload-page": "from IPython.core import page\n"
    f"page.page({{'text/html': '{_IMAGE}', 'text/plain': 'x'}})",
    "comm": "try:\n    from comm import create_comm\n"
    "    create_comm('jupyter.widget', data={'state': {}}).send('{PWN}')\nexcept Exception: pass",
}

STREAMS = {
    "print": f"print('{_IMAGE} <script>{{PWN}}</script>')",
    "print-stderr": f"import sys\nprint('{_IMAGE}', file=sys.stderr)",
    "print-link": "print('\\x1b]8;;javascript:{PWN}\\x07click\\x1b]8;;\\x07 javascript:{PWN}')",
    "print-script": "print('javascript://%0a{PWN}'); print('java\\x1b[31mscript\\x1b[0m://%0a{PWN}')\n"
    "print('javascript:', end='', flush=True); print('//%0a{PWN}')",
    "print-colour": "print('\\x1b[31\"onmouseover={PWN}\"m<b onclick={PWN}>x\\x1b[0m')",
    "print-address": f"print('{{CANARY}}\"onmouseover=\"{{PWN}} www.x.org\\'>'\n      '{_IMAGE}')",
    "print-title": "print('\\x1b]0;owned\\x07\\x1b]2;owned\\x1b\\\\\\x9d0;owned\\x9c')",
    "print-clipboard": "print('\\x1b]52;c;b3duZWQ=\\x07\\x1bP+q\\x1b\\\\')",
    "print-rewrite": "print('safe\\r<img src=x: onerror={PWN}>\\b\\b\\x1b[2K\\x1b[9A')",
}

ERRORS = {
    "error-value": f"raise ValueError('{_IMAGE}<script>{{PWN}}</script>')",
    "error-name": f"raise type('{_IMAGE}', (Exception,), {{}})('{{CANARY}}')",
    "error-script": "raise ValueError('javascript://%0a{PWN} vbscript://%0a{PWN}')",
    "error-ansi": "raise ValueError('\\x1b]8;;javascript:{PWN}\\x07x\\x1b]8;;\\x07\\x1b[31<b>m')",
    "error-text": "class A(Exception):\n"
    f"    def __str__(self): return '{_IMAGE}'\n"
    "    def _render_traceback_(self): return ['<svg onload={PWN}>', '\\x1b]0;owned\\x07']\n"
    "raise A",
    "error-source": f"compile('''{_IMAGE} \u202e''', '''{_IMAGE}''', 'exec')",
}

FILES = {
    "file-image": "open('<img src=x: onerror={PWN}>.txt', 'w').close()",
    "file-svg": "open('\"><svg onload={PWN}>', 'w').close()",
    "file-quote": "open('x\" onmouseover=\"{PWN}', 'w').close()",
    "file-script": "open('javascript:{PWN}', 'w').close()",
    "file-newline": "open('x\\n<details open ontoggle={PWN}>', 'w').close()",
    "file-math": r"open('$\\href{javascript:{PWN}}{click}$', 'w').close()",
    "file-math-style": r"open('$\\style{position:fixed}{\\cssId{main}{x}}$', 'w').close()",
    "file-ansi": "open('\\x1b]0;owned\\x07\\u202etxt.exe', 'w').close()",
}

CELLS: dict[str, dict[str, str]] = {
    "update": UPDATES,
    "object": OBJECTS,
    "stream": STREAMS,
    "file": FILES,
    **{name: {name: code} for name, code in ERRORS.items()},
}
"""What each cell does, piece by piece; an error ends its cell, so it has one to itself."""


def ready_cells(canary: str) -> dict[str, dict[str, str]]:
    """The same with an address to load and a call to make."""
    return {
        cell: {name: swapped(code, name, canary) for name, code in pieces.items()}
        for cell, pieces in CELLS.items()
    }
