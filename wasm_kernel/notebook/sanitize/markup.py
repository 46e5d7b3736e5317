"""LaTeX and Markdown: text that a page typesets."""

from __future__ import annotations

import re

from wasm_kernel.notebook.sanitize import tex, texts
from wasm_kernel.notebook.sanitize.html import CleanHtml, clean_html
from wasm_kernel.notebook.sanitize.json_data import clean_string
from wasm_kernel.notebook.sanitize.markdown import MARKDOWN_MAX, markdown_to_html
from wasm_kernel.notebook.sanitize.refusal import Refused
from wasm_kernel.notebook.sanitize.terminal import one_kind_of_line_end
from wasm_kernel.notebook.sanitize.texts import too_large

_OPENS_TAG = re.compile(r"<(?=[A-Za-z/!?])")
# Some viewers (VS Code, what nbconvert writes as Markdown) read LaTeX as Markdown, with its
# pictures and links; and to TeX two carets and a number are any letter, a backslash as well.
_OTHERWISE_READ = re.compile(r"\^(?=\^)|!(?=\[)|\](?=[(\[:])")


def clean_latex(text: str) -> tuple[str, list[str]]:
    """LaTeX whose live commands are all on the list, and notes."""
    if len(text) > tex.LATEX_MAX:
        raise Refused(too_large(tex.LATEX_MAX))
    text = one_kind_of_line_end(clean_string(text))
    if tex.is_too_much(text) or tex.goes_backward(text):
        raise Refused("too many formulas, levels or negative spaces")
    # Not every page escapes LaTeX before it puts it into its markup; a blank changes no formula.
    safe = tex.defused(_OTHERWISE_READ.sub(r"\g<0> ", _OPENS_TAG.sub("< ", text)))
    return safe, [texts.MATH_COMMANDS_OFF] if f"\\{tex.WORD_JOINER}" in safe else []


def clean_markdown(text: str, limit: int) -> CleanHtml:
    """Markdown as clean HTML."""
    if len(text) > min(limit, MARKDOWN_MAX):
        raise Refused(too_large(min(limit, MARKDOWN_MAX)))
    return clean_html(markdown_to_html(text), limit)
