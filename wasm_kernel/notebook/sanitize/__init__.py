"""Between the guest and the page: untrusted output in, output that is safe to show out."""

from __future__ import annotations

from wasm_kernel.notebook.sanitize.bundle import Sanitized, sanitize
from wasm_kernel.notebook.sanitize.terminal import (
    TextSanitizer,
    sanitize_text,
    sanitize_traceback,
)

__all__ = ["Sanitized", "TextSanitizer", "sanitize", "sanitize_text", "sanitize_traceback"]
