"""``nbformat``, as far as notebooks need it: to read and write notebooks of the current format.

Plotly asks for it before it shows a figure. The real one checks notebooks by packages that have
compiled parts; nothing is checked here.
"""

import importlib
import json
import uuid

NO_CONVERT = object()


class NotebookNode(dict):
    """A dict whose items are attributes as well."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    __setattr__ = dict.__setitem__
    __delattr__ = dict.__delitem__


NotebookNode.__module__ = "nbformat"


class ValidationError(Exception):
    """A notebook that is none."""


class NotebookNotary:
    """Signs nothing: no notebook becomes trusted by what a cell says of it."""

    def __init__(self, *_, **__):
        self.store = self

    def sign(self, *_, **__):
        pass

    update_config = close = unsign = mark_cells = sign

    def check_signature(self, *_):
        return False

    check_cells = check_signature


def names(module):
    """What is in the package, and in its modules."""
    if module.__name__ == "nbformat.sign":
        return {"NotebookNotary": NotebookNotary}
    both = {"NotebookNode": NotebookNode, "reads": reads, "writes": writes}
    if module.__name__ == "nbformat":
        return both | {
            "__version__": "5.10.4",
            "version_info": (5, 10, 4),
            "current_nbformat": 4,
            "current_nbformat_minor": 5,
            "NO_CONVERT": NO_CONVERT,
            "ValidationError": ValidationError,
            "from_dict": from_dict,
            "read": read,
            "write": write,
            "validate": validate,
            "sign": importlib.import_module("nbformat.sign"),
            "v4": importlib.import_module("nbformat.v4"),
        }
    kinds = (new_notebook, new_code_cell, new_markdown_cell, new_raw_cell, new_output)
    return both | {"nbformat": 4, "nbformat_minor": 5} | {kind.__name__: kind for kind in kinds}


def from_dict(value):
    """The same with attributes, all the way down."""
    if isinstance(value, dict):
        return NotebookNode({name: from_dict(inner) for name, inner in value.items()})
    return [from_dict(inner) for inner in value] if isinstance(value, list | tuple) else value


def reads(text, as_version=NO_CONVERT, **_):
    """A notebook from its text; lines that are stored apart become one text."""
    notebook = from_dict(json.loads(text))
    if notebook.get("nbformat") != 4:
        raise ValidationError("the sandbox reads notebooks of format 4 only")
    for cell in notebook.cells:
        cell.source = _joined(cell.source)
        for output in cell.get("outputs", []):
            for holder in (output, output.get("data", {})):
                for name in [name for name in holder if name == "text" or "/" in name]:
                    holder[name] = _joined(holder[name])
    return notebook


def _joined(text):
    is_lines = isinstance(text, list) and all(isinstance(line, str) for line in text)
    return "".join(text) if is_lines else text


def writes(notebook, version=NO_CONVERT, **_):
    """The text of a notebook, its lines apart as everybody stores them."""
    plain = json.loads(json.dumps(notebook))
    for cell in plain["cells"]:
        cell["source"] = cell["source"].splitlines(keepends=True)
    return json.dumps(plain, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def read(source, as_version=NO_CONVERT, **_):
    """A notebook from a file, or from the name of one."""
    if hasattr(source, "read"):
        return reads(source.read(), as_version)
    with open(source, encoding="utf-8") as file:
        return reads(file.read(), as_version)


def write(notebook, target, version=NO_CONVERT, **_):
    """A notebook into a file, or into one of that name."""
    text = writes(notebook, version)
    if hasattr(target, "write"):
        target.write(text)
        return
    with open(target, "w", encoding="utf-8") as file:
        file.write(text)


def validate(*_, **__):
    """Nothing is checked."""


# The current format.


def new_notebook(**fields):
    """A notebook without cells."""
    return from_dict({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **fields})


def _new_cell(kind, source, fields):
    start = {"id": uuid.uuid4().hex[:8], "cell_type": kind, "source": source, "metadata": {}}
    return from_dict(start | fields)


def new_code_cell(source="", **fields):
    """A cell of code that did not run."""
    return _new_cell("code", source, {"execution_count": None, "outputs": [], **fields})


def new_markdown_cell(source="", **fields):
    """A cell of text."""
    return _new_cell("markdown", source, fields)


def new_raw_cell(source="", **fields):
    """A cell that is only kept."""
    return _new_cell("raw", source, fields)


_OUTPUTS = {
    "stream": {"name": "stdout", "text": ""},
    "display_data": {"data": {}, "metadata": {}},
    "execute_result": {"data": {}, "metadata": {}, "execution_count": None},
    "error": {"ename": "NotImplementedError", "evalue": "", "traceback": []},
}


def new_output(output_type, data=None, **fields):
    """What a cell has shown."""
    start = {"output_type": output_type, **_OUTPUTS[output_type]}
    if data is not None:
        start["data"] = data
    return from_dict(start | fields)
