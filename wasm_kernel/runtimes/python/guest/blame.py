"""Warnings name the line that asked NumPy for something, not what of ours stands in between."""

import sys
import warnings

from wasm_guest.missing import BETWEEN


def install():
    """Look at each warning before it is shown or recorded."""
    plain = warnings._showwarnmsg

    def _showwarnmsg(message):
        if message.filename not in BETWEEN or _move(message):
            plain(message)

    warnings._showwarnmsg = _showwarnmsg


def _move(message):
    """Blame the caller, who is told once of each of its lines, as Python does it."""
    frame = sys._getframe()
    while frame is not None and frame.f_code.co_filename not in BETWEEN:
        frame = frame.f_back
    if frame is None:
        return True
    told = frame.f_globals.get("__warningregistry__", {})
    while frame.f_back is not None and frame.f_code.co_filename in BETWEEN:
        frame = frame.f_back
    text, category = str(message.message), message.category
    is_counted = told.pop((text, category, message.lineno), None)
    message.filename, message.lineno = frame.f_code.co_filename, frame.f_lineno
    if not is_counted:
        return True
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    if registry.get("version") != told.get("version"):
        registry.clear()
        registry["version"] = told.get("version")
    key = text, category, message.lineno
    is_new = key not in registry
    registry[key] = True
    return is_new
