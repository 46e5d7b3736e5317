"""Run the notebooks and store what they show, after a change that alters outputs on purpose.

Usage: python scripts/store_outputs.py [NOTEBOOK ...]; read the difference before you commit it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from wasm_kernel.runtimes.python.prepare import prepare

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"


def store(path: Path) -> None:
    """Run one notebook beside its files, as nbval does, and keep its outputs."""
    notebook = nbformat.read(path, as_version=4)
    metadata = dict(notebook.metadata)
    client = NotebookClient(notebook, coalesce_streams=True)
    with client.setup_kernel():
        for index, cell in enumerate(notebook.cells):
            # One by one: the client would number them itself, and undone cells are not counted.
            client.execute_cell(cell, index)
            cell.metadata.pop("execution", None)
    notebook.metadata = nbformat.from_dict(metadata)
    nbformat.write(notebook, path)


def main() -> None:
    """Run the notebooks that are named, or all."""
    # Else the first cell would show how the sandbox is prepared.
    prepare()
    os.chdir(NOTEBOOKS)
    for name in sys.argv[1:] or sorted(path.name for path in NOTEBOOKS.glob("*.ipynb")):
        sys.stderr.write(f"{name}\n")
        store(NOTEBOOKS / Path(name).name)


if __name__ == "__main__":
    main()
