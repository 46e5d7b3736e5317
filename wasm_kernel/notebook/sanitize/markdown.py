"""Markdown, rendered here: a page that renders it itself would add what no filter has seen.

JupyterLab gives headings ids, draws diagrams and writes the language of a code block into an
attribute as it stands. So Markdown becomes HTML on the host and goes the way of all HTML.
"""

from __future__ import annotations

import html
import re

from wasm_kernel.notebook.sanitize.markdown_inline import Links, inline
from wasm_kernel.notebook.sanitize.markdown_tables import alignment, cells, is_delimiter_row

MARKDOWN_MAX = 200_000
NESTING_MAX = 8
_FENCE = re.compile(r"( {0,3})(`{3,}|~{3,})([^`]*)")
_HEADING = re.compile(r" {0,3}(#{1,6})(?: (.*)| *)")
_RULE = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})")
_QUOTE = re.compile(r" {0,3}> ?")
_ITEM = re.compile(r"( {0,3})([-+*]|\d{1,9}[.)])( {1,4}(?=\S)| *$)")
_TASK = re.compile(r"\[([ xX])\][ \t]+")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*")
_HTML = re.compile(r" {0,3}<(?:/?[A-Za-z][A-Za-z0-9-]*(?:[\s/>]|$)|!--)")
_VERBATIM = re.compile(r" {0,3}<(pre|style|script|textarea)(?:[\s>]|$)", re.IGNORECASE)
_REFERENCE = re.compile(
    r" {0,3}\[([^\[\]\n]{1,200})\]:[ \t]*<?([^\s<>]+)>?(?:[ \t]+[\"'(].*[\"')])?[ \t]*"
)
_MATH_BLOCK = re.compile(r" {0,3}(\$\$|\\begin\{([a-zA-Z*]{1,20})\}|\\\\?\[)")


def markdown_to_html(text: str) -> str:
    """The HTML of some Markdown; not yet safe to show."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").expandtabs(4).split("\n")
    links: Links = {}
    return _Blocks(_without_references(lines, links), links, 0).html()


def _without_references(lines: list[str], links: Links) -> list[str]:
    kept = []
    fence = ""
    for line in lines:
        match = _FENCE.fullmatch(line)
        if match and (not fence or (match[2].startswith(fence) and not match[3].strip())):
            fence = "" if fence else match[2]
        reference = None if fence else _REFERENCE.fullmatch(line)
        if reference:
            links.setdefault(reference[1].strip().lower(), reference[2])
        else:
            kept.append(line)
    return kept


class _Blocks:
    """Turns some lines into HTML, block by block."""

    def __init__(self, lines: list[str], links: Links, depth: int) -> None:
        self._lines = lines
        self._links = links
        self._depth = depth
        self._at = 0
        self._parts: list[str] = []

    def html(self) -> str:
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if not line.strip():
                self._at += 1
            elif not self._block(line):
                self._paragraph()
        return "\n".join(self._parts)

    def _block(self, line: str) -> bool:
        """Whether a block other than a paragraph starts here; if so it is written."""
        heading = _HEADING.fullmatch(line)
        item = _ITEM.match(line)
        fence = _FENCE.fullmatch(line)
        if fence:
            self._fence(fence)
        elif heading:
            level = len(heading[1])
            title = (heading[2] or "").strip()
            if title.endswith("#") and title.rstrip("#")[-1:] in ("", " "):
                title = title.rstrip("#")
            self._add(f"<h{level}>{self._inline(title)}</h{level}>")
        elif _RULE.fullmatch(line):
            self._add("<hr>")
        elif _QUOTE.match(line) and self._depth < NESTING_MAX:
            self._quote()
        elif item and self._depth < NESTING_MAX:
            self._list(item)
        elif _MATH_BLOCK.match(line):
            self._math()
        elif line.startswith("    "):
            self._indented()
        elif _HTML.match(line):
            self._raw(line)
        elif self._is_table():
            self._table()
        else:
            return False
        return True

    def _add(self, part: str, lines: int = 1) -> None:
        self._parts.append(part)
        self._at += lines

    def _inline(self, text: str) -> str:
        return inline(text.strip(), self._links)

    def _inner(self, lines: list[str]) -> str:
        return _Blocks(lines, self._links, self._depth + 1).html()

    def _fence(self, match: re.Match[str]) -> None:
        content = []
        self._at += 1
        while self._at < len(self._lines):
            line = self._lines[self._at]
            self._at += 1
            closing = line.strip()
            if closing.startswith(match[2]) and not closing.strip(match[2][0]):
                break
            indent = len(match[1])
            content.append(line[indent:] if line[:indent].isspace() or not indent else line)
        self._parts.append(_code_block(content))

    def _indented(self) -> None:
        content = []
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.strip() and not line.startswith("    "):
                break
            content.append(line[4:])
            self._at += 1
        while content and not content[-1].strip():
            content.pop()
        self._parts.append(_code_block(content))

    def _quote(self) -> None:
        content = []
        while self._at < len(self._lines):
            line = self._lines[self._at]
            match = _QUOTE.match(line)
            if not match and (not line.strip() or self._starts_block(line)):
                break
            content.append(line[match.end() :] if match else line)
            self._at += 1
        self._parts.append(f"<blockquote>{self._inner(content)}</blockquote>")

    def _list(self, first: re.Match[str]) -> None:
        kind = first[2][-1]
        items: list[list[str]] = []
        is_loose = False
        while self._at < len(self._lines):
            line = self._lines[self._at]
            match = _ITEM.match(line)
            if not match or match[2][-1] != kind or _RULE.fullmatch(line):
                break
            content, was_loose = self._item(match)
            items.append(content)
            is_loose = is_loose or was_loose
        written = "".join(self._written_item(content, is_loose) for content in items)
        if kind in ".)":
            self._parts.append(f'<ol start="{int(first[2][:-1])}">{written}</ol>')
        else:
            self._parts.append(f"<ul>{written}</ul>")

    def _item(self, match: re.Match[str]) -> tuple[list[str], bool]:
        """The lines of one item, and whether blank lines stand inside or after it."""
        indent = match.end() if match[3].strip("\n") else match.end() + 1
        content = [self._lines[self._at][match.end() :]]
        is_loose = False
        self._at += 1
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.strip():
                is_inside = line.startswith(" " * indent)
                follows_blank = not content[-1].strip() and len(content) > 1
                if not is_inside and (follows_blank or self._starts_block(line)):
                    sibling = _ITEM.match(line)
                    is_sibling = sibling is not None and sibling[2][-1] == match[2][-1]
                    is_loose = is_loose or (follows_blank and is_sibling)
                    break
                is_loose = is_loose or (follows_blank and is_inside)
                content.append(line[indent:] if is_inside else line.lstrip())
            else:
                content.append("")
            self._at += 1
        return content, is_loose

    def _written_item(self, content: list[str], is_loose: bool) -> str:
        task = _TASK.match(content[0])
        box = ""
        if task:
            box = "&#9744; " if task[1] == " " else "&#9745; "
            content = [content[0][task.end() :], *content[1:]]
        inner = self._inner(content)
        if not is_loose and inner.startswith("<p>"):
            inner = inner.removeprefix("<p>").replace("</p>", "", 1)
        return f"<li>{box}{inner}</li>"

    def _math(self) -> None:
        """A formula of its own, up to its end or the next blank line."""
        match = _MATH_BLOCK.match(self._lines[self._at])
        opening = match[1] if match else "$$"
        closing = {"$$": "$$", "\\[": "\\]", "\\\\[": "\\\\]"}.get(opening, "\\end{")
        content: list[str] = []
        while self._at < len(self._lines) and self._lines[self._at].strip():
            line = self._lines[self._at]
            rest = line if content else line.lstrip().removeprefix(opening)
            content.append(line)
            self._at += 1
            if closing in rest:
                break
        source = "\n".join(content)
        if opening == "\\\\[":
            source = source.replace("\\\\[", "\\[", 1).replace("\\\\]", "\\]", 1)
        self._parts.append(f"<p>{html.escape(source, quote=False)}</p>")

    def _raw(self, line: str) -> None:
        verbatim = _VERBATIM.match(line)
        closing = f"</{verbatim[1].lower()}" if verbatim else ""
        content = []
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if not closing and not line.strip():
                break
            content.append(line)
            self._at += 1
            if closing and closing in line.lower():
                break
        self._parts.append("\n".join(content))

    def _is_table(self) -> bool:
        if self._at + 1 >= len(self._lines) or "|" not in self._lines[self._at]:
            return False
        return is_delimiter_row(self._lines[self._at + 1])

    def _table(self) -> None:
        head = cells(self._lines[self._at])
        aligns = [alignment(cell) for cell in cells(self._lines[self._at + 1])]
        aligns += [""] * (len(head) - len(aligns))
        self._at += 2
        rows = []
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if not line.strip() or self._starts_block(line):
                break
            rows.append((cells(line) + [""] * len(head))[: len(head)])
            self._at += 1
        body = "".join(self._row(row, "td", aligns) for row in rows)
        self._parts.append(
            f"<table><thead>{self._row(head, 'th', aligns)}</thead><tbody>{body}</tbody></table>"
        )

    def _row(self, cells: list[str], tag: str, aligns: list[str]) -> str:
        written = (
            f"<{tag}{align}>{self._inline(cell)}</{tag}>"
            for cell, align in zip(cells, aligns, strict=False)
        )
        return f"<tr>{''.join(written)}</tr>"

    def _starts_block(self, line: str) -> bool:
        """Whether a line ends the paragraph before it."""
        return any(
            pattern.match(line) is not None
            for pattern in (_FENCE, _QUOTE, _ITEM, _MATH_BLOCK, _HTML)
        ) or any(pattern.fullmatch(line) is not None for pattern in (_HEADING, _RULE))

    def _paragraph(self) -> None:
        content = [self._lines[self._at]]
        self._at += 1
        while self._at < len(self._lines):
            line = self._lines[self._at]
            underline = _UNDERLINE.fullmatch(line)
            if underline:
                self._at += 1
                level = 1 if underline[1][0] == "=" else 2
                self._parts.append(f"<h{level}>{self._inline(chr(10).join(content))}</h{level}>")
                return
            if not line.strip() or self._starts_block(line) or self._is_table():
                break
            content.append(line.lstrip())
            self._at += 1
        self._parts.append(f"<p>{self._inline(chr(10).join(content))}</p>")


def _code_block(lines: list[str]) -> str:
    return f"<pre><code>{html.escape(chr(10).join(lines))}\n</code></pre>"
