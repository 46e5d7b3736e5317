"""The kernel with its sanitizer off: the control of the tests in a page, and nothing else.

Everything the guest sends reaches the page as it is, file names included.
"""

from __future__ import annotations

import base64
from typing import Any

from wasm_kernel.notebook import __main__ as kernel
from wasm_kernel.notebook import publish, render
from wasm_kernel.notebook.sanitize import Sanitized

NAME = "wasm-python-unsanitized"


class PlainText:
    """A stream that is passed on."""

    def feed(self, text: str) -> str:
        """The text as it came."""
        return text

    def finish(self) -> str:
        """Nothing was held back."""
        return ""


def plain_bundle(data: dict[str, Any], metadata: dict[str, Any], **_: Any) -> Sanitized:
    """The bundle as it came; bytes as Jupyter's messages write them."""
    return Sanitized({mime: _as_json(value) for mime, value in data.items()}, metadata)


def _as_json(value: Any) -> Any:
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(bytes(value)).decode("ascii")
    return value


def main() -> None:
    """Start it."""
    publish.sanitize = plain_bundle
    publish.sanitize_text = render.sanitize_text = render.escape = str
    publish.sanitize_traceback = list
    publish.TextSanitizer = PlainText
    kernel.main()


if __name__ == "__main__":
    main()
